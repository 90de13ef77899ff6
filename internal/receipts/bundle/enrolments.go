package bundle

import (
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/did"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Enrolment is one entry of enrolments.json (§8).
type Enrolment struct {
	AgentDID      string
	AgentName     string
	DeclaredStack *string
	EnrolledAt    time.Time
	Kind          string // KindReference or KindCommunity
	LinkedDIDs    []string
	// Ranked is false for the later enrolments of one participant (D8).
	Ranked bool
	// Run is what a reference run publishes of itself; nil without the member or
	// when it is malformed. No score depends on it, so that does not make the
	// bundle unreadable: RunFault is the place and the fault, for who shows runs.
	Run      *Run
	RunFault string
}

// Run is the member run of a reference enrolment (§8, specification §7.1).
type Run struct{ Model, Version, Framework, Prompt string }

// The kinds of enrolments; each has its own table (specification §7.1).
const (
	KindReference = "reference"
	KindCommunity = "community"
)

// ParseEnrolments reads enrolments.json: sorted by DID, with Ranked decided.
func ParseEnrolments(data []byte) ([]Enrolment, error) {
	d, v := parseDocument(EnrolmentsPath, data)
	if d.Failed() {
		return nil, d.result()
	}
	list := d.Array("", v)
	enrolments := make([]Enrolment, 0, len(list))
	seen := make(map[string]bool, len(list))
	for i, v := range list {
		at := strict.Index("", i)
		o := d.Object(at, v)
		e := Enrolment{
			AgentDID:  d.TextOf(at, o, "agent_did"),
			AgentName: d.TextOf(at, o, "agent_name"),
			Kind:      d.TextOf(at, o, "kind"),
		}
		if !did.IsDID(e.AgentDID) || !ValidDIDFolder(e.AgentDID) {
			d.Fail(at+"/agent_did", "must be a DID without a slash, is %s", strict.Quote(e.AgentDID))
		}
		if seen[e.AgentDID] {
			d.Fail(at+"/agent_did", "%s is enrolled twice", strict.Quote(e.AgentDID))
		}
		seen[e.AgentDID] = true
		if stack, ok := d.TextOrNull(at, o, "declared_stack"); ok {
			e.DeclaredStack = &stack
		}
		enrolledAt := d.TextOf(at, o, "enrolled_at")
		var ok bool
		if e.EnrolledAt, ok = parseFineInstant(enrolledAt); !ok {
			d.Fail(at+"/enrolled_at", "must be an instant YYYY-MM-DDTHH:MM:SS[.ffffff]Z, is %s", strict.Quote(enrolledAt))
		}
		if e.Kind != KindReference && e.Kind != KindCommunity {
			d.Fail(at+"/kind", `must be "reference" or "community", is %s`, strict.Quote(e.Kind))
		}
		linkedAt, linked := d.ArrayOf(at, o, "linked_dids")
		for j, l := range linked {
			e.LinkedDIDs = append(e.LinkedDIDs, d.Text(strict.Index(linkedAt, j), l))
		}
		if d.Failed() {
			return nil, d.result()
		}
		if run, ok := o.Get("run"); ok {
			e.Run, e.RunFault = readRun(at+"/run", run)
		}
		enrolments = append(enrolments, e)
	}
	if d.Failed() {
		return nil, d.result()
	}
	rank(enrolments)
	slices.SortFunc(enrolments, func(a, b Enrolment) int { return strings.Compare(a.AgentDID, b.AgentDID) })
	return enrolments, nil
}

// readRun reads a run on its own: its fault is not the file's.
func readRun(at string, v any) (*Run, string) {
	d := &strict.Document{}
	o := d.Object(at, v)
	r := &Run{
		Model: d.TextOf(at, o, "model"), Version: d.TextOf(at, o, "version"),
		Framework: d.TextOf(at, o, "framework"), Prompt: d.TextOf(at, o, "prompt"),
	}
	if d.Failed() {
		return nil, d.Fault()
	}
	return r, ""
}

// rank marks the first enrolment of each participant (D8). DIDs joined by any
// chain of links, in either direction and through DIDs that are not enrolled,
// are one participant.
func rank(enrolments []Enrolment) {
	parent := map[string]string{}
	find := func(x string) string {
		root := x
		for {
			p, ok := parent[root]
			if !ok || p == root {
				break
			}
			root = p
		}
		for x != root { // flatten, so that long chains stay cheap
			next := parent[x]
			parent[x] = root
			x = next
		}
		return root
	}
	for _, e := range enrolments {
		for _, l := range e.LinkedDIDs {
			if a, b := find(e.AgentDID), find(l); a != b {
				parent[a] = b
			}
		}
	}
	first := map[string]int{}
	for i, e := range enrolments {
		root := find(e.AgentDID)
		if j, ok := first[root]; !ok || earlier(e, enrolments[j]) {
			first[root] = i
		}
	}
	for i, e := range enrolments {
		enrolments[i].Ranked = first[find(e.AgentDID)] == i
	}
}

func earlier(a, b Enrolment) bool {
	if c := a.EnrolledAt.Compare(b.EnrolledAt); c != 0 {
		return c < 0
	}
	return a.AgentDID < b.AgentDID
}
