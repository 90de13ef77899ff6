package topic

import (
	"bytes"
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/strict"
)

// MaxSize is the size in bytes of the longest text that is read.
const MaxSize = strict.MaxSize

// Parse reads a document or a draft, JSON when its first character is a brace or
// a bracket and YAML otherwise; a draft's missing keys take their defaults. It
// does not validate. The error is a [*strict.Error] underneath, which names the
// path of the fault and says whether the text is no document at all.
func Parse(data []byte) (*Document, error) {
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return ParseJSON(data)
	}
	return ParseYAML(data)
}

// ParseJSON is Parse of a JSON text.
func ParseJSON(data []byte) (*Document, error) { return parse(data, strict.JSON) }

// ParseYAML is Parse of a YAML text.
func ParseYAML(data []byte) (*Document, error) { return parse(data, strict.YAML) }

func parse(data []byte, read func([]byte) (any, error)) (*Document, error) {
	v, err := read(data)
	if err == nil {
		var d *Document
		if d, err = fromValue(v, ""); err == nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("parse topic document: %w", err)
}

// FromValue reads a document from an already parsed JSON value, as [Parse] does
// from a text.
func FromValue(v any) (*Document, error) {
	d, err := fromValue(v, "")
	if err != nil {
		return nil, fmt.Errorf("parse topic document: %w", err)
	}
	return d, nil
}

func fromValue(v any, path string) (*Document, error) {
	d := New()
	if err := d.read()(v, path); err != nil {
		return nil, err
	}
	return d, nil
}

// ParseFile reads a topic file of a host (reference §5.9), JSON or YAML: an array
// of documents, or an object whose one key "topics" has it.
func ParseFile(data []byte) ([]*Document, error) {
	read := strict.YAML
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		read = strict.JSON
	}
	v, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("parse topic file: %w", err)
	}
	path := ""
	var list []any
	if _, ok := v.(*canonjson.Object); ok {
		path = "topics"
		found := false
		err := strict.Object(strict.Key(path, func(v any, at string) (err error) {
			found = true
			list, err = array(v, at)
			return err
		}))(v, "")
		if err != nil {
			return nil, fmt.Errorf("parse topic file: %w", err)
		}
		if !found {
			return nil, fmt.Errorf("parse topic file: %w", &strict.Error{Reason: "is an object without the key topics"})
		}
	} else if list, err = array(v, path); err != nil {
		return nil, fmt.Errorf("parse topic file: %w", err)
	}
	out := make([]*Document, len(list))
	for i := range list {
		if out[i], err = fromValue(list[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return nil, fmt.Errorf("parse topic document: %w", err)
		}
	}
	return out, nil
}

func array(v any, path string) ([]any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, &strict.Error{Path: path, Reason: "is " + canonjson.Kind(v) + ", want an array of topic documents"}
	}
	return list, nil
}

func (d *Document) read() strict.Reader {
	return strict.Object(
		strict.Key("schema_version", strict.Uint(&d.SchemaVersion)),
		strict.Key("id", strict.String(&d.ID)),
		strict.Key("statement", strict.String(&d.Statement)),
		strict.Key("payout_mode", strict.Word(WTA, DiscoveryPay)(&d.PayoutMode)),
		strict.Key("validation", d.Validation.read()),
		strict.Key("discovery", d.Discovery.read()),
		strict.Key("constraints", d.Constraints.read()),
		strict.Key("metric", d.Metric.read()),
		strict.Key("flops_budget", strict.Uint(&d.FLOPsBudget)),
		strict.Key("epsilon_nll", strict.FloatOrNaN(&d.EpsilonNLL)),
		strict.Key("epsilon_topic_max_regress", strict.FloatOrNaN(&d.EpsilonTopicMaxRegress)),
		strict.Key("proxy_model", strict.Optional(&d.ProxyModel, strict.String)),
		strict.Key("inference", d.Inference.read()),
		strict.Key("eval_executor", d.EvalExecutor.read()),
		strict.Key("checklist", strict.List(&d.Checklist, (*ChecklistItem).read)),
		strict.Key("baseline", d.Baseline.read()),
		strict.Key("holdout_commitment", strict.String(&d.HoldoutCommitment)),
		strict.Key("holdout_size", strict.Count(&d.HoldoutSize)),
		strict.Key("status", strict.Word(Draft, Open, Closed)(&d.Status)),
		strict.Key("valid_from_epoch", strict.Uint(&d.ValidFromEpoch)),
		strict.Key("valid_until_epoch", strict.Optional(&d.ValidUntilEpoch, strict.Uint[uint64])),
		strict.Key("signature", strict.String(&d.Signature)),
	)
}

