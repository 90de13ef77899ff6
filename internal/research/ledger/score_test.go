package ledger

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSection29AnArtefactMayBeInspectedAgainWithoutUpdate(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		red := ChecklistRecord{SubmissionDigest: hash("s"), TopicID: "topic-a", RulesVersion: 1, FailedIDs: []string{"a", "b"}, Document: []byte("{\"x\":1}\n")}
		for want := range 3 {
			attempt, err := f.AddChecklist(ctx, red)
			require.NoError(t, err)
			require.Equal(t, want+1, attempt)
		}
		green := ChecklistRecord{SubmissionDigest: hash("s"), TopicID: "topic-a", RulesVersion: 2, Green: true, FailedIDs: []string{}, Document: []byte("{}")}
		attempt, err := f.AddChecklist(ctx, green)
		require.NoError(t, err)
		require.Equal(t, 1, attempt, "each version of the rules counts its own")

		all, err := f.Checklists(ctx, hash("s"))
		require.NoError(t, err)
		require.Len(t, all, 4)
		red.Attempt, red.CreatedAt = 3, f.Ledger.now()
		require.Equal(t, red, all[2])
		green.Attempt, green.CreatedAt = 1, f.Ledger.now()
		require.Equal(t, green, all[3])

		none, err := f.Checklists(ctx, hash("other"))
		require.NoError(t, err)
		require.Empty(t, none)
		_, err = f.AddChecklist(ctx, ChecklistRecord{SubmissionDigest: strings.ToUpper(hash("s")), TopicID: "topic-a", RulesVersion: 1})
		require.Error(t, err, "digests are lower-case hex")
	})
}

func TestTheNewestMeasurementCounts(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		none, err := f.LatestMeasurement(ctx, "topic-a")
		require.NoError(t, err)
		require.Nil(t, none)
		for i, primary := range []float64{0.1 + 0.2, 5e-324, math.MaxFloat64, -1e-300} {
			m := Measurement{TopicID: "topic-a", RulesVersion: uint32(1 + i/2), PrimaryValue: primary, Report: []byte{0, 0xff, '{'}}
			require.NoError(t, f.AddMeasurement(ctx, m))
			got, err := f.LatestMeasurement(ctx, "topic-a")
			require.NoError(t, err)
			m.CreatedAt = f.Ledger.now()
			require.Equal(t, m, *got, "to the last bit")
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			require.ErrorContains(t, f.AddMeasurement(ctx, Measurement{TopicID: "topic-a", RulesVersion: 1, PrimaryValue: bad}), "is not finite")
		}
	})
}

func TestOffersPersistAndTheNewestIsLive(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		none, err := f.Offer(ctx, ExecutorOffer)
		require.NoError(t, err)
		require.Nil(t, none)
		require.NoError(t, f.SaveOffer(ctx, ExecutorOffer, []byte("a"), "file"))
		require.NoError(t, f.SaveOffer(ctx, ExecutorOffer, []byte("a"), "file"))
		require.NoError(t, f.SaveOffer(ctx, ExecutorOffer, []byte("b"), "admin"))
		require.NoError(t, f.SaveOffer(ctx, ExecutorOffer, []byte("a"), "file"))
		require.NoError(t, f.SaveOffer(ctx, InferenceOffer, []byte("j"), "file"))
		live, err := f.Offer(ctx, ExecutorOffer)
		require.NoError(t, err)
		require.Equal(t, "a", string(live))
		var n int
		require.NoError(t, f.db.Reader().QueryRow(`SELECT COUNT(*) FROM proof_offer`).Scan(&n))
		require.Equal(t, 4, n, "a restart with the same file adds nothing, going back does")
		require.Error(t, f.SaveOffer(ctx, "other", nil, "file"))
	})
}

func TestDecision18AdminActionsAreRecorded(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.Audit(ctx, AuditEntry{TokenLabel: "token-1", Action: "publish", Subject: "topic-a", Status: 201}))
		require.NoError(t, f.Audit(ctx, AuditEntry{At: f.Ledger.now().Add(1000), TokenLabel: "token-2", Action: "setup", Subject: "\xff\x00", Status: 409}))
		got, err := f.AuditLog(ctx, 10)
		require.NoError(t, err)
		require.Equal(t, []AuditEntry{
			{At: f.Ledger.now().Add(1000), TokenLabel: "token-2", Action: "setup", Subject: "\uFFFD\uFFFD", Status: 409},
			{At: f.Ledger.now(), TokenLabel: "token-1", Action: "publish", Subject: "topic-a", Status: 201},
		}, got)
		got, err = f.AuditLog(ctx, 1)
		require.NoError(t, err)
		require.Len(t, got, 1)
	})
}
