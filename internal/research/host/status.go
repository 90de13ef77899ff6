package host

import (
	"context"
	"time"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/pin"
)

// Status is GET /v1/status: the fields of R§14.1 in its order, then ours. Nothing in
// it is an origin, a key, a path or a record.
type Status struct {
	ChallengeID       string               `json:"challenge_id"`
	ScoringVersion    uint16               `json:"scoring_version"`
	ScoreMax          uint64               `json:"score_max"`
	EvalImage         string               `json:"eval_image"`
	EvalImageDigest   string               `json:"eval_image_digest"`
	InferenceOffer    *offer.InferenceView `json:"inference_offer"`
	Inference         InferenceDefaults    `json:"inference"`
	EvalExecutor      *offer.ExecutorView  `json:"eval_executor"`
	Executor          ExecutorCeilings     `json:"executor"`
	EvalBackend       string               `json:"eval_backend"` // lium or sim
	ForceSim          bool                 `json:"force_sim"`
	SimStubWin        bool                 `json:"sim_stub_win"`
	CanScore          bool                 `json:"can_score"`
	LiveHarvestWired  bool                 `json:"live_harvest_wired"` // the Lium harvest and nothing else
	CustomFamilyWired bool                 `json:"custom_family_wired"`
	BaselineSealed    bool                 `json:"baseline_sealed"`
	OpenTopics        []string             `json:"open_topics"`
	ScorableTopics    []string             `json:"scorable_topics"`
	RegisteredCustom  []string             `json:"registered_custom"`
	CustomReady       []string             `json:"custom_ready"`
	Epoch             uint64               `json:"epoch"`

	EpochClosesAt     *time.Time `json:"epoch_closes_at"` // null for a fixed epoch
	Store             string     `json:"store"`
	Production        bool       `json:"production"`
	SignatureRequired bool       `json:"signature_required"`
	Sandbox           *Sandbox   `json:"sandbox"` // null: no orchestrator was asked, or none answered
	Standin           bool       `json:"standin"` // a stand-in's runs are taken: for tests alone
	Queued            int        `json:"queued"`
	Running           int        `json:"running"`
}

// Sandbox is what the topic-VM orchestrator said of itself when it last answered.
// Ready also says that it answers now, and that this host takes its driver.
type Sandbox struct {
	Driver string `json:"driver"`
	Ready  bool   `json:"ready"`
}

// UnknownDriver is the driver, on a production host, of an orchestrator that never said
// what it is, or has not answered for too long.
const UnknownDriver = "unknown"

// InferenceDefaults are the judge defaults of the pin, without an origin.
type InferenceDefaults struct {
	Provider        pin.Provider `json:"provider"`
	Model           string       `json:"model"`
	Mode            pin.Mode     `json:"mode"`
	MaxInputTokens  uint32       `json:"max_input_tokens"`
	MaxOutputTokens uint32       `json:"max_output_tokens"`
}

// ExecutorCeilings are what the pin allows an executor offer.
type ExecutorCeilings struct {
	SchemaVersion               uint32   `json:"schema_version"`
	GPUClass                    string   `json:"gpu_class"`
	MaxProofDeadlineSCeiling    uint64   `json:"max_proof_deadline_s_ceiling"`
	AllowedLiumTemplatePrefixes []string `json:"allowed_lium_template_prefixes"`
	CommitmentAlg               string   `json:"commitment_alg"`
}

// ExecutorStatus is GET /v1/proof/executor (R§14.2).
type ExecutorStatus struct {
	EvalExecutor *offer.ExecutorView `json:"eval_executor"`
	Ready        bool                `json:"ready"`
	Reason       *string             `json:"reason"`
	Pin          ExecutorCeilings    `json:"pin"`
}

// Readiness says what stands between a topic and its runs.
type Readiness struct {
	TopicID  string    `json:"topic_id"`
	Scorable bool      `json:"scorable"`
	Missing  []Missing `json:"missing"`
}

// Missing is one row of the gate that a submission would meet. Detail is what the
// operator has to look at, where the row's text does not say it.
type Missing struct {
	Row    string `json:"row"`
	Name   string `json:"name"`
	Error  string `json:"error"`
	Detail string `json:"detail,omitempty"`
}

