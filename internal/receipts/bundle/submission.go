package bundle

import (
	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Submission is a submission that keeps rules a–h (§9).
type Submission struct {
	Season                           int64
	Track, TaskID, AgentDID, Verdict string
	Assertions                       []Assertion // in the submission's order
	Disclosures                      map[string]Disclosure
	Narrative                        *string // published, never scored
}

// Assertion is a claim and the proofs it cites.
type Assertion struct {
	ID string
	Triplet
	ProofIDs []string
}

// Disclosure opens the two hashes of one cited proof.
type Disclosure struct{ Request, Response Pair }

// Pair is a nonce and the value it opens, both as written: whether they open
// anything is decided against the proof (§10 check 10).
type Pair struct{ Nonce, Value string }

// Fault is one broken rule of §9.
type Fault struct {
	Rule    string // "a" to "h", or "cap" for the bound that only intake refuses
	Pointer string // JSON Pointer to the place, "" for the whole document
	Message string // what is wrong and how to put it right, one line
}

// SubmissionContext is what the rules compare a submission with. It needs
// neither network nor corpus, so that intake and scorer use it alike.
type SubmissionContext struct {
	Season   int64
	AgentDID string
	// TaskID fixes the task, as the file's name does in a bundle. Empty, as at
	// intake: any task of Tracks.
	TaskID string
	Tracks map[string]TrackContext
	// RefuseOverCap makes more assertions than the task's cap a fault, as intake
	// does; the scorer keeps that apart as a state.
	RefuseOverCap bool
}

// TrackContext is the part of a track that the rules need.
type TrackContext struct {
	Caps           map[string]int // task id → cap; its names are the track's tasks
	VerdictAllowed func(verdict string) bool
	Verdicts       string // the set in words, for messages
}

// MaxFaults is the most faults that one call reports; a document that breaks the
// rules in more places is told so by the last of them.
const MaxFaults = 500

// ParseSubmission applies rules a–h and returns the submission, or every fault
// found (at most [MaxFaults]), in document order within each rule's part.
func ParseSubmission(data []byte, ctx SubmissionContext) (*Submission, []Fault) {
	p := &submissionParser{ctx: ctx}
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, []Fault{{Rule: "a", Message: "the body must be one strict JSON object (UTF-8 without BOM, no member twice): " + strict.Reason(err)}}
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, []Fault{{Rule: "a", Message: "the body must be a JSON object, is " + canonjson.Kind(v)}}
	}
	s := p.submission(o)
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return s, nil
}
