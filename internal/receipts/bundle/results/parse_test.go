package results_test

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

// smallResults is a results.json with one of everything, in another order of
// members than C.
const smallResults = `{"season":1,"version":2,"previous_sha256":"1111111111111111111111111111111111111111111111111111111111111111",` +
	`"corrections":[{"agent_did":"did:key:a","track":"t","task_id":"x","assertion_id":"a1","status":"supported","cause":null}],` +
	`"tracks":{"t":{"best_constant_answer":{"verdict":"v","num":1,"den":2},"participants":[{"agent_did":"did:key:a","kind":"community","ranked":true,` +
	`"overclaim":{"num":1,"den":3,"percent":"33.3"},"success":{"num":0,"den":2,"percent":"0.0"},"tasks_submitted":1,` +
	`"tasks":[{"task_id":"x","state":"submitted","reason":null,"verdict":"v","verdict_exact":true,"grounded":false,"missing_facts":[{"resource":"/r","field":"/f","value":{"a":[1,null]}}],` +
	`"assertions":[{"id":"a1","status":"unsupported","cause":"value_mismatch","detail":"value_differs","proof_ids":["prf_20260101_000000_000000"]}]}],` +
	`"incidents":[{"kind":"instrument_fault","task_id":"x","assertion_id":"a1","proof_id":"p","detail":"/_systeme/403"}]}]}}}`

// exampleResults is the results.json that the example bundle publishes.
func exampleResults(t testing.TB) []byte {
	t.Helper()
	b, err := bundle.Open("../../scoring/testdata/example/bundle.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r, ok, err := b.Results()
	if err != nil || !ok {
		t.Fatalf("the example publishes no results: %v", err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// written writes results back, with the corrections' reasons left empty.
func written(t testing.TB, r *results.Results) []byte {
	t.Helper()
	h := results.Header{Season: r.Season}
	if r.Version > 0 {
		h.Corrections = &bundle.Corrections{Version: r.Version, PreviousSHA256: r.PreviousSHA256, Entries: r.Corrections}
	}
	var out bytes.Buffer
	w := results.NewWriter(&out)
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.Begin(h))
	for _, name := range r.TrackNames() {
		check(w.Track(name, r.Tracks[name].Best))
		for i := range r.Tracks[name].Participants {
			check(w.Participant(&r.Tracks[name].Participants[i]))
		}
	}
	check(w.End())
	return out.Bytes()
}

func TestSection11ResultsAreReadWhole(t *testing.T) {
	t.Parallel()
	r, err := results.Parse([]byte(smallResults))
	if err != nil {
		t.Fatal(err)
	}
	p := r.Tracks["t"].Participants[0]
	task := p.Tasks[0]
	if r.Season != 1 || r.Version != 2 || len(r.Corrections) != 1 || p.Overclaim.Percent != "33.3" || p.Success.Den != 2 || p.Pending() != 0 ||
		task.Solved() || task.Absent() || *task.Verdict != "v" || string(canonjson.Compact(task.MissingFacts[0].Value)) != `{"a":[1,null]}` ||
		*task.Assertions[0].Detail != "value_differs" || p.Incidents[0].Detail != "/_systeme/403" {
		t.Errorf("%+v", r)
	}
	if best := r.Tracks["t"].Best; best.Rate != results.NewRate(1, 2) {
		t.Errorf("best constant answer %+v", best)
	}
	example, err := results.Parse(exampleResults(t))
	if err != nil || len(example.Tracks["conformite"].Participants) != 46 {
		t.Errorf("the example: %v", err)
	}
}

func TestSection11ReadResultsAreWrittenBackInTheSameBytes(t *testing.T) {
	t.Parallel()
	v, err := canonjson.ParseStrict([]byte(smallResults))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"one of everything": append(canonjson.Marshal(v), '\n'), "the example": exampleResults(t)} {
		r, err := results.Parse(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := written(t, r); !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes: %s", name, cmp.Diff(string(want), string(got)))
		}
	}
}

func TestSection11APercentIsReadAsPublished(t *testing.T) {
	t.Parallel()
	text := strings.Replace(smallResults, `"percent":"33.3"`, `"percent":"33.4"`, 1)
	r, err := results.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Tracks["t"].Participants[0].Overclaim.Percent; got != "33.4" {
		t.Errorf("read %s, published is 33.4: whether it is right is a replay's question", got)
	}
}

func TestSection9Point2ATaskSaysWhetherItIsSolvedPendingOrAbsent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, new                string
		solved, pending, absent bool
	}{
		{`"grounded":false`, `"grounded":true`, true, false, false},
		{`"verdict_exact":true,"grounded":false`, `"verdict_exact":false,"grounded":true`, false, false, false},
		{`"state":"submitted","reason":null,"verdict":"v","verdict_exact":true,"grounded":false`, `"state":"pending","reason":null,"verdict":"v","verdict_exact":null,"grounded":null`, false, true, false},
		{`"state":"submitted","reason":null`, `"state":"not_submitted","reason":"absent"`, false, false, true},
		{`"state":"submitted","reason":null`, `"state":"not_submitted","reason":"below_minimum"`, false, false, false},
	} {
		r, err := results.Parse([]byte(strings.Replace(smallResults, c.old, c.new, 1)))
		if err != nil {
			t.Fatalf("%s: %v", c.new, err)
		}
		p := r.Tracks["t"].Participants[0]
		if task := p.Tasks[0]; task.Solved() != c.solved || (p.Pending() == 1) != c.pending || task.Absent() != c.absent {
			t.Errorf("%s: solved %v, pending %d, absent %v", c.new, task.Solved(), p.Pending(), task.Absent())
		}
	}
}

