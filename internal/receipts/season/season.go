package season

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// State is how far a season has come. States only ever move forward.
type State string

// The states in their order.
const (
	Draft     State = "draft"     // Defined; at least one track is not frozen.
	Frozen    State = "frozen"    // Every track has a proven freeze; enrolment is open.
	Open      State = "open"      // Submissions are taken.
	Closed    State = "closed"    // No submission any more.
	Scored    State = "scored"    // The operator has scored the bundle.
	Published State = "published" // Results, reports and the bundle are served.
)

var order = []State{Draft, Frozen, Open, Closed, Scored, Published}

// Reached reports whether s is at or past other.
func (s State) Reached(other State) bool {
	return slices.Index(order, s) >= slices.Index(order, other)
}

// safeCall is how long before the close a proxied call is still sure to be in a
// batch that the issuer closes in time (design §3: the force is at closes − 60 s).
const safeCall = 120 * time.Second

// Definition is what a season is announced as. It is fixed by its first freeze,
// because the rules hash covers it (bundle format §4).
type Definition struct {
	Number        int64     // 1 or more.
	Opens, Closes time.Time // Whole seconds, both included in the window.
	Host          string    // https:// and the canonical host of this service.
	Witnesses     bundle.WitnessPolicy
	Practice      bool     // The corpus is one whose key anybody can compute.
	Tracks        []string // Names of the tracks, each to be frozen before the season can open.
}

// Season is a definition with the state it has reached.
type Season struct {
	Definition
	State    State
	ClosedAt time.Time // When the operator closed it early; zero otherwise.
}

func (d Definition) check() error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("season %d: "+format, append([]any{d.Number}, args...)...)
	}
	host, err := url.Parse(d.Host)
	switch {
	case d.Number < 1:
		return fault("the number must be 1 or more")
	case !d.Opens.Equal(d.Opens.Truncate(time.Second)), !d.Closes.Equal(d.Closes.Truncate(time.Second)):
		return fault("opens and closes must be whole seconds")
	case d.Opens.IsZero(), d.Closes.Before(d.Opens):
		return fault("opens must be set and not be later than closes")
	case err != nil, host.Scheme != "https", host.Host == "", d.Host != "https://"+host.Host:
		return fault("host %q must be https:// and a host, without a trailing slash", d.Host)
	case len(d.Tracks) == 0:
		return fault("name at least one track")
	}
	for i, t := range d.Tracks {
		if !bundle.ValidTrack(t) {
			return fault("track %q: lower-case letters, digits and hyphens, at most 32", t)
		}
		if slices.Contains(d.Tracks[:i], t) {
			return fault("track %q is named twice", t)
		}
	}
	return nil
}

// policy is the witness policy as season.json writes it (bundle format §2).
func (d Definition) policy() *canonjson.Object {
	required, local := []any{"timestamp"}, "refused"
	if d.Witnesses.RequireLog {
		required = append(required, "log")
	}
	if d.Witnesses.AllowLocal {
		local = "allowed"
	}
	return canonjson.NewObject("required", required, "local", local)
}

// LastSafeCall is the latest moment at which a call through the proxy is sure to
// carry a token inside the window.
func (d Definition) LastSafeCall() time.Time { return d.Closes.Add(-safeCall) }

// at reads the state at an instant: time moves frozen to open and open to
// closed, and nothing backwards.
func (s Season) at(now time.Time) State {
	state := s.State
	if state == Frozen && !now.Before(s.Opens) {
		state = Open
	}
	if state == Open && now.After(s.Closes) {
		state = Closed
	}
	return state
}

// Kind says what is wrong with a request, for whoever has to answer it.
type Kind int

// The kinds of refusal.
const (
	NotFound     Kind = iota // No such season, track or document (yet).
	Unauthorized             // The key or token is missing or unknown.
	Forbidden                // Known, but not now or not for this one.
	Conflict                 // Something recorded stands against it.
	Invalid                  // The request itself has faults; Faults lists all of them.
	Unavailable              // Something this service depends on does not answer; worth another try.
)

// Fault is one thing wrong with a request: where, and how to put it right.
type Fault struct{ Pointer, Message string }

// Refusal is a request that was understood and refused; nothing was recorded.
type Refusal struct {
	Kind   Kind
	Why    string
	Faults []Fault
}

// Error is the reason in one sentence.
func (r *Refusal) Error() string { return r.Why }

func refuse(k Kind, format string, args ...any) error {
	return &Refusal{Kind: k, Why: fmt.Sprintf(format, args...)}
}

// ErrState is wrapped by what an operator asks at a moment when the season does
// not allow it.
var ErrState = errors.New("the season's state does not allow it")

// Layouts of instants: of a window, and of what is recorded.
const (
	secondLayout = "2006-01-02T15:04:05Z"
	microLayout  = "2006-01-02T15:04:05.000000Z"
)
