package index

import (
	"io/fs"
	"slices"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

type proofContent struct {
	Season    seasonHead    `json:"season"`
	ProofID   string        `json:"proof_id"`
	FreezeOf  string        `json:"freeze_of,omitempty"`
	FreezeIn  string        `json:"-"`
	Readable  bool          `json:"readable"`
	Fault     string        `json:"fault,omitempty"` // why it cannot be read, technical
	Spec      string        `json:"spec_version"`
	Verdict   string        `json:"verdict"`
	VerdictIn string        `json:"verdict_in_words"`
	Local     bool          `json:"local_witnesses_only"`
	Refused   *wordText     `json:"season_refuses"` // the detail of bundle format §10, null when admitted
	TokenTime string        `json:"token_time,omitempty"`
	TokenIn   string        `json:"-"`
	InWindow  *bool         `json:"token_inside_window"`
	Identity  *string       `json:"agent_identity"`
	Bound     bool          `json:"identity_bound"`
	Calls     []callView    `json:"call"`
	Witnesses []witnessView `json:"witnesses"`
	Incidents []wordText    `json:"incidents"`
	CitedBy   []citedView   `json:"cited_by"`
	Commands  []command     `json:"verify"`
	File      string        `json:"file,omitempty"`
	LogEntry  string        `json:"log_entry,omitempty"`
	Trust     string        `json:"trust"`
}

// callView is what a pair of opened hashes shows, by the frozen corpus.
type callView struct {
	Track    string   `json:"track"`
	Request  string   `json:"request_sha256"`
	Resource string   `json:"resource,omitempty"` // "" when the request is of no frozen resource
	URL      string   `json:"url,omitempty"`
	Response string   `json:"response_sha256"`
	Bodies   []string `json:"body_of"` // frozen resources with exactly this body
	Same     bool     `json:"body_is_the_resource"`
}

type witnessView struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	What        string `json:"what"`
	Status      string `json:"status"`
	StatusIn    string `json:"status_in_words"`
	Independent *bool  `json:"independent"` // null for what is no outside witness
	Time        string `json:"time,omitempty"`
	TimeIn      string `json:"-"`
	Detail      string `json:"detail,omitempty"` // technical, in English
	DetailIn    string `json:"detail_in_words,omitempty"`
}

type citedView struct {
	Name      string  `json:"agent_name"`
	DID       string  `json:"agent_did"`
	Report    string  `json:"report"`
	Track     string  `json:"track"`
	Task      string  `json:"task_id"`
	Assertion string  `json:"assertion_id"`
	Status    string  `json:"status"`
	StatusIn  string  `json:"status_in_words"`
	Cause     *string `json:"cause"`
	CauseIn   string  `json:"cause_in_words,omitempty"`
}

func (x *Index) proofPage(s *site, l pages.Language, e *edition, id string) (*page, error) {
	c, n := x.catalogues[l], e.number()
	p := x.newPage(l, "proof", proofPage(n, id), c.Must("proof.page.title", id))
	x.startOf(p, s, n)
	content := &proofContent{
		Season: x.seasonHead(s, l, n), ProofID: id, Commands: []command{},
		Calls: []callView{}, Witnesses: []witnessView{}, Incidents: []wordText{}, CitedBy: []citedView{},
		Trust: bundleFile(n, bundle.TrustPath), FreezeOf: e.freezes[id],
	}
	if content.FreezeOf != "" {
		content.FreezeIn = c.trackInside(content.FreezeOf)
	}
	for _, cite := range e.cited[id] {
		content.CitedBy = append(content.CitedBy, citedView{
			Name: e.enrolment(cite.did).AgentName, DID: cite.did, Report: p.link(reportPage(n, cite.track, cite.did)),
			Track: cite.track, Task: cite.taskID, Assertion: cite.assertion.ID,
			Status: cite.assertion.Status, StatusIn: c.Word("status", cite.assertion.Status),
			Cause: cite.assertion.Cause, CauseIn: c.wordOf("cause", cite.assertion.Cause),
		})
	}
	data, ok, err := e.view(id)
	if err != nil {
		return nil, err
	}
	if ok {
		content.File = bundleFile(n, bundle.ProofPath(id))
		if err := x.fillProof(c, e, content, data); err != nil {
			return nil, err
		}
	}
	p.Content = *content
	return p, nil
}

