package topic

import (
	"crypto/sha256"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// RuleSource says who wrote a version of a topic's anti-cheat rules.
type RuleSource string

// The sources of reference §16.2.
const (
	FromDocument RuleSource = "topic_document" // version 1: the signed vector
	FromRLM      RuleSource = "rlm"
	FromOperator RuleSource = "operator"
)

// rulesPrefix keeps the digest of rules apart from every other hash.
const rulesPrefix = "proof-rlm-rules-v1\xff"

// RuleSet is one version of a topic's anti-cheat rules.
type RuleSet struct {
	TopicID string
	Version uint32 // from 1
	Source  RuleSource
	Rules   []ChecklistItem
}

// Rules returns version 1 of the topic's rules, the signed vector.
func (d *Document) Rules() RuleSet {
	return RuleSet{TopicID: d.ID, Version: 1, Source: FromDocument, Rules: d.Checklist}
}

// Digest returns what a checklist binds to: the SHA-256 of a prefix and the sorted
// compact JSON of the whole set. Equal rules of another source or version have
// another digest, so a checklist cannot be replayed against edited rules. It
// fails only for text that is not UTF-8.
func (r RuleSet) Digest() ([32]byte, error) {
	rules := make([]any, len(r.Rules))
	for i, c := range r.Rules {
		rules[i] = c.object()
	}
	text, err := canonjson.AppendSorted([]byte(rulesPrefix), canonjson.NewObject(
		"rules", rules, "source", string(r.Source), "topic_id", r.TopicID, "version", whole(r.Version)))
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(text), nil
}

func (c *ChecklistItem) object() *canonjson.Object {
	return canonjson.NewObject("id", c.ID, "text", c.Text)
}
