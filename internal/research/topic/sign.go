package topic

import (
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/pin"
)

// Domain is the signature domain of topic documents.
const Domain = "base-proof-topic-v1"

// The refusals of a signature (reference §5.7). A host answers pin.ErrNoTopicKey
// with 503 and these two with 400.
var (
	ErrSignatureEncoding = errors.New("signature must be 128 hex chars")
	ErrSignature         = errors.New("topic signature does not verify under the proof trust-root key")
)

// Payload returns the signed bytes: the sorted compact JSON of the document
// without its signature. It fails only for a document that holds a NaN, an
// infinity or text that is not UTF-8, which no parsed and validated one does.
func (d *Document) Payload() ([]byte, error) {
	return canonjson.AppendSorted(make([]byte, 0, 2048), d.object())
}

// JSON returns the whole document, signature included, as one line of sorted
// JSON.
func (d *Document) JSON() ([]byte, error) {
	o := d.object()
	o.Set("signature", d.Signature)
	return canonjson.Sorted(o)
}

// Sign sets the signature to that of a key. Randomness is mixed in as by
// [sr25519.SecretKey.Sign].
func (d *Document) Sign(rand io.Reader, key *sr25519.SecretKey) error {
	payload, err := d.Payload()
	if err != nil {
		return err
	}
	signature, err := key.Sign(rand, Domain, payload)
	if err != nil {
		return err
	}
	d.Signature = hex.EncodeToString(signature[:])
	return nil
}

// Verify checks the signature under the pin's topic key. The document's fields
// are what is verified, never the text they came from.
func (d *Document) Verify(p *pin.Pin) error {
	key, err := p.TopicKey()
	if err != nil {
		return err
	}
	return d.VerifyKey(key)
}

// VerifyKey checks the signature under a key: ErrSignatureEncoding when it cannot
// be a signature, ErrSignature when it is not this key's over this document.
func (d *Document) VerifyKey(key *sr25519.PublicKey) error {
	signature, err := hex.DecodeString(d.Signature)
	if err != nil || len(signature) != sr25519.SignatureSize {
		return ErrSignatureEncoding
	}
	payload, err := d.Payload()
	if err != nil {
		return err
	}
	if key.Verify(Domain, payload, signature) != nil {
		return ErrSignature
	}
	return nil
}

// object is the document without its signature, as it is signed: null for what
// older documents had as null, nothing for what they did not have (reference
// §5.7). Members are in sorted order already, so that writing need not sort.
func (d *Document) object() *canonjson.Object {
	pairs := append(make([]any, 0, 48), "baseline", d.Baseline.object())
	if len(d.Checklist) > 0 {
		rules := make([]any, len(d.Checklist))
		for i, c := range d.Checklist {
			rules[i] = c.object()
		}
		pairs = append(pairs, "checklist", rules)
	}
	pairs = append(pairs,
		"constraints", d.Constraints.object(),
		"discovery", canonjson.NewObject(
			"novelty_pool_share_bps", whole(d.Discovery.NoveltyPoolShareBPS),
			"pass_floor_share_bps", whole(d.Discovery.PassFloorShareBPS),
		),
		"epsilon_nll", d.EpsilonNLL,
		"epsilon_topic_max_regress", d.EpsilonTopicMaxRegress,
	)
	if e := d.EvalExecutor.object(); e.Len() > 0 {
		pairs = append(pairs, "eval_executor", e)
	}
	pairs = append(pairs,
		"flops_budget", whole(d.FLOPsBudget),
		"holdout_commitment", d.HoldoutCommitment,
		"holdout_size", whole(d.HoldoutSize),
		"id", d.ID,
		"inference", d.Inference.object(),
		"metric", canonjson.NewObject(
			"custom_id", d.Metric.CustomID,
			"direction", string(d.Metric.Direction),
			"epsilon_rel", d.Metric.EpsilonRel,
			"family", string(d.Metric.Family),
			"primary", d.Metric.Primary,
			"quality_floor_nll", d.Metric.QualityFloorNLL,
			"unit", d.Metric.Unit,
			"wall_budget_s", whole(d.Metric.WallBudgetS),
		),
		"payout_mode", string(d.PayoutMode),
		"proxy_model", text(d.ProxyModel),
		"schema_version", whole(d.SchemaVersion),
		"statement", d.Statement,
		"status", string(d.Status),
		"valid_from_epoch", whole(d.ValidFromEpoch),
		"valid_until_epoch", number(d.ValidUntilEpoch),
		"validation", canonjson.NewObject(
			"accept_if", d.Validation.AcceptIf,
			"reject_if", d.Validation.RejectIf,
			"score_on", d.Validation.ScoreOn,
		),
	)
	return canonjson.NewObject(pairs...)
}

