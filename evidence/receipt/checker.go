package receipt

import (
	"crypto/ed25519"
	"sync"
	"time"

	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

// Checker verifies proofs against one Trust. It is safe for concurrent use and
// remembers the tokens and log entries it has verified, so that the proofs of
// one batch cost one token and one entry. The memory is bounded; what is
// remembered never changes an outcome.
type Checker struct {
	keys        []issuerKey
	logKeys     []logKey
	authorities map[string]timestamp.Authority
	logs        []tlog.Log

	tokens  cache[tokenResult]
	entries cache[entryResult]
}

// Policy is what a season asks of the witnesses (bundle-format §2): whether a
// log entry is required beside the token, and whether local witnesses count.
type Policy struct {
	RequireLog bool
	AllowLocal bool
}

type issuerKey struct {
	kid    string
	text   string
	public ed25519.PublicKey
	bounds bounds
}

type logKey struct {
	kid    string
	der    string
	bounds bounds
}

// NewChecker returns a Checker for t, which it copies what it needs from: later
// changes of t have no effect.
func NewChecker(t *Trust) *Checker {
	c := &Checker{authorities: make(map[string]timestamp.Authority, len(t.Authorities))}
	for _, k := range t.IssuerKeys {
		c.keys = append(c.keys, issuerKey{
			kid: k.Kid, text: formatEd25519(k.Public), public: append(ed25519.PublicKey(nil), k.Public...),
			bounds: newBounds(k.ValidFrom, k.RetiredAt),
		})
	}
	for _, k := range t.LogKeys {
		c.logKeys = append(c.logKeys, logKey{kid: k.Kid, der: string(k.DER), bounds: newBounds(k.ValidFrom, k.RetiredAt)})
	}
	for _, a := range t.Authorities {
		if _, taken := c.authorities[a.Provider]; !taken {
			c.authorities[a.Provider] = a
		}
	}
	c.logs = append(c.logs, t.Logs...)
	return c
}

// bounds are the life of a key (D11). The text forms are compared with the
// proof's own timestamp, over 19 characters, as the format prescribes.
type bounds struct {
	from, retired string
	retiredAt     time.Time
}

// retirementGrace is how long after a retirement a third party's time may still
// fall: a batch may close after its proofs were signed (D11).
const retirementGrace = 3600 * time.Second

const secondsLayout = "2006-01-02T15:04:05"

func newBounds(from, retired time.Time) bounds {
	b := bounds{retiredAt: retired}
	if !from.IsZero() {
		b.from = from.UTC().Format(secondsLayout)
	}
	if !retired.IsZero() {
		b.retired = retired.UTC().Format(secondsLayout)
	}
	return b
}

// admits applies check 4: a bounded key needs a timestamp that starts in the
// form of an instant and is within the bounds.
func (b bounds) admits(timestamp string) bool {
	if b.from == "" && b.retired == "" {
		return true
	}
	if !startsAsInstant(timestamp) {
		return false
	}
	at := timestamp[:len(secondsLayout)]
	return at >= b.from && (b.retired == "" || at < b.retired)
}

// inTime applies check 8: the time that a third party signed is before the
// retirement plus its grace.
func (b bounds) inTime(witnessed time.Time) bool {
	return b.retiredAt.IsZero() || witnessed.Before(b.retiredAt.Add(retirementGrace))
}

func startsAsInstant(s string) bool {
	if len(s) < len(secondsLayout) {
		return false
	}
	for i := range len(secondsLayout) {
		switch want := secondsLayout[i]; want {
		case '-', 'T', ':':
			if s[i] != want {
				return false
			}
		default:
			if s[i] < '0' || s[i] > '9' {
				return false
			}
		}
	}
	return true
}

// cache remembers one result for each anchored hash in two generations: when
// the younger is full it becomes the older and the older is forgotten. A map
// that grows without bound would let a bundle's size set the memory.
type cache[V any] struct {
	mu         sync.Mutex
	young, old map[[32]byte]V
}

const (
	cacheGeneration = 1024
	// cacheMaxBytes is the largest token or entry that is kept; real ones have
	// 1 to 6 KB. Larger ones are verified each time.
	cacheMaxBytes = 16 << 10
)

func (c *cache[V]) get(root [32]byte) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.young[root]
	if !ok {
		v, ok = c.old[root]
	}
	return v, ok
}

func (c *cache[V]) put(root [32]byte, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= cacheGeneration || c.young == nil {
		c.old, c.young = c.young, make(map[[32]byte]V)
	}
	c.young[root] = v
}
