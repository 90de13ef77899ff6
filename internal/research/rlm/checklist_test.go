package rlm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func ruleSet(ids ...string) topic.RuleSet {
	r := topic.RuleSet{TopicID: topicID, Version: 3, Source: topic.FromRLM}
	for _, id := range ids {
		r.Rules = append(r.Rules, topic.ChecklistItem{ID: id, Text: "keep " + id})
	}
	return r
}

func green(t testing.TB, r topic.RuleSet) *wire.Checklist {
	t.Helper()
	sum, err := r.Digest()
	require.NoError(t, err)
	c := &wire.Checklist{
		SchemaVersion: 1, TopicID: r.TopicID, RulesVersion: r.Version, RulesDigest: strings.ToUpper(hexOf(sum)),
		SubmissionDigest: hash("submission"), ArtifactDigest: hash("artefact"),
	}
	for _, rule := range r.Rules {
		c.Items = append(c.Items, wire.ChecklistItem{ID: rule.ID, Pass: true, Evidence: " read it "})
	}
	return c
}

func hexOf(sum [32]byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range sum {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func TestSection16ChecklistIsRefusedInTheOrderAndWordsOfTheReference(t *testing.T) {
	type edit func(c *wire.Checklist, r *topic.RuleSet)
	// In the order of R§16.3: each row alone, then with the one after it, the earlier
	// wins.
	rows := []struct {
		name, text string
		ids        []string
		edit       edit
	}{
		{"another schema", "checklist schema_version 2, this build reads 1", nil, func(c *wire.Checklist, _ *topic.RuleSet) { c.SchemaVersion = 2 }},
		{"a rule set that is not valid", "rule set version 0; versions count from 1", nil, func(_ *wire.Checklist, r *topic.RuleSet) { r.Version = 0 }},
		{"another topic", "checklist is for another topic or rule version", nil, func(c *wire.Checklist, _ *topic.RuleSet) { c.TopicID = "other-topic" }},
		{"another version", "checklist is for another topic or rule version", nil, func(c *wire.Checklist, _ *topic.RuleSet) { c.RulesVersion = 2 }},
		{"another digest", "checklist is for another topic or rule version", nil, func(c *wire.Checklist, _ *topic.RuleSet) { c.RulesDigest = hash("x") }},
		{"an unknown item", `checklist item "made_up" is not a rule of this version`, []string{"made_up"}, func(c *wire.Checklist, _ *topic.RuleSet) {
			c.Items = append(c.Items, wire.ChecklistItem{ID: "made_up", Pass: true, Evidence: "e"})
		}},
		{"blank evidence", `checklist item "a_rule" has empty or oversized evidence`, []string{"a_rule"}, func(c *wire.Checklist, _ *topic.RuleSet) { c.Items[0].Evidence = " \n " }},
		{"long evidence", `checklist item "a_rule" has empty or oversized evidence`, []string{"a_rule"}, func(c *wire.Checklist, _ *topic.RuleSet) {
			c.Items[0].Evidence = strings.Repeat("e", rlm.MaxEvidence+1)
		}},
		{"a missing rule", `checklist item "b_rule" missing`, []string{"b_rule"}, func(c *wire.Checklist, _ *topic.RuleSet) {
			c.Items = slices.DeleteFunc(c.Items, func(i wire.ChecklistItem) bool { return i.ID == "b_rule" })
		}},
		{"a rule twice", `checklist item "d_rule" duplicated`, []string{"d_rule"}, func(c *wire.Checklist, _ *topic.RuleSet) { c.Items = append(c.Items, c.Items[len(c.Items)-1]) }},
		{"red rules, sorted", "checklist red: a_rule, d_rule", []string{"a_rule", "d_rule"}, func(c *wire.Checklist, _ *topic.RuleSet) {
			for i := range c.Items {
				c.Items[i].Pass = c.Items[i].ID != "a_rule" && c.Items[i].ID != "d_rule"
			}
		}},
	}
	fresh := func() (*wire.Checklist, topic.RuleSet) {
		r := ruleSet("d_rule", "a_rule", "b_rule", "c_rule")
		c := green(t, r)
		// The items come in an order of their own.
		slices.SortFunc(c.Items, func(a, b wire.ChecklistItem) int { return strings.Compare(a.ID, b.ID) })
		return c, r
	}
	verify := func(c *wire.Checklist, r topic.RuleSet) error {
		return rlm.VerifyChecklist(c, r, hash("submission"), hash("artefact"))
	}
	c, r := fresh()
	require.NoError(t, verify(c, r), "green")
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c, r := fresh()
			row.edit(c, &r)
			var red *rlm.RedError
			require.ErrorAs(t, verify(c, r), &red)
			require.Equal(t, row.text, red.Error())
			require.Equal(t, row.ids, red.IDs)
			if i+1 == len(rows) {
				return
			}
			rows[i+1].edit(c, &r)
			if strings.HasPrefix(row.name, "a missing") {
				return // missing and twice are about two rules, the first one wins
			}
			require.EqualError(t, verify(c, r), row.text, "together with %s", rows[i+1].name)
		})
	}
}

