package results_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

func TestSection11TheWriterPrintsC(t *testing.T) {
	t.Parallel()
	cause := "invalid_proof"
	for _, h := range []results.Header{
		{Season: 3},
		{Season: 3, Corrections: &bundle.Corrections{Version: 4, PreviousSHA256: strings.Repeat("b", 64),
			Entries: []bundle.Correction{{AgentDID: "did:web:é.test", Track: "a", TaskID: "t", AssertionID: "x", Status: "unsupported", Cause: &cause, Reason: "secret"}}}},
	} {
		for rows := range 3 {
			var out bytes.Buffer
			w := results.NewWriter(&out)
			errs := []error{w.Begin(h)}
			for _, name := range []string{"a", "b"}[:min(rows, 2)] {
				errs = append(errs, w.Track(name, results.BestConstantAnswer{Verdict: "x", Rate: results.NewRate(1, 2)}))
				for range rows {
					errs = append(errs, w.Participant(&results.Participant{AgentDID: "did:web:é.test", Kind: "community", Success: results.NewRate(0, 2)}))
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
			if _, err := results.Parse(out.Bytes()); err != nil {
				t.Error(err)
			}
		}
	}
}
