package bundle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// submissionParser applies the rules one after another and goes on after a fault,
// so that a participant hears of all of them at once.
type submissionParser struct {
	ctx    SubmissionContext
	faults []Fault
}

func (p *submissionParser) fault(rule, pointer, message string) {
	switch {
	case len(p.faults) < MaxFaults-1:
		p.faults = append(p.faults, Fault{Rule: rule, Pointer: pointer, Message: message})
	case len(p.faults) == MaxFaults-1:
		p.faults = append(p.faults, Fault{Rule: rule, Pointer: pointer, Message: message + " (further faults are not listed: mend these first)"})
	}
}

func (p *submissionParser) full() bool { return len(p.faults) >= MaxFaults }

// exactly checks that o has the members required, and no other but optional ones.
func (p *submissionParser) exactly(rule, at string, o *canonjson.Object, required []string, optional ...string) {
	for _, name := range required {
		if !o.Has(name) {
			p.fault(rule, at+"/"+name, "is missing: add the member "+strconv.Quote(name))
		}
	}
	for name := range o.All() {
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			p.fault(rule, at+"/"+strict.Token(name), "is not a member here: remove it; allowed are "+strings.Join(append(slices.Clone(required), optional...), ", "))
		}
	}
}

// textMember is a string member; a wrong type is a fault, absence has been one.
func (p *submissionParser) textMember(rule, at string, o *canonjson.Object, name string) (string, bool) {
	v, ok := o.Get(name)
	if !ok {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		p.fault(rule, at+"/"+name, "must be a string, is "+canonjson.Kind(v))
	}
	return s, ok
}

func (p *submissionParser) submission(o *canonjson.Object) *Submission {
	p.exactly("a", "", o, []string{"season", "track", "task_id", "agent_did", "verdict", "assertions", "disclosures"}, "narrative")
	s := &Submission{}
	p.season(o, s)
	tc, taskKnown := p.task(o, s)
	p.agentAndNarrative(o, s)
	p.verdict(o, s, tc)
	cited := p.assertions(o, s, tc, taskKnown)
	p.disclosures(o, s, cited)
	return s
}

// season is the first part of rule b.
func (p *submissionParser) season(o *canonjson.Object, s *Submission) {
	v, ok := o.Get("season")
	if !ok {
		return
	}
	want := strconv.FormatInt(p.ctx.Season, 10)
	i, ok := v.(canonjson.Int)
	if !ok {
		p.fault("b", "/season", "must be the integer "+want+", is "+canonjson.Kind(v))
		return
	}
	n, ok := i.Int64()
	if !ok || n != p.ctx.Season {
		p.fault("b", "/season", "must be "+want+", the season that takes submissions")
		return
	}
	s.Season = n
}

// task is the second part of rule b: track and task_id belong together.
func (p *submissionParser) task(o *canonjson.Object, s *Submission) (TrackContext, bool) {
	var hasTrack, hasTask bool
	s.Track, hasTrack = p.textMember("b", "", o, "track")
	s.TaskID, hasTask = p.textMember("b", "", o, "task_id")
	tc, trackKnown := p.ctx.Tracks[s.Track]
	if hasTrack && !trackKnown {
		p.fault("b", "/track", strict.Quote(s.Track)+" is no track of this season: use the track under which the task was handed out")
	}
	if !hasTask {
		return tc, false
	}
	if p.ctx.TaskID != "" && s.TaskID != p.ctx.TaskID {
		p.fault("b", "/task_id", "must be "+strict.Quote(p.ctx.TaskID)+", the task this file is for")
		return tc, false
	}
	if !trackKnown {
		return tc, false
	}
	if _, ok := tc.Caps[s.TaskID]; !ok {
		p.fault("b", "/task_id", strict.Quote(s.TaskID)+" is no task of track "+strict.Quote(s.Track)+": use an id from the list of tasks")
		return tc, false
	}
	return tc, true
}

