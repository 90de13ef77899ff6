package pin_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/research/pin"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func committed(t testing.TB) *pin.Pin {
	t.Helper()
	p, err := pin.Load(read(t, "proof-pin.committed.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestR4CommittedPinIsTheDefaultsAndItsOwnFourValues(t *testing.T) {
	t.Parallel()
	want := pin.Default()
	want.ProxyModels = []string{}
	want.EvalImageDigest = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"
	want.ProofGitSHA = "51f937c7818f0eb1e3ed1412972de98b6994952b"
	want.TopicPubkey = "3e7f70f09165e265ab89ab04a4fc91dc0531d54a100c538fb14c6f008421c375"
	got := committed(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if key, err := got.TopicKey(); err != nil || key.String() != want.TopicPubkey || !got.CanRent() {
		t.Errorf("key %v, %v; can rent %v", key, err, got.CanRent())
	}
}

func TestR4SeedEraPinHasTemplatePrefixes(t *testing.T) {
	t.Parallel()
	got, err := pin.Load(read(t, "proof-pin.seed-era.toml"))
	if err != nil {
		t.Fatal(err)
	}
	want := committed(t)
	want.AllowedLiumTemplatePrefixes = []string{"proof-eval-"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got.TemplateAllowed("proof-eval-78b614a1f51c") || got.TemplateAllowed("prism-recipe-v10") || !committed(t).TemplateAllowed("prism-recipe-v10") {
		t.Error("template prefixes")
	}
}

func TestR4AnEmptyPinIsAllDefaultsAndDoesNotValidate(t *testing.T) {
	t.Parallel()
	got, err := pin.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pin.Default(), got); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err == nil || err.Error() != "pin: topic_pubkey must be 64 hex chars" {
		t.Errorf("%v", err)
	}
	if _, err := got.TopicKey(); !errors.Is(err, pin.ErrNoTopicKey) || got.CanRent() {
		t.Errorf("%v, can rent %v", err, got.CanRent())
	}
	if _, err := pin.Load(nil); err == nil {
		t.Error("loaded")
	}
}

// checks are in the order of R§4: each alone has its text, and of two adjacent
// ones the earlier wins.
var checks = []struct {
	name, want string
	spoil      func(*pin.Pin)
}{
	{"challenge id", `challenge_id = "x" must be "proof"`, func(p *pin.Pin) { p.ChallengeID = "x" }},
	{"scoring version", `scoring_version = 2 must be 1`, func(p *pin.Pin) { p.ScoringVersion = 2 }},
	{"eval image", `eval_image = "x" must be "ghcr.io/cortexlm/proof-eval"`, func(p *pin.Pin) { p.EvalImage = "x" }},
	{"base model", `base_model_family = "x" must be "Qwen/Qwen3.8"`, func(p *pin.Pin) { p.BaseModelFamily = "x" }},
	{"proxy model", `proxy_model must stay empty (no HF bake)`, func(p *pin.Pin) { p.ProxyModel = "x" }},
	{"proxy models", `proxy_models must stay empty (no HF bake)`, func(p *pin.Pin) { p.ProxyModels = []string{""} }},
	{"inference schema", `inference_config_schema_version = 2 must be 1`, func(p *pin.Pin) { p.InferenceConfigSchemaVersion = 2 }},
	{"offer algorithm", `inference_offer_commitment_alg = "md5" must be "sha256"`, func(p *pin.Pin) { p.InferenceOfferCommitmentAlg = "md5" }},
	{"no modes", `allowed_modes must name at least one mode`, func(p *pin.Pin) { p.AllowedModes = nil }},
	{"a mode twice", `allowed_modes names "chat" twice`, func(p *pin.Pin) { p.AllowedModes = []pin.Mode{pin.Chat, pin.Chat} }},
	{"mode not allowed", `allowed_modes does not hold inference.mode "chat"`, func(p *pin.Pin) { p.AllowedModes = []pin.Mode{pin.Embeddings} }},
	{"input ceiling", `max_input_tokens_ceiling = 32769 must be 1..=32768`, func(p *pin.Pin) { p.MaxInputTokensCeiling = 32769 }},
	{"output ceiling", `max_output_tokens_ceiling = 0 must be 1..=8192`, func(p *pin.Pin) { p.MaxOutputTokensCeiling = 0 }},
	{"input tokens", `inference.max_input_tokens = 40000 must be 1..=32768`, func(p *pin.Pin) { p.Inference.MaxInputTokens = 40000 }},
	{"output tokens", `inference.max_output_tokens = 0 must be 1..=8192`, func(p *pin.Pin) { p.Inference.MaxOutputTokens = 0 }},
	{"base url", `inference.base_url must be empty or an http(s) origin`, func(p *pin.Pin) { p.Inference.BaseURL = "ftp://x" }},
	{"model", `inference.model has 257 bytes; at most 256 are allowed`, func(p *pin.Pin) { p.Inference.Model = strings.Repeat("m", 257) }},
	{"executor schema", `eval_executor_schema_version = 0 must be 1`, func(p *pin.Pin) { p.EvalExecutorSchemaVersion = 0 }},
	{"gpu class", `gpu_class = "8x" must be "1x"`, func(p *pin.Pin) { p.GPUClass = "8x" }},
	{"executor algorithm", `eval_executor_commitment_alg = "" must be "sha256"`, func(p *pin.Pin) { p.EvalExecutorCommitmentAlg = "" }},
	{"deadline", `max_proof_deadline_s_ceiling = 7201 must be 1..=7200`, func(p *pin.Pin) { p.MaxProofDeadlineSCeiling = 7201 }},
	{"prefix", `allowed_lium_template_prefixes holds "a b"; want 1..=64 characters without white space`, func(p *pin.Pin) { p.AllowedLiumTemplatePrefixes = []string{"ok", "a b"} }},
	{"topic key", `topic_pubkey must be 64 hex chars`, func(p *pin.Pin) { p.TopicPubkey = "abc" }},
	{"flops", `flops_budget_max = 2000000000000000001 must be 1..=2000000000000000000`, func(p *pin.Pin) { p.FLOPsBudgetMax = 2e18 + 1 }},
	{"epsilon", `epsilon_nll_min = 0.019 loosens the locked floor 0.02`, func(p *pin.Pin) { p.EpsilonNLLMin = 0.019 }},
	{"regress", `epsilon_topic_max_regress_min = NaN loosens the locked floor 0.05`, func(p *pin.Pin) { p.EpsilonTopicMaxRegressMin = math.NaN() }},
	{"throughput", `epsilon_throughput_rel_min = 0 loosens the locked floor 0.05`, func(p *pin.Pin) { p.EpsilonThroughputRelMin = 0 }},
	{"quality", `quality_floor_nll_max = 0.03 loosens the locked floor 0.02`, func(p *pin.Pin) { p.QualityFloorNLLMax = 0.03 }},
	{"strata", `holdout_size = 120 must be 5 times stratum_size = 23`, func(p *pin.Pin) { p.HoldoutSize, p.StratumSize = 120, 23 }},
	{"holdout", `holdout_size = 60 must be 120`, func(p *pin.Pin) { p.HoldoutSize, p.StratumSize = 60, 12 }},
}

func TestR4EveryCheckHasItsText(t *testing.T) {
	t.Parallel()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := committed(t)
			c.spoil(p)
			if err := p.Validate(); err == nil || err.Error() != "pin: "+c.want {
				t.Errorf("%v\nwant pin: %s", err, c.want)
			}
		})
	}
}

