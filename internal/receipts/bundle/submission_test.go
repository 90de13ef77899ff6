package bundle_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/receipts/bundle"
)

const (
	agent  = "did:web:alpha.agent.prova.test"
	proofA = "prf_20260922_101233_ab12cd"
	proofB = "prf_20260922_101234_ab12ce"
	zeros  = "0000000000000000000000000000000000000000000000000000000000000000"
)

// sound keeps every rule; the cases change one place of it.
const sound = `{"season":1,"track":"conformite","task_id":"conf-01","agent_did":"` + agent + `","verdict":"conforme",
"assertions":[{"id":"a1","claim":{"resource":"/entites/ENT-0001","field":"/statut","value":"active"},"proof_ids":["` + proofA + `"]},
{"id":"a2","claim":{"resource":"/entites/ENT-0001","field":"/agrements/0","value":"AGR-0001"},"proof_ids":["` + proofB + `","` + proofA + `"]}],
"disclosures":{"` + proofA + `":{"request_hash":{"nonce":"n1","value":"v1"},"response_hash":{"nonce":"n2","value":"v2"}},
"` + proofB + `":{"request_hash":{"nonce":"","value":""},"response_hash":{"nonce":"` + zeros + `","value":"` + zeros + `"}}}}`

func contextOf(taskID string) bundle.SubmissionContext {
	verdicts := func(v string) bool { return slices.Contains([]string{"conforme", "non_conforme"}, v) }
	return bundle.SubmissionContext{Season: 1, AgentDID: agent, TaskID: taskID, Tracks: map[string]bundle.TrackContext{
		"conformite": {Caps: map[string]int{"conf-01": 2, "conf-02": 4}, VerdictAllowed: verdicts, Verdicts: `"conforme", "non_conforme"`},
		"generique":  {Caps: map[string]int{"gen-01": 4}, VerdictAllowed: func(string) bool { return true }},
	}}
}

func TestSection9ASoundSubmissionIsReadWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{sound, strings.Replace(sound, `"season":1`, `"narrative":"texte libre","season":1`, 1)} {
		s, faults := bundle.ParseSubmission([]byte(text), contextOf("conf-01"))
		if faults != nil {
			t.Fatalf("faults %v", faults)
		}
		if s.Season != 1 || s.Track != "conformite" || s.TaskID != "conf-01" || s.AgentDID != agent || s.Verdict != "conforme" || len(s.Assertions) != 2 {
			t.Errorf("%+v", s)
		}
		if a := s.Assertions[1]; a.ID != "a2" || a.Resource != "/entites/ENT-0001" || a.Field != "/agrements/0" || a.Value != "AGR-0001" || !slices.Equal(a.ProofIDs, []string{proofB, proofA}) {
			t.Errorf("%+v", a)
		}
		if d := s.Disclosures[proofA]; d.Request != (bundle.Pair{Nonce: "n1", Value: "v1"}) || d.Response != (bundle.Pair{Nonce: "n2", Value: "v2"}) {
			t.Errorf("%+v", d)
		}
		if (s.Narrative != nil) != strings.Contains(text, "texte libre") {
			t.Errorf("narrative %v", s.Narrative)
		}
	}
}

