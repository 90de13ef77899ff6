package bundle

import (
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Corrections is corrections.json (§13): upheld disputes, applied last.
type Corrections struct {
	Version        int64
	PreviousSHA256 string
	Entries        []Correction // in the file's order
}

// Correction gives one assertion of a submitted task another status.
type Correction struct {
	AgentDID, Track, TaskID, AssertionID string
	Status                               string
	Cause                                *string
	Reason                               string
}

// The statuses and causes of an assertion (§10).
const (
	StatusSupported       = "supported"
	StatusUnsupported     = "unsupported"
	StatusInstrumentFault = "instrument_fault"
	StatusPending         = "pending"

	CauseInvalidProof     = "invalid_proof"
	CauseIdentityNotBound = "identity_not_bound"
	CauseResourceMismatch = "resource_mismatch"
	CauseValueMismatch    = "value_mismatch"
)

var (
	statuses = []string{StatusSupported, StatusUnsupported, StatusInstrumentFault, StatusPending}
	causes   = []string{CauseInvalidProof, CauseIdentityNotBound, CauseResourceMismatch, CauseValueMismatch}
)

// ParseCorrections reads corrections.json. That each entry names an enrolled
// DID and a task of the season is checked by [Open], that the assertion is one
// of a submitted task by whoever scores.
func ParseCorrections(data []byte) (*Corrections, error) {
	d, v := parseDocument(CorrectionsPath, data)
	if d.Failed() {
		return nil, d.result()
	}
	o := d.Object("", v)
	c := &Corrections{Version: d.IntegerOf("", o, "version"), PreviousSHA256: d.HashOf("", o, "previous_sha256")}
	if c.Version < 2 {
		d.Fail("/version", "must be at least 2: the first publication has no corrections")
	}
	listAt, list := d.ArrayOf("", o, "corrections")
	for i, v := range list {
		c.Entries = append(c.Entries, readCorrection(d, strict.Index(listAt, i), v))
		if d.Failed() {
			break
		}
	}
	if d.Failed() {
		return nil, d.result()
	}
	return c, nil
}

func readCorrection(d document, at string, v any) Correction {
	o := d.Object(at, v)
	c := Correction{
		AgentDID: d.TextOf(at, o, "agent_did"), Track: d.TextOf(at, o, "track"), TaskID: d.TextOf(at, o, "task_id"),
		AssertionID: d.TextOf(at, o, "assertion_id"), Status: d.TextOf(at, o, "status"), Reason: d.TextOf(at, o, "reason"),
	}
	d.TextOrNull(at, o, "dispute_id")
	d.instantOf(at, o, "decided_at")
	if !slices.Contains(statuses, c.Status) {
		d.Fail(at+"/status", "must be one of %v, is %s", statuses, strict.Quote(c.Status))
	}
	cause, hasCause := d.TextOrNull(at, o, "cause")
	if hasCause {
		c.Cause = &cause
	}
	switch {
	case c.Status != StatusUnsupported && hasCause:
		d.Fail(at+"/cause", "must be null: only an unsupported assertion has a cause")
	case c.Status == StatusUnsupported && !slices.Contains(causes, cause):
		d.Fail(at+"/cause", "must be one of %v for an unsupported assertion", causes)
	}
	return c
}

// checkNames refuses an entry that names no enrolled DID or no task of the
// season (§13).
func (c *Corrections) checkNames(s *Season, enrolled func(did string) bool) error {
	d := document{Document: &strict.Document{}, path: CorrectionsPath}
	for i, e := range c.Entries {
		at := strict.Index("/corrections", i)
		t, _, ok := s.Task(e.TaskID)
		switch {
		case !enrolled(e.AgentDID):
			d.Fail(at+"/agent_did", "%s is not enrolled", strict.Quote(e.AgentDID))
		case !ok || t.Name != e.Track:
			d.Fail(at+"/task_id", "%s is no task of track %s", strict.Quote(e.TaskID), strict.Quote(e.Track))
		}
	}
	return d.result()
}

// Object is the entry as results.json repeats it (§13).
func (c Correction) Object() *canonjson.Object {
	var cause any
	if c.Cause != nil {
		cause = *c.Cause
	}
	return canonjson.NewObject("agent_did", c.AgentDID, "track", c.Track, "task_id", c.TaskID,
		"assertion_id", c.AssertionID, "status", c.Status, "cause", cause)
}
