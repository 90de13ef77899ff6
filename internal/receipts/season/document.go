package season

import (
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// Document is season.json (bundle-format §2). Tasks are the frozen value,
// untouched: the rules hash covers it.
func (s *Snapshot) Document() (*canonjson.Object, error) {
	tracks := canonjson.NewObject()
	for _, f := range s.Freezes {
		tasks, err := canonjson.ParseStrict(f.Tasks)
		if err != nil {
			return nil, fmt.Errorf("tasks of track %s: %w", f.Track, err)
		}
		freeze := canonjson.NewObject(
			"proof_id", f.ProofID, "rules_sha256", f.RulesSHA256,
			"manifest_sha256", f.ManifestSHA256, "key_commitment", f.KeyCommitment)
		if len(f.Replaced) > 0 {
			replaced := make([]any, 0, len(f.Replaced))
			for _, r := range f.Replaced {
				replaced = append(replaced, canonjson.NewObject("proof_id", r.ProofID, "reason", r.Reason))
			}
			freeze.Set("replaced", replaced)
		}
		tracks.Set(f.Track, canonjson.NewObject("corpus_host", f.CorpusHost, "tasks", tasks, "freeze", freeze))
	}
	document := canonjson.NewObject(
		"format", "prova-season-bundle/1", "season", canonjson.NewInt(s.Number),
		"opens", s.Opens.Format(secondLayout), "closes", s.Closes.Format(secondLayout),
		"season_host", s.Host,
		"witness_policy", s.policy(),
		"tracks", tracks)
	if s.Practice {
		// Unknown members of season.json are kept and ignored; readers are told.
		document.Set("practice", true)
	}
	return document, nil
}

// EnrolmentsDocument is enrolments.json (bundle-format §8).
func (s *Snapshot) EnrolmentsDocument() []any {
	out := make([]any, 0, len(s.Enrolments))
	for _, e := range s.Enrolments {
		linked := make([]any, 0, len(e.LinkedDIDs))
		for _, did := range e.LinkedDIDs {
			linked = append(linked, did)
		}
		var stack any
		if e.DeclaredStack != nil {
			stack = *e.DeclaredStack
		}
		entry := canonjson.NewObject(
			"agent_did", e.AgentDID, "agent_name", e.AgentName, "declared_stack", stack,
			"enrolled_at", e.EnrolledAt.UTC().Format(microLayout),
			"kind", e.Kind, "linked_dids", linked)
		if e.Kind == bundle.KindReference && e.Run != nil {
			entry.Set("run", canonjson.NewObject(
				"model", e.Run.Model, "version", e.Run.Version, "framework", e.Run.Framework, "prompt", e.Run.Prompt))
		}
		out = append(out, entry)
	}
	return out
}
