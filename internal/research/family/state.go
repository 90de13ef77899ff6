package family

import "slices"

// State is the state that a row ends in (R§12.7).
type State string

// The states of a row. AwaitingAdmin pays as Champion does.
const (
	Champion      State = "champion"
	AwaitingAdmin State = "awaiting_admin"
	Rejected      State = "rejected"
)

// StateOf returns the state of a judged row. crowned says that the crown landed,
// not that it was hoped for (decision 9); the harvest families never crown.
func StateOf(f Family, v Verdict, crowned bool) State {
	switch {
	case !v.Pass:
		return Rejected
	case crowned && f == Custom:
		return Champion
	}
	return AwaitingAdmin
}

// Candidate is a judged run that might reign over its topic.
type Candidate struct {
	Pass              bool
	ChecklistComplete bool
	Red               []string // red rules of the checklist
	Primary           *float64
	Bar               *float64 // the harder of sealed value and reigning best
	Direction         Direction
	EpsilonRel        float64
}

// KeepReason says why a candidate does not reign; empty when it does.
type KeepReason string

// The reasons of R§17, in the order in which they are looked for.
const (
	NotPassed    KeepReason = "not_passed"
	ChecklistRed KeepReason = "checklist_red"
	NoPrimary    KeepReason = "no_primary"
	NoBar        KeepReason = "no_bar"
	BelowBar     KeepReason = "below_bar"
)

// Promotion is the decision about a candidate.
type Promotion struct {
	Promote bool
	Keep    KeepReason
	Red     []string // sorted and unique, for ChecklistRed; empty when it is incomplete only
	Primary float64  // for BelowBar, with Bar and EpsilonRel
	Bar     float64
	Epsilon float64
}

// Promote decides whether a candidate beats the bar by the topic's share. The
// caller writes the crown under its lease with a compare-and-swap on the best it
// took the bar from; until that landed no row says champion.
func Promote(c Candidate) Promotion {
	switch {
	case !c.Pass:
		return Promotion{Keep: NotPassed}
	case !c.ChecklistComplete || len(c.Red) > 0:
		red := slices.Sorted(slices.Values(c.Red))
		return Promotion{Keep: ChecklistRed, Red: slices.Compact(red)}
	case c.Primary == nil || !finite(*c.Primary):
		return Promotion{Keep: NoPrimary}
	case c.Bar == nil || !finite(*c.Bar):
		return Promotion{Keep: NoBar}
	case !RelativeWin(*c.Primary, *c.Bar, c.Direction, c.EpsilonRel):
		return Promotion{Keep: BelowBar, Primary: *c.Primary, Bar: *c.Bar, Epsilon: c.EpsilonRel}
	}
	return Promotion{Promote: true, Primary: *c.Primary, Bar: *c.Bar, Epsilon: c.EpsilonRel}
}

// Bar returns the harder of the sealed value and the reigning best, whichever
// of them is known and finite (R§13.6), or nil when neither is.
func Bar(d Direction, sealed, best *float64) *float64 {
	known := func(f *float64) bool { return f != nil && finite(*f) }
	switch {
	case known(sealed) && known(best):
		harder := d.Harder(*sealed, *best)
		return &harder
	case known(sealed):
		return sealed
	case known(best):
		return best
	}
	return nil
}
