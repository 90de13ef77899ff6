package board

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"regexp"
	"strings"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/topic"
)

// reason is why a row is in its state, in words.
type reason struct {
	Head  string
	Gates []string // one sentence for each gate that failed
	Paid  string   // whether it is the run that its epoch pays; empty before the close
}

// reasonOf puts the state of a row in words. The document is that of its topic, nil
// when the host does not have it any more.
func (c *catalogue) reasonOf(row *intake.StoredRow, d *topic.Document) reason {
	v := &row.Verdict
	switch row.State {
	case family.Champion:
		return reason{Head: c.Must("reason.champion")}
	case family.AwaitingAdmin:
		if v.Agent.Family != family.Custom {
			return reason{Head: c.Must("reason.awaiting.harvest")}
		}
		if d == nil {
			return reason{Head: c.Must("reason.awaiting.custom")}
		}
		return reason{Head: c.Must("reason.awaiting.margin."+string(d.Metric.Direction), c.Number(v.Harness.CustomValue), c.About(100*d.Metric.EpsilonRel))}
	case family.Rejected:
		out := reason{Head: c.rejected(row)}
		for _, g := range v.Failed {
			out.Gates = append(out.Gates, c.gate(g, d))
		}
		return out
	}
	return reason{Head: c.Word("state", string(row.State))}
}

// rejected says at which stage a row was rejected.
func (c *catalogue) rejected(row *intake.StoredRow) string {
	a := &row.Verdict.Agent
	switch {
	case a.Rationale == "pre-eval reject" && a.Contamination:
		return c.Must("reason.overlap")
	case a.Rationale == "pre-eval reject":
		return c.Must("reason.undeclared")
	case a.Family == family.Custom && row.ReceiptJSON == nil && strings.HasPrefix(a.Rationale, "anti-cheat "):
		return c.Must("reason.checklist")
	case !a.Reproduced:
		return c.Must("reason.failed")
	}
	return c.count("reason.gates", len(row.Verdict.Failed))
}

// gateFields are the gates of R§12.5 with the fields of each in the order of their
// sentence.
func gateFields() map[string][]string {
	return map[string][]string{
		"unreproduced": {}, "contamination": {}, "agent_reject": {}, "unknown_custom": {},
		"flops_over_budget": {"used", "budget"}, "cheat": {"code"}, "evidence_missing": {"field"},
		"nll_miss": {"holdout", "baseline", "epsilon"}, "split_regress": {"split", "holdout", "baseline", "epsilon"},
		"quality_floor": {"holdout", "baseline", "floor"}, "throughput_miss": {"value", "baseline", "epsilon_rel"},
		"wall_over_budget": {"used", "budget"},
	}
}

// gate puts a failed gate in words; one that this program does not know is shown as
// it is stored. With the document of the topic, which may be nil, a value that fell
// short is shown with what was needed.
func (c *catalogue) gate(g family.Gate, d *topic.Document) string {
	names, known := gateFields()[g.Name()]
	if !known {
		return pages.PlainLine(g.String())
	}
	var args []any
	if len(names) > 0 {
		var outer map[string]map[string]jsontext.Value
		if json.Unmarshal(g.AppendJSON(nil), &outer) != nil {
			return pages.PlainLine(g.String())
		}
		if text := c.missed(g, d, outer[g.Name()]); text != "" {
			return text
		}
		for _, name := range names {
			args = append(args, c.field(outer[g.Name()][name]))
		}
	}
	if text, known := c.Lookup("integrity." + unquoted(args)); known && g.Name() == "cheat" {
		return text
	}
	return c.Must("gate."+g.Name(), args...)
}

// missed says what a primary had to reach (R§12.1); empty where that is not known.
func (c *catalogue) missed(g family.Gate, d *topic.Document, fields map[string]jsontext.Value) string {
	if g.Name() != "throughput_miss" || d == nil {
		return ""
	}
	var baseline, epsilon float64
	if json.Unmarshal(fields["baseline"], &baseline) != nil || json.Unmarshal(fields["epsilon_rel"], &epsilon) != nil {
		return ""
	}
	key := "need.missed." + string(d.Metric.Direction)
	return c.Must(key, c.field(fields["value"]), c.field(fields["baseline"]), c.share100(epsilon), c.About(beyond(d.Metric.Direction, epsilon, baseline)))
}

// share100 prints a share of one as a percentage.
func (c *catalogue) share100(share float64) string {
	text := c.About(100 * share)
	if c.Lang == pages.French {
		return text + "\u202f%"
	}
	return text + "%"
}

// unquoted is the only argument when that is a word.
func unquoted(args []any) string {
	if len(args) == 1 {
		if s, ok := args[0].(string); ok {
			return s
		}
	}
	return ""
}

// field prints the value of a gate's field.
func (c *catalogue) field(v jsontext.Value) string {
	var word string
	if json.Unmarshal(v, &word) == nil {
		return pages.PlainLine(word)
	}
	return c.Decimal(pages.PlainLine(string(v)))
}

// stamp is what the control plane itself adds to the rationale of a run that ended.
var stamp = regexp.MustCompile(`; sandboxed=(true|false); flops_used=\d+(?:; |$)`)

// sandboxed reads whether a run was made in a sandbox; known is false where nothing
// ran or the family has no such stamp. Only the last stamp counts: what stands before
// it was written by a guest.
func sandboxed(row *intake.StoredRow) (is, known bool) {
	if row.Verdict.Agent.Family != family.Custom || row.ReceiptJSON == nil {
		return false, false
	}
	all := stamp.FindAllStringSubmatch(row.Verdict.Agent.Rationale, -1)
	if len(all) == 0 {
		return false, false
	}
	return all[len(all)-1][1] == "true", true
}
