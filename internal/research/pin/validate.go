package pin

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/shape"
)

// ErrNoTopicKey says that no topic can be verified under a pin.
var ErrNoTopicKey = errors.New("pin carries no topic_pubkey; no topic can be verified")

// Validate checks a pin in the order of reference §4; the first failure wins.
func (p *Pin) Validate() error {
	for _, check := range []func() error{
		p.identity, p.proxies, p.judge, p.executor, p.topicKey, p.flops, p.floors, p.holdout,
	} {
		if err := check(); err != nil {
			return fmt.Errorf("pin: %w", err)
		}
	}
	return nil
}

func exactly(field, got, want string) error {
	if got != want {
		return fmt.Errorf("%s = %q must be %q", field, got, want)
	}
	return nil
}

func version(field string, got, want uint64) error {
	if got != want {
		return fmt.Errorf("%s = %d must be %d", field, got, want)
	}
	return nil
}

func between(field string, got, ceiling uint64) error {
	if got < 1 || got > ceiling {
		return fmt.Errorf("%s = %d must be 1..=%d", field, got, ceiling)
	}
	return nil
}

func (p *Pin) identity() error {
	return first(
		exactly("challenge_id", p.ChallengeID, ChallengeID),
		version("scoring_version", uint64(p.ScoringVersion), ScoringVersion),
		exactly("eval_image", p.EvalImage, EvalImage),
		exactly("base_model_family", p.BaseModelFamily, BaseModelFamily),
	)
}

func (p *Pin) proxies() error {
	if strings.TrimSpace(p.ProxyModel) != "" {
		return errors.New("proxy_model must stay empty (no HF bake)")
	}
	if len(p.ProxyModels) > 0 {
		return errors.New("proxy_models must stay empty (no HF bake)")
	}
	return nil
}

func (p *Pin) judge() error {
	i := &p.Inference
	if err := first(
		version("inference_config_schema_version", uint64(p.InferenceConfigSchemaVersion), InferenceSchema),
		exactly("inference_offer_commitment_alg", p.InferenceOfferCommitmentAlg, CommitmentAlg),
	); err != nil {
		return err
	}
	if len(p.AllowedModes) == 0 {
		return errors.New("allowed_modes must name at least one mode")
	}
	for k, m := range p.AllowedModes {
		if slices.Contains(p.AllowedModes[:k], m) {
			return fmt.Errorf("allowed_modes names %q twice", m)
		}
	}
	if !slices.Contains(p.AllowedModes, i.Mode) {
		return fmt.Errorf("allowed_modes does not hold inference.mode %q", i.Mode)
	}
	if err := first(
		between("max_input_tokens_ceiling", uint64(p.MaxInputTokensCeiling), MaxInputTokens),
		between("max_output_tokens_ceiling", uint64(p.MaxOutputTokensCeiling), MaxOutputTokens),
		between("inference.max_input_tokens", uint64(i.MaxInputTokens), uint64(p.MaxInputTokensCeiling)),
		between("inference.max_output_tokens", uint64(i.MaxOutputTokens), uint64(p.MaxOutputTokensCeiling)),
	); err != nil {
		return err
	}
	if i.BaseURL != "" && !shape.HTTPOrigin(i.BaseURL) {
		return errors.New("inference.base_url must be empty or an http(s) origin")
	}
	if len(i.Model) > shape.MaxModel {
		return fmt.Errorf("inference.model has %d bytes; at most %d are allowed", len(i.Model), shape.MaxModel)
	}
	return nil
}

func (p *Pin) executor() error {
	if err := first(
		version("eval_executor_schema_version", uint64(p.EvalExecutorSchemaVersion), ExecutorSchema),
		exactly("gpu_class", p.GPUClass, GPUClass),
		exactly("eval_executor_commitment_alg", p.EvalExecutorCommitmentAlg, CommitmentAlg),
		between("max_proof_deadline_s_ceiling", p.MaxProofDeadlineSCeiling, MaxDeadlineS),
	); err != nil {
		return err
	}
	for _, prefix := range p.AllowedLiumTemplatePrefixes {
		if n := len([]rune(prefix)); n < 1 || n > 64 || strings.ContainsFunc(prefix, unicode.IsSpace) {
			return fmt.Errorf("allowed_lium_template_prefixes holds %q; want 1..=64 characters without white space", prefix)
		}
	}
	return nil
}

func (p *Pin) topicKey() error {
	if !shape.Hex64(p.TopicPubkey) {
		return errors.New("topic_pubkey must be 64 hex chars")
	}
	return nil
}

func (p *Pin) flops() error { return between("flops_budget_max", p.FLOPsBudgetMax, MaxFLOPs) }

func (p *Pin) floors() error {
	return first(
		floor("epsilon_nll_min", p.EpsilonNLLMin, EpsilonNLLFloor),
		floor("epsilon_topic_max_regress_min", p.EpsilonTopicMaxRegressMin, EpsilonRegressFloor),
		floor("epsilon_throughput_rel_min", p.EpsilonThroughputRelMin, EpsilonThroughputFloor),
		ceiling("quality_floor_nll_max", p.QualityFloorNLLMax, QualityFloorNLLCeiling),
	)
}

// floor refuses a minimum below the compiled one. NaN is at least nothing.
func floor(field string, got, least float64) error {
	if got >= least {
		return nil
	}
	return loosens(field, got, least)
}

func ceiling(field string, got, most float64) error {
	if got <= most {
		return nil
	}
	return loosens(field, got, most)
}

func loosens(field string, got, locked float64) error {
	return fmt.Errorf("%s = %s loosens the locked floor %s", field, Number(got), Number(locked))
}

// Number spells a float in a text: shortest digits, never an exponent, no forced
// point (reference §5.8).
func Number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (p *Pin) holdout() error {
	if p.StratumSize > HoldoutSize || p.HoldoutSize != HoldoutSplits*p.StratumSize {
		return fmt.Errorf("holdout_size = %d must be %d times stratum_size = %d", p.HoldoutSize, HoldoutSplits, p.StratumSize)
	}
	if p.HoldoutSize != HoldoutSize {
		return fmt.Errorf("holdout_size = %d must be %d", p.HoldoutSize, HoldoutSize)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// CanRent reports whether a digest pins an image: without one nothing is rented.
func (p *Pin) CanRent() bool {
	return strings.HasPrefix(p.EvalImageDigest, "sha256:") && len(p.EvalImageDigest) >= minRentableDigestLength
}

// TemplateAllowed reports whether a template id is under an allowed prefix. An
// empty list allows all.
func (p *Pin) TemplateAllowed(id string) bool {
	return len(p.AllowedLiumTemplatePrefixes) == 0 ||
		slices.ContainsFunc(p.AllowedLiumTemplatePrefixes, func(prefix string) bool { return strings.HasPrefix(id, prefix) })
}

// ModeAllowed reports whether a judge call may use a mode.
func (p *Pin) ModeAllowed(m Mode) bool { return slices.Contains(p.AllowedModes, m) }

// TopicKey returns the key that topics are verified under. Without a well-formed
// one the error wraps ErrNoTopicKey.
func (p *Pin) TopicKey() (*sr25519.PublicKey, error) {
	if !shape.Hex64(p.TopicPubkey) {
		return nil, ErrNoTopicKey
	}
	key, err := sr25519.ParsePublicKey(strings.TrimSpace(p.TopicPubkey))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTopicKey, err)
	}
	return key, nil
}
