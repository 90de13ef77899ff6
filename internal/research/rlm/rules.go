package rlm

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// ErrNoRules is the text of R§16.3 for a rule set that could be green without one
// thing having been looked at.
var ErrNoRules = errors.New("rule set is empty; nothing to verify, nothing to spend behind")

// ToWire returns a rule set as a job carries it.
func ToWire(r topic.RuleSet) wire.RuleSet {
	return wire.RuleSet{TopicID: r.TopicID, Version: r.Version, Source: string(r.Source), Rules: wireRules(r.Rules)}
}

func wireRules(items []topic.ChecklistItem) []wire.Rule {
	rules := make([]wire.Rule, len(items))
	for i, c := range items {
		rules[i] = wire.Rule{ID: c.ID, Text: c.Text}
	}
	return rules
}

// FromWire is the inverse of ToWire, and takes only a rule set that CheckRuleSet
// takes.
func FromWire(r wire.RuleSet) (topic.RuleSet, error) {
	set := topic.RuleSet{TopicID: r.TopicID, Version: r.Version, Source: topic.RuleSource(r.Source), Rules: items(r.Rules)}
	return set, CheckRuleSet(set)
}

func items(rules []wire.Rule) []topic.ChecklistItem {
	list := make([]topic.ChecklistItem, len(rules))
	for i, r := range rules {
		list[i] = topic.ChecklistItem{ID: r.ID, Text: r.Text}
	}
	return list
}

// CheckRuleSet applies R§16.2: version from 1, a known source, 1 to 64 rules of the
// shape of a topic's checklist.
func CheckRuleSet(r topic.RuleSet) error {
	if r.Version < 1 {
		return errors.New("rule set version 0; versions count from 1")
	}
	switch r.Source {
	case topic.FromDocument, topic.FromRLM, topic.FromOperator:
	default:
		return fmt.Errorf("rule set source %q is not topic_document, rlm or operator", short(string(r.Source)))
	}
	if len(r.Rules) == 0 {
		return ErrNoRules
	}
	if field, why := topic.CheckRules(r.Rules); why != "" {
		return fmt.Errorf("rule set %s: %s", field, why)
	}
	return nil
}

// rulesDigest is the digest of a rule set as documents spell it.
func rulesDigest(r topic.RuleSet) (string, error) {
	sum, err := r.Digest()
	if err != nil {
		return "", fmt.Errorf("rule set: %w", err)
	}
	return hex.EncodeToString(sum[:]), nil
}

// short keeps a text from outside within what an error should hold.
func short(s string) string { return cut(s, 80) }
