package index

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// smallResults is a results.json with one of everything.
const smallResults = `{"season":1,"version":2,"previous_sha256":"1111111111111111111111111111111111111111111111111111111111111111",` +
	`"corrections":[{"agent_did":"did:key:a","track":"t","task_id":"x","assertion_id":"a1","status":"supported","cause":null}],` +
	`"tracks":{"t":{"best_constant_answer":{"verdict":"v","num":1,"den":2},"participants":[{"agent_did":"did:key:a","kind":"community","ranked":true,` +
	`"overclaim":{"num":1,"den":3,"percent":"33.3"},"success":{"num":0,"den":2,"percent":"0.0"},"tasks_submitted":1,` +
	`"tasks":[{"task_id":"x","state":"submitted","reason":null,"verdict":"v","verdict_exact":true,"grounded":false,"missing_facts":[{"resource":"/r","field":"/f","value":{"a":[1,null]}}],` +
	`"assertions":[{"id":"a1","status":"unsupported","cause":"value_mismatch","detail":"value_differs","proof_ids":["prf_20260101_000000_000000"]}]}],` +
	`"incidents":[{"kind":"instrument_fault","task_id":"x","assertion_id":"a1","proof_id":"p","detail":"/_systeme/403"}]}]}}}`

func TestSection11ResultsAreReadWhole(t *testing.T) {
	t.Parallel()
	r, err := parseResults([]byte(smallResults))
	if err != nil {
		t.Fatal(err)
	}
	p := r.Tracks["t"].Participants[0]
	task := p.Tasks[0]
	if r.Season != 1 || r.Version != 2 || len(r.Corrections) != 1 || p.Overclaim.Percent != "33.3" || p.Success.Den != 2 || task.solved || task.pending ||
		*task.Verdict != "v" || plainValue(task.MissingFacts[0].Value) != `{"a":[1,null]}` || *task.Assertions[0].Detail != "value_differs" || p.Incidents[0].Detail != "/_systeme/403" {
		t.Errorf("%+v", r)
	}
	example, err := parseResults(exampleFiles(t)[bundle.ResultsPath])
	if err != nil || len(example.Tracks["conformite"].Participants) != 46 {
		t.Errorf("the example: %v", err)
	}
}

func TestSection11AFaultOfResultsNamesItsPlace(t *testing.T) {
	t.Parallel()
	for change, want := range map[[2]string]string{
		{`"season":1`, `"season":"1"`}:                                    "/season must be an integer",
		{`"percent":"33.3"`, `"percent":33.3`}:                            "/tracks/t/participants/0/overclaim/percent must be a string",
		{`"percent":"33.3"`, `"percent":"33.3 <b>"`}:                      "/overclaim/percent must be digits with one decimal",
		{`"num":1,"den":3`, `"num":4,"den":3`}:                            "/overclaim must be a part of a whole",
		{`"num":0,"den":2`, `"num":0,"den":0`}:                            "/success must be a part of a whole",
		{`"num":1,"den":2`, `"num":-1,"den":2`}:                           "/best_constant_answer/num must be a count",
		{`"ranked":true`, `"ranked":1`}:                                   "/ranked must be true or false",
		{`"tasks_submitted":1,`, ``}:                                      "/tasks_submitted is missing",
		{`"verdict_exact":true`, `"verdict_exact":"yes"`}:                 "/verdict_exact must be true or false",
		{`"proof_ids":["prf_20260101_000000_000000"]`, `"proof_ids":[7]`}: "/assertions/0/proof_ids/0 must be a string",
		{`"cause":"value_mismatch"`, `"cause":4`}:                         "/cause must be a string or null",
		{`"previous_sha256":"1`, `"previous_sha256":"G`}:                  "/previous_sha256 must be 64 lower-case",
		{`"participants":[{`, `"participants":[7,{`}:                      "/participants/0 must be an object",
		{`{"season":1`, `{"season":1,"season":1`}:                         "is not strict JSON",
	} {
		text := strings.Replace(smallResults, change[0], change[1], 1)
		if text == smallResults {
			t.Fatalf("%q changes nothing", change)
		}
		if _, err := parseResults([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "results.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", change[1], err, want)
		}
	}
}

func FuzzParseResults(f *testing.F) {
	f.Add([]byte(smallResults))
	for _, s := range []string{"", "{}", "[]", `{"season":1,"tracks":{}}`, `{"season":1,"tracks":{"t":null}}`, strings.Repeat("[", 200), `{"season":1,"tracks":{"t":{"best_constant_answer":{"verdict":"","num":0,"den":0},"participants":[]}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseResults(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("an error of two lines: %q", err)
			}
			return
		}
		for _, track := range r.Tracks {
			for _, p := range track.Participants {
				if p.Success.Den <= 0 || p.Success.Num > p.Success.Den || compareRates(p.Success, p.Success) != 0 {
					t.Errorf("success %+v", p.Success)
				}
			}
		}
	})
}
