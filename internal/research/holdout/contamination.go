package holdout

import (
	"slices"
	"strings"
)

// Declared reports whether a manifest declares anything: one entry that is not
// blank, in either list (R§6.5).
func Declared(hashes, datasets []string) bool {
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	return slices.ContainsFunc(hashes, func(s string) bool { return !blank(s) }) ||
		slices.ContainsFunc(datasets, func(s string) bool { return !blank(s) })
}

// Contamination compares the data a submission declares with the holdout (R§6.5)
// and returns "shard:<hash>" and "dataset:<id>" for each hit, sorted, without
// repetition, in lower case; nil when there is none. Entries are compared trimmed
// and without regard to case, blank ones are passed over.
//
// A hit repeats what the submission itself declared, so it tells its author one
// record's name or hash to be part of the holdout, which is why a verdict carries
// only that there was contamination.
func (s *Set) Contamination(hashes, datasets []string) []string {
	var hits []string
	for _, h := range hashes {
		h = strings.ToLower(strings.TrimSpace(h))
		if _, hit := s.hidden().shards[h]; hit {
			hits = append(hits, "shard:"+h)
		}
	}
	for _, d := range datasets {
		d = strings.ToLower(strings.TrimSpace(d))
		if _, hit := s.hidden().datasets[d]; hit {
			hits = append(hits, "dataset:"+d)
		}
	}
	slices.Sort(hits)
	return slices.Compact(hits)
}
