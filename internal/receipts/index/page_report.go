package index

import (
	"encoding/json/jsontext"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

type reportContent struct {
	Season      seasonHead     `json:"season"`
	Track       string         `json:"track"`
	TrackTitle  string         `json:"track_title"`
	TrackPage   string         `json:"track_page"`
	Name        string         `json:"agent_name"`
	DID         string         `json:"agent_did"`
	Kind        string         `json:"kind"`
	KindIn      string         `json:"kind_in_words"`
	Ranked      bool           `json:"ranked"`
	Enrolled    string         `json:"enrolled_at"`
	EnrolledIn  string         `json:"-"`
	Overclaim   *rate          `json:"overclaim"`
	Success     rate           `json:"success"`
	Submitted   int64          `json:"tasks_submitted"`
	Pending     int64          `json:"tasks_pending"`
	Control     string         `json:"control_task_note,omitempty"`
	Causes      []causeCount   `json:"unsupported_by_cause"`
	Unsupported int64          `json:"unsupported"`
	Tasks       []taskView     `json:"tasks"`
	Incidents   []incidentView `json:"incidents"`
	Notices     []string       `json:"season_incidents"`
}

// causeCount is how many assertions are unsupported for one cause.
type causeCount struct {
	Cause string `json:"cause"`
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

type taskView struct {
	ID           string          `json:"task_id"`
	Question     string          `json:"question"`
	Minimum      int             `json:"minimum"`
	Cap          int             `json:"cap"`
	State        string          `json:"state"`
	StateIn      string          `json:"state_in_words"`
	Reason       *string         `json:"reason"`
	ReasonIn     string          `json:"reason_in_words,omitempty"`
	Verdict      *string         `json:"verdict"`
	Expected     string          `json:"expected_verdict"`
	ExpectedIn   string          `json:"expected_verdict_in_words,omitempty"`
	Families     []wordText      `json:"trap_families"`
	Control      bool            `json:"control"`
	VerdictExact *bool           `json:"verdict_exact"`
	Grounded     *bool           `json:"grounded"`
	Solved       bool            `json:"solved"`
	MissingFacts []claimView     `json:"missing_facts"`
	Assertions   []assertionView `json:"assertions"`
	Faults       []faultView     `json:"faults"`
	Narrative    *string         `json:"narrative"`
	File         string          `json:"submission,omitempty"`
}

// gloss says what a fixed verdict means; a product's reference has no gloss.
func gloss(c *catalogue, verdict string) string {
	if text := c.Word("verdict", verdict); text != verdict {
		return text
	}
	return ""
}

type claimView struct {
	Resource string         `json:"resource"`
	Field    string         `json:"field"`
	Value    jsontext.Value `json:"value"`
	Shown    string         `json:"-"`
}

func newClaimView(t bundle.Triplet) *claimView {
	return &claimView{Resource: t.Resource, Field: t.Field, Value: jsontext.Value(canonjson.Marshal(t.Value)), Shown: plainValue(t.Value)}
}

// assertionView is one assertion. Status is empty for an assertion that was not
// verified, because its task was decided by its form.
type assertionView struct {
	ID         string      `json:"id"`
	Claim      *claimView  `json:"claim"` // null when the submission cannot be read
	Status     string      `json:"status,omitempty"`
	StatusIn   string      `json:"status_in_words"`
	Cause      *string     `json:"cause"`
	CauseIn    string      `json:"cause_in_words,omitempty"`
	Detail     *string     `json:"detail"`
	DetailIn   string      `json:"detail_in_words,omitempty"`
	Proofs     []proofLink `json:"proofs"`
	Correction string      `json:"correction,omitempty"`
}

type proofLink struct {
	ID   string `json:"proof_id"`
	Page string `json:"page,omitempty"` // none when the bundle has no such proof
}

// faultView is a broken rule of bundle format §9.
type faultView struct {
	Rule    string `json:"rule"`
	Text    string `json:"text"`
	Pointer string `json:"pointer"`
}

type incidentView struct {
	Kind      string    `json:"kind"`
	Text      string    `json:"text"`
	Task      *string   `json:"task_id"`
	Assertion *string   `json:"assertion_id"`
	Detail    string    `json:"detail"`
	DetailIn  string    `json:"detail_in_words"`
	Proof     proofLink `json:"proof"`
}

func (x *Index) reportPage(s *site, l pages.Language, e *edition, track, did string) (*page, error) {
	c, n := x.catalogues[l], e.number()
	part, en := e.rows[track][did], e.enrolment(did)
	p := x.newPage(l, "report", reportPage(n, track, did), c.Must("report.page.title", shortDID(did), c.trackInside(track), n))
	x.startOf(p, s, n)
	content := reportContent{
		Season: x.seasonHead(s, l, n), Track: track, TrackTitle: c.trackTitle(track), TrackPage: p.link(trackPage(n, track, sortName)),
		Name: en.AgentName, DID: did, Kind: part.Kind, KindIn: c.Word("kind", part.Kind), Ranked: part.Ranked,
		Enrolled: en.EnrolledAt.UTC().Format(instantForm), EnrolledIn: c.Instant(en.EnrolledAt),
		Overclaim: (*rate)(part.Overclaim), Success: rate(part.Success), Submitted: part.TasksSubmitted, Pending: part.Pending(),
		Causes: []causeCount{}, Incidents: []incidentView{}, Notices: s.notices(l, n),
	}
	p.Crumbs = append(p.Crumbs, crumb{content.TrackTitle, content.TrackPage})
	count := map[string]int64{}
	for i := range part.Tasks {
		t := &part.Tasks[i]
		v, err := x.taskView(p, e, track, did, t)
		if err != nil {
			return nil, err
		}
		if v.Control {
			content.Control = controlNote(c, t)
		}
		for _, a := range t.Assertions {
			if a.Status == bundle.StatusUnsupported && a.Cause != nil && t.State == results.StateSubmitted {
				count[*a.Cause]++
				content.Unsupported++
			}
		}
		content.Tasks = append(content.Tasks, *v)
	}
	for _, cause := range causes() {
		content.Causes = append(content.Causes, causeCount{cause, c.Word("cause", cause), count[cause]})
	}
	for _, i := range part.Incidents {
		family := "flat"
		if i.Kind == results.IncidentInstrumentFault {
			family = "detail"
		}
		content.Incidents = append(content.Incidents, incidentView{
			Kind: i.Kind, Text: c.Word("incident", i.Kind), Task: i.TaskID, Assertion: i.AssertionID,
			Detail: i.Detail, DetailIn: c.Word(family, i.Detail), Proof: p.proofLink(e, i.ProofID),
		})
	}
	p.Content = content
	return p, nil
}

// controlNote is the neutral sentence about the control task (§5.5): it speaks of
// instrumentation, and says nothing when the task is solved or pending.
func controlNote(c *catalogue, t *results.Task) string {
	switch {
	case t.Solved() || t.State == results.StatePending:
		return ""
	case t.Absent():
		return c.Must("report.control.absent", t.TaskID)
	}
	return c.Must("report.control.failed", t.TaskID)
}

func (x *Index) taskView(p *page, e *edition, track, did string, t *results.Task) (*taskView, error) {
	c := p.catalogue
	_, task, _ := e.bundle.Season.Task(t.TaskID)
	key := e.bundle.Tracks[track].Key.Tasks[t.TaskID]
	v := &taskView{
		ID: t.TaskID, Question: task.Question[string(p.Lang)], Minimum: task.Minimum, Cap: task.Cap,
		State: t.State, StateIn: c.Word("state", t.State), Reason: t.Reason, ReasonIn: c.wordOf("reason", t.Reason),
		Verdict: t.Verdict, Expected: key.Verdict, ExpectedIn: gloss(c, key.Verdict), Control: key.Control, VerdictExact: t.VerdictExact, Grounded: t.Grounded, Solved: t.Solved(),
		Families: []wordText{}, MissingFacts: []claimView{}, Assertions: []assertionView{}, Faults: []faultView{},
	}
	for _, f := range key.Families {
		v.Families = append(v.Families, wordText{f, c.Word("family", f)})
	}
	for _, f := range t.MissingFacts {
		v.MissingFacts = append(v.MissingFacts, *newClaimView(f))
	}
	if t.Absent() {
		return v, nil
	}
	v.File = submissionFile(e.number(), did, t.TaskID)
	submission, faults, err := e.submission(did, t.TaskID)
	if err != nil {
		return nil, err
	}
	for _, f := range faults {
		v.Faults = append(v.Faults, faultView{f.Rule, c.Word("rule", f.Rule), f.Pointer})
	}
	claims := map[string]bundle.Assertion{}
	if submission != nil {
		v.Narrative = submission.Narrative
		for _, a := range submission.Assertions {
			claims[a.ID] = a
		}
	}
	for _, a := range t.Assertions {
		view := p.assertionView(e, a)
		if claim, ok := claims[a.ID]; ok {
			view.Claim = newClaimView(claim.Triplet)
		}
		view.Correction = e.correctionNote(c, did, track, t.TaskID, a.ID)
		v.Assertions = append(v.Assertions, view)
	}
	if len(t.Assertions) == 0 && submission != nil {
		// Decided by its form: the claims are shown, nothing of them was verified.
		for _, a := range submission.Assertions {
			view := p.assertionView(e, results.Assertion{ID: a.ID, ProofIDs: a.ProofIDs})
			view.StatusIn = c.Must("report.not_verified")
			view.Claim = newClaimView(a.Triplet)
			v.Assertions = append(v.Assertions, view)
		}
	}
	return v, nil
}

func (p *page) assertionView(e *edition, a results.Assertion) assertionView {
	c := p.catalogue
	v := assertionView{
		ID: a.ID, Status: a.Status, StatusIn: c.Word("status", a.Status), Cause: a.Cause, CauseIn: c.wordOf("cause", a.Cause),
		Detail: a.Detail, DetailIn: c.wordOf("detail", a.Detail), Proofs: []proofLink{},
	}
	for _, id := range a.ProofIDs {
		v.Proofs = append(v.Proofs, p.proofLink(e, id))
	}
	return v
}

func (p *page) proofLink(e *edition, id string) proofLink {
	v := proofLink{ID: id}
	if e.isProof[id] {
		v.Page = p.link(proofPage(e.number(), id))
	}
	return v
}

// correctionNote says that an upheld dispute, or a proof anchored later, gave an
// assertion its status (bundle format §13), and why.
func (e *edition) correctionNote(c *catalogue, did, track, taskID, assertionID string) string {
	if e.bundle.Corrections == nil {
		return ""
	}
	note := ""
	for _, k := range e.bundle.Corrections.Entries {
		if k.AgentDID == did && k.Track == track && k.TaskID == taskID && k.AssertionID == assertionID {
			note = c.Must("report.corrected", pages.PlainLine(k.Reason)) // The last entry counts.
		}
	}
	return note
}