func TestSection16AnEmptyRuleSetIsNeverGreen(t *testing.T) {
	r := ruleSet()
	err := rlm.VerifyChecklist(green(t, r), r, hash("submission"), hash("artefact"))
	require.EqualError(t, err, "rule set is empty; nothing to verify, nothing to spend behind")
}

func TestAChecklistOfAnotherSubmissionIsNoEvidenceEitherWay(t *testing.T) {
	r := ruleSet("a_rule")
	for name, edit := range map[string]func(c *wire.Checklist){
		"submission_digest": func(c *wire.Checklist) { c.SubmissionDigest = hash("other") },
		"artifact_digest":   func(c *wire.Checklist) { c.ArtifactDigest = hash("other") },
	} {
		c := green(t, r)
		c.Items[0].Pass = false
		edit(c)
		var foreign *rlm.ForeignError
		err := rlm.VerifyChecklist(c, r, hash("submission"), hash("artefact"))
		if !errors.As(err, &foreign) || foreign.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSection16RecordingCutsEvidenceBetweenCharacters(t *testing.T) {
	c := green(t, ruleSet("a_rule", "b_rule"))
	c.Items[0].Evidence = "  " + strings.Repeat("é", rlm.MaxEvidence)
	kept := rlm.Recorded(c)
	require.True(t, utf8.ValidString(kept.Items[0].Evidence))
	require.Len(t, kept.Items[0].Evidence, rlm.MaxEvidence)
	require.Equal(t, c.Items[1], kept.Items[1], "what fits stays as it is")
	require.Len(t, c.Items[0].Evidence, 2+2*rlm.MaxEvidence, "the original is not touched")
}

func TestSection16SpendTokenCoversOneRequestAndNoOther(t *testing.T) {
	r := ruleSet("a_rule")
	c := green(t, r)
	token, err := rlm.Mint(c, r, hash("submission"), hash("artefact"))
	require.NoError(t, err)
	sum, err := r.Digest()
	require.NoError(t, err)
	request := func() *wire.RunRequest {
		return &wire.RunRequest{TopicID: topicID, SubmissionDigest: hash("submission"), ArtifactDigest: hash("artefact"), RulesVersion: 3, RulesDigest: hexOf(sum)}
	}
	require.NoError(t, token.Covers(request()))
	job, err := token.Job(request())
	require.NoError(t, err)
	digest, err := rlm.ChecklistDigest(c)
	require.NoError(t, err)
	require.Equal(t, digest, job.ChecklistDigest)
	require.Equal(t, uint32(3), job.RulesVersion)
	for name, edit := range map[string]func(r *wire.RunRequest){
		"topic":         func(r *wire.RunRequest) { r.TopicID = "other-topic" },
		"submission":    func(r *wire.RunRequest) { r.SubmissionDigest = hash("other") },
		"artefact":      func(r *wire.RunRequest) { r.ArtifactDigest = hash("other") },
		"rules version": func(r *wire.RunRequest) { r.RulesVersion = 4 },
		"rules digest":  func(r *wire.RunRequest) { r.RulesDigest = hash("other") },
	} {
		q := request()
		edit(q)
		require.ErrorIs(t, token.Covers(q), rlm.ErrNotCovered, name)
		_, err := token.Job(q)
		require.ErrorIs(t, err, rlm.ErrNotCovered, name)
	}
	require.ErrorIs(t, rlm.SpendToken{}.Covers(&wire.RunRequest{}), rlm.ErrNotCovered, "the zero token")
	c.Items[0].Pass = false
	token, err = rlm.Mint(c, r, hash("submission"), hash("artefact"))
	require.Error(t, err)
	require.ErrorIs(t, token.Covers(request()), rlm.ErrNotCovered, "a red checklist mints nothing")
}

// vectors are the digests of testdata.
func vectors(t *testing.T) (v struct {
	Rules []struct {
		Set    wire.RuleSet `json:"rule_set"`
		Digest string       `json:"rules_digest"`
	} `json:"rule_set_digests"`
	Checklist struct {
		Checklist wire.Checklist `json:"checklist"`
		Digest    string         `json:"digest"`
		Baseline  string         `json:"baseline_job_submission_digest"`
	} `json:"checklist_digest"`
}) {
	t.Helper()
	data, err := os.ReadFile("testdata/digests.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

func TestSection16VectorsOfRuleSetsAndChecklists(t *testing.T) {
	v := vectors(t)
	require.Len(t, v.Rules, 2)
	for _, c := range v.Rules {
		t.Run(fmt.Sprintf("rule set version %d of %s", c.Set.Version, c.Set.Source), func(t *testing.T) {
			set, err := rlm.FromWire(c.Set)
			require.NoError(t, err)
			sum, err := set.Digest()
			require.NoError(t, err)
			require.Equal(t, c.Digest, hexOf(sum))
			require.Equal(t, c.Set, rlm.ToWire(set))
		})
	}
	digest, err := rlm.ChecklistDigest(&v.Checklist.Checklist)
	require.NoError(t, err)
	require.Equal(t, v.Checklist.Digest, digest)
	set, err := rlm.FromWire(v.Rules[0].Set)
	require.NoError(t, err)
	c := v.Checklist.Checklist
	require.NoError(t, rlm.VerifyChecklist(&c, set, c.SubmissionDigest, c.ArtifactDigest))
	d := document()
	d.ID = set.TopicID
	req, err := rlm.BaselineRequest(d, set, 7200)
	require.NoError(t, err)
	require.Equal(t, v.Checklist.Baseline, req.SubmissionDigest)
}

func TestSection16RuleSetsHaveAVersionASourceAndRules(t *testing.T) {
	for name, edit := range map[string]func(r *wire.RuleSet){
		"version 0":   func(r *wire.RuleSet) { r.Version = 0 },
		"a source":    func(r *wire.RuleSet) { r.Source = "somebody" },
		"no rules":    func(r *wire.RuleSet) { r.Rules = nil },
		"65 rules":    func(r *wire.RuleSet) { r.Rules = slices.Repeat(r.Rules, 65) },
		"an id twice": func(r *wire.RuleSet) { r.Rules = slices.Repeat(r.Rules, 2) },
		"blank text":  func(r *wire.RuleSet) { r.Rules[0].Text = " " },
	} {
		set := rlm.ToWire(ruleSet("a_rule"))
		edit(&set)
		if _, err := rlm.FromWire(set); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func FuzzVerifyChecklist(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"items":[{"id":"a_rule","pass":true,"evidence":"e"}]}`))
	f.Add([]byte(`{"schema_version":1,"items":[{"id":"a_rule","pass":true,"evidence":"e"},{"id":"a_rule","pass":false,"evidence":""}]}`))
	r := ruleSet("a_rule", "b_rule")
	f.Fuzz(func(t *testing.T, data []byte) {
		c := green(t, r)
		var sent wire.Checklist
		if json.Unmarshal(data, &sent) != nil {
			return
		}
		c.Items = sent.Items
		token, err := rlm.Mint(c, r, hash("submission"), hash("artefact"))
		if err != nil {
			if token != (rlm.SpendToken{}) {
				t.Fatal("a token beside an error")
			}
			return
		}
		seen := map[string]bool{}
		for _, item := range c.Items {
			if !item.Pass || strings.TrimSpace(item.Evidence) == "" || seen[item.ID] {
				t.Fatalf("green with %+v", item)
			}
			seen[item.ID] = true
		}
		if !seen["a_rule"] || !seen["b_rule"] || len(seen) != 2 {
			t.Fatalf("green with the rules %v", seen)
		}
	})
}