func TestR4TheEarlierCheckWins(t *testing.T) {
	t.Parallel()
	for i := range len(checks) - 1 {
		p := committed(t)
		checks[i+1].spoil(p)
		checks[i].spoil(p)
		if err := p.Validate(); err == nil || err.Error() != "pin: "+checks[i].want {
			t.Errorf("%s before %s: %v", checks[i].name, checks[i+1].name, err)
		}
	}
}

func TestR4APinMayTightenItsOwnCeilings(t *testing.T) {
	t.Parallel()
	p := committed(t)
	p.MaxProofDeadlineSCeiling, p.FLOPsBudgetMax, p.MaxInputTokensCeiling, p.Inference.MaxInputTokens = 3600, 1e18, 4096, 4096
	p.EpsilonNLLMin, p.EpsilonTopicMaxRegressMin, p.QualityFloorNLLMax = 0.5, 0.5, -1
	p.Inference.Model, p.Inference.BaseURL = "m", "https://judge.example/v1"
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	p.MaxInputTokensCeiling = 4095
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "inference.max_input_tokens = 4096 must be 1..=4095") {
		t.Error(err)
	}
}

func TestPinKeysAreExact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key":          {"epsilon_nll_mn = 0.05", "parse pin: epsilon_nll_mn: unknown key; did you mean epsilon_nll_min?"},
		"a hyphen":                {"topic-pubkey = ''", "parse pin: topic-pubkey: unknown key; did you mean topic_pubkey?"},
		"wrong case":              {"GPU_class = '1x'", "parse pin: GPU_class: unknown key; did you mean gpu_class?"},
		"unknown in the table":    {"[inference]\nmodell = 'x'", "parse pin: inference.modell: unknown key; did you mean model?"},
		"a key twice":             {"gpu_class = '1x'\ngpu_class = '1x'", "parse pin: invalid TOML: "},
		"a float for an integer":  {"flops_budget_max = 2e18", "parse pin: flops_budget_max: is the number 2e+18 with a point or exponent, want an integer written in digits"},
		"a string for an integer": {"holdout_size = '120'", "parse pin: holdout_size: is a string, want an integer"},
		"a negative integer":      {"stratum_size = -24", "parse pin: stratum_size: is -24, want an integer from 0 to "},
		"too large for 16 bits":   {"scoring_version = 65536", "parse pin: scoring_version: is 65536, want an integer from 0 to 65535"},
		"an unknown mode":         {"allowed_modes = ['chat', 'chats']", `parse pin: allowed_modes[1]: is "chats", want one of chat, completions, embeddings; did you mean chat?`},
		"an infinite floor":       {"epsilon_nll_min = inf", "parse pin: epsilon_nll_min: is +Inf, want a finite number"},
		"a date":                  {"proof_git_sha = 2026-09-01", "parse pin: proof_git_sha: is a date or time"},
		"no TOML":                 {"{", "parse pin: invalid TOML: "},
		"a table for a value":     {"[gpu_class]", "parse pin: gpu_class: is an object, want a string"},
		"too long":                {"# " + strings.Repeat("x", 70_000), "parse pin: 70002 bytes; at most 65536 are read"},
	} {
		if _, err := pin.Parse([]byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	p, err := pin.Parse([]byte("epsilon_nll_min = nan\nepsilon_throughput_rel_min = 1"))
	if err != nil || p.EpsilonThroughputRelMin != 1 {
		t.Fatal(err)
	}
	if err := p.Validate(); err == nil {
		t.Error("NaN validates")
	}
}

// FuzzLoad: no text panics, and what loads has the floors at least.
func FuzzLoad(f *testing.F) {
	f.Add(read(f, "proof-pin.committed.toml"))
	f.Add(read(f, "proof-pin.seed-era.toml"))
	f.Add([]byte("epsilon_nll_min = nan\n[[inference]]\n"))
	f.Add([]byte("allowed_modes = [[['chat']]]\nx.y.z = {a = 1, b = [1979-05-27]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pin.Load(data)
		if err != nil {
			return
		}
		if !(p.EpsilonNLLMin >= 0.02) || !(p.QualityFloorNLLMax <= 0.02) || p.FLOPsBudgetMax > 2e18 || p.HoldoutSize != 120 || p.MaxProofDeadlineSCeiling > 7200 {
			t.Fatalf("%+v", p)
		}
	})
}
