package remote

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"time"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/payout"
)

// Status is what a host says about itself (R§14.1 and decisions 1, 3, 12, 13).
type Status struct {
	ChallengeID       string               `json:"challenge_id"`
	ScoringVersion    uint64               `json:"scoring_version"`
	EvalImage         string               `json:"eval_image"`
	EvalImageDigest   string               `json:"eval_image_digest"`
	InferenceOffer    *offer.InferenceView `json:"inference_offer"`
	EvalExecutor      *offer.ExecutorView  `json:"eval_executor"`
	EvalBackend       string               `json:"eval_backend"`
	ForceSim          bool                 `json:"force_sim"`
	CanScore          bool                 `json:"can_score"`
	LiveHarvestWired  bool                 `json:"live_harvest_wired"`
	CustomFamilyWired bool                 `json:"custom_family_wired"`
	BaselineSealed    bool                 `json:"baseline_sealed"`
	OpenTopics        []string             `json:"open_topics"`
	ScorableTopics    []string             `json:"scorable_topics"`
	RegisteredCustom  []string             `json:"registered_custom"`
	CustomReady       []string             `json:"custom_ready"`
	Epoch             uint64               `json:"epoch"`

	// Of this implementation; empty from another one.
	EpochClosesAt     *time.Time     `json:"epoch_closes_at"`
	Store             string         `json:"store"`
	Production        bool           `json:"production"`
	SignatureRequired *bool          `json:"signature_required"`
	Sandbox           jsontext.Value `json:"sandbox"`

	// JSON is the whole answer.
	JSON []byte `json:"-"`
}

// Status asks for GET /v1/status and refuses the answer of another challenge.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	s := &Status{}
	var err error
	if s.JSON, err = c.get(ctx, "/v1/status", nil); err != nil {
		return nil, err
	}
	if err := decode(s.JSON, "status", s); err != nil {
		return nil, err
	}
	if s.ChallengeID != payout.ChallengeID {
		return nil, fmt.Errorf("%s runs the challenge %q, not %q", c.URL(), Printable(cut(s.ChallengeID, 80)), payout.ChallengeID)
	}
	return s, nil
}

// Driver returns the name of the sandbox's driver, "" when the status has none.
func (s *Status) Driver() string {
	var sandbox struct {
		Driver string `json:"driver"`
	}
	if len(s.Sandbox) == 0 || json.Unmarshal(s.Sandbox, &sandbox) != nil {
		return ""
	}
	return sandbox.Driver
}

// Scorable reports whether the host says that it can score a topic.
func (s *Status) Scorable(topicID string) bool { return slices.Contains(s.ScorableTopics, topicID) }

// Executor is the answer of GET /v1/proof/executor (R§14.2).
type Executor struct {
	Offer  *offer.ExecutorView `json:"eval_executor"`
	Ready  bool                `json:"ready"`
	Reason *string             `json:"reason"`
	JSON   []byte              `json:"-"`
}

// Executor asks for the live executor offer.
func (c *Client) Executor(ctx context.Context) (*Executor, error) {
	e := &Executor{}
	var err error
	if e.JSON, err = c.get(ctx, "/v1/proof/executor", nil); err != nil {
		return nil, err
	}
	return e, decode(e.JSON, "executor", e)
}

// Readiness is what stands between submissions to a topic and their run: the rows
// of the gate of R§11.3 that refuse.
type Readiness struct {
	TopicID  string    `json:"topic_id"`
	Scorable bool      `json:"scorable"`
	Missing  []Missing `json:"missing"`
	JSON     []byte    `json:"-"`
}

// Missing is one row of the gate that refuses.
type Missing struct {
	Row    string `json:"row"`
	Name   string `json:"name"`
	Error  string `json:"error"`
	Detail string `json:"detail"` // what the host says beyond the text of the row; may be empty
}

// Readiness asks what a topic lacks.
func (c *Client) Readiness(ctx context.Context, topicID string) (*Readiness, error) {
	path, err := topicPath(topicID, "/readiness")
	if err != nil {
		return nil, err
	}
	r := &Readiness{}
	if r.JSON, err = c.get(ctx, path, nil); err != nil {
		return nil, err
	}
	if err := decode(r.JSON, "readiness", r); err != nil {
		return nil, err
	}
	if r.TopicID != topicID {
		return nil, fmt.Errorf("asked for the readiness of %s, the control plane answers for %q", topicID, Printable(cut(r.TopicID, 80)))
	}
	return r, nil
}
