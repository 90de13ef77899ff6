package scoring_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

// failing is a sink, or a writer, that stops after some calls.
type failing struct {
	left int
	err  error
}

func (f *failing) step() error {
	if f.left--; f.left < 0 {
		return f.err
	}
	return nil
}
func (f *failing) Begin(results.Header) error                     { return f.step() }
func (f *failing) Track(string, results.BestConstantAnswer) error { return f.step() }
func (f *failing) Participant(*results.Participant) error         { return f.step() }
func (f *failing) End() error                                     { return f.step() }
func (f *failing) Write(p []byte) (int, error)                    { return len(p), f.step() }

func TestRunStopsAtTheFirstErrorOfASinkAndWhenCancelled(t *testing.T) {
	t.Parallel()
	b := openFiles(t, exampleFiles(t))
	full := errors.New("disk full")
	for _, left := range []int{0, 1, 2, 30, 47, 48} { // Begin, Track, 46 rows, End
		if err := scoring.Run(t.Context(), b, nil, &failing{left: left, err: full}); !errors.Is(err, full) {
			t.Fatalf("after %d calls: %v", left, err)
		}
	}
	if err := scoring.Run(t.Context(), b, nil, &failing{left: 49}); err != nil {
		t.Errorf("49 calls were expected: %v", err)
	}
	if err := scoring.Score(b, nil, &failing{left: 1, err: full}); !errors.Is(err, full) {
		t.Errorf("a writer's error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := scoring.Run(ctx, b, nil, &failing{left: 100}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestD4TheCallersTrustReplacesTheBundles refuses the example's freeze with keys
// that never signed it.
func TestD4TheCallersTrustReplacesTheBundles(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1))
	var refusal *bundle.Refusal
	var out bytes.Buffer
	err := scoring.Score(openFiles(t, exampleFiles(t)), s.Issuer.Trust(), &out)
	if !errors.As(err, &refusal) || refusal.Reason != bundle.ReasonFreezeInvalid || refusal.Track != "conformite" {
		t.Errorf("got %v, want freeze_proof_invalid of track conformite", err)
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
}
