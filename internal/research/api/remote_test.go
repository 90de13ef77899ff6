package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// dial serves a plane on loopback and returns the client that the commands use.
func dial(t *testing.T, p *plane, token string) *remote.Client {
	t.Helper()
	srv := httptest.NewServer(p.handler)
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("# of the operator\n"+token+"\n"), 0o600))
	c, err := remote.New(remote.Options{URL: srv.URL, TokenFile: file, Sleep: func(ctx context.Context, _ time.Duration) error {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
		return ctx.Err()
	}})
	require.NoError(t, err)
	return c
}

func TestTheClientOfTheCommandsWalksAMinersWay(t *testing.T) {
	p := open(t)
	ctx := t.Context()
	c := dial(t, p, apitest.Token)
	status, err := c.Status(ctx)
	require.NoError(t, err)
	require.True(t, status.Scorable(apitest.OpenID))
	require.True(t, *status.SignatureRequired)
	require.NotNil(t, status.EpochClosesAt)
	topics, _, err := c.Topics(ctx, "")
	require.NoError(t, err)
	require.Len(t, topics, 1)
	d, err := c.Topic(ctx, apitest.OpenID)
	require.NoError(t, err)
	require.NoError(t, d.Verify(p.Pin), "what is served is what was signed")
	rules, _, err := c.Rules(ctx, apitest.OpenID)
	require.NoError(t, err)
	require.Equal(t, d.Checklist, rules.Rules)
	executor, err := c.Executor(ctx)
	require.NoError(t, err)
	require.True(t, executor.Ready)
	ready, err := c.Readiness(ctx, apitest.DraftID)
	require.NoError(t, err)
	require.False(t, ready.Scorable)
	require.Equal(t, "topic is not open", ready.Missing[0].Error)

	primary := 0.5
	p.Boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: &primary, Flops: 10, Delay: 60 * time.Millisecond})
	p.Boundary.Script(rlmtest.Digest(2), rlmtest.Script{Unmeasured: true})
	taken, err := c.Submit(ctx, apitest.Submission(t, 1, 1))
	require.NoError(t, err)
	require.Equal(t, remote.Queued, taken.State)
	states := map[remote.State]bool{}
	end, err := c.Wait(ctx, taken.SubmissionDigest, remote.Wait{Progress: func(p *remote.Progress) { states[p.State] = true }})
	require.NoError(t, err)
	require.True(t, states[remote.Running], "%v", states)
	require.Equal(t, family.Champion, end.Row.State)
	again, err := c.Submit(ctx, apitest.Submission(t, 1, 1))
	require.NoError(t, err)
	require.Equal(t, end.Row.ID, again.Row.ID, "the same nonce and body meet the row")
	lost, err := c.Submit(ctx, apitest.Submission(t, 2, 2))
	require.NoError(t, err)
	refused, err := c.Wait(ctx, lost.SubmissionDigest, remote.Wait{})
	require.NoError(t, err)
	require.Equal(t, remote.Refused, refused.State)
	require.Equal(t, http.StatusServiceUnavailable, refused.Refusal.Status)
	_, err = c.Submit(ctx, apitest.Submission(t, 3, 3, func(f map[string]any) { f["topic_id"] = apitest.DraftID }))
	require.True(t, remote.IsStatus(err, http.StatusBadRequest))
	require.ErrorContains(t, err, "topic is not open")
	_, err = c.Find(ctx, apitest.Hash("nobody"))
	require.True(t, remote.IsStatus(err, http.StatusNotFound))

	rows, next, _, err := c.Rows(ctx, remote.RowQuery{Topic: apitest.OpenID, Limit: 1})
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, rows, 1)
	row, err := c.Row(ctx, end.Row.ID)
	require.NoError(t, err)
	require.Empty(t, row.Claim)
	require.InDelta(t, 0.5, *row.Verdict.Harness.Primary(true, ""), 0)
	p.CloseEpoch()
	epochs, err := c.Epochs(ctx)
	require.NoError(t, err)
	closed := epochs.Find(0)
	require.NotNil(t, closed)
	snapshot, err := c.Snapshot(ctx, 0)
	require.NoError(t, err)
	sum := sha256.Sum256(snapshot)
	require.Equal(t, closed.SHA256, hex.EncodeToString(sum[:]))
	replayed, err := payout.ParseSnapshot(snapshot)
	require.NoError(t, err)
	result, err := payout.Payout(replayed)
	require.NoError(t, err)
	want, err := result.Encode()
	require.NoError(t, err)
	served, err := c.Payout(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, string(want), string(served), "anyone can recompute who is paid what")
}

func TestTheClientOfTheCommandsWalksAnOperatorsWay(t *testing.T) {
	p := open(t)
	ctx := t.Context()
	_, err := dial(t, p, "another-token").Lifecycle(ctx, apitest.DraftID)
	require.True(t, remote.IsStatus(err, http.StatusUnauthorized))
	c := dial(t, p, apitest.Token)
	d := p.Topic("new-topic", topic.Draft)
	p.Sign(d)
	published, err := c.Publish(ctx, d)
	require.NoError(t, err)
	require.Equal(t, d.Signature, published.Signature)
	shown, err := c.Presend(ctx, d.ID)
	require.NoError(t, err)
	require.Contains(t, string(shown), `"rule_ids":["same_seed"`)
	_, err = c.Measurement(ctx, d.ID)
	require.True(t, remote.IsStatus(err, http.StatusNotFound))
	state, err := c.Setup(ctx, d.ID, true, "go on")
	require.NoError(t, err)
	require.Equal(t, "draft", state)
	var life *remote.Lifecycle
	require.Eventually(t, func() bool {
		life, err = c.Lifecycle(ctx, d.ID)
		return err == nil && life.State == "baselining" && !*life.SetupRunning
	}, 10*time.Second, 5*time.Millisecond)
	require.Empty(t, life.SetupError)
	measured, err := c.Measurement(ctx, d.ID)
	require.NoError(t, err)

	// Seal: the operator's file first, then the open document.
	m := p.Seal(d, *measured.PrimaryValue)
	text, err := m.JSON()
	require.NoError(t, err)
	var all map[string]json.RawMessage
	old, err := os.ReadFile(p.Path("baseline.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(old, &all))
	all[d.ID] = text
	p.Write("baseline.json", all)
	d.Status = topic.Open
	p.Sign(d)
	_, err = c.Publish(ctx, d)
	require.NoError(t, err)
	life, err = c.Lifecycle(ctx, d.ID)
	require.NoError(t, err)
	require.Equal(t, "open", life.State)
	edited, err := c.EditRules(ctx, d.ID, []topic.ChecklistItem{{ID: "one_rule", Text: "only this"}})
	require.NoError(t, err)
	rules, _, err := c.Rules(ctx, d.ID)
	require.NoError(t, err)
	require.Equal(t, edited, rules)
	_, err = c.Setup(ctx, d.ID, true, "")
	require.True(t, remote.IsStatus(err, http.StatusConflict))
}
