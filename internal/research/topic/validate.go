package topic

import (
	"math"
	"slices"
	"strings"

	spelling "github.com/prova-dev/prova/internal/platform/near"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
)

// The longest texts, in characters without the white space around them, and the
// most entries (reference §5.1, §5.2).
const (
	maxStatement = 8192
	maxText      = 2048
	maxRules     = 64
	maxParams    = 32
)

// Validate holds a document against a pin, in the order of reference §5.6; the
// first failure wins and is a [*Refusal]. The signature is checked apart, by
// [Document.Verify].
//
// registered says whether a runner is registered on this host under a custom id;
// only open custom topics ask. nil stands for an empty registry. known are ids that
// a refusal of one without a runner may hint at.
func (d *Document) Validate(p *pin.Pin, registered func(customID string) bool, known ...string) error {
	if registered == nil {
		registered = func(string) bool { return false }
	}
	c := checker{d, p, registered, known}
	for _, check := range []func() error{
		c.schema, c.id, c.statement, c.validation, c.discovery, c.metric, c.constraints, c.checklist,
		c.flops, c.epsilonNLL, c.epsilonRegress, c.proxy, c.inference, c.executor, c.judgeModel,
		c.baseline, c.holdoutCommitment, c.holdoutSize, c.window, c.sealed,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

type checker struct {
	*Document
	pin        *pin.Pin
	registered func(string) bool
	known      []string
}

func (c checker) schema() error {
	if c.SchemaVersion != SchemaVersion {
		return refuse(BadSchema, "schema_version %d, this build reads %d", c.SchemaVersion, SchemaVersion)
	}
	return nil
}

func (c checker) id() error { return CheckID(c.ID) }

// CheckID refuses what cannot be the id of a topic, with a [*Refusal] of kind
// [BadID].
func CheckID(id string) error {
	if !shape.Slug(id) {
		r := refuse(BadID, `topic id "%s" must match [a-z0-9][a-z0-9-]{1,62}`, short(id))
		r.Hint = slugHint(id)
		return r
	}
	return nil
}

func (c checker) statement() error {
	if n := shape.Length(c.Statement); n < 1 || n > maxStatement {
		return refuse(BadStatement, "statement must be 1..=%d chars", maxStatement)
	}
	return nil
}

func (c checker) validation() error {
	for _, f := range []struct{ name, text string }{
		{"score_on", c.Validation.ScoreOn}, {"accept_if", c.Validation.AcceptIf}, {"reject_if", c.Validation.RejectIf},
	} {
		if n := shape.Length(f.text); n < 1 || n > maxText {
			return refuse(BadValidation, "validation.%s must be 1..=%d chars", f.name, maxText)
		}
	}
	return nil
}

func (c checker) discovery() error {
	sum := uint32(c.Discovery.PassFloorShareBPS) + uint32(c.Discovery.NoveltyPoolShareBPS)
	if c.PayoutMode == DiscoveryPay && sum != 10000 {
		return refuse(BadDiscoveryShares, "discovery pass_floor_share_bps + novelty_pool_share_bps must sum to 10000, got %d", sum)
	}
	return nil
}

func (c checker) metric() error {
	switch c.Metric.Family {
	case NLL:
		return c.metricNLL()
	case Throughput:
		return c.metricThroughput()
	case Custom:
		return c.metricCustom()
	}
	return c.badMetric()
}

func (c checker) badMetric() error {
	return refuse(BadMetric, `metric "%s" is not valid for family "%s"`, short(c.Metric.Primary), c.Metric.Family)
}

func (c checker) requires(field string) error {
	return refuse(MissingFamilyField, `family "%s" requires %s`, c.Metric.Family, field)
}

func (c checker) mustNotSet(field string) error {
	return refuse(ForbiddenFamilyField, `family "%s" must not set %s`, c.Metric.Family, field)
}

func (c checker) metricNLL() error {
	m := &c.Metric
	switch {
	case m.Primary != "holdout_nll" || m.Direction != Min:
		return c.badMetric()
	case m.EpsilonRel != 0:
		return c.mustNotSet("metric.epsilon_rel")
	case m.QualityFloorNLL != 0:
		return c.mustNotSet("metric.quality_floor_nll")
	case m.WallBudgetS != 0:
		return c.mustNotSet("metric.wall_budget_s")
	case blank(m.CustomID):
		return nil
	}
	return c.mustNotSet("metric.custom_id")
}

func (c checker) metricThroughput() error {
	m := &c.Metric
	faster := m.Primary == "tokens_per_sec" && m.Direction == Max
	shorter := m.Primary == "step_latency_ms" && m.Direction == Min
	switch {
	case !faster && !shorter:
		return c.badMetric()
	case m.WallBudgetS == 0:
		return c.requires("metric.wall_budget_s")
	case !(m.QualityFloorNLL > 0):
		return c.requires("metric.quality_floor_nll")
	case !(m.QualityFloorNLL <= c.pin.QualityFloorNLLMax):
		return loosens("metric.quality_floor_nll", m.QualityFloorNLL, c.pin.QualityFloorNLLMax)
	case !(m.EpsilonRel >= c.pin.EpsilonThroughputRelMin):
		return loosens("metric.epsilon_rel", m.EpsilonRel, c.pin.EpsilonThroughputRelMin)
	case blank(m.CustomID):
		return nil
	}
	return c.mustNotSet("metric.custom_id")
}

func (c checker) metricCustom() error {
	m := &c.Metric
	switch {
	case blank(m.CustomID):
		return c.requires("metric.custom_id")
	case !shape.CustomID(m.CustomID):
		return binding("metric.custom_id", "must match [a-z0-9][a-z0-9_-]{1,63}")
	case c.Status == Open && !c.registered(m.CustomID):
		r := refuse(UnknownCustom, `custom metric "%s" has no registered runner on this host; a topic may draft but not open`, m.CustomID)
		if meant := spelling.Word(m.CustomID, c.known); meant != "" {
			r.Hint = "did you mean " + meant + "?"
		}
		return r
	case !shape.CustomID(m.Primary):
		return c.badMetric()
	case !(m.EpsilonRel > 0):
		return c.requires("metric.epsilon_rel")
	}
	return nil
}

func (c checker) constraints() error {
	k := &c.Constraints
	if k.ModelPin != nil && !shape.ModelPin(*k.ModelPin) {
		return binding("constraints.model_pin", "vendor/model[:tag]")
	}
	if k.TaskSlice != nil && !shape.Opaque(*k.TaskSlice) {
		return binding("constraints.task_slice", "single printable line, <=256 chars")
	}
	ok := len(k.Params) <= maxParams
	for name, value := range k.Params {
		ok = ok && shape.CustomID(name) && shape.Opaque(value)
	}
	if !ok {
		return binding("constraints.params", "<=32 slug keys with printable values")
	}
	return nil
}

func (c checker) checklist() error {
	if field, why := CheckRules(c.Checklist); why != "" {
		return binding(field, why)
	}
	return nil
}

// CheckRules checks a list of anti-cheat rules, of a topic or of a later version,
// and returns the first fault: the field, such as checklist[same_seed], and the
// reason, empty for none.
func CheckRules(rules []ChecklistItem) (field, why string) {
	if len(rules) > maxRules {
		return "checklist", "too many rules"
	}
	seen := make(map[string]bool, len(rules))
	for _, r := range rules {
		field := "checklist[" + short(r.ID) + "]"
		if !shape.CustomID(r.ID) {
			return field, "id must match [a-z0-9][a-z0-9_-]{1,63}"
		}
		if seen[r.ID] {
			return field, "duplicate id"
		}
		seen[r.ID] = true
		if n := shape.Length(r.Text); n < 1 || n > maxText {
			return field, "text must be 1..=2048 chars"
		}
	}
	return "", ""
}

func binding(field, why string) error {
	return refuse(BadBinding, "topic binding %s: %s", field, why)
}

func (c checker) flops() error {
	if c.FLOPsBudget < 1 || c.FLOPsBudget > c.pin.FLOPsBudgetMax {
		return refuse(BadFLOPs, "flops_budget %d must be 1..=%d", c.FLOPsBudget, c.pin.FLOPsBudgetMax)
	}
	return nil
}

// Both epsilons of nll topics are tightened by raising them. For the regress that
// allows more of it; the specification says so ("epsilon_topic_max_regress >=
// 0.05"), and documents are signed by it.
func (c checker) epsilonNLL() error {
	return atLeast("epsilon_nll", c.EpsilonNLL, c.pin.EpsilonNLLMin)
}

func (c checker) epsilonRegress() error {
	return atLeast("epsilon_topic_max_regress", c.EpsilonTopicMaxRegress, c.pin.EpsilonTopicMaxRegressMin)
}

func atLeast(field string, got, least float64) error {
	if got >= least {
		return nil
	}
	return loosens(field, got, least)
}

func loosens(field string, got, floor float64) error {
	return refuse(LoosenedFloor, "%s = %s loosens the pin floor %s", field, pin.Number(got), pin.Number(floor))
}

func (c checker) proxy() error {
	if c.ProxyModel != nil && !blank(*c.ProxyModel) {
		return refuse(ProxyModelSet, "proxy_model is deprecated; the RLM judge uses inference + a live InferenceOffer")
	}
	return nil
}

// modeNames are the modes as the text about them prints them.
var modeNames = map[pin.Mode]string{pin.Chat: "Chat", pin.Completions: "Completions", pin.Embeddings: "Embeddings"}

func (c checker) inference() error {
	i, p := &c.Inference, c.pin
	switch {
	case i.RequireJudgeOfferCommitment != nil && !shape.Hex64(*i.RequireJudgeOfferCommitment):
		return refuse(BadInferenceCommitment, "inference.require_judge_offer_commitment must be 64 hex chars")
	case i.BaseURL != nil && !shape.HTTPOrigin(*i.BaseURL), i.Model != nil && !shape.Model(*i.Model):
		return incomplete()
	case i.Mode != nil && !p.ModeAllowed(*i.Mode):
		return refuse(InferenceMode, "inference.mode %s is not in the pin allowed_modes", modeNames[*i.Mode])
	}
	if err := tokens("max_input_tokens", i.MaxInputTokens, min(p.Inference.MaxInputTokens, p.MaxInputTokensCeiling)); err != nil {
		return err
	}
	return tokens("max_output_tokens", i.MaxOutputTokens, min(p.Inference.MaxOutputTokens, p.MaxOutputTokensCeiling))
}

func incomplete() error {
	return refuse(IncompleteInference, "inference is incomplete or misconfigured (provider, model, mode, tokens, origin)")
}

func tokens(field string, got *uint32, ceiling uint32) error {
	if got != nil && (*got < 1 || *got > ceiling) {
		return refuse(InferenceCeiling, "inference.%s = %d must be 1..=%d", field, *got, ceiling)
	}
	return nil
}

func (c checker) executor() error {
	e := &c.EvalExecutor
	if e.RequireOfferCommitment != nil && !shape.Hex64(*e.RequireOfferCommitment) {
		return refuse(BadExecutorCommitment, "eval_executor.require_offer_commitment must be 64 hex chars")
	}
	if s := e.MaxProofDeadlineS; s != nil && (*s < 1 || *s > c.pin.MaxProofDeadlineSCeiling) {
		return refuse(ExecutorDeadlineCeiling, "eval_executor.max_proof_deadline_s = %d must be 1..=%d", *s, c.pin.MaxProofDeadlineSCeiling)
	}
	return nil
}

func (c checker) judgeModel() error {
	model := c.pin.Inference.Model
	if c.Inference.Model != nil {
		model = *c.Inference.Model
	}
	if c.Status == Open && blank(model) {
		return incomplete()
	}
	return nil
}

func (c checker) baseline() error {
	b := &c.Baseline
	for _, f := range []struct{ name, text string }{{"optimizer", b.Optimizer}, {"schedule", b.Schedule}, {"dtype", b.DType}} {
		if blank(f.text) {
			return badBaseline(f.name)
		}
	}
	finite := func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
	switch {
	case len(b.Betas) != 2 || !finite(b.Betas[0]) || !finite(b.Betas[1]):
		return badBaseline("betas")
	case !finite(b.LR) || b.LR <= 0:
		return badBaseline("lr")
	case b.FLOPsBudget != c.FLOPsBudget:
		return mismatch("flops_budget", b.FLOPsBudget, c.FLOPsBudget)
	case c.Metric.Family == Throughput && b.WallBudgetS != c.Metric.WallBudgetS:
		return mismatch("wall_budget_s", b.WallBudgetS, c.Metric.WallBudgetS)
	case strings.ToLower(strings.TrimSpace(b.Optimizer)) == "adamw":
		return lockedRecipe(b)
	}
	return nil
}

func badBaseline(field string) error {
	return refuse(BadBaseline, "baseline %s is missing or invalid", field)
}

func mismatch(field string, got, topic uint64) error {
	return refuse(BudgetMismatch, "baseline %s %d does not equal the topic's %d", field, got, topic)
}

// lockedRecipe refuses a baseline that is called adamw and is weaker, or merely
// other, than the locked recipe.
func lockedRecipe(b *Baseline) error {
	locked := LockedBaseline()
	for _, f := range []struct {
		name string
		ok   bool
	}{
		{"lr", near(b.LR, locked.LR)},
		{"eps", near(b.Eps, locked.Eps)},
		{"weight_decay", near(b.WeightDecay, locked.WeightDecay)},
		{"warmup_ratio", near(b.WarmupRatio, locked.WarmupRatio)},
		{"betas", slices.Equal(b.Betas, locked.Betas)},
		{"schedule", b.Schedule == locked.Schedule},
		{"dtype", b.DType == locked.DType},
		{"seed", b.Seed == locked.Seed},
	} {
		if !f.ok {
			return refuse(StrawmanBaseline, "baseline claims adamw but %s is not the locked recipe value", f.name)
		}
	}
	return nil
}

func near(got, locked float64) bool {
	return math.Abs(got-locked) <= max(1e-12, math.Abs(locked)*1e-9)
}

func (c checker) holdoutCommitment() error {
	if !shape.Hex64(c.HoldoutCommitment) {
		return refuse(BadHoldoutCommitment, "holdout_commitment must be 64 hex chars")
	}
	return nil
}

func (c checker) holdoutSize() error {
	if c.HoldoutSize != c.pin.HoldoutSize {
		return refuse(HoldoutSize, "holdout_size %d, pin requires %d", c.HoldoutSize, c.pin.HoldoutSize)
	}
	return nil
}

func (c checker) window() error {
	if c.ValidUntilEpoch != nil && *c.ValidUntilEpoch < c.ValidFromEpoch {
		return refuse(BadWindow, "valid_until_epoch %d is before valid_from_epoch %d", *c.ValidUntilEpoch, c.ValidFromEpoch)
	}
	return nil
}

func (c checker) sealed() error {
	if c.Status == Open && !c.Baseline.Sealed() {
		return refuse(BaselineUnsealed, "baseline is not sealed (script_sha256 + metrics_commitment required to open)")
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// short is a text of the document at a length that fits a message.
func short(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// slugHint proposes the id that differs in case and underscores alone.
func slugHint(id string) string {
	twin := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(id)), "_", "-")
	if twin != id && shape.Slug(twin) {
		return "did you mean " + twin + "?"
	}
	return ""
}
