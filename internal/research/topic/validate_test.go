package topic_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

// checks are in the order of R§5.6. base names the fixture that a check spoils.
var checks = []struct {
	name, base, want string
	kind             topic.Kind
	spoil            func(*topic.Document)
}{
	{"schema", "", `schema_version 2, this build reads 1`, topic.BadSchema, func(d *topic.Document) { d.SchemaVersion = 2 }},
	{"id", "", `topic id "has_underscore" must match [a-z0-9][a-z0-9-]{1,62}`, topic.BadID, func(d *topic.Document) { d.ID = "has_underscore" }},
	{"statement", "", `statement must be 1..=8192 chars`, topic.BadStatement, func(d *topic.Document) { d.Statement = " \n\u00a0" }},
	{"score_on", "", `validation.score_on must be 1..=2048 chars`, topic.BadValidation, func(d *topic.Document) { d.Validation.ScoreOn = "" }},
	{"accept_if", "", `validation.accept_if must be 1..=2048 chars`, topic.BadValidation, func(d *topic.Document) { d.Validation.AcceptIf = strings.Repeat("é", 2049) }},
	{"reject_if", "", `validation.reject_if must be 1..=2048 chars`, topic.BadValidation, func(d *topic.Document) { d.Validation.RejectIf = "\t" }},
	{"discovery", "nll", `discovery pass_floor_share_bps + novelty_pool_share_bps must sum to 10000, got 131070`, topic.BadDiscoveryShares, func(d *topic.Document) {
		d.Discovery = topic.Discovery{PassFloorShareBPS: 65535, NoveltyPoolShareBPS: 65535}
	}},
	{"nll primary", "nll", `metric "loss" is not valid for family "nll"`, topic.BadMetric, func(d *topic.Document) { d.Metric.Primary = "loss" }},
	{"nll direction", "nll", `metric "holdout_nll" is not valid for family "nll"`, topic.BadMetric, func(d *topic.Document) { d.Metric.Direction = topic.Max }},
	{"nll epsilon", "nll", `family "nll" must not set metric.epsilon_rel`, topic.ForbiddenFamilyField, func(d *topic.Document) { d.Metric.EpsilonRel = 0.05 }},
	{"nll quality floor", "nll", `family "nll" must not set metric.quality_floor_nll`, topic.ForbiddenFamilyField, func(d *topic.Document) { d.Metric.QualityFloorNLL = 0.01 }},
	{"nll wall budget", "nll", `family "nll" must not set metric.wall_budget_s`, topic.ForbiddenFamilyField, func(d *topic.Document) { d.Metric.WallBudgetS = 1 }},
	{"nll custom id", "nll", `family "nll" must not set metric.custom_id`, topic.ForbiddenFamilyField, func(d *topic.Document) { d.Metric.CustomID = "x_y" }},
	{"throughput primary", "throughput", `metric "step_latency_ms" is not valid for family "throughput"`, topic.BadMetric, func(d *topic.Document) { d.Metric.Primary = "step_latency_ms" }},
	{"throughput wall budget", "throughput", `family "throughput" requires metric.wall_budget_s`, topic.MissingFamilyField, func(d *topic.Document) { d.Metric.WallBudgetS = 0 }},
	{"throughput no quality floor", "throughput", `family "throughput" requires metric.quality_floor_nll`, topic.MissingFamilyField, func(d *topic.Document) { d.Metric.QualityFloorNLL = 0 }},
	{"throughput quality floor", "throughput", `metric.quality_floor_nll = 0.03 loosens the pin floor 0.02`, topic.LoosenedFloor, func(d *topic.Document) { d.Metric.QualityFloorNLL = 0.03 }},
	{"throughput epsilon", "throughput", `metric.epsilon_rel = NaN loosens the pin floor 0.05`, topic.LoosenedFloor, func(d *topic.Document) { d.Metric.EpsilonRel = math.NaN() }},
	{"throughput custom id", "throughput", `family "throughput" must not set metric.custom_id`, topic.ForbiddenFamilyField, func(d *topic.Document) { d.Metric.CustomID = "x_y" }},
	{"custom without id", "custom", `family "custom" requires metric.custom_id`, topic.MissingFamilyField, func(d *topic.Document) { d.Metric.CustomID = " " }},
	{"custom id", "custom", `topic binding metric.custom_id: must match [a-z0-9][a-z0-9_-]{1,63}`, topic.BadBinding, func(d *topic.Document) { d.Metric.CustomID = "Upper" }},
	{"custom primary", "custom", `metric "bits per joule" is not valid for family "custom"`, topic.BadMetric, func(d *topic.Document) { d.Metric.Primary = "bits per joule" }},
	{"custom epsilon", "custom", `family "custom" requires metric.epsilon_rel`, topic.MissingFamilyField, func(d *topic.Document) { d.Metric.EpsilonRel = math.NaN() }},
	{"model pin", "", `topic binding constraints.model_pin: vendor/model[:tag]`, topic.BadBinding, func(d *topic.Document) { d.Constraints.ModelPin = ptr("a/b:c:d") }},
	{"task slice", "", `topic binding constraints.task_slice: single printable line, <=256 chars`, topic.BadBinding, func(d *topic.Document) { d.Constraints.TaskSlice = ptr("a\nb") }},
	{"params", "", `topic binding constraints.params: <=32 slug keys with printable values`, topic.BadBinding, func(d *topic.Document) { d.Constraints.Params = map[string]string{"k_k": "\x7f"} }},
	{"rules", "", `topic binding checklist: too many rules`, topic.BadBinding, func(d *topic.Document) { d.Checklist = many(65) }},
	{"rule id", "", `topic binding checklist[-x]: id must match [a-z0-9][a-z0-9_-]{1,63}`, topic.BadBinding, func(d *topic.Document) { d.Checklist = []topic.ChecklistItem{{"-x", ""}} }},
	{"rule twice", "", `topic binding checklist[aa]: duplicate id`, topic.BadBinding, func(d *topic.Document) { d.Checklist = []topic.ChecklistItem{{"aa", "t"}, {"aa", ""}} }},
	{"rule text", "", `topic binding checklist[aa]: text must be 1..=2048 chars`, topic.BadBinding, func(d *topic.Document) { d.Checklist = []topic.ChecklistItem{{"aa", " "}} }},
	{"flops", "", `flops_budget 2000000000000000001 must be 1..=2000000000000000000`, topic.BadFLOPs, func(d *topic.Document) { d.FLOPsBudget = 2e18 + 1 }},
	{"epsilon", "", `epsilon_nll = 0.01 loosens the pin floor 0.02`, topic.LoosenedFloor, func(d *topic.Document) { d.EpsilonNLL = 0.01 }},
	{"regress", "", `epsilon_topic_max_regress = NaN loosens the pin floor 0.05`, topic.LoosenedFloor, func(d *topic.Document) { d.EpsilonTopicMaxRegress = math.NaN() }},
	{"proxy", "", `proxy_model is deprecated; the RLM judge uses inference + a live InferenceOffer`, topic.ProxyModelSet, func(d *topic.Document) { d.ProxyModel = ptr("qwen") }},
	{"judge commitment", "", `inference.require_judge_offer_commitment must be 64 hex chars`, topic.BadInferenceCommitment, func(d *topic.Document) { d.Inference.RequireJudgeOfferCommitment = ptr("abc") }},
	{"judge origin", "", `inference is incomplete or misconfigured (provider, model, mode, tokens, origin)`, topic.IncompleteInference, func(d *topic.Document) { d.Inference.BaseURL = ptr("http://a b") }},
	{"judge model", "", `inference is incomplete or misconfigured (provider, model, mode, tokens, origin)`, topic.IncompleteInference, func(d *topic.Document) { d.Inference.Model = ptr(" ") }},
	{"judge mode", "", `inference.mode Completions is not in the pin allowed_modes`, topic.InferenceMode, func(d *topic.Document) { d.Inference.Mode = ptr(pin.Completions) }},
	{"input tokens", "", `inference.max_input_tokens = 0 must be 1..=32768`, topic.InferenceCeiling, func(d *topic.Document) { d.Inference.MaxInputTokens = ptr(uint32(0)) }},
	{"output tokens", "", `inference.max_output_tokens = 8193 must be 1..=8192`, topic.InferenceCeiling, func(d *topic.Document) { d.Inference.MaxOutputTokens = ptr(uint32(8193)) }},
	{"executor commitment", "", `eval_executor.require_offer_commitment must be 64 hex chars`, topic.BadExecutorCommitment, func(d *topic.Document) { d.EvalExecutor.RequireOfferCommitment = ptr("") }},
	{"deadline", "", `eval_executor.max_proof_deadline_s = 0 must be 1..=7200`, topic.ExecutorDeadlineCeiling, func(d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(0)) }},
	{"optimizer", "", `baseline optimizer is missing or invalid`, topic.BadBaseline, func(d *topic.Document) { d.Baseline.Optimizer = " " }},
	{"schedule missing", "", `baseline schedule is missing or invalid`, topic.BadBaseline, func(d *topic.Document) { d.Baseline.Schedule = "" }},
	{"dtype missing", "", `baseline dtype is missing or invalid`, topic.BadBaseline, func(d *topic.Document) { d.Baseline.DType = "" }},
	{"betas", "", `baseline betas is missing or invalid`, topic.BadBaseline, func(d *topic.Document) { d.Baseline.Betas = []float64{0.9, math.Inf(1)} }},
	{"lr", "", `baseline lr is missing or invalid`, topic.BadBaseline, func(d *topic.Document) { d.Baseline.LR = 0 }},
	{"baseline flops", "", `baseline flops_budget 1 does not equal the topic's 2000000000000000000`, topic.BudgetMismatch, func(d *topic.Document) { d.Baseline.FLOPsBudget = 1 }},
	{"baseline wall", "throughput", `baseline wall_budget_s 60 does not equal the topic's 14400`, topic.BudgetMismatch, func(d *topic.Document) { d.Baseline.WallBudgetS = 60 }},
	{"recipe lr", "", `baseline claims adamw but lr is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.LR = 1e-3 }},
	{"recipe eps", "", `baseline claims adamw but eps is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.Eps = 2e-8 }},
	{"recipe weight decay", "", `baseline claims adamw but weight_decay is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.WeightDecay = math.NaN() }},
	{"recipe warm-up", "", `baseline claims adamw but warmup_ratio is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.WarmupRatio = 0.020001 }},
	{"recipe betas", "", `baseline claims adamw but betas is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.Betas = []float64{0.9, 0.950000001} }},
	{"recipe schedule", "", `baseline claims adamw but schedule is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.Schedule = "Cosine" }},
	{"recipe dtype", "", `baseline claims adamw but dtype is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.DType = "fp32" }},
	{"recipe seed", "", `baseline claims adamw but seed is not the locked recipe value`, topic.StrawmanBaseline, func(d *topic.Document) { d.Baseline.Optimizer, d.Baseline.Seed = " AdamW ", 43 }},
	{"holdout commitment", "", `holdout_commitment must be 64 hex chars`, topic.BadHoldoutCommitment, func(d *topic.Document) { d.HoldoutCommitment = "" }},
	{"holdout size", "", `holdout_size 121, pin requires 120`, topic.HoldoutSize, func(d *topic.Document) { d.HoldoutSize = 121 }},
	{"window", "", `valid_until_epoch 4 is before valid_from_epoch 5`, topic.BadWindow, func(d *topic.Document) { d.ValidFromEpoch, d.ValidUntilEpoch = 5, ptr(uint64(4)) }},
	{"seal", "", `baseline is not sealed (script_sha256 + metrics_commitment required to open)`, topic.BaselineUnsealed, func(d *topic.Document) { d.Status, d.Baseline.ScriptSHA256 = topic.Open, "abc" }},
}

var bases = map[string]func(testing.TB) *topic.Document{"": nll, "nll": nll, "throughput": throughput, "custom": custom}

func chatHost() *pin.Pin {
	p := host()
	p.AllowedModes = []pin.Mode{pin.Chat}
	return p
}

func TestR58EveryCheckHasItsTextAndKind(t *testing.T) {
	t.Parallel()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := bases[c.base](t)
			if err := d.Validate(chatHost(), nil); err != nil {
				t.Fatalf("before: %v", err)
			}
			c.spoil(d)
			err := d.Validate(chatHost(), nil)
			var refusal *topic.Refusal
			if !errors.As(err, &refusal) || refusal.Text != c.want || refusal.Kind != c.kind || err.Error() != c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestR56TheExecutorsCommitmentAndDeadlineComeBeforeTheJudgesModel is the pair that
// no fault of a document alone has: whether a model is missing depends on the pin.
func TestR56TheExecutorsCommitmentAndDeadlineComeBeforeTheJudgesModel(t *testing.T) {
	t.Parallel()
	p := host()
	p.Inference.Model = ""
	refusal := func(spoil func(*topic.Document)) topic.Kind {
		d := nll(t)
		spoil(d)
		var r *topic.Refusal
		if err := d.Validate(p, nil); !errors.As(err, &r) {
			t.Fatalf("%v", err)
		}
		return r.Kind
	}
	if got := refusal(func(*topic.Document) {}); got != topic.IncompleteInference {
		t.Errorf("no model at all: %s", got)
	}
	if got := refusal(func(d *topic.Document) { d.EvalExecutor.RequireOfferCommitment = ptr("") }); got != topic.BadExecutorCommitment {
		t.Errorf("no model and no commitment: %s", got)
	}
	if got := refusal(func(d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(0)) }); got != topic.ExecutorDeadlineCeiling {
		t.Errorf("no model and no deadline: %s", got)
	}
	if got := refusal(func(d *topic.Document) { d.Baseline.Optimizer = "" }); got != topic.IncompleteInference {
		t.Errorf("no model and no optimizer: %s", got)
	}
}

func TestAnUnregisteredCustomIDHasAHintAtOneThatIsRegistered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, hint string
		known    []string
	}{
		{"fit_nosie", "did you mean fit_noise?", []string{"other_rate", "fit_noise"}},
		{"fit-noise", "did you mean fit_noise?", []string{"other_rate", "fit_noise"}},
		{"bits_per_joule", "", []string{"other_rate", "fit_noise"}},
		{"fit_noise", "", nil},
	} {
		d := custom(t)
		d.Status, d.Metric.CustomID = topic.Open, c.id
		var r *topic.Refusal
		err := d.Validate(host(), nil, c.known...)
		want := `custom metric "` + c.id + `" has no registered runner on this host; a topic may draft but not open`
		if !errors.As(err, &r) || r.Error() != want || r.Hint != c.hint {
			t.Errorf("%s of %v: %v, hint %q", c.id, c.known, err, r.Hint)
		}
	}
}

// TestR56TheEarlierCheckWins spoils each pair of neighbours that one document can
// have both of; fields of another family, and one field spoiled twice, cannot.
func TestR56TheEarlierCheckWins(t *testing.T) {
	t.Parallel()
	all := func(string) bool { return true }
	pairs := 0
	for i := range checks {
		for j := i + 1; j < len(checks); j++ {
			earlier, later := checks[i], checks[j]
			if earlier.base != "" && later.base != "" && earlier.base != later.base {
				continue
			}
			base := earlier.base
			if base == "" {
				base = later.base
			}
			both := bases[base](t)
			later.spoil(both)
			earlier.spoil(both)
			// Whether the later fault is still there once the earlier one is made is
			// seen by making it last.
			last := bases[base](t)
			earlier.spoil(last)
			later.spoil(last)
			errBoth, errLast := both.Validate(chatHost(), all), last.Validate(chatHost(), all)
			if errBoth == nil || errLast == nil {
				t.Fatalf("%s and %s: %v, %v", earlier.name, later.name, errBoth, errLast)
			}
			if errBoth.Error() != errLast.Error() {
				continue // they spoil one field
			}
			pairs++
			if errBoth.Error() != earlier.want {
				t.Errorf("%s before %s: %v", earlier.name, later.name, errBoth)
			}
		}
	}
	if pairs < 800 {
		t.Errorf("only %d pairs", pairs)
	}
}

func TestR53AnOpenCustomTopicNeedsARegisteredRunner(t *testing.T) {
	t.Parallel()
	d := custom(t)
	d.Status = topic.Open
	asked := ""
	registered := func(id string) bool { asked = id; return false }
	want := `custom metric "agent_pass_rate" has no registered runner on this host; a topic may draft but not open`
	if err := d.Validate(host(), registered); err == nil || err.Error() != want || asked != "agent_pass_rate" {
		t.Errorf("%v, asked for %q", err, asked)
	}
	if err := d.Validate(host(), nil); err == nil || err.Error() != want {
		t.Errorf("empty registry: %v", err)
	}
	for _, status := range []topic.Status{topic.Draft, topic.Closed} {
		d.Status = status
		if err := d.Validate(host(), registered); err != nil {
			t.Errorf("%s: %v", status, err)
		}
	}
}

func TestR5WhatIsAllowedAtTheEdges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base   func(testing.TB) *topic.Document
		change func(*topic.Document)
	}{
		"the shortest id":                      {nll, func(d *topic.Document) { d.ID = "ab" }},
		"the longest id":                       {nll, func(d *topic.Document) { d.ID = strings.Repeat("a", 63) }},
		"the longest statement, in runes":      {nll, func(d *topic.Document) { d.Statement = " " + strings.Repeat("é", 8192) + "\n" }},
		"any shares when the winner takes all": {throughput, func(d *topic.Document) { d.Discovery.PassFloorShareBPS = 1 }},
		"step latency, downwards": {throughput, func(d *topic.Document) {
			d.Metric.Primary, d.Metric.Direction = "step_latency_ms", topic.Min
		}},
		"a blank proxy model":        {nll, func(d *topic.Document) { d.ProxyModel = ptr("  ") }},
		"a judge origin with a path": {nll, func(d *topic.Document) { d.Inference.BaseURL = ptr("https://judge.example/v1") }},
		"hashes in upper case and white space": {nll, func(d *topic.Document) {
			d.HoldoutCommitment = " " + strings.ToUpper(d.HoldoutCommitment) + "\n"
		}},
		"a recipe within the tolerance": {nll, func(d *topic.Document) { d.Baseline.LR = 3e-4 * (1 + 1e-10) }},
		"another optimizer, other values": {nll, func(d *topic.Document) {
			d.Baseline.Optimizer, d.Baseline.LR, d.Baseline.Seed, d.Baseline.Betas = "sgd", 0.1, 0, []float64{0, 0}
		}},
		"a window of one epoch":                {nll, func(d *topic.Document) { d.ValidFromEpoch, d.ValidUntilEpoch = 5, ptr(uint64(5)) }},
		"closed and not sealed":                {nll, func(d *topic.Document) { d.Status, d.Baseline.ScriptSHA256 = topic.Closed, "" }},
		"custom floors that are not checked":   {custom, func(d *topic.Document) { d.Metric.QualityFloorNLL, d.Metric.WallBudgetS = 5, 7 }},
		"custom epsilon below the pin's":       {custom, func(d *topic.Document) { d.Metric.EpsilonRel = 1e-9 }},
		"32 parameters of 256 bytes":           {custom, func(d *topic.Document) { d.Constraints.Params = params(32) }},
		"a wall budget off throughput differs": {custom, func(d *topic.Document) { d.Baseline.WallBudgetS = 9 }},
	} {
		d := c.base(t)
		c.change(d)
		if err := d.Validate(host(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := custom(t)
	d.Constraints.Params = params(33)
	if err := d.Validate(host(), nil); err == nil {
		t.Error("33 parameters")
	}
}

func params(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out["k"+string(rune('a'+i/26))+string(rune('a'+i%26))] = strings.Repeat("v", 256)
	}
	return out
}

func TestRefusedIDsHintAtTheSlug(t *testing.T) {
	t.Parallel()
	for id, hint := range map[string]string{"My_Topic": "did you mean my-topic?", "a": "", "é": "", " topic-a ": "did you mean topic-a?"} {
		d := nll(t)
		d.ID = id
		var refusal *topic.Refusal
		if err := d.Validate(host(), nil); !errors.As(err, &refusal) || refusal.Hint != hint {
			t.Errorf("%q: %v, hint %q", id, err, refusal.Hint)
		}
	}
}

// TestR4ATightenedPinHoldsTopicsToItself: every ceiling and floor is the pin's,
// none is compiled in.
func TestR4ATightenedPinHoldsTopicsToItself(t *testing.T) {
	t.Parallel()
	for want, tighten := range map[string]func(*pin.Pin){
		"flops_budget 2000000000000000000 must be 1..=1000":           func(p *pin.Pin) { p.FLOPsBudgetMax = 1000 },
		"epsilon_nll = 0.02 loosens the pin floor 0.03":               func(p *pin.Pin) { p.EpsilonNLLMin = 0.03 },
		"epsilon_topic_max_regress = 0.05 loosens the pin floor 0.06": func(p *pin.Pin) { p.EpsilonTopicMaxRegressMin = 0.06 },
		"metric.epsilon_rel = 0.05 loosens the pin floor 0.1":         func(p *pin.Pin) { p.EpsilonThroughputRelMin = 0.1 },
		"metric.quality_floor_nll = 0.02 loosens the pin floor 0.01":  func(p *pin.Pin) { p.QualityFloorNLLMax = 0.01 },
		"inference.max_input_tokens = 4096 must be 1..=4095":          func(p *pin.Pin) { p.MaxInputTokensCeiling = 4095 },
		"inference.max_output_tokens = 256 must be 1..=255":           func(p *pin.Pin) { p.Inference.MaxOutputTokens = 255 },
		"eval_executor.max_proof_deadline_s = 3601 must be 1..=3600":  func(p *pin.Pin) { p.MaxProofDeadlineSCeiling = 3600 },
		"inference.mode Chat is not in the pin allowed_modes":         func(p *pin.Pin) { p.AllowedModes = []pin.Mode{pin.Completions} },
	} {
		d := throughput(t)
		d.Inference.MaxInputTokens, d.Inference.MaxOutputTokens, d.Inference.Mode = ptr(uint32(4096)), ptr(uint32(256)), ptr(pin.Chat)
		d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(3601))
		p := host()
		if err := d.Validate(p, nil); err != nil {
			t.Fatal(err)
		}
		tighten(p)
		if err := d.Validate(p, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