func TestSection11AFaultOfResultsNamesItsPlace(t *testing.T) {
	t.Parallel()
	for change, want := range map[[2]string]string{
		{`"season":1`, `"season":"1"`}:                                    "/season must be an integer",
		{`"season":1`, `"season":1.0`}:                                    "/season must be an integer",
		{`"percent":"33.3"`, `"percent":33.3`}:                            "/tracks/t/participants/0/overclaim/percent must be a string",
		{`"percent":"33.3"`, `"percent":"33.3 <b>"`}:                      "/overclaim/percent must be digits with one decimal",
		{`"num":1,"den":3`, `"num":4,"den":3`}:                            "/overclaim must be a part of a whole",
		{`"num":0,"den":2`, `"num":0,"den":0`}:                            "/success must be a part of a whole",
		{`"num":1,"den":2`, `"num":-1,"den":2`}:                           "/best_constant_answer/num must be a count",
		{`"num":1,"den":2`, `"num":1,"den":1099511627777`}:                "/best_constant_answer/den must be a count",
		{`"kind":"community",`, ``}:                                       "/kind is missing",
		{`"ranked":true`, `"ranked":1`}:                                   "/ranked must be true or false",
		{`"ranked":true`, `"ranked":"true"`}:                              "/ranked must be true or false, is a string",
		{`"tasks_submitted":1,`, ``}:                                      "/tasks_submitted is missing",
		{`"verdict_exact":true`, `"verdict_exact":"yes"`}:                 "/verdict_exact must be true or false",
		{`"proof_ids":["prf_20260101_000000_000000"]`, `"proof_ids":[7]`}: "/assertions/0/proof_ids/0 must be a string",
		{`"cause":"value_mismatch"`, `"cause":4`}:                         "/cause must be a string or null",
		{`"previous_sha256":"1`, `"previous_sha256":"G`}:                  "/previous_sha256 must be 64 lower-case",
		{`"previous_sha256"`, `"previous"`}:                               "/previous_sha256 is missing",
		{`"participants":[{`, `"participants":[7,{`}:                      "/participants/0 must be an object",
		{`{"season":1`, `{"season":1,"season":1`}:                         "is not strict JSON",
	} {
		text := strings.Replace(smallResults, change[0], change[1], 1)
		if text == smallResults {
			t.Fatalf("%q changes nothing", change)
		}
		_, err := results.Parse([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "results.json: ") || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%q: %v, want %q on one line", change[1], err, want)
		}
	}
}

func TestSection11IncidentsAreSortedAndWithoutDoubles(t *testing.T) {
	t.Parallel()
	task, a1, a2 := "conf-01", "a1", "a2"
	flat := results.Incident{Kind: results.IncidentFlatFieldDiverges, ProofID: "p1", Detail: "agent_identity"}
	first := results.Incident{Kind: results.IncidentInstrumentFault, TaskID: &task, AssertionID: &a1, ProofID: "p2", Detail: "/_systeme/403"}
	second := results.Incident{Kind: results.IncidentInstrumentFault, TaskID: &task, AssertionID: &a2, ProofID: "p2", Detail: "/_systeme/403"}
	// "a1", "a2", then null: a quotation mark comes before n.
	want := []results.Incident{first, second, flat}
	if got := results.SortIncidents([]results.Incident{flat, second, first, flat, second}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if got := results.SortIncidents(nil); len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
}

// FuzzParse reads outside bytes as results. What it accepts is written and read
// again as the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(smallResults))
	for _, s := range []string{"", "{}", "[]", `{"season":1,"tracks":{}}`, `{"season":1,"tracks":{"t":null}}`, strings.Repeat("[", 200), `{"season":1,"tracks":{"t":{"best_constant_answer":{"verdict":"","num":0,"den":0},"participants":[]}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := results.Parse(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("an error of two lines: %q", err)
			}
			return
		}
		for _, name := range slices.Sorted(maps.Keys(r.Tracks)) {
			for _, p := range r.Tracks[name].Participants {
				if p.Success.Den <= 0 || p.Success.Num > p.Success.Den {
					t.Errorf("success %+v", p.Success)
				}
			}
		}
		if r.Version <= 0 {
			r.Version, r.PreviousSHA256, r.Corrections = 0, "", nil // written without
		}
		text := written(t, r)
		again, err := results.Parse(text)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v in %s", err, text)
		}
		if second := written(t, again); !bytes.Equal(text, second) {
			t.Errorf("%s\nis not\n%s", text, second)
		}
	})
}
