package cli

import (
	"encoding/json/jsontext"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/topic"
)

// rejectedRow is a row as a host answers it for a verdict.
func rejectedRow(v *family.Verdict) *remote.Row {
	detail := v.Detail()
	row := &remote.Row{State: family.Rejected, Detail: &detail, JSON: v.AppendJSON([]byte(`{"verdict":`))}
	row.JSON = append(row.JSON, '}')
	row.Verdict.Agent.Rationale = v.Agent.Rationale
	for _, g := range v.Failed {
		row.Verdict.Failed = append(row.Verdict.Failed, g.AppendJSON(nil))
	}
	return row
}

func TestARedChecklistNamesTheRedRulesOnly(t *testing.T) {
	t.Parallel()
	of := func(why string) *family.Verdict {
		v := family.RejectChecklist(family.Topic{ID: "my-topic", Family: family.Custom, FlopsBudget: 10}, family.Metrics{}, 3, why)
		return &v
	}
	for why, want := range map[string]string{
		"checklist red: no_holdout_access, same_seed":               "red on inspection, before any run: no_holdout_access, same_seed",
		`checklist item "same_seed" missing`:                        `inspected and not run: checklist item "same_seed" missing`,
		"checklist is for another topic or rule version":            "inspected and not run: checklist is for another topic or rule version",
		`checklist item "x (rules v" is not a rule of this version`: `inspected and not run: checklist item "x (rules v" is not a rule of this version`,
	} {
		row := rejectedRow(of(why))
		if got := reasons(row, nil); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q", why, got)
		}
		if text := reasonLines(row, nil); strings.Count(text, "reason ") != 1 || !strings.Contains(text, "gates       [") || !strings.Contains(text, "rationale   anti-cheat ") {
			t.Errorf("%s:\n%s", why, text)
		}
	}
	// The rationale of a harvest family is an agent's, which may write what it likes.
	v := of("checklist red: same_seed")
	v.Agent.Family = family.NLL
	if got := reasons(rejectedRow(v), nil); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "same_seed") }) {
		t.Errorf("of an agent: %q", got)
	}
}

func TestEachGateIsSaidInWordsWithWhatWasNeeded(t *testing.T) {
	t.Parallel()
	higher, lower := topic.New(), topic.New()
	higher.Metric.Direction, lower.Metric.Direction = topic.Max, topic.Min
	for _, c := range []struct {
		gate  string
		topic *topic.Document
		want  string
	}{
		{`{"throughput_miss":{"value":0.51,"baseline":0.5,"epsilon_rel":0.05}}`, higher, "0.51 is not better than 0.5 by 5%: 0.525 or more was needed"},
		{`{"throughput_miss":{"value":0.41,"baseline":0.42,"epsilon_rel":0.05}}`, lower, "0.41 is not better than 0.42 by 5%: 0.399 or less was needed"},
		{`{"throughput_miss":{"value":0.41,"baseline":0.42,"epsilon_rel":0.05}}`, nil, "0.41 is not better than 0.42 by 5%"},
		{`{"throughput_miss":{"value":3,"baseline":0.0,"epsilon_rel":0.05}}`, higher, "3 is not better than 0 by 5%"},
		{`{"nll_miss":{"holdout":3.09,"baseline":3.1,"epsilon":0.02}}`, nil, "3.09 is not better than 3.1 by 0.02: 3.08 or less was needed"},
		{`{"split_regress":{"split":"web_ood","holdout":3.2,"baseline":3.1,"epsilon":0.05}}`, nil, "on the split web_ood, 3.2 is worse than 3.1 by more than 0.05: 3.15 or less was needed"},
		{`{"quality_floor":{"holdout":3.2,"baseline":3.1,"floor":0.02}}`, nil, "the holdout NLL 3.2 is above 3.1 by more than 0.02: 3.12 or less was needed"},
		{`{"flops_over_budget":{"used":2000000000000000001,"budget":2000000000000000000}}`, nil, "2000000000000000001 operations were measured: the topic's budget is 2000000000000000000"},
		{`{"wall_over_budget":{"used":7,"budget":6}}`, nil, "it took 7 s: the topic's budget is 6 s"},
		{`{"cheat":{"code":"flops_under_declared"}}`, nil, "more operations were measured than were declared"},
		{`{"cheat":{"code":"strawman_adamw"}}`, nil, "the agent reported the integrity code strawman_adamw"},
		{`{"evidence_missing":{"field":"custom_value"}}`, nil, "evidence is missing: custom_value"},
		{`"unreproduced"`, nil, "the claimed result was not reproduced"},
		{`"contamination"`, nil, "training data overlaps the sealed holdout"},
		{`"agent_reject"`, nil, "the agent that read the code did not find it clean"},
		{`"unknown_custom"`, nil, "no runner is registered for the metric of this topic"},
		{`"of_another_build"`, nil, "a gate failed"},
		{`{"of_another_build":{"used":"much"}}`, nil, "a gate failed"},
		{`{"throughput_miss":{"value":null,"baseline":0.5,"epsilon_rel":0.05}}`, higher, "a gate failed"},
		{`{"throughput_miss":7}`, nil, "a gate failed"},
	} {
		row := &remote.Row{State: family.Rejected}
		row.Verdict.Failed = []jsontext.Value{jsontext.Value(c.gate)}
		if got := reasons(row, c.topic); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, want %q", c.gate, got, c.want)
		}
	}
}
