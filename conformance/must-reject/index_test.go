package mustreject_test

import (
	"encoding/json"
	"os"
	"testing"
)

// indexRow is one element of index.json.
type indexRow struct {
	File    string `json:"file"`
	Section string `json:"section"`
	Rule    string `json:"rule"`
	What    string `json:"what"`
	Expect  expect `json:"expect"`
}

// expect is what must come of a bundle; README.md says what each member means.
type expect struct {
	Exit       int                `json:"exit"`
	Refused    *expectedRefusal   `json:"refused"`
	Unreadable *string            `json:"unreadable"`
	Assertion  *expectedAssertion `json:"assertion"`
	Task       *expectedTask      `json:"task"`
	Incident   *expectedIncident  `json:"incident"`
}

type expectedRefusal struct {
	Track  string `json:"track"`
	Reason string `json:"reason"`
}

type expectedAssertion struct {
	AgentDID    string  `json:"agent_did"`
	Track       string  `json:"track"`
	TaskID      string  `json:"task_id"`
	AssertionID string  `json:"assertion_id"`
	Status      string  `json:"status"`
	Cause       *string `json:"cause"`
	Detail      *string `json:"detail"`
}

type expectedTask struct {
	AgentDID string  `json:"agent_did"`
	Track    string  `json:"track"`
	TaskID   string  `json:"task_id"`
	State    string  `json:"state"`
	Reason   *string `json:"reason"`
}

type expectedIncident struct {
	AgentDID    string  `json:"agent_did"`
	Track       string  `json:"track"`
	Kind        string  `json:"kind"`
	TaskID      *string `json:"task_id"`
	AssertionID *string `json:"assertion_id"`
	ProofID     string  `json:"proof_id"`
	Detail      string  `json:"detail"`
}

func readIndex(t *testing.T) []indexRow {
	t.Helper()
	data, err := os.ReadFile("index.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []indexRow
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

const (
	agent     = "did:web:alpha.agent.prova.test"
	trackName = "conformite"
	taskID    = "conf-01"
)

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// unreadable is a bundle that cannot be used at all, for the file at path.
func unreadable(path string) expect { return expect{Exit: 2, Unreadable: &path} }

// refused is a bundle whose freeze does not hold.
func refused(reason string) expect {
	return expect{Exit: 4, Refused: &expectedRefusal{Track: trackName, Reason: reason}}
}

// task is a task that ends before any assertion is verified.
func task(state, reason string) expect {
	return expect{Task: &expectedTask{agent, trackName, taskID, state, optional(reason)}}
}

// assertion is a scored bundle whose only assertion has this status. One that
// counts makes the task submitted.
func assertion(status, cause, detail string) expect {
	e := task("submitted", "")
	e.Assertion = &expectedAssertion{agent, trackName, taskID, "a1", status, optional(cause), optional(detail)}
	return e
}

func invalidProof(detail string) expect { return assertion("unsupported", "invalid_proof", detail) }

// instrumentFault is an assertion on a fixed body of the corpus: an incident,
// and too little for the minimum.
func instrumentFault(resource string) expect {
	e := assertion("instrument_fault", "", resource)
	e.Task = &expectedTask{agent, trackName, taskID, "not_submitted", optional("below_minimum")}
	e.Incident = &expectedIncident{agent, trackName, "instrument_fault", optional(taskID), optional("a1"), "", resource}
	return e
}

// flatField is a supported assertion beside an incident.
func flatField(member string) expect {
	e := assertion("supported", "", "")
	e.Incident = &expectedIncident{agent, trackName, "flat_field_diverges", nil, nil, "", member}
	return e
}
