package scoring_test

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

func TestSection11PercentsRoundHalfAwayFromZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		num, den int
		want     string
	}{
		{1, 16, "6.3"}, {0, 7, "0.0"}, {7, 7, "100.0"}, {1, 3, "33.3"}, {2, 3, "66.7"}, {1, 2000, "0.1"}, {1, 2001, "0.0"}, {1999, 2000, "100.0"}, {1998, 2000, "99.9"},
	} {
		if got := (scoring.Rate{Num: c.num, Den: c.den}).Percent(); got != c.want {
			t.Errorf("%d/%d prints %s, want %s", c.num, c.den, got, c.want)
		}
	}
}

// TestSection11PercentsAgreeWithExactFractions compares with rational arithmetic.
func TestSection11PercentsAgreeWithExactFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		den := rapid.IntRange(1, 1_000_000).Draw(t, "den")
		num := rapid.IntRange(0, den).Draw(t, "num")
		got := scoring.Rate{Num: num, Den: den}.Percent()
		printed, ok := new(big.Rat).SetString(got)
		if !ok || strings.IndexByte(got, '.') != len(got)-2 {
			t.Fatalf("%q is no number with one decimal", got)
		}
		exact := big.NewRat(int64(num)*100, int64(den))
		off := new(big.Rat).Sub(printed, exact) // positive when rounded up
		half := big.NewRat(1, 20)
		if off.Cmp(half) > 0 || off.Cmp(new(big.Rat).Neg(half)) <= 0 {
			t.Fatalf("%d/%d is %s, printed %s: off by %s", num, den, exact.FloatString(6), got, off.FloatString(6))
		}
	})
}

func TestSection11TheWriterPrintsC(t *testing.T) {
	t.Parallel()
	cause := "invalid_proof"
	for _, h := range []scoring.Header{
		{Season: 3},
		{Season: 3, Corrections: &bundle.Corrections{Version: 4, PreviousSHA256: strings.Repeat("b", 64),
			Entries: []bundle.Correction{{AgentDID: "did:web:é.test", Track: "a", TaskID: "t", AssertionID: "x", Status: "unsupported", Cause: &cause, Reason: "secret"}}}},
	} {
		for rows := range 3 {
			var out bytes.Buffer
			w := scoring.NewWriter(&out)
			errs := []error{w.Begin(h)}
			for _, name := range []string{"a", "b"}[:min(rows, 2)] {
				errs = append(errs, w.Track(name, scoring.BestConstantAnswer{Verdict: "x", Rate: scoring.Rate{Num: 1, Den: 2}}))
				for range rows {
					errs = append(errs, w.Participant(&scoring.Participant{AgentDID: "did:web:é.test", Kind: "community", Success: scoring.Rate{Den: 2}}))
				}
			}
			if err := errors.Join(append(errs, w.End())...); err != nil {
				t.Fatal(err)
			}
			v, err := canonjson.ParseStrict(out.Bytes())
			if err != nil {
				t.Fatalf("%v in %s", err, out.String())
			}
			if want := string(canonjson.Marshal(v)) + "\n"; out.String() != want {
				t.Errorf("got %s, want %s", out.String(), want)
			}
			if strings.Contains(out.String(), "secret") {
				t.Error("a correction's reason is not part of the results")
			}
			if _, err := scoring.ParseResults(out.Bytes()); err != nil {
				t.Error(err)
			}
		}
	}
}

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
func (f *failing) Begin(scoring.Header) error                     { return f.step() }
func (f *failing) Track(string, scoring.BestConstantAnswer) error { return f.step() }
func (f *failing) Participant(*scoring.Participant) error         { return f.step() }
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

func TestParseResultsNamesThePointerAtFault(t *testing.T) {
	t.Parallel()
	sound := string(exampleFiles(t)[bundle.ResultsPath])
	if _, err := scoring.ParseResults([]byte(sound)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"a rate that does not print so", `"overclaim":{"den":3,"num":0,"percent":"0.0"}`, `"overclaim":{"den":3,"num":0,"percent":"0.1"}`, "/overclaim/percent must be 0.0"},
		{"a denominator of zero", `"success":{"den":10`, `"success":{"den":0`, "/success must hold counts"},
		{"a member of another type", `"ranked":true`, `"ranked":"true"`, "/ranked must be true or false, is a string"},
		{"a missing member", `"kind":"community",`, ``, "/kind is missing"},
		{"a float for the season", `"season":2`, `"season":2.0`, "/season must be an integer"},
		{"a version without the hash before", `"season":2`, `"season":2,"version":2`, "/previous_sha256 is missing"},
		{"a member twice", `"season":2`, `"season":2,"season":2`, "is not strict JSON"},
	} {
		_, err := scoring.ParseResults([]byte(strings.Replace(sound, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q on one line", c.name, err, c.want)
		}
	}
}
