package rlm

import (
	"maps"
	"slices"
)

// CustomIDs are the ids that a runner is registered under, sorted.
func (e *Engine) CustomIDs() []string { return slices.Sorted(maps.Keys(e.registered)) }
