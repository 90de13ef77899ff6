package artefact

import (
	"fmt"
	"maps"
	"slices"
)

// CheckTopic holds the public files of a topic against the manifests of its zips,
// by row id, and returns each contradiction in words: a row without its scored
// event or with another value, a champion that no event promoted, a promotion that
// displaced another than the champion before, a best.json that is not the last
// promotion. best is nil when there is no best.json.
func CheckTopic(rows map[string]*Manifest, events []Event, best *Best) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	scored, promoted := map[string]int{}, map[string]int{}
	var last *Event
	for i := range events {
		e := &events[i]
		m := rows[e.SubmissionID]
		if m == nil {
			fault("%s is %s in %s and has no zip", e.SubmissionID, e.Event, eventsName)
		} else if !equal(m.PrimaryValue, e.PrimaryValue) {
			fault("%s has another primary value in its zip than where %s says %s", e.SubmissionID, eventsName, e.Event)
		}
		if e.Event == EventScored {
			scored[e.SubmissionID]++
			if m != nil && m.ChecklistGreen != e.ChecklistGreen {
				fault("%s has checklist_green %v in its zip and %v in %s", e.SubmissionID, m.ChecklistGreen, e.ChecklistGreen, eventsName)
			}
			continue
		}
		promoted[e.SubmissionID]++
		switch {
		case last == nil && e.PreviousBest != nil:
			fault("%s displaced %s, which no event promoted", e.SubmissionID, *e.PreviousBest)
		case last != nil && (e.PreviousBest == nil || *e.PreviousBest != last.SubmissionID):
			fault("%s did not displace %s, the champion before it", e.SubmissionID, last.SubmissionID)
		}
		last = e
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if n := scored[id]; n != 1 {
			fault("%s has a zip and %d scored events in %s, want 1", id, n, eventsName)
		}
		if n, want := promoted[id], map[bool]int{true: 1}[rows[id].Promoted]; n != want {
			fault("%s has promoted %v in its zip and %d promoted events in %s", id, rows[id].Promoted, n, eventsName)
		}
	}
	switch {
	case last == nil && best != nil:
		fault("%s names %s, which no event promoted", bestName, best.SubmissionID)
	case last != nil && best == nil:
		fault("%s is missing; the champion is %s", bestName, last.SubmissionID)
	case last != nil:
		m := rows[best.SubmissionID]
		if best.SubmissionID != last.SubmissionID || !equal(&best.PrimaryValue, last.PrimaryValue) || !equal(best.Bar, last.Bar) {
			fault("%s is not the last promotion, that of %s", bestName, last.SubmissionID)
		} else if m != nil && (m.SubmissionDigest != best.SubmissionDigest || m.TopicID != best.TopicID) {
			fault("%s has another topic or submission digest than the zip of %s", bestName, best.SubmissionID)
		}
	}
	return faults
}

func equal(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