// TestSection9RulesAToH breaks one rule at a time and wants exactly that fault.
func TestSection9RulesAToH(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, rule, pointer string }{
		{"a: not JSON", `{"season"`, `{season`, "a", ""},
		{"a: a byte order mark", `{"season"`, "\ufeff{\"season\"", "a", ""},
		{"a: bytes after the object", `{"season"`, `{}{"season"`, "a", ""},
		{"a: a member twice", `"season":1`, `"season":1,"season":1`, "a", ""},
		{"a: a member twice, once escaped", `"season":1`, `"season":1,"s\u0065ason":1`, "a", ""},
		{"a: NaN", `"value":"active"`, `"value":NaN`, "a", ""},
		{"a: a lone surrogate", `"value":"active"`, `"value":"\ud800"`, "a", ""},
		{"a: an integer of 4301 digits", `"value":"active"`, `"value":` + strings.Repeat("1", 4301), "a", ""},
		{"a: 101 levels", `"value":"active"`, `"value":` + strings.Repeat("[", 97) + strings.Repeat("]", 97), "a", ""},
		{"a: an array", `{"season"`, `[{"season"`, "a", ""}, // and so no JSON
		{"a: an unknown member", `"season":1`, `"season":1,"score~/":1`, "a", "/score~0~1"},
		{"a: no verdict", `"verdict":"conforme",`, ``, "a", "/verdict"},
		{"b: another season", `"season":1`, `"season":2`, "b", "/season"},
		{"b: a season as a float", `"season":1`, `"season":1.0`, "b", "/season"},
		{"b: a season as a string", `"season":1`, `"season":"1"`, "b", "/season"},
		{"b: a season that is true", `"season":1`, `"season":true`, "b", "/season"},
		{"b: a season beyond 64 bits", `"season":1`, `"season":18446744073709551617`, "b", "/season"},
		{"b: a track that is none", `"track":"conformite"`, `"track":"autre"`, "b", "/track"},
		{"b: another track of the season", `"track":"conformite"`, `"track":"generique"`, "b", "/task_id"},
		{"b: another task of the track", `"task_id":"conf-01"`, `"task_id":"conf-02"`, "b", "/task_id"},
		{"b: another DID", agent, `did:web:other.prova.test`, "b", "/agent_did"},
		{"b: a narrative that is no string", `"season":1`, `"narrative":null,"season":1`, "b", "/narrative"},
		{"c: a verdict outside the set", `"verdict":"conforme"`, `"verdict":"indeterminable"`, "c", "/verdict"},
		{"c: a verdict that is no string", `"verdict":"conforme"`, `"verdict":["conforme"]`, "c", "/verdict"},
		{"d: an assertion that is no object", `"assertions":[`, `"assertions":[null,`, "d", "/assertions/0"},
		{"d: an unknown member", `"id":"a1"`, `"id":"a1","note":""`, "d", "/assertions/0/note"},
		{"d: no id", `"id":"a1",`, ``, "d", "/assertions/0/id"},
		{"d: an empty id", `"id":"a1"`, `"id":""`, "d", "/assertions/0/id"},
		{"d: an id of 65 code points", `"id":"a1"`, `"id":"` + strings.Repeat("é", 65) + `"`, "d", "/assertions/0/id"},
		{"d: an id twice", `"id":"a2"`, `"id":"a1"`, "d", "/assertions/1/id"},
		{"e: a claim that is no object", `"claim":{"resource":"/entites/ENT-0001","field":"/statut","value":"active"}`, `"claim":"active"`, "e", "/assertions/0/claim"},
		{"e: an unknown member", `"value":"active"`, `"value":"active","unit":""`, "e", "/assertions/0/claim/unit"},
		{"e: no value", `,"value":"active"`, ``, "e", "/assertions/0/claim/value"},
		{"e: a resource without slash", `"resource":"/entites/ENT-0001","field":"/statut"`, `"resource":"entites","field":"/statut"`, "e", "/assertions/0/claim/resource"},
		{"e: a pointer without slash", `"field":"/statut"`, `"field":"statut"`, "e", "/assertions/0/claim/field"},
		{"e: a pointer with ~2", `"field":"/statut"`, `"field":"/a~2"`, "e", "/assertions/0/claim/field"},
		{"f: no proof", `"proof_ids":["` + proofA + `"]`, `"proof_ids":[]`, "f", "/assertions/0/proof_ids"},
		{"f: proofs that are no array", `"proof_ids":["` + proofA + `"]`, `"proof_ids":"` + proofA + `"`, "f", "/assertions/0/proof_ids"},
		{"f: a proof twice", `"` + proofB + `","` + proofA + `"]`, `"` + proofB + `","` + proofB + `"]`, "f", "/assertions/1/proof_ids/1"},
		{"f: a proof id in upper case", `"` + proofB + `","` + proofA + `"]`, `"` + proofB + `","` + strings.ToUpper(proofA) + `"]`, "f", "/assertions/1/proof_ids/1"},
		{"g: a triplet twice", `"field":"/agrements/0","value":"AGR-0001"`, `"field":"/statut","value":"active"`, "g", "/assertions/1/claim"},
		{"g: a triplet twice in other words", `"field":"/agrements/0","value":"AGR-0001"`, `"field":"/st\u0061tut","value":"\u0061ctive"`, "g", "/assertions/1/claim"},
		{"h: a disclosure of a proof not cited", `"disclosures":{`, `"disclosures":{"prf_20260101_000000_000000":{"request_hash":{"nonce":"","value":""},"response_hash":{"nonce":"","value":""}},`, "h", "/disclosures/prf_20260101_000000_000000"},
		{"h: a third pair", `"` + proofA + `":{`, `"` + proofA + `":{"seller":{"nonce":"","value":""},`, "h", "/disclosures/" + proofA + "/seller"},
		{"h: only one pair", `"request_hash":{"nonce":"n1","value":"v1"},`, ``, "h", "/disclosures/" + proofA + "/request_hash"},
		{"h: a third member in a pair", `"nonce":"n1"`, `"nonce":"n1","x":""`, "h", "/disclosures/" + proofA + "/request_hash/x"},
		{"h: a nonce that is no string", `"nonce":"n1"`, `"nonce":1`, "h", "/disclosures/" + proofA + "/request_hash/nonce"},
		{"h: a pair that is no object", `"request_hash":{"nonce":"n1","value":"v1"}`, `"request_hash":"v1"`, "h", "/disclosures/" + proofA + "/request_hash"},
		{"h: a disclosure that is no object", `{"request_hash":{"nonce":"n1","value":"v1"},"response_hash":{"nonce":"n2","value":"v2"}}`, `[]`, "h", "/disclosures/" + proofA},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(sound, c.old, c.new, 1)
			if text == sound {
				t.Fatal("the case changes nothing")
			}
			s, faults := bundle.ParseSubmission([]byte(text), contextOf("conf-01"))
			if s != nil || len(faults) != 1 || faults[0].Rule != c.rule || faults[0].Pointer != c.pointer {
				t.Fatalf("got %+v, want one fault of rule %s at %q", faults, c.rule, c.pointer)
			}
			if m := faults[0].Message; m == "" || strings.ContainsAny(m, "\n\r") {
				t.Errorf("message %q must be one line", m)
			}
		})
	}
}

