package cli

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/topic"
)

// topicOf asks for the topic of a row. nil: the host does not show it, and the
// reason is said without what only the topic knows.
func topicOf(ctx context.Context, c *remote.Client, row *remote.Row) *topic.Document {
	d, err := c.Topic(ctx, row.TopicID)
	if err != nil {
		return nil
	}
	return d
}

// reasonLines say why a row has its state: in words, then the gates as they are
// stored. The topic may be nil.
func reasonLines(row *remote.Row, d *topic.Document) string {
	var lines []line
	for _, why := range reasons(row, d) {
		lines = append(lines, line{"reason", why})
	}
	if row.Detail != nil {
		lines = append(lines, line{"gates", strings.TrimPrefix(*row.Detail, "gates=")})
	}
	if row.Verdict.Agent.Rationale != "" {
		lines = append(lines, line{"rationale", row.Verdict.Agent.Rationale})
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%-10s  %s\n", l.name, remote.Printable(l.value))
	}
	return b.String()
}

// reasons are sentences, one for each gate that failed, but for a checklist that is
// red: there nothing ran, its gates follow from that alone, and only the rules that
// are red are named.
func reasons(row *remote.Row, d *topic.Document) []string {
	switch row.State {
	case family.Champion:
		return []string{"it passed and beat the bar of its topic"}
	case family.AwaitingAdmin:
		why := "it passed; it counts for the payout and is not the champion"
		if v := row.Verdict.Harness.CustomValue; d != nil && d.Metric.Family == topic.Custom && v != nil {
			why += fmt.Sprintf(": %s is not better than the bar in force at the time by %s", figure(*v), sharePercent(d.Metric.EpsilonRel))
		}
		return []string{why}
	case family.Rejected:
	default:
		return nil
	}
	if why := redChecklist(row); why != "" {
		return []string{why}
	}
	var all []string
	for _, g := range row.Verdict.Failed {
		if text := gateWords(g, d); text != "" {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return []string{"a gate failed"}
	}
	return all
}

// redChecklist says which rules were red on the inspection of an artefact; empty for
// a row that was rejected otherwise. Only a custom topic has a checklist, and its
// rationale is written by the host; that of another family is an agent's.
func redChecklist(row *remote.Row) string {
	var stored struct {
		Verdict struct {
			Agent struct {
				Family family.Family `json:"family"`
			} `json:"agent"`
		} `json:"verdict"`
	}
	why, red := strings.CutPrefix(row.Verdict.Agent.Rationale, "anti-cheat ")
	if !red || json.Unmarshal(row.JSON, &stored) != nil || stored.Verdict.Agent.Family != family.Custom {
		return ""
	}
	if i := strings.LastIndex(why, " (rules v"); i >= 0 {
		why = why[:i]
	}
	if rules, named := strings.CutPrefix(why, "checklist red: "); named {
		return "red on inspection, before any run: " + rules
	}
	return "inspected and not run: " + why
}

// failedGate holds the fields of every gate of R§12.5 that has some.
type failedGate struct {
	Used       uint64  `json:"used"`
	Budget     uint64  `json:"budget"`
	Code       string  `json:"code"`
	Field      string  `json:"field"`
	Split      string  `json:"split"`
	Value      float64 `json:"value"`
	Holdout    float64 `json:"holdout"`
	Baseline   float64 `json:"baseline"`
	Epsilon    float64 `json:"epsilon"`
	Floor      float64 `json:"floor"`
	EpsilonRel float64 `json:"epsilon_rel"`
}

// gateWords puts a gate in words, with the figure that was needed; empty for one
// that this program does not know, which the line of gates still has.
func gateWords(stored jsontext.Value, d *topic.Document) string {
	var name string
	if json.Unmarshal(stored, &name) == nil {
		return map[string]string{
			"unreproduced":   "the claimed result was not reproduced",
			"contamination":  "training data overlaps the sealed holdout",
			"agent_reject":   "the agent that read the code did not find it clean",
			"unknown_custom": "no runner is registered for the metric of this topic",
		}[name]
	}
	var outer map[string]failedGate
	if json.Unmarshal(stored, &outer) != nil || len(outer) != 1 {
		return ""
	}
	for name, g := range outer {
		return g.words(name, d)
	}
	return ""
}

// UnmarshalJSON refuses null, which stands for a figure that is not finite: it must
// not be shown as 0.
func (g *failedGate) UnmarshalJSON(data []byte) error {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for name, v := range fields {
		if v.Kind() == jsontext.KindNull {
			return fmt.Errorf("%s is not finite", name)
		}
	}
	type plain failedGate // without this method
	return json.Unmarshal(data, (*plain)(g))
}

func (g *failedGate) words(name string, d *topic.Document) string {
	switch name {
	case "flops_over_budget":
		return fmt.Sprintf("%d operations were measured: the topic's budget is %d", g.Used, g.Budget)
	case "wall_over_budget":
		return fmt.Sprintf("it took %d s: the topic's budget is %d s", g.Used, g.Budget)
	case "cheat":
		if family.CheatCode(g.Code) == family.FlopsUnderDeclared {
			return "more operations were measured than were declared"
		}
		return "the agent reported the integrity code " + g.Code
	case "evidence_missing":
		return "evidence is missing: " + g.Field
	case "nll_miss":
		return fmt.Sprintf("%s is not better than %s by %s: %s or less was needed", figure(g.Holdout), figure(g.Baseline), figure(g.Epsilon), figure(g.Baseline-g.Epsilon))
	case "split_regress":
		return fmt.Sprintf("on the split %s, %s is worse than %s by more than %s: %s or less was needed", g.Split, figure(g.Holdout), figure(g.Baseline), figure(g.Epsilon), figure(g.Baseline+g.Epsilon))
	case "quality_floor":
		return fmt.Sprintf("the holdout NLL %s is above %s by more than %s: %s or less was needed", figure(g.Holdout), figure(g.Baseline), figure(g.Floor), figure(g.Baseline+g.Floor))
	case "throughput_miss":
		return g.missed(d)
	}
	return ""
}

// missed says what the primary had to reach, where the topic says in which direction.
func (g *failedGate) missed(d *topic.Document) string {
	text := fmt.Sprintf("%s is not better than %s by %s", figure(g.Value), figure(g.Baseline), sharePercent(g.EpsilonRel))
	if d == nil {
		return text
	}
	needed, ok := family.Needed(g.Baseline, family.Direction(d.Metric.Direction), g.EpsilonRel)
	switch {
	case !ok:
		return text
	case d.Metric.Direction == topic.Max:
		return text + ": " + figure(needed) + " or more was needed"
	}
	return text + ": " + figure(needed) + " or less was needed"
}

// figure prints a computed figure without the noise of its last binary digits, as
// the pages do.
func figure(v float64) string {
	const digits = 12
	text := strconv.FormatFloat(v, 'g', digits, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil {
		v = rounded
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// sharePercent prints a share of one.
func sharePercent(share float64) string {
	const whole = 100
	return figure(whole*share) + "%"
}
