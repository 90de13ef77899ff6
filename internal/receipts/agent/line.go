package agent

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// lineFaults is what is wrong with a line that is meant as a submission.
type lineFaults []Fault

func (f lineFaults) Error() string {
	parts := make([]string, len(f))
	for i, one := range f {
		parts[i] = one.Message
		if one.Pointer != "" {
			parts[i] = one.Pointer + ": " + one.Message
		}
	}
	return strings.Join(parts, "\n  ")
}

// ParseLine reads one line that an agent printed. meant is false for a line of its
// log: one that is no JSON object, or an object without task_id. A line that is
// meant as a submission is
//
//	{"track","task_id","verdict","assertions":[…],"narrative"?}
//
// with assertions {"id"?,"claim":{"resource","field","value"},"proof_ids"}, or the
// three members of the claim written in the assertion itself. The error holds
// every fault, each with its place. Whether verdict and number of assertions are
// admissible is the season's to say.
func ParseLine(line []byte) (s Submission, meant bool, err error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return Submission{}, false, nil
	}
	v, err := canonjson.ParseStrict(line)
	if err != nil {
		// A broken submission is worth a word; other broken braces are log.
		if !bytes.Contains(line, []byte(`"task_id"`)) {
			return Submission{}, false, nil
		}
		return Submission{}, true, lineFaults{{"", "the line is not strict JSON: " + oneLine(err.Error())}}
	}
	o, ok := v.(*canonjson.Object)
	if !ok || !o.Has("task_id") {
		return Submission{}, false, nil
	}
	var p lineParser
	s = p.submission(o)
	if len(p.faults) > 0 {
		return s, true, p.faults
	}
	return s, true, nil
}

type lineParser struct{ faults lineFaults }

func (p *lineParser) fault(pointer, message string) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, Fault{pointer, message})
	}
}

// only refuses members that are not known, with the reason if there is one.
func (p *lineParser) only(at string, o *canonjson.Object, known ...string) {
	for _, name := range o.Names() {
		if slices.Contains(known, name) {
			continue
		}
		why := "is not a member here: use " + strings.Join(known, ", ")
		if name == "disclosures" || name == "season" || name == "agent_did" {
			why = "leave it out: prova adds it"
		}
		p.fault(at+"/"+oneLine(canonjson.EscapeToken(name)), why)
	}
}

func (p *lineParser) text(at string, o *canonjson.Object, name string, required bool) string {
	v, ok := o.Get(name)
	if !ok {
		if required {
			p.fault(at+"/"+name, "is missing")
		}
		return ""
	}
	s, ok := v.(string)
	if !ok {
		p.fault(at+"/"+name, "must be a string")
	}
	return s
}

func (p *lineParser) submission(o *canonjson.Object) Submission {
	p.only("", o, "track", "task_id", "verdict", "assertions", "narrative")
	s := Submission{
		Track: p.text("", o, "track", true), TaskID: p.text("", o, "task_id", true),
		Verdict: p.text("", o, "verdict", true), Narrative: p.text("", o, "narrative", false),
	}
	v, ok := o.Get("assertions")
	list, isArray := v.([]any)
	switch {
	case !ok:
		p.fault("/assertions", "is missing: an array of assertions")
	case !isArray:
		p.fault("/assertions", "must be an array")
	}
	for i, v := range list {
		at := "/assertions/" + strconv.Itoa(i)
		a, ok := v.(*canonjson.Object)
		if !ok {
			p.fault(at, "must be an object")
			continue
		}
		s.Assertions = append(s.Assertions, p.assertion(at, a))
	}
	return s
}

func (p *lineParser) assertion(at string, o *canonjson.Object) Assertion {
	a := Assertion{ID: p.text(at, o, "id", false)}
	if o.Has("id") && a.ID == "" {
		p.fault(at+"/id", "must not be empty; leave it out to have the assertion numbered")
	}
	claim, claimAt := o, at
	if v, nested := o.Get("claim"); nested {
		p.only(at, o, "id", "claim", "proof_ids")
		claimAt = at + "/claim"
		if claim, nested = v.(*canonjson.Object); !nested {
			p.fault(claimAt, "must be an object with resource, field and value")
			claim = nil
		} else {
			p.only(claimAt, claim, "resource", "field", "value")
		}
	} else {
		p.only(at, o, "id", "resource", "field", "value", "proof_ids")
	}
	if claim != nil {
		a.Resource, a.Field = p.text(claimAt, claim, "resource", true), p.text(claimAt, claim, "field", true)
		var ok bool
		if a.Value, ok = claim.Get("value"); !ok {
			p.fault(claimAt+"/value", "is missing (null is a value, an absent member is not)")
		}
	}
	a.ProofIDs = p.proofIDs(at+"/proof_ids", o)
	return a
}

func (p *lineParser) proofIDs(at string, o *canonjson.Object) []string {
	v, ok := o.Get("proof_ids")
	list, isArray := v.([]any)
	if !ok || !isArray || len(list) == 0 {
		p.fault(at, "must be an array of at least one proof id, as the proxy returned it (proof.proof_id)")
		return nil
	}
	var ids []string
	for i, v := range list {
		id, _ := v.(string)
		switch {
		case !ValidProofID(id):
			p.fault(at+"/"+strconv.Itoa(i), "must be a proof id in the form prf_YYYYMMDD_HHMMSS_xxxxxx")
		case slices.Contains(ids, id):
			p.fault(at+"/"+strconv.Itoa(i), "cites "+id+" a second time: name a proof once")
		default:
			ids = append(ids, id)
		}
	}
	return ids
}