func (v *Validation) read() strict.Reader {
	return strict.Object(
		strict.Key("score_on", strict.String(&v.ScoreOn)),
		strict.Key("accept_if", strict.String(&v.AcceptIf)),
		strict.Key("reject_if", strict.String(&v.RejectIf)),
	)
}

func (p *Discovery) read() strict.Reader {
	return strict.Object(
		strict.Key("pass_floor_share_bps", strict.Uint(&p.PassFloorShareBPS)),
		strict.Key("novelty_pool_share_bps", strict.Uint(&p.NoveltyPoolShareBPS)),
	)
}

func (c *Constraints) read() strict.Reader {
	return strict.Object(
		strict.Key("no_infiniband", strict.Bool(&c.NoInfiniband)),
		strict.Key("no_nvlink", strict.Bool(&c.NoNVLink)),
		strict.Key("no_nccl_fast_fabric", strict.Bool(&c.NoNCCLFastFabric)),
		strict.Key("max_inter_node_gbps", strict.Optional(&c.MaxInterNodeGbps, strict.Float)),
		strict.Key("firecracker_required", strict.Bool(&c.FirecrackerRequired)),
		strict.Key("model_pin", strict.Optional(&c.ModelPin, strict.String)),
		strict.Key("task_slice", strict.Optional(&c.TaskSlice, strict.String)),
		strict.Key("params", strict.Strings(&c.Params)),
	)
}

func (m *Metric) read() strict.Reader {
	return strict.Object(
		strict.Key("family", strict.Word(NLL, Throughput, Custom)(&m.Family)),
		strict.Key("primary", strict.String(&m.Primary)),
		strict.Key("direction", strict.Word(Min, Max)(&m.Direction)),
		strict.Key("unit", strict.String(&m.Unit)),
		strict.Key("epsilon_rel", strict.FloatOrNaN(&m.EpsilonRel)),
		strict.Key("quality_floor_nll", strict.Float(&m.QualityFloorNLL)),
		strict.Key("wall_budget_s", strict.Uint(&m.WallBudgetS)),
		strict.Key("custom_id", strict.String(&m.CustomID)),
	)
}

func (i *Inference) read() strict.Reader {
	return strict.Object(
		strict.Key("require_judge_offer_commitment", strict.Optional(&i.RequireJudgeOfferCommitment, strict.String)),
		strict.Key("provider", strict.Optional(&i.Provider, strict.Word(pin.Providers()...))),
		strict.Key("base_url", strict.Optional(&i.BaseURL, strict.String)),
		strict.Key("model", strict.Optional(&i.Model, strict.String)),
		strict.Key("mode", strict.Optional(&i.Mode, strict.Word(pin.Modes()...))),
		strict.Key("max_input_tokens", strict.Optional(&i.MaxInputTokens, strict.Uint[uint32])),
		strict.Key("max_output_tokens", strict.Optional(&i.MaxOutputTokens, strict.Uint[uint32])),
	)
}

func (e *EvalExecutor) read() strict.Reader {
	return strict.Object(
		strict.Key("require_offer_commitment", strict.Optional(&e.RequireOfferCommitment, strict.String)),
		strict.Key("max_proof_deadline_s", strict.Optional(&e.MaxProofDeadlineS, strict.Uint[uint64])),
	)
}

func (c *ChecklistItem) read() strict.Reader {
	return strict.Object(
		strict.Key("id", strict.String(&c.ID)),
		strict.Key("text", strict.String(&c.Text)),
	)
}

func (b *Baseline) read() strict.Reader {
	return strict.Object(
		strict.Key("optimizer", strict.String(&b.Optimizer)),
		strict.Key("lr", strict.FloatOrNaN(&b.LR)),
		strict.Key("betas", strict.List(&b.Betas, strict.FloatOrNaN)),
		strict.Key("eps", strict.Float(&b.Eps)),
		strict.Key("weight_decay", strict.Float(&b.WeightDecay)),
		strict.Key("warmup_ratio", strict.Float(&b.WarmupRatio)),
		strict.Key("schedule", strict.String(&b.Schedule)),
		strict.Key("dtype", strict.String(&b.DType)),
		strict.Key("seed", strict.Uint(&b.Seed)),
		strict.Key("flops_budget", strict.Uint(&b.FLOPsBudget)),
		strict.Key("wall_budget_s", strict.Uint(&b.WallBudgetS)),
		strict.Key("script_sha256", strict.String(&b.ScriptSHA256)),
		strict.Key("metrics_commitment", strict.String(&b.MetricsCommitment)),
		strict.Key("notes", strict.String(&b.Notes)),
	)
}
