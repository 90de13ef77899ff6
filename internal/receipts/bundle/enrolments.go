package bundle

import (
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/did"
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
}

// The kinds of enrolments; each has its own table (specification §7.1).
const (
	KindReference = "reference"
	KindCommunity = "community"
)

// ParseEnrolments reads enrolments.json: sorted by DID, with Ranked decided.
func ParseEnrolments(data []byte) ([]Enrolment, error) {
	d, v := parseDocument(EnrolmentsPath, data)
	if d.err != nil {
		return nil, d.err
	}
	list := d.array("", v)
	enrolments := make([]Enrolment, 0, len(list))
	seen := make(map[string]bool, len(list))
	for i, v := range list {
		at := pointerIndex("", i)
		o := d.object(at, v)
		e := Enrolment{
			AgentDID:  d.textOf(at, o, "agent_did"),
			AgentName: d.textOf(at, o, "agent_name"),
			Kind:      d.textOf(at, o, "kind"),
		}
		if !did.IsDID(e.AgentDID) || !ValidDIDFolder(e.AgentDID) {
			d.fail(at+"/agent_did", "must be a DID without a slash, is %s", quote(e.AgentDID))
		}
		if seen[e.AgentDID] {
			d.fail(at+"/agent_did", "%s is enrolled twice", quote(e.AgentDID))
		}
		seen[e.AgentDID] = true
		if stack, ok := d.textOrNull(at, o, "declared_stack"); ok {
			e.DeclaredStack = &stack
		}
		enrolledAt := d.textOf(at, o, "enrolled_at")
		var ok bool
		if e.EnrolledAt, ok = parseFineInstant(enrolledAt); !ok {
			d.fail(at+"/enrolled_at", "must be an instant YYYY-MM-DDTHH:MM:SS[.ffffff]Z, is %s", quote(enrolledAt))
		}
		if e.Kind != KindReference && e.Kind != KindCommunity {
			d.fail(at+"/kind", `must be "reference" or "community", is %s`, quote(e.Kind))
		}
		linkedAt, linked := d.arrayOf(at, o, "linked_dids")
		for j, l := range linked {
			e.LinkedDIDs = append(e.LinkedDIDs, d.text(pointerIndex(linkedAt, j), l))
		}
		if d.err != nil {
			return nil, d.err
		}
		enrolments = append(enrolments, e)
	}
	if d.err != nil {
		return nil, d.err
	}
	rank(enrolments)
	slices.SortFunc(enrolments, func(a, b Enrolment) int { return strings.Compare(a.AgentDID, b.AgentDID) })
	return enrolments, nil
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
