package topic

import (
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
)

// PayoutMode says how the mass of a topic is shared out.
type PayoutMode string

// Status is what the operator says about a topic in its document.
type Status string

// Family names the rules by which a topic is scored.
type Family string

// Direction says which way the primary metric is better.
type Direction string

// The words of reference §5.1 and §5.3.
const (
	WTA          PayoutMode = "wta"       // the best pass takes all
	DiscoveryPay PayoutMode = "discovery" // a floor for each pass, the rest by novelty

	Draft  Status = "draft"
	Open   Status = "open"
	Closed Status = "closed"

	NLL        Family = "nll"
	Throughput Family = "throughput"
	Custom     Family = "custom"

	Min Direction = "min"
	Max Direction = "max"
)

// Document is one topic with every default filled in (reference §5). A pointer
// is nil where the document has null or no such key. The zero value is not a
// topic: begin with [New].
type Document struct {
	SchemaVersion uint32
	ID            string
	Statement     string
	PayoutMode    PayoutMode
	Validation    Validation
	Discovery     Discovery
	Constraints   Constraints
	Metric        Metric

	FLOPsBudget            uint64
	EpsilonNLL             float64
	EpsilonTopicMaxRegress float64
	ProxyModel             *string

	Inference    Inference
	EvalExecutor EvalExecutor
	Checklist    []ChecklistItem // version 1 of the topic's anti-cheat rules
	Baseline     Baseline

	HoldoutCommitment string
	HoldoutSize       int // records
	Status            Status
	ValidFromEpoch    uint64
	ValidUntilEpoch   *uint64 // inclusive; nil: no end

	// Signature is 128 hex digits over everything else ([Document.Payload]).
	Signature string
}

// Validation says in English what is scored, accepted and refused.
type Validation struct {
	ScoreOn  string
	AcceptIf string
	RejectIf string
}

// Discovery shares the mass of a discovery topic, in basis points of it.
type Discovery struct {
	PassFloorShareBPS   uint16
	NoveltyPoolShareBPS uint16
}

// Constraints bind how a recipe may run. The four below MaxInterNodeGbps are in
// the signed bytes only when set.
type Constraints struct {
	NoInfiniband     bool
	NoNVLink         bool
	NoNCCLFastFabric bool
	MaxInterNodeGbps *float64

	FirecrackerRequired bool
	ModelPin            *string // vendor/model[:tag]
	TaskSlice           *string // opaque to the control plane
	Params              map[string]string
}

// Metric is what a topic measures and by how much a pass must win.
type Metric struct {
	Family          Family
	Primary         string
	Direction       Direction
	Unit            string // a free label
	EpsilonRel      float64
	QualityFloorNLL float64
	WallBudgetS     uint64 // seconds
	CustomID        string
}

// Inference overrides the pin's judge defaults; nil inherits them.
type Inference struct {
	RequireJudgeOfferCommitment *string
	Provider                    *pin.Provider
	BaseURL                     *string
	Model                       *string
	Mode                        *pin.Mode
	MaxInputTokens              *uint32
	MaxOutputTokens             *uint32
}

// EvalExecutor tightens where and how long a run may go; nil asks for nothing.
type EvalExecutor struct {
	RequireOfferCommitment *string
	MaxProofDeadlineS      *uint64 // seconds
}

// ChecklistItem is one anti-cheat rule.
type ChecklistItem struct {
	ID   string
	Text string
}

// Baseline is the recipe that a pass must beat, and the seal of its measurement.
type Baseline struct {
	Optimizer         string
	LR                float64
	Betas             []float64
	Eps               float64
	WeightDecay       float64
	WarmupRatio       float64
	Schedule          string
	DType             string
	Seed              uint64
	FLOPsBudget       uint64
	WallBudgetS       uint64 // seconds
	ScriptSHA256      string
	MetricsCommitment string
	Notes             string
}

// New returns a document of nothing but defaults, which is what a draft with no
// key reads as.
func New() *Document {
	return &Document{
		SchemaVersion: SchemaVersion,
		PayoutMode:    DiscoveryPay,
		Validation: Validation{
			ScoreOn:  "holdout metric vs sealed baseline",
			AcceptIf: "reproduced, no contamination, beat baseline by epsilon",
			RejectIf: "unreproduced claim, FLOP over budget, harness short-circuit",
		},
		Discovery: Discovery{PassFloorShareBPS: 3000, NoveltyPoolShareBPS: 7000},
		Metric: Metric{
			Family: NLL, Primary: "holdout_nll", Direction: Min, Unit: "nats_per_token",
		},
		FLOPsBudget:            2e18,
		EpsilonNLL:             0.02,
		EpsilonTopicMaxRegress: 0.05,
		Baseline:               LockedBaseline(),
		HoldoutSize:            120,
		Status:                 Draft,
	}
}

// SchemaVersion is the version of the topic document that this build reads.
const SchemaVersion = 1

// LockedBaseline returns the AdamW recipe that a baseline claiming "adamw" must
// be (reference §5.5).
func LockedBaseline() Baseline {
	return Baseline{
		Optimizer: "adamw", LR: 3e-4, Betas: []float64{0.9, 0.95}, Eps: 1e-8, WeightDecay: 0.1, WarmupRatio: 0.02,
		Schedule: "cosine", DType: "bf16", Seed: 42, FLOPsBudget: 2e18,
	}
}

// Sealed reports whether the measurement of the baseline is committed to: both
// hashes are 64 hex digits.
func (b *Baseline) Sealed() bool {
	return shape.Hex64(b.ScriptSHA256) && shape.Hex64(b.MetricsCommitment)
}

// OpenAt reports whether a topic takes submissions in an epoch (reference §5.9):
// its status is open and the epoch is in its window, both ends included.
func (d *Document) OpenAt(epoch uint64) bool {
	return d.Status == Open && d.ValidFromEpoch <= epoch && (d.ValidUntilEpoch == nil || epoch <= *d.ValidUntilEpoch)
}