// agentAndNarrative is the rest of rule b.
func (p *submissionParser) agentAndNarrative(o *canonjson.Object, s *Submission) {
	var ok bool
	if s.AgentDID, ok = p.textMember("b", "", o, "agent_did"); ok && s.AgentDID != p.ctx.AgentDID {
		p.fault("b", "/agent_did", "must be "+strict.Quote(p.ctx.AgentDID)+", the enrolled DID")
	}
	if narrative, ok := p.textMember("b", "", o, "narrative"); ok {
		s.Narrative = &narrative
	}
}

// verdict is rule c; without a known track there is no set to compare with, and
// the track's own fault stands already.
func (p *submissionParser) verdict(o *canonjson.Object, s *Submission, tc TrackContext) {
	var ok bool
	if s.Verdict, ok = p.textMember("c", "", o, "verdict"); !ok || tc.VerdictAllowed == nil {
		return
	}
	if !tc.VerdictAllowed(s.Verdict) {
		p.fault("c", "/verdict", strict.Quote(s.Verdict)+" is not in the track's set: use one of "+tc.Verdicts)
	}
}

// assertions is rules d, e, f and g; it returns the proof ids cited in good form.
func (p *submissionParser) assertions(o *canonjson.Object, s *Submission, tc TrackContext, taskKnown bool) map[string]bool {
	cited := map[string]bool{}
	v, ok := o.Get("assertions")
	if !ok {
		return cited
	}
	list, ok := v.([]any)
	if !ok {
		p.fault("d", "/assertions", "must be an array (it may be empty), is "+canonjson.Kind(v))
		return cited
	}
	if limit := tc.Caps[s.TaskID]; p.ctx.RefuseOverCap && taskKnown && len(list) > limit {
		p.fault("cap", "/assertions", "holds "+strconv.Itoa(len(list))+" assertions: the task takes at most "+strconv.Itoa(limit))
	}
	ids := map[string]int{}
	triplets := map[string]int{}
	s.Assertions = make([]Assertion, 0, min(len(list), 64))
	for i, v := range list {
		if p.full() {
			break
		}
		at := strict.Index("/assertions", i)
		a, ok := v.(*canonjson.Object)
		if !ok {
			p.fault("d", at, "must be an object with id, claim and proof_ids, is "+canonjson.Kind(v))
			continue
		}
		p.exactly("d", at, a, []string{"id", "claim", "proof_ids"})
		out := Assertion{ID: p.assertionID(at, a, i, ids)}
		if p.claim(at, a, &out) {
			p.uniqueTriplet(at, out.Triplet, i, triplets)
		}
		out.ProofIDs = p.proofIDs(at, a, cited)
		s.Assertions = append(s.Assertions, out)
	}
	return cited
}

func (p *submissionParser) assertionID(at string, a *canonjson.Object, i int, ids map[string]int) string {
	id, ok := p.textMember("d", at, a, "id")
	if !ok {
		return ""
	}
	if n := utf8.RuneCountInString(id); n < 1 || n > 64 {
		p.fault("d", at+"/id", "must have 1 to 64 characters, has "+strconv.Itoa(n))
	}
	if first, taken := ids[id]; taken {
		p.fault("d", at+"/id", strict.Quote(id)+" is already the id of /assertions/"+strconv.Itoa(first)+": give each assertion its own")
		return id
	}
	ids[id] = i
	return id
}

// claim is rule e; the result says whether the triplet could be read.
func (p *submissionParser) claim(at string, a *canonjson.Object, out *Assertion) bool {
	v, ok := a.Get("claim")
	if !ok {
		return false
	}
	at += "/claim"
	c, ok := v.(*canonjson.Object)
	if !ok {
		p.fault("e", at, "must be an object with resource, field and value, is "+canonjson.Kind(v))
		return false
	}
	p.exactly("e", at, c, []string{"resource", "field", "value"})
	resource, okResource := p.textMember("e", at, c, "resource")
	if okResource && !strings.HasPrefix(resource, "/") {
		p.fault("e", at+"/resource", "must be the path of the canonical URL and start with /, is "+strict.Quote(resource))
	}
	field, okField := p.textMember("e", at, c, "field")
	if okField && !canonjson.ValidPointer(field) {
		p.fault("e", at+"/field", "must be a JSON Pointer: empty, or starting with /, every ~ followed by 0 or 1; is "+strict.Quote(field))
	}
	value, okValue := c.Get("value")
	out.Triplet = Triplet{Resource: resource, Field: field, Value: value}
	return okResource && okField && okValue
}

