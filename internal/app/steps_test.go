package app

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// openSeasonOf freezes a season on a new data directory and waits for its opening.
func openSeasonOf(t *testing.T) (*Server, *Operator, *Frozen) {
	t.Helper()
	s, o := lifeOf(t, filepath.Join(t.TempDir(), "data"))
	dir, _ := secretCorpus(t, 4)
	frozen, err := o.freezeSoon(t.Context(), map[string]string{"conformite": dir}, time.Hour)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		now, err := o.Open(t.Context())
		return err == nil && now.State.Reached(season.Open)
	}, time.Minute, 50*time.Millisecond)
	return s, o, &frozen[0]
}

// replaceInBundle puts bytes into the bundle as an earlier step would have left them.
func replaceInBundle(t *testing.T, o *Operator, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(o.BundleDir(), name)), 0o755))
	require.NoError(t, bundle.Replace(o.BundleDir(), name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}))
}

// Every step of a season may be cut off and repeated; what it has done stays done.
func TestEveryStepOfASeasonCanBeRepeated(t *testing.T) {
	t.Parallel()
	s, o, frozen := openSeasonOf(t)
	left := filepath.Join(filepath.Dir(o.BundleDir()), ".bundle.partial-123")
	require.NoError(t, os.MkdirAll(left, 0o755))
	require.NoError(t, o.CloseSeason(t.Context()))
	require.NoDirExists(t, left, "what a kill left of an earlier close is removed")

	// A proof whose witness was late stands as pending in the bundle (§4.1).
	var view []byte
	require.NoError(t, o.source().Proofs(t.Context(), []string{frozen.ProofID}, func(_ string, v []byte) error { view = bytes.Clone(v); return nil }))
	late, err := canonjson.ParseStrict(view)
	require.NoError(t, err)
	late.(*canonjson.Object).Set("batch_anchor", canonjson.NewObject("status", "pending"))
	replaceInBundle(t, o, bundle.ProofPath(frozen.ProofID), canonjson.Compact(late))
	require.NoError(t, os.RemoveAll(filepath.Join(o.BundleDir(), "log-entries")))
	_, err = o.Score(t.Context())
	require.Error(t, err, "the freeze has no log entry any more")
	require.NoError(t, o.CloseSeason(t.Context()))
	got, err := os.ReadFile(filepath.Join(o.BundleDir(), bundle.ProofPath(frozen.ProofID)))
	require.NoError(t, err)
	require.Equal(t, string(view), string(got), "a repeated close takes up what has been anchored since")

	first, err := o.Score(t.Context())
	require.NoError(t, err, "its log entry is there too")
	again, err := o.Score(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, again)

	for range 3 {
		version, err := o.Publish(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, version, "the same bundle again is no new version")
	}
	replaceInBundle(t, o, bundle.ProofPath(frozen.ProofID), canonjson.Compact(late))
	require.NoError(t, o.CloseSeason(t.Context()))
	got, err = os.ReadFile(filepath.Join(o.BundleDir(), bundle.ProofPath(frozen.ProofID)))
	require.NoError(t, err)
	require.Equal(t, string(canonjson.Compact(late)), string(got), "after the publication no input changes in place (bundle format §13)")
	version, err := o.Publish(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, version, "another bundle is another version")
	require.NotNil(t, s)
}

func TestTwoStepsOfOneSeasonDoNotRunAtOnce(t *testing.T) {
	t.Parallel()
	s, o := lifeOf(t, filepath.Join(t.TempDir(), "data"))
	release, err := o.lock()
	require.NoError(t, err)
	other := newOperator(&s.config, s.season, s.clock, slog.New(slog.DiscardHandler), func(string, ...any) {})
	dir, _ := secretCorpus(t, 5)
	_, err = other.Freeze(t.Context(), freezePlan(dir, time.Now().UTC().Add(time.Hour).Truncate(time.Second), ""))
	require.ErrorContains(t, err, "another step of season 1 is running")
	require.ErrorContains(t, other.CloseSeason(t.Context()), "another step")
	_, err = other.Score(t.Context())
	require.ErrorContains(t, err, "another step")
	_, err = other.Publish(t.Context())
	require.ErrorContains(t, err, "another step")
	require.NoError(t, release())
	_, err = other.Freeze(t.Context(), freezePlan(dir, time.Now().UTC().Add(time.Hour).Truncate(time.Second), ""))
	require.NoError(t, err)
}