func TestSection9RuleHAMissingDisclosureIsNamedForEachProof(t *testing.T) {
	t.Parallel()
	start := strings.Index(sound, `"disclosures":`)
	_, faults := bundle.ParseSubmission([]byte(sound[:start]+`"disclosures":{}}`), contextOf("conf-01"))
	if len(faults) != 2 || faults[0].Pointer != "/disclosures/"+proofA || faults[1].Pointer != "/disclosures/"+proofB {
		t.Errorf("%+v", faults)
	}
}

func TestSection9EveryFaultIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	text := `{"season":"1","track":"conformite","task_id":"conf-01","agent_did":7,"verdict":"?","score":1,
"assertions":[{"id":"","claim":{"resource":"x","field":"y"},"proof_ids":[]},{"id":"b","claim":{"resource":"/r","field":"","value":1},"proof_ids":["` + proofA + `",3]}],
"disclosures":{"` + proofA + `":{"request_hash":{"nonce":1,"value":2}}}}`
	_, faults := bundle.ParseSubmission([]byte(text), contextOf("conf-01"))
	var got []string
	for _, f := range faults {
		got = append(got, f.Rule+" "+f.Pointer)
	}
	want := []string{"a /score", "b /season", "b /agent_did", "c /verdict", "d /assertions/0/id", "e /assertions/0/claim/value",
		"e /assertions/0/claim/resource", "e /assertions/0/claim/field", "f /assertions/0/proof_ids", "f /assertions/1/proof_ids/1",
		"h /disclosures/" + proofA + "/response_hash", "h /disclosures/" + proofA + "/request_hash/nonce", "h /disclosures/" + proofA + "/request_hash/value"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSection9AnEmptySubmissionKeepsTheRulesAndItsContainersTheirTypes(t *testing.T) {
	t.Parallel()
	const format = `{"season":1,"track":"conformite","task_id":"conf-01","agent_did":%q,"verdict":"conforme","assertions":%s,"disclosures":%s}`
	for _, c := range []struct{ assertions, disclosures, fault string }{
		{`[]`, `{}`, ""}, {`{}`, `{}`, "d /assertions"}, {`[]`, `[]`, "h /disclosures"}, {`null`, `{}`, "d /assertions"},
	} {
		_, faults := bundle.ParseSubmission(fmt.Appendf(nil, format, agent, c.assertions, c.disclosures), contextOf("conf-01"))
		var got []string
		for _, f := range faults {
			got = append(got, f.Rule+" "+f.Pointer)
		}
		if strings.Join(got, ", ") != c.fault {
			t.Errorf("%s and %s: got %q, want %q", c.assertions, c.disclosures, got, c.fault)
		}
	}
}

// TestSection3IntakeTakesAnyTaskAndRefusesTheCap is the context of the season
// service: the task is not known beforehand, and more than the cap is a fault.
func TestSection3IntakeTakesAnyTaskAndRefusesTheCap(t *testing.T) {
	t.Parallel()
	ctx := contextOf("")
	ctx.RefuseOverCap = true
	if _, faults := bundle.ParseSubmission([]byte(sound), ctx); faults != nil {
		t.Fatalf("two assertions under a cap of two: %v", faults)
	}
	third := strings.Replace(sound, `"assertions":[`, `"assertions":[{"id":"a3","claim":{"resource":"/r","field":"","value":null},"proof_ids":["`+proofA+`"]},`, 1)
	_, faults := bundle.ParseSubmission([]byte(third), ctx)
	if len(faults) != 1 || faults[0].Rule != "cap" || faults[0].Pointer != "/assertions" || !strings.Contains(faults[0].Message, "at most 2") {
		t.Errorf("three under a cap of two: %+v", faults)
	}
	if _, faults := bundle.ParseSubmission([]byte(third), contextOf("conf-01")); faults != nil {
		t.Errorf("the scorer keeps the cap apart: %v", faults)
	}
	if _, faults := bundle.ParseSubmission([]byte(strings.Replace(third, "conf-01", "conf-02", 1)), ctx); faults != nil {
		t.Errorf("another task with a higher cap: %v", faults)
	}
	if _, faults := bundle.ParseSubmission([]byte(strings.Replace(third, "conf-01", "conf-77", 1)), ctx); len(faults) != 1 || faults[0].Pointer != "/task_id" {
		t.Errorf("a task that is none: %v", faults)
	}
}

func TestSection9FaultsAreBounded(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 20_000 {
		list = append(list, strconv.Itoa(i))
	}
	text := strings.Replace(sound, `"assertions":[`, `"assertions":[`+strings.Join(list, ",")+`,`, 1)
	_, faults := bundle.ParseSubmission([]byte(text), contextOf("conf-01"))
	if len(faults) != bundle.MaxFaults {
		t.Fatalf("%d faults, want %d", len(faults), bundle.MaxFaults)
	}
	if last := faults[len(faults)-1].Message; !strings.Contains(last, "further faults are not listed") {
		t.Errorf("the last fault must say that there are more: %s", last)
	}
}

func FuzzParseSubmission(f *testing.F) {
	f.Add([]byte(sound), true)
	f.Add([]byte(`{}`), false)
	f.Add([]byte(`{"assertions":[{"id":1,"claim":[],"proof_ids":{}}],"disclosures":{"~/":null}}`), true)
	f.Add([]byte(strings.Repeat("[", 200)), false)
	f.Fuzz(func(t *testing.T, data []byte, intake bool) {
		ctx := contextOf("conf-01")
		if intake {
			ctx.TaskID, ctx.RefuseOverCap = "", true
		}
		s, faults := bundle.ParseSubmission(data, ctx)
		if (s == nil) != (len(faults) > 0) {
			t.Fatalf("submission %v with %d faults", s, len(faults))
		}
		for _, fault := range faults {
			if strings.ContainsAny(fault.Message, "\n\r") || fault.Rule == "" || fault.Pointer != "" && fault.Pointer[0] != '/' {
				t.Fatalf("fault %+v", fault)
			}
		}
		if s == nil {
			return
		}
		cited := map[string]bool{}
		for _, a := range s.Assertions {
			for _, id := range a.ProofIDs {
				cited[id] = true
			}
		}
		if len(cited) != len(s.Disclosures) {
			t.Fatalf("%d proofs cited, %d disclosures", len(cited), len(s.Disclosures))
		}
	})
}
