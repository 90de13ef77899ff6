package scoring_test

import (
	"bytes"
	"fmt"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

// A bundle is scored with nothing but its files. Reading the results back gives
// typed rows, for instance for a page.
func ExampleScore() {
	b, err := bundle.Open("testdata/example/bundle.tar.zst")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	var out bytes.Buffer
	if err := scoring.Score(b, nil, &out); err != nil {
		fmt.Println(err)
		return
	}
	r, err := results.Parse(out.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range r.TrackNames() {
		t := r.Tracks[name]
		fmt.Printf("%s: %d rows, best constant answer %s with success %s %%\n", name, len(t.Participants), t.Best.Verdict, t.Best.Percent)
	}
	// Output: conformite: 46 rows, best constant answer non_conforme with success 40.0 %
}