// fillProof verifies a proof with the bundle's trust, by the rules of its season.
func (x *Index) fillProof(c *catalogue, e *edition, v *proofContent, data []byte) error {
	p, fault := readProof(data, v.ProofID)
	if fault != "" {
		v.Fault = fault
		v.Verdict, v.VerdictIn = string(receipt.VerdictInvalid), c.Word("proof_verdict", string(receipt.VerdictInvalid))
		v.Refused = &wordText{receipt.DetailProofMalformed, c.Word("detail", receipt.DetailProofMalformed)}
		v.Commands = proofCommands(c, receipt.RequireAny, false, x.plainly(e, data))
		return nil
	}
	v.Readable, v.Spec = true, pages.PlainLine(p.SpecVersion().String())
	require := e.requirement()
	report := e.checker.Verify(p, receipt.VerifyOptions{Require: require, Entry: e.entry})
	verdict := report.Verdict
	if receipt.Pending(p) {
		verdict = receipt.VerdictPending // Step 0 comes before every check (bundle format §10).
	}
	v.Verdict, v.VerdictIn = string(verdict), c.Word("proof_verdict", string(verdict))
	v.Local = verdict == receipt.VerdictValid
	for _, w := range report.Witnesses {
		v.Witnesses = append(v.Witnesses, newWitnessView(c, w))
		if w.Independent {
			v.Local = false
		}
	}
	for _, i := range report.Incidents {
		v.Incidents = append(v.Incidents, wordText{pages.PlainLine(i.Detail), c.Word("flat", pages.PlainLine(i.Detail))})
	}
	if uuid, ok := p.LogUUID(); ok {
		if _, found, err := e.bundle.LogEntry(uuid); err == nil && found {
			v.LogEntry = bundleFile(e.number(), bundle.LogEntryPath(uuid))
		}
	}
	if require == receipt.RequireLocal && slices.ContainsFunc(report.Witnesses, func(w receipt.Witness) bool { return w.Independent }) {
		require = receipt.RequireAny
	}
	v.Commands = proofCommands(c, require, v.LogEntry != "", x.plainly(e, data))
	if verdict == receipt.VerdictPending {
		return nil
	}
	return e.fillEvidence(c, v, p)
}

// readProof parses a view. That it cannot be read is a finding of the page, in one
// line, not a failure.
func readProof(data []byte, id string) (p *receipt.Proof, fault string) {
	p, err := receipt.Parse(data)
	switch {
	case err != nil:
		return nil, pages.PlainLine(err.Error())
	case p.ID() != id:
		return nil, "proof_id is not the name of the file"
	}
	return p, ""
}

// fillEvidence adds what the scorer reads: whether the season admits the proof,
// the anchored identity, and the calls that the disclosures open.
func (e *edition) fillEvidence(c *catalogue, v *proofContent, p *receipt.Proof) error {
	entry := func(uuid string) ([]byte, bool) {
		data, ok, err := e.bundle.LogEntry(uuid)
		return data, ok && err == nil
	}
	evidence, refusal := e.checker.Admit(p, entry, e.bundle.Season.Witnesses.Receipt())
	if refusal != nil {
		v.Refused = &wordText{refusal.Detail, c.Word("detail", refusal.Detail)}
		return nil //nolint:nilerr // A refusal is what the page shows, not a fault of it.
	}
	v.TokenTime, v.TokenIn = evidence.TokenTime.UTC().Format(instantForm), c.Instant(evidence.TokenTime)
	if v.FreezeOf == "" {
		inside := !evidence.TokenTime.Before(e.bundle.Season.Opens) && !evidence.TokenTime.After(e.bundle.Season.Closes)
		v.InWindow = &inside
	}
	if identity, refusal := e.checker.Identity(p, evidence); refusal == nil {
		v.Identity, v.Bound = &identity.DID, true
	} else if did, ok := receipt.Opened(p, evidence)["agent_identity"].(string); ok {
		v.Identity = &did
	}
	seen := map[[2]string]bool{}
	for _, cite := range e.cited[v.ProofID] {
		submission, _, err := e.submission(cite.did, cite.taskID)
		if err != nil {
			return err
		}
		if submission == nil {
			continue
		}
		d, ok := submission.Disclosures[v.ProofID]
		pair := [2]string{d.Request.Value, d.Response.Value}
		if !ok || seen[pair] || !d.Opens(evidence.Commitments) {
			continue
		}
		seen[pair] = true
		v.Calls = append(v.Calls, e.call(cite.track, d))
	}
	return nil
}

// call names the frozen resource of an opened pair.
func (e *edition) call(track string, d bundle.Disclosure) callView {
	h := e.hashes[track]
	v := callView{Track: track, Request: d.Request.Value, Response: d.Response.Value, Bodies: []string{}}
	v.Resource = h.request[d.Request.Value]
	if v.Resource != "" {
		v.URL = e.bundle.Tracks[track].CorpusHost + v.Resource
	}
	v.Bodies = append(v.Bodies, h.response[d.Response.Value]...)
	v.Same = v.Resource != "" && slices.Contains(v.Bodies, v.Resource)
	return v
}

// Telling reports whether the technical detail says more than the status does.
func (w witnessView) Telling() bool {
	switch w.Name {
	case receipt.WitnessIdentity, receipt.WitnessChain, receipt.WitnessDisclosure:
		return w.Detail != "" && w.Status != string(receipt.OK)
	}
	return w.Detail != ""
}

func newWitnessView(c *catalogue, w receipt.Witness) witnessView {
	v := witnessView{
		Name: w.Name, Title: c.Word("witness", w.Name), What: c.Word("witness_what", w.Name),
		Status: string(w.Status), StatusIn: c.Word("witness_status", string(w.Status)), Detail: pages.PlainLine(w.Detail),
	}
	v.DetailIn = c.note(w.Note)
	if (w.Name == receipt.WitnessTimestamp || w.Name == receipt.WitnessLog) && w.Status == receipt.OK {
		v.Independent = &w.Independent
	}
	if !w.Time.IsZero() {
		v.Time, v.TimeIn = w.Time.UTC().Format(instantForm), c.Instant(w.Time)
	}
	return v
}

// entry reads a log entry for Verify. One that the bundle lacks leaves the witness
// unchecked: the bundle is no log that could deny it.
func (e *edition) entry(uuid string) ([]byte, error) {
	data, ok, err := e.bundle.LogEntry(uuid)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}
