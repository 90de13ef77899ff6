package pin

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/strict"
)

// Values that a pin must have, and the floors and ceilings compiled in, which a
// pin may tighten and never loosen (reference §§1, 4).
const (
	ChallengeID     = "proof"
	ScoringVersion  = 1
	BaseModelFamily = "Qwen/Qwen3.8"
	EvalImage       = "ghcr.io/cortexlm/proof-eval"
	GPUClass        = "1x"
	CommitmentAlg   = "sha256"

	InferenceSchema = 1
	ExecutorSchema  = 1

	MaxInputTokens  = 32768
	MaxOutputTokens = 8192
	MaxDeadlineS    = 7200 // seconds
	MaxFLOPs        = 2_000_000_000_000_000_000

	EpsilonNLLFloor         = 0.02
	EpsilonRegressFloor     = 0.05
	EpsilonThroughputFloor  = 0.05
	QualityFloorNLLCeiling  = 0.02
	HoldoutSize             = 120
	HoldoutSplits           = 5
	defaultProofGit         = "https://github.com/CortexLM/cortex"
	minRentableDigestLength = 71 // sha256: and 64 digits
)

// Default returns the pin of a host that has no pin file: every key at its
// default. It does not validate, because it has no topic key.
func Default() *Pin {
	return &Pin{
		ChallengeID:                  ChallengeID,
		ScoringVersion:               ScoringVersion,
		BaseModelFamily:              BaseModelFamily,
		InferenceConfigSchemaVersion: InferenceSchema,
		AllowedModes:                 Modes(),
		MaxInputTokensCeiling:        MaxInputTokens,
		MaxOutputTokensCeiling:       MaxOutputTokens,
		InferenceOfferCommitmentAlg:  CommitmentAlg,
		Inference: Inference{
			Provider: OpenAICompatible, Mode: Chat, MaxInputTokens: MaxInputTokens, MaxOutputTokens: MaxOutputTokens,
		},
		EvalExecutorSchemaVersion: ExecutorSchema,
		GPUClass:                  GPUClass,
		MaxProofDeadlineSCeiling:  MaxDeadlineS,
		EvalExecutorCommitmentAlg: CommitmentAlg,
		EvalImage:                 EvalImage,
		ProofGit:                  defaultProofGit,
		FLOPsBudgetMax:            MaxFLOPs,
		EpsilonNLLMin:             EpsilonNLLFloor,
		EpsilonTopicMaxRegressMin: EpsilonRegressFloor,
		EpsilonThroughputRelMin:   EpsilonThroughputFloor,
		QualityFloorNLLMax:        QualityFloorNLLCeiling,
		HoldoutSize:               HoldoutSize,
		StratumSize:               HoldoutSize / HoldoutSplits,
	}
}

// Parse reads a pin file strictly; missing keys take their default. It does not
// validate. The error names the key.
func Parse(data []byte) (*Pin, error) {
	v, err := strict.TOML(data)
	if err != nil {
		return nil, fmt.Errorf("parse pin: %w", err)
	}
	p := Default()
	if err := p.read()(v, ""); err != nil {
		return nil, fmt.Errorf("parse pin: %w", err)
	}
	return p, nil
}

// Load parses and validates a pin file.
func Load(data []byte) (*Pin, error) {
	p, err := Parse(data)
	if err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Pin) read() strict.Reader {
	mode, provider := strict.Word(modes...), strict.Word(providers...)
	i := &p.Inference
	return strict.Object(
		strict.Key("challenge_id", strict.String(&p.ChallengeID)),
		strict.Key("scoring_version", strict.Uint(&p.ScoringVersion)),
		strict.Key("base_model_family", strict.String(&p.BaseModelFamily)),
		strict.Key("proxy_model", strict.String(&p.ProxyModel)),
		strict.Key("proxy_models", strict.List(&p.ProxyModels, strict.String)),
		strict.Key("inference_config_schema_version", strict.Uint(&p.InferenceConfigSchemaVersion)),
		strict.Key("allowed_modes", strict.List(&p.AllowedModes, mode)),
		strict.Key("max_input_tokens_ceiling", strict.Uint(&p.MaxInputTokensCeiling)),
		strict.Key("max_output_tokens_ceiling", strict.Uint(&p.MaxOutputTokensCeiling)),
		strict.Key("inference_offer_commitment_alg", strict.String(&p.InferenceOfferCommitmentAlg)),
		strict.Key("inference", strict.Object(
			strict.Key("provider", provider(&i.Provider)),
			strict.Key("base_url", strict.String(&i.BaseURL)),
			strict.Key("model", strict.String(&i.Model)),
			strict.Key("mode", mode(&i.Mode)),
			strict.Key("max_input_tokens", strict.Uint(&i.MaxInputTokens)),
			strict.Key("max_output_tokens", strict.Uint(&i.MaxOutputTokens)),
		)),
		strict.Key("eval_executor_schema_version", strict.Uint(&p.EvalExecutorSchemaVersion)),
		strict.Key("gpu_class", strict.String(&p.GPUClass)),
		strict.Key("max_proof_deadline_s_ceiling", strict.Uint(&p.MaxProofDeadlineSCeiling)),
		strict.Key("allowed_lium_template_prefixes", strict.List(&p.AllowedLiumTemplatePrefixes, strict.String)),
		strict.Key("eval_executor_commitment_alg", strict.String(&p.EvalExecutorCommitmentAlg)),
		strict.Key("eval_image", strict.String(&p.EvalImage)),
		strict.Key("eval_image_digest", strict.String(&p.EvalImageDigest)),
		strict.Key("proof_git", strict.String(&p.ProofGit)),
		strict.Key("proof_git_sha", strict.String(&p.ProofGitSHA)),
		strict.Key("topic_pubkey", strict.String(&p.TopicPubkey)),
		strict.Key("flops_budget_max", strict.Uint(&p.FLOPsBudgetMax)),
		strict.Key("epsilon_nll_min", strict.FloatOrNaN(&p.EpsilonNLLMin)),
		strict.Key("epsilon_topic_max_regress_min", strict.FloatOrNaN(&p.EpsilonTopicMaxRegressMin)),
		strict.Key("epsilon_throughput_rel_min", strict.FloatOrNaN(&p.EpsilonThroughputRelMin)),
		strict.Key("quality_floor_nll_max", strict.FloatOrNaN(&p.QualityFloorNLLMax)),
		strict.Key("holdout_size", strict.Count(&p.HoldoutSize)),
		strict.Key("stratum_size", strict.Count(&p.StratumSize)),
	)
}
