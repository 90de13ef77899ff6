package rlm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// SchemaVersion is the version of checklists, run requests and run reports that this
// build reads and writes.
const SchemaVersion = 1

// MaxEvidence is the longest evidence of one rule, in bytes after trimming (R§16.3).
const MaxEvidence = 2048

// checklistPrefix keeps the digest of checklists apart from every other hash.
const checklistPrefix = "proof-rlm-checklist-v1\xff"

// RedError says why a checklist is not green (R§16.3). It is the miner's answer: a
// persisted reject, before anything was spent.
type RedError struct {
	Reason string
	IDs    []string // the rules that it is about, sorted and unique; empty for the checklist as a whole
}

func (e *RedError) Error() string { return e.Reason }

// ForeignError refuses a checklist that was written about another submission or
// artefact. It is no evidence about this one, neither for nor against it: 503.
type ForeignError struct{ Field, Got, Want string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("checklist names %s %q, the run request names %q", e.Field, short(e.Got), short(e.Want))
}

// VerifyChecklist returns nil for a checklist that is green: it is about this
// submission and artefact and this version of the rules, and each rule was ticked
// once, with evidence, and passes. Otherwise the error is a *ForeignError or, for
// everything of R§16.3, a *RedError, in the order of that section.
func VerifyChecklist(c *wire.Checklist, rules topic.RuleSet, submission, artifact string) error {
	if c.SchemaVersion != SchemaVersion {
		return red(fmt.Sprintf("checklist schema_version %d, this build reads %d", c.SchemaVersion, SchemaVersion))
	}
	if err := CheckRuleSet(rules); err != nil {
		return red(err.Error())
	}
	digest, err := rulesDigest(rules)
	if err != nil {
		return red(err.Error())
	}
	if c.TopicID != rules.TopicID || c.RulesVersion != rules.Version || !shape.SameHex(c.RulesDigest, digest) {
		return red("checklist is for another topic or rule version")
	}
	if !shape.SameHex(c.SubmissionDigest, submission) {
		return &ForeignError{"submission_digest", c.SubmissionDigest, submission}
	}
	if !shape.SameHex(c.ArtifactDigest, artifact) {
		return &ForeignError{"artifact_digest", c.ArtifactDigest, artifact}
	}
	return verifyItems(c.Items, rules.Rules)
}

func verifyItems(items []wire.ChecklistItem, rules []topic.ChecklistItem) error {
	for _, item := range items {
		if !slices.ContainsFunc(rules, func(r topic.ChecklistItem) bool { return r.ID == item.ID }) {
			return redItem(item.ID, "is not a rule of this version")
		}
	}
	var failed []string
	for _, rule := range rules {
		ticked := 0
		for _, item := range items {
			if item.ID != rule.ID {
				continue
			}
			if n := len(strings.TrimSpace(item.Evidence)); n < 1 || n > MaxEvidence {
				return redItem(rule.ID, "has empty or oversized evidence")
			}
			ticked++
			if !item.Pass {
				failed = append(failed, rule.ID)
			}
		}
		switch {
		case ticked == 0:
			return redItem(rule.ID, "missing")
		case ticked > 1:
			return redItem(rule.ID, "duplicated")
		}
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		return red("checklist red: "+strings.Join(failed, ", "), failed...)
	}
	return nil
}

func red(reason string, ids ...string) error { return &RedError{Reason: reason, IDs: ids} }

func redItem(id, why string) error {
	return red("checklist item "+strconv.Quote(short(id))+" "+why, id)
}

// Recorded returns a checklist as it is stored and hashed: evidence that is longer
// than MaxEvidence is trimmed and cut between characters. Verification looks at the
// original, which it refuses when there was more than white space to cut.
func Recorded(c *wire.Checklist) *wire.Checklist {
	kept := *c
	kept.Items = slices.Clone(c.Items)
	for i := range kept.Items {
		if e := &kept.Items[i].Evidence; len(*e) > MaxEvidence {
			*e = cut(strings.TrimSpace(*e), MaxEvidence)
		}
	}
	return &kept
}

// ChecklistDigest returns the digest of a checklist, 64 lower-case hex: the SHA-256
// of a prefix and its sorted compact JSON (R§16.3). It fails only for text that is
// not UTF-8.
func ChecklistDigest(c *wire.Checklist) (string, error) {
	list := make([]any, len(c.Items))
	for i, item := range c.Items {
		list[i] = canonjson.NewObject("evidence", item.Evidence, "id", item.ID, "pass", item.Pass)
	}
	text, err := canonjson.AppendSorted([]byte(checklistPrefix), canonjson.NewObject(
		"artifact_digest", c.ArtifactDigest, "items", list, "rules_digest", c.RulesDigest,
		"rules_version", whole(c.RulesVersion), "schema_version", whole(c.SchemaVersion),
		"submission_digest", c.SubmissionDigest, "topic_id", c.TopicID,
	))
	if err != nil {
		return "", fmt.Errorf("checklist: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func whole(n uint32) canonjson.Int { return canonjson.Int(strconv.FormatUint(uint64(n), 10)) }

// redIDs returns the rules that an error of VerifyChecklist is about, empty and not
// nil where it is about none.
func redIDs(err error) []string {
	if fault := new(RedError); errors.As(err, &fault) && fault.IDs != nil {
		return fault.IDs
	}
	return []string{}
}

// cut shortens a text to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