// uniqueTriplet is rule g. The canonical text of the three together separates
// them without doubt.
func (p *submissionParser) uniqueTriplet(at string, t Triplet, i int, seen map[string]int) {
	key := TripletKey(t)
	if first, taken := seen[key]; taken {
		p.fault("g", at+"/claim", "repeats the resource, field and value of /assertions/"+strconv.Itoa(first)+": remove one of the two")
		return
	}
	seen[key] = i
}

// TripletKey is equal for two triplets exactly when resource, field and C(value)
// are (§9 rule g, §11 "grounded").
func TripletKey(t Triplet) string {
	return string(canonjson.Marshal([]any{t.Resource, t.Field, t.Value}))
}

// proofIDs is rule f.
func (p *submissionParser) proofIDs(at string, a *canonjson.Object, cited map[string]bool) []string {
	v, ok := a.Get("proof_ids")
	if !ok {
		return nil
	}
	at += "/proof_ids"
	list, ok := v.([]any)
	if !ok {
		p.fault("f", at, "must be an array of proof ids, is "+canonjson.Kind(v))
		return nil
	}
	if len(list) == 0 {
		p.fault("f", at, "must cite at least one proof")
	}
	ids := make([]string, 0, len(list))
	seen := make(map[string]bool, len(list))
	for i, v := range list {
		at := strict.Index(at, i)
		id, ok := v.(string)
		switch {
		case !ok:
			p.fault("f", at, "must be a proof id (a string), is "+canonjson.Kind(v))
		case !ValidProofID(id):
			p.fault("f", at, "must have the form prf_YYYYMMDD_HHMMSS_xxxxxx, is "+strict.Quote(id))
		case seen[id]:
			p.fault("f", at, strict.Quote(id)+" is cited twice in this assertion: remove one")
		default:
			seen[id], cited[id] = true, true
			ids = append(ids, id)
		}
		if p.full() {
			break
		}
	}
	return ids
}

// disclosures is rule h.
func (p *submissionParser) disclosures(o *canonjson.Object, s *Submission, cited map[string]bool) {
	v, ok := o.Get("disclosures")
	if !ok {
		return
	}
	d, ok := v.(*canonjson.Object)
	if !ok {
		p.fault("h", "/disclosures", "must be an object with one member for each cited proof, is "+canonjson.Kind(v))
		return
	}
	s.Disclosures = make(map[string]Disclosure, d.Len())
	for id, v := range d.All() {
		at := "/disclosures/" + strict.Token(id)
		if !cited[id] {
			p.fault("h", at, "is cited by no assertion: remove it")
		}
		entry, ok := v.(*canonjson.Object)
		if !ok {
			p.fault("h", at, "must be an object with request_hash and response_hash, is "+canonjson.Kind(v))
			continue
		}
		p.exactly("h", at, entry, []string{"request_hash", "response_hash"})
		s.Disclosures[id] = Disclosure{Request: p.pair(at, entry, "request_hash"), Response: p.pair(at, entry, "response_hash")}
		if p.full() {
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if !d.Has(id) {
			p.fault("h", "/disclosures/"+id, "is missing: add the pairs of request_hash and response_hash read from GET /v1/proof/"+id+"/full")
		}
	}
}

func (p *submissionParser) pair(at string, entry *canonjson.Object, name string) Pair {
	v, ok := entry.Get(name)
	if !ok {
		return Pair{}
	}
	at += "/" + name
	o, ok := v.(*canonjson.Object)
	if !ok {
		p.fault("h", at, "must be an object with nonce and value, is "+canonjson.Kind(v))
		return Pair{}
	}
	p.exactly("h", at, o, []string{"nonce", "value"})
	nonce, _ := p.textMember("h", at, o, "nonce")
	value, _ := p.textMember("h", at, o, "value")
	return Pair{Nonce: nonce, Value: value}
}
