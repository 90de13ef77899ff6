package scoring_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

func TestReplayOfTheExampleIsIdentical(t *testing.T) {
	t.Parallel()
	d, err := scoring.Replay(t.Context(), openFiles(t, exampleFiles(t)), nil)
	if d != nil || err != nil {
		t.Errorf("got %v, %v", d, err)
	}
}

func TestReplayNamesTheFirstPlaceThatDiffers(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	sound := files[bundle.ResultsPath]
	const did = "did:key:z6Mkeh5Zaf3wWczyfEHyftvGJLQphzgTfGet9a8t6Xy4eN2x" // the first row
	for _, c := range []struct{ name, old, new, want string }{
		{"the status of an assertion, before the rate that follows from it", `{"cause":null,"detail":null,"id":"a1","proof_ids":["prf_20261110_093056_754eb0"],"status":"supported"}`,
			`{"cause":null,"detail":null,"id":"a1","proof_ids":["prf_20261110_093056_754eb0"],"status":"pending"}`,
			`track conformite, participant ` + did + `, task conf-02, assertion a1, status: published "pending", computed "supported"`},
		{"a rate", `"overclaim":{"den":3,"num":0,"percent":"0.0"}`, `"overclaim":{"den":3,"num":1,"percent":"33.3"}`,
			`track conformite, participant ` + did + `, overclaim, num: published 1, computed 0`},
		{"a percent that its counts do not print", `"overclaim":{"den":3,"num":0,"percent":"0.0"}`, `"overclaim":{"den":3,"num":0,"percent":"0.1"}`,
			`track conformite, participant ` + did + `, overclaim, percent: published "0.1", computed "0.0"`},
		{"a state", `"state":"not_submitted","task_id":"conf-01"`, `"state":"rejected","task_id":"conf-01"`,
			`track conformite, participant ` + did + `, task conf-01, state: published "rejected", computed "not_submitted"`},
		{"another participant", `"agent_did":"` + did + `"`, `"agent_did":"did:key:zOther"`,
			`track conformite, participant ` + did + `: published an entry with agent_did "did:key:zOther", computed an entry with agent_did "` + did + `"`},
		{"a member too many", `"season":2`, `"saison":2,"season":2`, `saison: published 2, computed absent`},
		{"a member too few", `"ranked":true,`, ``, `track conformite, participant ` + did + `, ranked: published absent, computed true`},
		{"other bytes for the same values", `{"season":2,`, `{ "season":2,`, `results.json: published the same values in other bytes`},
		{"no line feed at the end", "}}}\n", "}}}", `results.json: published the same values in other bytes`},
		{"bytes after the line feed", "}}}\n", "}}}\n\n", `results.json: published the same values in other bytes`},
		{"no JSON", `{"season":2`, `{"season":`, `results.json: published not strict JSON`},
		{"the best constant answer", `"num":4,"verdict":"non_conforme"`, `"num":3,"verdict":"non_conforme"`, `track conformite, best_constant_answer, num: published 3, computed 4`},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := bytes.Replace(sound, []byte(c.old), []byte(c.new), 1)
			if bytes.Equal(changed, sound) {
				t.Fatal("the case changes nothing")
			}
			files[bundle.ResultsPath] = changed
			d, err := scoring.Replay(t.Context(), openFiles(t, files), nil)
			if err != nil || d == nil {
				t.Fatalf("got %v, %v: want a difference", d, err)
			}
			if got := d.String(); !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReplayWithoutPublishedResultsIsUnreadable(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	delete(files, bundle.ResultsPath)
	var unreadable *bundle.UnreadableError
	if _, err := scoring.Replay(t.Context(), openFiles(t, files), nil); !errors.As(err, &unreadable) || unreadable.Path != bundle.ResultsPath {
		t.Errorf("got %v, want results.json unreadable", err)
	}
}

// TestReplayFindsEveryChangedByte changes one byte of the published results.
func TestReplayFindsEveryChangedByte(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1))
	did := s.Enrol("alpha")
	s.Submit(did, "conf-01", "conforme", s.Claims("conf-01")...)
	sound := score(t, s.Open())
	rapid.Check(t, func(rt *rapid.T) {
		i := rapid.IntRange(0, len(sound)-1).Draw(rt, "byte")
		to := rapid.Byte().Filter(func(b byte) bool { return b != sound[i] }).Draw(rt, "to")
		changed := slices.Clone(sound)
		changed[i] = to
		s.Files[bundle.ResultsPath] = changed
		d, err := scoring.Replay(t.Context(), s.Open(), nil)
		if err != nil || d == nil || d.Place == "" {
			rt.Fatalf("byte %d to %q: %v, %v", i, to, d, err)
		}
	})
}
