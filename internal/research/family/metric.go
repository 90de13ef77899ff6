package family

import "math"

// Family is a metric family, spelled as in a topic document.
type Family string

// The families of the specification.
const (
	NLL        Family = "nll"
	Throughput Family = "throughput"
	Custom     Family = "custom"
)

// Direction says which of two primaries is the better one.
type Direction string

// The directions of a metric.
const (
	Min Direction = "min"
	Max Direction = "max"
)

// Better reports whether a beats b strictly. NaN beats nothing and is beaten by
// nothing.
func (d Direction) Better(a, b float64) bool {
	if d == Min {
		return a < b
	}
	return a > b
}

// Harder returns the value that is more difficult to beat: the larger for max,
// the smaller for min (R§13.6).
func (d Direction) Harder(a, b float64) float64 {
	if d.Better(b, a) {
		return b
	}
	return a
}

// The primaries of the two harvest families.
const (
	HoldoutNLL    = "holdout_nll"
	TokensPerSec  = "tokens_per_sec"
	StepLatencyMS = "step_latency_ms"
)

// Splits are the scored splits of a holdout, in the order of R§6.1.
func Splits() []string {
	return []string{"web_ood", "code_ood", "math_ood", "longctx", "multilingual_ood"}
}

// Canary is the split that is measured and never scored (R§6.1).
const Canary = "canary_offpath"

// Topic is what scoring needs of a topic document.
type Topic struct {
	ID                     string
	Family                 Family
	Primary                string
	Direction              Direction
	EpsilonRel             float64 // relative win of throughput and custom
	QualityFloorNLL        float64 // throughput, in nats per token
	WallBudgetS            uint64  // throughput, in seconds
	CustomID               string  // custom
	FlopsBudget            uint64
	EpsilonNLL             float64 // nll, in nats per token
	EpsilonTopicMaxRegress float64 // nll and throughput, per split, in nats per token
}

// Metrics are the measured figures of a run or of a sealed baseline. An absent
// optional figure is nil; a split that was not measured is no key of SplitNLL.
type Metrics struct {
	HoldoutNLL    float64
	SplitNLL      map[string]float64
	TokensPerSec  *float64
	StepLatencyMS *float64
	CustomValue   *float64
}

// PrimaryOf returns the figure that the topic ranks by, and false when it was not
// measured or is not finite. The harvest families name their figure, a custom
// topic's primary is a name of its own for custom_value.
func (t Topic) PrimaryOf(m Metrics) (float64, bool) {
	p := t.primary(m)
	if p == nil || !finite(*p) {
		return 0, false
	}
	return *p, true
}

func (t Topic) primary(m Metrics) *float64 {
	switch {
	case t.Family == Custom:
		return m.CustomValue
	case t.Primary == TokensPerSec:
		return m.TokensPerSec
	case t.Primary == StepLatencyMS:
		return m.StepLatencyMS
	case t.Primary == HoldoutNLL:
		return &m.HoldoutNLL
	}
	return nil
}

// minBaseline is the size below which a baseline cannot be beaten relatively
// (R§12.1).
const minBaseline = 1e-12

// RelativeWin reports whether candidate beats baseline by the share eps in
// direction d (R§12.1): candidate >= baseline*(1+eps) for max, <= baseline*(1-eps)
// for min, in float64 without tolerance. It is false when a side is not finite
// or the baseline is smaller than 1e-12, and for a direction that is none. With a negative baseline a larger eps
// makes max easier, as the reference notes; topics choose metrics accordingly.
func RelativeWin(candidate, baseline float64, d Direction, eps float64) bool {
	needed, ok := Needed(baseline, d, eps)
	if !ok || !finite(candidate) {
		return false
	}
	if d == Min {
		return candidate <= needed
	}
	return candidate >= needed
}

// Needed returns the figure that a [RelativeWin] over baseline must reach, in the
// unit of baseline: the least for max, the most for min. It is not ok where nothing
// wins: a baseline that is not finite or smaller than 1e-12, a direction that is none.
func Needed(baseline float64, d Direction, eps float64) (needed float64, ok bool) {
	if !finite(baseline) || math.Abs(baseline) < minBaseline {
		return 0, false
	}
	switch d {
	case Min:
		return float64(baseline * float64(1-eps)), true
	case Max:
		return float64(baseline * float64(1+eps)), true
	}
	return 0, false
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
