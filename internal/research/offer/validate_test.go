package offer_test

import (
	"math"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
)

func TestR7InferenceValidationTextsInTheirOrder(t *testing.T) {
	t.Parallel()
	type edit = func(*offer.Inference)
	spoilAll := func(i *offer.Inference) {
		i.BaseURL, i.ModelRef, i.Mode, i.MaxInputTokens, i.MaxOutputTokens = "ftp://x", " ", "voice", 0, 0
		i.Temperature, i.TopP, i.ConfigCommitment = ptr(9.0), ptr(9.0), "x"
	}
	for _, c := range []struct {
		name string
		edit edit
		want string
	}{
		{"a sound offer", func(*offer.Inference) {}, ""},
		{"a closed offer may be valid", func(i *offer.Inference) { i.Status = offer.Closed }, ""},
		{"the id before all", func(i *offer.Inference) { spoilAll(i); i.OfferID = "Has_Underscore" }, `offer_id "Has_Underscore" must match [a-z0-9][a-z0-9-]{1,62}`},
		{"then the origin", spoilAll, "provider.base_url must be an http(s) origin"},
		{"an origin with a space in it", func(i *offer.Inference) { i.BaseURL = "http://a b" }, "provider.base_url must be an http(s) origin"},
		{"then the model", func(i *offer.Inference) { spoilAll(i); i.BaseURL = origin }, "config.model_ref is required"},
		{"a model of 257 bytes", func(i *offer.Inference) { i.ModelRef = strings.Repeat("m", 257) }, "config.model_ref is required"},
		{"a model of 256 bytes", func(i *offer.Inference) { i.ModelRef = strings.Repeat("m", 256) }, ""},
		{"then the mode", func(i *offer.Inference) { spoilAll(i); i.BaseURL, i.ModelRef = origin, "m" }, "config.mode voice is not in the pin allowed_modes"},
		{"then input tokens", func(i *offer.Inference) { spoilAll(i); i.BaseURL, i.ModelRef, i.Mode = origin, "m", pin.Chat }, "config.max_input_tokens = 0 must be 1..=32768"},
		{"input tokens over the ceiling", func(i *offer.Inference) { i.MaxInputTokens = 32769 }, "config.max_input_tokens = 32769 must be 1..=32768"},
		{"output tokens over the ceiling", func(i *offer.Inference) { i.MaxOutputTokens = 8193 }, "config.max_output_tokens = 8193 must be 1..=8192"},
		{"no output tokens", func(i *offer.Inference) { i.MaxOutputTokens = 0 }, "config.max_output_tokens = 0 must be 1..=8192"},
		{"temperature before top_p", func(i *offer.Inference) { i.Temperature, i.TopP = ptr(2.1), ptr(1.1) }, "config.temperature is not a usable sampling value"},
		{"a negative temperature", func(i *offer.Inference) { i.Temperature = ptr(-0.1) }, "config.temperature is not a usable sampling value"},
		{"a temperature that is no number", func(i *offer.Inference) { i.Temperature = ptr(math.NaN()) }, "config.temperature is not a usable sampling value"},
		{"an endless top_p", func(i *offer.Inference) { i.TopP = ptr(math.Inf(1)) }, "config.top_p is not a usable sampling value"},
		{"both ends of the sampling range", func(i *offer.Inference) { i.Temperature, i.TopP = ptr(2.0), ptr(1.0) }, ""},
		{"zero sampling", func(i *offer.Inference) { i.Temperature, i.TopP = ptr(0.0), ptr(0.0) }, ""},
		{"a commitment of another configuration", func(i *offer.Inference) { i.ConfigCommitment = strings.Repeat("a", 64) }, "config_commitment does not match sha256(canonical config+origin)"},
		{"no commitment", func(i *offer.Inference) { i.ConfigCommitment = " " }, "config_commitment does not match sha256(canonical config+origin)"},
		{"a commitment in upper case", func(i *offer.Inference) { c, _ := i.Commitment(); i.ConfigCommitment = " " + strings.ToUpper(c) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want(t, inference(c.edit).Validate(committedPin()), c.want)
		})
	}
}