// Status says what the host is and can do now. Only a store that does not answer is
// an error.
func (h *Host) Status(ctx context.Context) (*Status, error) {
	s := h.view()
	host, p := h.live(ctx, s), h.o.Pin
	out := &Status{
		ChallengeID: pin.ChallengeID, ScoringVersion: p.ScoringVersion, ScoreMax: payout.TotalMass,
		EvalImage: p.EvalImage, EvalImageDigest: p.EvalImageDigest,
		InferenceOffer: host.Inference.Public(),
		Inference: InferenceDefaults{
			p.Inference.Provider, p.Inference.Model, p.Inference.Mode, p.Inference.MaxInputTokens, p.Inference.MaxOutputTokens,
		},
		EvalExecutor: host.Executor.Public(), Executor: ceilings(p), EvalBackend: host.Backend(),
		ForceSim: h.o.ForceSim, SimStubWin: host.Sim,
		LiveHarvestWired: h.o.Harvest != nil, CustomFamilyWired: len(host.RegisteredCustom()) > 0,
		BaselineSealed: s.begun && host.BaselineSealed(), OpenTopics: []string{}, ScorableTopics: []string{},
		RegisteredCustom: host.RegisteredCustom(), CustomReady: host.CustomReady(), Epoch: host.Epoch,
		EpochClosesAt: h.closesAt(host.Epoch), Store: h.o.Store, Production: h.o.Production,
		SignatureRequired: host.SignatureRequired, Standin: h.o.Standin, Sandbox: h.sandbox(),
	}
	if s.begun {
		out.OpenTopics = host.OpenTopics()
	}
	out.ScorableTopics = host.ScorableTopics()
	out.CanScore = len(out.ScorableTopics) > 0
	var err error
	out.Queued, out.Running, err = h.load(ctx)
	return out, err
}

// closesAt is the end of an epoch; nil for a fixed one.
func (h *Host) closesAt(epoch uint64) *time.Time {
	_, until, ok := h.o.Epochs.Bounds(epoch)
	if !ok {
		return nil
	}
	until = until.UTC()
	return &until
}

func ceilings(p *pin.Pin) ExecutorCeilings {
	prefixes := p.AllowedLiumTemplatePrefixes
	if prefixes == nil {
		prefixes = []string{}
	}
	return ExecutorCeilings{p.EvalExecutorSchemaVersion, p.GPUClass, p.MaxProofDeadlineSCeiling, prefixes, p.EvalExecutorCommitmentAlg}
}

// Executor says whether a run could be rented now, and why not.
func (h *Host) Executor() *ExecutorStatus {
	host := h.view().host
	out := &ExecutorStatus{EvalExecutor: host.Executor.Public(), Pin: ceilings(h.o.Pin)}
	err := host.Executor.RequireOpen(h.o.Pin)
	reason := ""
	switch {
	case host.Executor == nil && host.ExecutorFault != "":
		reason = "eval executor offer: " + host.ExecutorFault
	case err != nil:
		reason = err.Error()
	}
	if out.Ready = reason == ""; !out.Ready {
		out.Reason = &reason
	}
	return out
}

// Readiness lists every row of the gate that a submission to a topic would meet
// about the host, in order. A topic that is not open is not scorable, whatever else
// is there.
func (h *Host) Readiness(ctx context.Context, id string) (*Readiness, error) {
	s := h.view()
	host := h.live(ctx, s)
	t := host.Topics[id]
	if t == nil {
		return nil, errUnknownTopic()
	}
	out := &Readiness{TopicID: id, Missing: []Missing{}}
	if !t.Document.OpenAt(host.Epoch) {
		out.Missing = append(out.Missing, Missing{Row: "5", Name: "topic_open", Error: "topic is not open"})
	}
	for _, r := range host.Unready(t) {
		out.Missing = append(out.Missing, Missing{r.Row, r.Name, r.Text, s.faults[id].detail(r)})
	}
	out.Scorable = len(out.Missing) == 0
	return out, nil
}

// detail is what a fault adds to the row that it makes fire.
func (f fault) detail(r *intake.Refusal) string {
	switch r.Name {
	case "baseline":
		return f.baseline
	case "holdout":
		return f.holdout
	}
	return ""
}

func errUnknownTopic() *Error { return refusef(notFound, "unknown topic") }
