package intake

import (
	"maps"
	"slices"
)

// OpenTopics lists the ids of the topics that take submissions now, sorted.
func (h *Host) OpenTopics() []string {
	return h.topics(func(t *Topic) bool { return t.Document.OpenAt(h.Epoch) })
}

// ScorableTopics lists the ids of the open topics whose submissions would run,
// sorted: those for which [Host.Unready] finds nothing. The reference's list asks
// for less, rows 9 to 16 and 19, and so names topics whose every submission is
// answered 503 by a later row.
func (h *Host) ScorableTopics() []string {
	return h.topics(func(t *Topic) bool { return t.Document.OpenAt(h.Epoch) && len(h.Unready(t)) == 0 })
}

func (h *Host) topics(keep func(*Topic) bool) []string {
	ids := []string{}
	for id, t := range h.Topics {
		if keep(t) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// BaselineSealed reports whether some open topic is sealed, with holdout and
// baseline on the host (R§14.1).
func (h *Host) BaselineSealed() bool { return !noReadyTopic(&Facts{Host: h}, nil) }

// RegisteredCustom lists the custom ids that have a runner, sorted. The custom
// family is wired when there is one.
func (h *Host) RegisteredCustom() []string {
	if h.Custom == nil {
		return []string{}
	}
	return h.Custom.list(func(string) bool { return true })
}

// CustomReady lists the registered ids whose runner could run now, sorted,
// whichever topics are open.
func (h *Host) CustomReady() []string {
	if h.Custom == nil {
		return []string{}
	}
	return h.Custom.list(func(fault string) bool { return fault == "" })
}

func (c *Custom) list(keep func(fault string) bool) []string {
	ids := []string{}
	for _, id := range slices.Sorted(maps.Keys(c.Runners)) {
		if keep(c.Runners[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}
