package fake

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// runFile is the file of an artefact that says what comes of its run.
const runFile = "fake-run.json"

// maxRunFile is the size in bytes of the largest one that is read.
const maxRunFile = 1 << 20

// run is what a fake-run.json says.
type run struct {
	PrimaryValue *float64 `json:"primary_value"`
	FlopsUsed    *uint64  `json:"flops_used"`
	ExitCode     int32    `json:"exit_code"`
	ClaimHolds   bool     `json:"claim_holds"`
	Red          []string `json:"red"`
	RunsForS     float64  `json:"runs_for_s"`

	absent bool
}

// readRun finds and reads the fake-run.json of a tree.
func readRun(files []wire.File) (*run, error) {
	at := slices.IndexFunc(files, func(f wire.File) bool { return f.Path == runFile })
	if at < 0 {
		none := uint64(0)
		return &run{ExitCode: 1, FlopsUsed: &none, absent: true}, nil
	}
	return parseRun(files[at].Bytes)
}

func parseRun(data []byte) (*run, error) {
	if len(data) > maxRunFile {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", runFile, len(data), maxRunFile)
	}
	r := &run{}
	if err := json.Unmarshal(data, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", runFile, err)
	}
	if math.IsNaN(r.RunsForS) || r.RunsForS < 0 || r.RunsForS > 24*60*60 {
		return nil, fmt.Errorf("%s: runs_for_s is %v; write seconds from 0 to 86400", runFile, r.RunsForS)
	}
	return r, nil
}

// takes is how long the run takes.
func (r *run) takes() time.Duration { return time.Duration(r.RunsForS * float64(time.Second)) }

// failure says how the recipe failed, or nothing when it did not.
func (r *run) failure() string {
	switch {
	case r.absent:
		return "exit status 1: the artefact has no " + runFile + ", and a fake agent runs nothing else"
	case r.ExitCode != 0:
		return fmt.Sprintf("exit status %d", r.ExitCode)
	case r.PrimaryValue == nil:
		return "no output: " + runFile + " has no primary_value"
	}
	return ""
}

// defaultRule is proposed for a topic whose document has no checklist.
var defaultRule = wire.Rule{ID: "archive_safe", Text: "The artefact is a safe uncompressed tar with file content, whose digest is the one submitted."}

// proposeRules gives the checklist of a topic document, or one default rule.
func proposeRules(document []byte) ([]wire.Rule, error) {
	var topic struct {
		Checklist []wire.Rule `json:"checklist"`
	}
	if err := json.Unmarshal(document, &topic); err != nil {
		return nil, errors.New("the topic document has no readable checklist: want a list of {id, text}")
	}
	if len(topic.Checklist) == 0 {
		return []wire.Rule{defaultRule}, nil
	}
	return topic.Checklist, nil
}

// tick makes the checklist of an inspection: every rule passes but those that
// the run file names as red.
func tick(request *wire.RunRequest, rules *wire.RuleSet, r *run) (*wire.Checklist, error) {
	for _, id := range r.Red {
		if !slices.ContainsFunc(rules.Rules, func(rule wire.Rule) bool { return rule.ID == id }) {
			return nil, fmt.Errorf("%s: red names %.80q, which is no rule of version %d", runFile, id, rules.Version)
		}
	}
	items := make([]wire.ChecklistItem, len(rules.Rules))
	for i, rule := range rules.Rules {
		items[i] = wire.ChecklistItem{ID: rule.ID, Pass: true, Evidence: "fake agent: nothing was inspected but the archive's digest and safety"}
		if slices.Contains(r.Red, rule.ID) {
			items[i] = wire.ChecklistItem{ID: rule.ID, Evidence: "fake agent: " + runFile + " of the artefact names this rule as red"}
		}
	}
	return &wire.Checklist{
		SchemaVersion:    1,
		TopicID:          request.TopicID,
		RulesVersion:     rules.Version,
		RulesDigest:      request.RulesDigest,
		SubmissionDigest: request.SubmissionDigest,
		ArtifactDigest:   request.ArtifactDigest,
		Items:            items,
	}, nil
}
