package agent

import (
	"slices"
	"strconv"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Assertion is one factual claim with the receipts it rests on (§4).
type Assertion struct {
	ID              string // Empty: numbered by its place, a1, a2, …
	Resource, Field string
	Value           any // A value of package canonjson.
	ProofIDs        []string
}

// Submission is one task's answer.
type Submission struct {
	Track, TaskID string
	Verdict       string
	Assertions    []Assertion
	// Disclosures by proof id; those that are missing are read at submission.
	Disclosures map[string]Disclosure
	// Narrative is published beside the result and not scored; empty means none.
	Narrative string
}

// cited are the proof ids that the assertions cite, each once, in order.
func (s Submission) cited() []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range s.Assertions {
		for _, id := range a.ProofIDs {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	return out
}

// object is the submission as the season takes it: no other members than these,
// disclosures for exactly the proofs cited.
func (s Submission) object(season int, agentDID string, more map[string]Disclosure) *canonjson.Object {
	assertions := make([]any, len(s.Assertions))
	taken := map[string]bool{}
	for _, a := range s.Assertions {
		taken[a.ID] = true
	}
	for i, a := range s.Assertions {
		id := a.ID
		for n := i + 1; id == ""; n += len(s.Assertions) {
			if next := "a" + strconv.Itoa(n); !taken[next] {
				id, taken[next] = next, true
			}
		}
		proofs := make([]any, len(a.ProofIDs))
		for j, p := range a.ProofIDs {
			proofs[j] = p
		}
		assertions[i] = canonjson.NewObject("id", id,
			"claim", canonjson.NewObject("resource", a.Resource, "field", a.Field, "value", a.Value),
			"proof_ids", proofs)
	}
	disclosures := canonjson.NewObject()
	ids := s.cited()
	slices.Sort(ids)
	for _, id := range ids {
		d, ok := s.Disclosures[id]
		if !ok {
			d = more[id]
		}
		disclosures.Set(id, canonjson.NewObject("request_hash", d.RequestHash.object(), "response_hash", d.ResponseHash.object()))
	}
	o := canonjson.NewObject(
		"season", canonjson.NewInt(int64(season)), "track", s.Track, "task_id", s.TaskID, "agent_did", agentDID,
		"verdict", s.Verdict, "assertions", assertions, "disclosures", disclosures)
	if s.Narrative != "" {
		o.Set("narrative", s.Narrative)
	}
	return o
}

func (o Opening) object() *canonjson.Object {
	return canonjson.NewObject("nonce", o.Nonce, "value", o.Value)
}
