package artefact

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/recipe"
)

// TestR23_2ADigestOfACanonicalTarIsRecomputedFromTheFiles holds the fixture to it.
func TestR23_2ADigestOfACanonicalTarIsRecomputedFromTheFiles(t *testing.T) {
	tree, err := recipe.FromFiles(green().Files)
	must(t, err)
	tar, err := recipe.Write(tree)
	must(t, err)
	if sum := sha256.Sum256(tar); hex.EncodeToString(sum[:]) != artifact {
		t.Errorf("the canonical tar of the fixture has the sha256 %x", sum)
	}
}

func TestR20PublicFilesOfATopicMustAgreeWithItsZips(t *testing.T) {
	const a, b, c = "pf_0000000000000001", "pf_0000000000000002", "pf_0000000000000003"
	type state struct {
		rows   map[string]*Manifest
		events []Event
		best   *Best
	}
	// A red row, a champion, and the champion after it.
	good := func() *state {
		return &state{
			map[string]*Manifest{
				a: {TopicID: "holdout-error", SubmissionID: a},
				b: {TopicID: "holdout-error", SubmissionID: b, ChecklistGreen: true, Promoted: true, PrimaryValue: ptr(0.5), SubmissionDigest: artifact},
				c: {TopicID: "holdout-error", SubmissionID: c, ChecklistGreen: true, Promoted: true, PrimaryValue: ptr(0.25), SubmissionDigest: submission},
			},
			[]Event{Scored(a, nil, false), Scored(b, ptr(0.5), true), Promoted(b, 0.5, ptr(1.0), nil), Scored(c, ptr(0.25), true), Promoted(c, 0.25, ptr(0.5), ptr(b))},
			&Best{TopicID: "holdout-error", SubmissionID: c, SubmissionDigest: submission, PrimaryValue: 0.25, Bar: ptr(0.5)},
		}
	}
	for name, tc := range map[string]struct {
		change func(*state)
		want   string // all faults, joined; empty for none
	}{
		"all as it must be":                   {func(*state) {}, ""},
		"nothing at all":                      {func(s *state) { *s = state{} }, ""},
		"a zip is gone":                       {func(s *state) { delete(s.rows, a) }, a + " is scored in events.jsonl and has no zip"},
		"a zip without an event":              {func(s *state) { s.events = s.events[1:] }, a + " has a zip and 0 scored events in events.jsonl, want 1"},
		"a row scored twice":                  {func(s *state) { s.events = append(s.events, s.events[0]) }, a + " has a zip and 2 scored events in events.jsonl, want 1"},
		"another value":                       {func(s *state) { s.rows[a].PrimaryValue = ptr(0.0) }, a + " has another primary value in its zip than where events.jsonl says scored"},
		"another colour":                      {func(s *state) { s.rows[a].ChecklistGreen = true }, a + " has checklist_green true in its zip and false in events.jsonl"},
		"a crown of the zip alone":            {func(s *state) { s.rows[a].Promoted = true }, a + " has promoted true in its zip and 0 promoted events in events.jsonl"},
		"a crown of the events alone":         {func(s *state) { s.rows[b].Promoted = false }, b + " has promoted false in its zip and 1 promoted events in events.jsonl"},
		"a first champion that displaced one": {func(s *state) { s.events[2].PreviousBest = ptr(a) }, b + " displaced " + a + ", which no event promoted"},
		"a champion that displaced another":   {func(s *state) { s.events[4].PreviousBest = ptr(a) }, c + " did not displace " + b + ", the champion before it"},
		"a champion that displaced none":      {func(s *state) { s.events[4].PreviousBest = nil }, c + " did not displace " + b + ", the champion before it"},
		"no best.json":                        {func(s *state) { s.best = nil }, "best.json is missing; the champion is " + c},
		"a best.json of the champion before": {func(s *state) { s.best.SubmissionID = b },
			"best.json is not the last promotion, that of " + c},
		"a best.json with another value":  {func(s *state) { s.best.PrimaryValue = 0.125 }, "best.json is not the last promotion, that of " + c},
		"a best.json with another bar":    {func(s *state) { s.best.Bar = nil }, "best.json is not the last promotion, that of " + c},
		"a best.json with another digest": {func(s *state) { s.best.SubmissionDigest = artifact }, "best.json has another topic or submission digest than the zip of " + c},
		"a best.json of nobody": {func(s *state) { s.rows, s.events = nil, nil },
			"best.json names " + c + ", which no event promoted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			tc.change(s)
			if got := strings.Join(CheckTopic(s.rows, s.events, s.best), "\n"); got != tc.want {
				t.Errorf("faults\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
