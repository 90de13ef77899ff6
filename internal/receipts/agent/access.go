package agent

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/http"
)

// Access is what a participant holds after enrolment.
type Access struct {
	// IssuerURL and SeasonURL are the addresses of the two services, without a
	// trailing slash.
	IssuerURL, SeasonURL string
	// Season is the season's number.
	Season int
	// APIKey and SeasonToken are secrets; they go into request headers only.
	APIKey, SeasonToken string
	// AgentDID is the DID that is bound to the key and enrolled.
	AgentDID string
	// HTTP makes the requests; nil means a client with a timeout of its own.
	HTTP *http.Client
}

// String describes the access without its secrets.
func (a Access) String() string {
	return fmt.Sprintf("season %d at %s as %s (issuer %s)", a.Season, a.SeasonURL, a.AgentDID, a.IssuerURL)
}

// GoString is String, so that no format verb shows a secret.
func (a Access) GoString() string { return a.String() }

// Work is what an agent of `prova run` gets on its standard input (design §6).
type Work struct {
	Season int                  `json:"season"`
	Tracks map[string]TrackWork `json:"tracks"`
}

// TrackWork is one track's part of [Work].
type TrackWork struct {
	// CorpusHost is the canonical host, for example
	// https://conformite.corpus.prova.test.
	CorpusHost string `json:"corpus_host"`
	// Catalogue are the canonical URLs, sorted.
	Catalogue []string `json:"catalogue"`
	Tasks     []Task   `json:"tasks"`
}

// Task is a task as season.json has it (bundle format §2).
type Task struct {
	TaskID   string            `json:"task_id"`
	Question map[string]string `json:"question"` // By language, fr and en.
	// Target is the object that says what is examined; its members depend on the
	// track.
	Target jsontext.Value `json:"target"`
	// Minimum and Cap bound the number of assertions.
	Minimum int `json:"minimum"`
	Cap     int `json:"cap"`
}

// JSON is the work as one JSON document; equal values give equal bytes.
func (w *Work) JSON() ([]byte, error) {
	data, err := json.Marshal(w, json.Deterministic(true), json.FormatNilSliceAsNull(false))
	if err != nil {
		return nil, fmt.Errorf("writing the work as JSON: %w", err)
	}
	return data, nil
}

// ownMinimum is the least number of assertions on the target's own resources
// (§5.7): half the minimum, rounded up.
func (t Task) ownMinimum() int { return (t.Minimum + 1) / 2 }
