package rlm_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// TestLiteralCases plays every case of testdata/cases.json by its area.
func TestLiteralCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Area     string
			Input    json.RawMessage
			Expected string
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	areas := map[string]func(t *testing.T, input json.RawMessage, expected string){
		"lifecycle": lifecycleCase, "checklist_verify": checklistCase,
	}
	played := map[string]int{}
	for _, c := range file.Cases {
		play, ok := areas[c.Area]
		if !ok {
			t.Errorf("nothing plays the area %s", c.Area)
			continue
		}
		played[c.Area]++
		t.Run(c.Area+" "+string(c.Input), func(t *testing.T) { play(t, c.Input, c.Expected) })
	}
	require.Equal(t, map[string]int{"lifecycle": 14, "checklist_verify": 7}, played)
}

func lifecycleCase(t *testing.T, input json.RawMessage, expected string) {
	illegal := func(s rlm.State, e rlm.Event) {
		to, err := rlm.Next(s, e)
		require.ErrorIs(t, err, rlm.ErrIllegal, "%s, %s", s, e)
		require.Empty(t, to)
	}
	if string(input) == `"every other pair"` {
		require.Equal(t, "illegal; state unchanged", expected)
		for _, s := range rlm.States() {
			for _, e := range rlm.Events() {
				if !strings.Contains(lifecycle, "\n"+string(s)+" "+string(e)+" ") {
					illegal(s, e)
				}
			}
		}
		return
	}
	var pair [2]string
	require.NoError(t, json.Unmarshal(input, &pair))
	if pair[1] == "any event" {
		require.Equal(t, "illegal", expected)
		for _, e := range rlm.Events() {
			illegal(rlm.State(pair[0]), e)
		}
		return
	}
	to, err := rlm.Next(rlm.State(pair[0]), rlm.Event(pair[1]))
	require.NoError(t, err)
	require.Equal(t, rlm.State(expected), to)
}

func checklistCase(t *testing.T, input json.RawMessage, expected string) {
	// What each input does to a green checklist, the refusal's text, and the rules it
	// names.
	plays := map[string]struct {
		edit func(c *wire.Checklist, r *topic.RuleSet)
		kind string
		text string
		ids  []string
	}{
		`"one item pass=false"`: {func(c *wire.Checklist, _ *topic.RuleSet) { c.Items[1].Pass = false }, "Failed [id]", "checklist red: b_rule", []string{"b_rule"}},
		`"item missing"`:        {func(c *wire.Checklist, _ *topic.RuleSet) { c.Items = c.Items[:1] }, "Missing id", `checklist item "b_rule" missing`, []string{"b_rule"}},
		`"item not in rules"`: {func(c *wire.Checklist, _ *topic.RuleSet) {
			c.Items = append(c.Items, wire.ChecklistItem{ID: "c_rule", Pass: true, Evidence: "e"})
		}, "Unknown", `checklist item "c_rule" is not a rule of this version`, []string{"c_rule"}},
		`"item twice"`:       {func(c *wire.Checklist, _ *topic.RuleSet) { c.Items = append(c.Items, c.Items[0]) }, "Duplicate", `checklist item "a_rule" duplicated`, []string{"a_rule"}},
		`"evidence blank"`:   {func(c *wire.Checklist, _ *topic.RuleSet) { c.Items[0].Evidence = " " }, "BadEvidence", `checklist item "a_rule" has empty or oversized evidence`, []string{"a_rule"}},
		`"schema_version 2"`: {func(c *wire.Checklist, _ *topic.RuleSet) { c.SchemaVersion = 2 }, "WrongSchema", "checklist schema_version 2, this build reads 1", nil},
		`"version 0"`:        {func(_ *wire.Checklist, r *topic.RuleSet) { r.Version = 0 }, "BadRules", "rule set version 0; versions count from 1", nil},
	}
	play, ok := plays[string(input)]
	require.True(t, ok, "nothing plays %s", input)
	require.Equal(t, play.kind, expected)
	r := ruleSet("a_rule", "b_rule")
	c := green(t, r)
	require.NoError(t, rlm.VerifyChecklist(c, r, hash("submission"), hash("artefact")))
	play.edit(c, &r)
	var red *rlm.RedError
	require.ErrorAs(t, rlm.VerifyChecklist(c, r, hash("submission"), hash("artefact")), &red)
	require.Equal(t, play.text, red.Error())
	require.Equal(t, play.ids, red.IDs)
}