func TestR8ExecutorValidationTextsInTheirOrder(t *testing.T) {
	t.Parallel()
	const uuid = "f2f5e84c-3b09-4090-be83-1913eabd009e"
	spoilAll := func(e *offer.Executor) {
		e.LiumTemplateID, e.MachineShape, e.MaxProofDeadlineS, e.EvalImageDigest, e.ConfigCommitment = " ", "8x", 0, "sha256:aa", "x"
	}
	for _, c := range []struct {
		name string
		edit func(*offer.Executor)
		pin  func(*pin.Pin)
		want string
	}{
		{"a sound offer", nil, nil, ""},
		{"a closed offer may be valid", func(e *offer.Executor) { e.Status = offer.Closed }, nil, ""},
		{"the id before all", func(e *offer.Executor) { spoilAll(e); e.OfferID = "" }, nil, `offer_id "" must match [a-z0-9][a-z0-9-]{1,62}`},
		{"then the template", spoilAll, nil, "lium_template_id must be 1..=128 printable ASCII chars"},
		{"a template of 129 characters", func(e *offer.Executor) { e.LiumTemplateID = "proof-eval-" + strings.Repeat("a", 118) }, nil, "lium_template_id must be 1..=128 printable ASCII chars"},
		{"a template that is not ASCII", func(e *offer.Executor) { e.LiumTemplateID = "proof-eval-é" }, nil, "lium_template_id must be 1..=128 printable ASCII chars"},
		{"a template of another prefix", func(e *offer.Executor) { spoilAll(e); e.LiumTemplateID = "prism-recipe-v10" }, nil, `lium_template_id "prism-recipe-v10" is not under the pin allowed_lium_template_prefixes`},
		{"a raw UUID under the committed prefixes", func(e *offer.Executor) { e.LiumTemplateID = uuid }, nil, `lium_template_id "` + uuid + `" is not under the pin allowed_lium_template_prefixes`},
		{"a raw UUID where every prefix is allowed", func(e *offer.Executor) { e.LiumTemplateID = uuid }, func(p *pin.Pin) { p.AllowedLiumTemplatePrefixes = nil }, `lium_template_id "` + uuid + `" is a raw template UUID, which would be rented with no image check; name the digest-scoped template`},
		{"a raw UUID that carries the digest", func(e *offer.Executor) { e.LiumTemplateID = "00000000-0000-0000-0000-78B614A1F51C" }, func(p *pin.Pin) { p.AllowedLiumTemplatePrefixes = nil }, `lium_template_id "00000000-0000-0000-0000-78B614A1F51C" is a raw template UUID, which would be rented with no image check; name the digest-scoped template`},
		{"a pin without a digest binds no executor", nil, func(p *pin.Pin) { p.EvalImageDigest = "" }, "the pin carries no eval_image_digest; it binds no executor"},
		{"a pin with a cut digest binds none either", nil, func(p *pin.Pin) { p.EvalImageDigest = "sha256:78b614a1f51c" }, "the pin carries no eval_image_digest; it binds no executor"},
		{"a template of another image", func(e *offer.Executor) { spoilAll(e); e.LiumTemplateID = "proof-eval-000000000000" }, nil, `lium_template_id "proof-eval-000000000000" does not carry the pinned eval image digest prefix 78b614a1f51c`},
		{"any template with the digest where all are allowed", func(e *offer.Executor) { e.LiumTemplateID = "mine-78b614a1f51c-v2" }, func(p *pin.Pin) { p.AllowedLiumTemplatePrefixes = nil }, ""},
		{"then the machine", func(e *offer.Executor) { spoilAll(e); e.LiumTemplateID = "proof-eval-78b614a1f51c" }, nil, `machine_shape "8x" is not the pin gpu_class "1x"; refuse scoring`},
		{"then the deadline", func(e *offer.Executor) {
			spoilAll(e)
			e.LiumTemplateID, e.MachineShape = "proof-eval-78b614a1f51c", "1x"
		}, nil, "max_proof_deadline_s = 0 must be 1..=7200"},
		{"a deadline over the ceiling", func(e *offer.Executor) { e.MaxProofDeadlineS = 7201 }, nil, "max_proof_deadline_s = 7201 must be 1..=7200"},
		{"a deadline over a tightened ceiling", nil, func(p *pin.Pin) { p.MaxProofDeadlineSCeiling = 3600 }, "max_proof_deadline_s = 7200 must be 1..=3600"},
		{"then the image", func(e *offer.Executor) { e.EvalImageDigest, e.ConfigCommitment = "sha256:aa", "x" }, nil, "eval_image_digest does not match the pin"},
		{"an image in upper case", func(e *offer.Executor) { e.EvalImageDigest = strings.ToUpper(pinnedDigest) }, nil, ""},
		{"no image in the offer", func(e *offer.Executor) { e.EvalImageDigest = "" }, nil, ""},
		{"then the commitment", func(e *offer.Executor) { e.ConfigCommitment = strings.Repeat("a", 64) }, nil, "config_commitment does not match sha256(canonical executor config)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := committedPin()
			if c.pin != nil {
				c.pin(p)
			}
			e := executor()
			if c.edit != nil {
				e = executor(c.edit)
			}
			want(t, e.Validate(p), c.want)
		})
	}
}

func TestR7RequireOpenChecksMissingThenValidThenOpen(t *testing.T) {
	t.Parallel()
	p := committedPin()
	want(t, (*offer.Inference)(nil).RequireOpen(p), "inference offer missing; refuse scoring")
	want(t, inference().RequireOpen(p), "")
	closed := func(i *offer.Inference) { i.Status = offer.Closed }
	want(t, inference(closed).RequireOpen(p), "inference offer is closed; refuse scoring")
	want(t, inference(closed, func(i *offer.Inference) { i.ModelRef = "" }).RequireOpen(p), "inference offer: config.model_ref is required")
}

func TestR8RequireOpenChecksMissingThenValidThenOpen(t *testing.T) {
	t.Parallel()
	p := committedPin()
	want(t, (*offer.Executor)(nil).RequireOpen(p), "eval executor offer missing; refuse scoring")
	want(t, executor().RequireOpen(p), "")
	closed := func(e *offer.Executor) { e.Status = offer.Closed }
	want(t, executor(closed).RequireOpen(p), "eval executor offer is closed; refuse scoring")
	want(t, executor(closed, func(e *offer.Executor) { e.MachineShape = "8x" }).RequireOpen(p), `eval executor offer: machine_shape "8x" is not the pin gpu_class "1x"; refuse scoring`)
}

func TestR8MachineShapesCountTheirGPUs(t *testing.T) {
	t.Parallel()
	for shape, n := range map[string]uint32{"1x": 1, "8x": 8, "0x": 0, "4294967295x": 4294967295} {
		if got, ok := offer.GPUCount(shape); !ok || got != n {
			t.Errorf("%s is %d, %v", shape, got, ok)
		}
	}
	for _, shape := range []string{"", "x", "1", "1X", "+1x", "-1x", "1.0x", "4294967296x", "one x", "1xx"} {
		if got, ok := offer.GPUCount(shape); ok {
			t.Errorf("%q is %d", shape, got)
		}
	}
}