func (b *Baseline) object() *canonjson.Object {
	betas := make([]any, len(b.Betas))
	for i, beta := range b.Betas {
		betas[i] = beta
	}
	return canonjson.NewObject(
		"betas", betas,
		"dtype", b.DType,
		"eps", b.Eps,
		"flops_budget", whole(b.FLOPsBudget),
		"lr", b.LR,
		"metrics_commitment", b.MetricsCommitment,
		"notes", b.Notes,
		"optimizer", b.Optimizer,
		"schedule", b.Schedule,
		"script_sha256", b.ScriptSHA256,
		"seed", whole(b.Seed),
		"wall_budget_s", whole(b.WallBudgetS),
		"warmup_ratio", b.WarmupRatio,
		"weight_decay", b.WeightDecay,
	)
}

func (c *Constraints) object() *canonjson.Object {
	o := &canonjson.Object{}
	if c.FirecrackerRequired {
		o.Set("firecracker_required", true)
	}
	var gbps any
	if c.MaxInterNodeGbps != nil {
		gbps = *c.MaxInterNodeGbps
	}
	o.Set("max_inter_node_gbps", gbps)
	if c.ModelPin != nil {
		o.Set("model_pin", *c.ModelPin)
	}
	o.Set("no_infiniband", c.NoInfiniband)
	o.Set("no_nccl_fast_fabric", c.NoNCCLFastFabric)
	o.Set("no_nvlink", c.NoNVLink)
	if len(c.Params) > 0 {
		params := &canonjson.Object{}
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			params.Set(name, c.Params[name])
		}
		o.Set("params", params)
	}
	if c.TaskSlice != nil {
		o.Set("task_slice", *c.TaskSlice)
	}
	return o
}

func (i *Inference) object() *canonjson.Object {
	return canonjson.NewObject(
		"base_url", text(i.BaseURL),
		"max_input_tokens", number(i.MaxInputTokens),
		"max_output_tokens", number(i.MaxOutputTokens),
		"mode", text(i.Mode),
		"model", text(i.Model),
		"provider", text(i.Provider),
		"require_judge_offer_commitment", text(i.RequireJudgeOfferCommitment),
	)
}

func (e *EvalExecutor) object() *canonjson.Object {
	o := &canonjson.Object{}
	if e.MaxProofDeadlineS != nil {
		o.Set("max_proof_deadline_s", whole(*e.MaxProofDeadlineS))
	}
	if e.RequireOfferCommitment != nil {
		o.Set("require_offer_commitment", *e.RequireOfferCommitment)
	}
	return o
}

// text is a string or null.
func text[T ~string](s *T) any {
	if s == nil {
		return nil
	}
	return string(*s)
}

// number is an integer or null.
func number[T ~uint32 | ~uint64](n *T) any {
	if n == nil {
		return nil
	}
	return whole(*n)
}

func whole[T ~int | ~uint16 | ~uint32 | ~uint64](n T) canonjson.Int {
	if n < 0 {
		return canonjson.NewInt(int64(n))
	}
	return canonjson.Int(strconv.FormatUint(uint64(n), 10))
}
