package scoring_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

const smallResults = `{"season":1,"tracks":{"conformite":{"best_constant_answer":{"den":1,"num":1,"verdict":"conforme"},"participants":[{"agent_did":"did:web:a.test","incidents":[{"assertion_id":null,"detail":"hashes.request","kind":"flat_field_diverges","proof_id":"prf_20260921_101233_ab12cd","task_id":null}],"kind":"community","overclaim":{"den":1,"num":0,"percent":"0.0"},"ranked":true,"success":{"den":1,"num":0,"percent":"0.0"},"tasks":[{"assertions":[{"cause":null,"detail":null,"id":"a1","proof_ids":["prf_20260921_101233_ab12cd"],"status":"supported"}],"grounded":false,"missing_facts":[{"field":"/statut","resource":"/entites/E","value":null}],"reason":null,"state":"submitted","task_id":"conf-01","verdict":"conforme","verdict_exact":true}],"tasks_submitted":1}]}}}
`

// FuzzResults reads outside bytes as results and compares them with sound ones.
func FuzzResults(f *testing.F) {
	f.Add([]byte(smallResults))
	f.Add([]byte(strings.Replace(smallResults, "supported", "pending", 1)))
	f.Add([]byte(strings.Replace(smallResults, `"season":1`, `"corrections":[],"previous_sha256":"`+strings.Repeat("0", 64)+`","season":1,"version":2`, 1)))
	f.Add([]byte(`{"tracks":{"a":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := results.Parse(data); err == nil {
			for _, track := range r.Tracks {
				for _, p := range track.Participants {
					if _, err := canonjson.ParseStrict(canonjson.Marshal(p.Object())); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if d := scoring.FirstDifference(data, []byte(smallResults)); d.Place == "" || strings.ContainsAny(d.String(), "\n\r") {
			t.Fatalf("%+v", d)
		}
		scoring.FirstDifference([]byte(smallResults), data)
	})
}

// FuzzBundleFile puts outside bytes in the place of one file of a sound bundle.
// Whatever they are, the bundle is unreadable, refused or scored; and a score
// never changes through a file that the freeze covers.
func FuzzBundleFile(f *testing.F) {
	s := bundletest.New(f, bundletest.Compliance(1))
	did := s.Enrol("alpha")
	s.Submit(did, "conf-01", "conforme", s.Claims("conf-01")...)
	var names []string
	frozen := map[string]bool{}
	for _, prefix := range []string{"corpora/", "freeze/", "keys/", "rules/", "season.json", "enrolments.json", "trust.json", "submissions/", "proofs/", "log-entries/"} {
		for name := range s.Files {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
				frozen[name] = prefix == "corpora/" || prefix == "keys/" || prefix == "rules/" || prefix == "season.json"
			}
		}
	}
	want := score(f, s.Open())
	for i, name := range names {
		f.Add(uint8(i), s.Files[name])
		f.Add(uint8(i), bytes.Replace(s.Files[name], []byte("1"), []byte("2"), 1))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		name := names[int(which)%len(names)]
		files := bundletest.FS(s.Files)
		files[name].Data = data
		b, err := bundle.OpenFS(files)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := scoring.Score(b, nil, &out); err != nil {
			if out.Len() > 0 {
				t.Fatalf("%v after %d bytes", err, out.Len())
			}
			return
		}
		if frozen[name] && !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("other bytes in %s changed the score: %s", name, scoring.FirstDifference(want, out.Bytes()))
		}
	})
}
