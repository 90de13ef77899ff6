package issuer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	secondsLayout = "2006-01-02T15:04:05Z"
	microsLayout  = "2006-01-02T15:04:05.000000+00:00"
	isoLayout     = "2006-01-02T15:04:05+00:00"
	dayLayout     = "2006-01-02"
	monthLayout   = "2006-01"
)

// isoFormat is Python's datetime.isoformat in UTC: microseconds, dropped when
// they are zero (T§1).
func isoFormat(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format(isoLayout)
	}
	return t.Format(microsLayout)
}

// fingerprintOf is the buyer fingerprint of T§2: SHA-256 of the raw key. It is
// all that is ever stored of a key.
func fingerprintOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// counterKeyOf names the counters of a key. T§2 keys them on the first 16
// characters; the hash of those keeps the sharing rule without storing any
// part of a key.
func counterKeyOf(key string) string {
	if len(key) > 16 {
		key = key[:16]
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func randomHex(r io.Reader, n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", fmt.Errorf("read %d random bytes: %w", n, err)
	}
	return hex.EncodeToString(b), nil
}

// validProofID reports whether s has the strict form of T§1,
// prf_YYYYMMDD_HHMMSS_ and six lower-case hex digits. The source's pattern is
// looser (T§15.13); ours takes ASCII digits only and nothing after them.
func validProofID(s string) bool {
	const form = "prf_dddddddd_dddddd_xxxxxx"
	if len(s) != len(form) {
		return false
	}
	for i := range len(form) {
		c := s[i]
		switch form[i] {
		case 'd':
			if c < '0' || c > '9' {
				return false
			}
		case 'x':
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		default:
			if c != form[i] {
				return false
			}
		}
	}
	return true
}

// proofIDs makes proof ids. Three random bytes a second collide once in a few
// thousand ids (birthday), so the ids of the current second are remembered and
// a collision inside the process never reaches the database.
type proofIDs struct {
	rand io.Reader

	mu     sync.Mutex
	second string
	used   map[string]struct{}
}

func newProofIDs(r io.Reader) *proofIDs {
	return &proofIDs{rand: r, used: map[string]struct{}{}}
}

func (p *proofIDs) next(now time.Time) (string, error) {
	second := now.UTC().Format("20060102_150405")
	p.mu.Lock()
	defer p.mu.Unlock()
	if second != p.second {
		p.second = second
		clear(p.used)
	}
	for range 64 {
		tail, err := randomHex(p.rand, 3)
		if err != nil {
			return "", err
		}
		if _, taken := p.used[tail]; taken {
			continue
		}
		p.used[tail] = struct{}{}
		return "prf_" + second + "_" + tail, nil
	}
	return "", fmt.Errorf("no free proof id in second %s: the random source repeats itself", second)
}

// batchID is the id of a batch opened at t, with milliseconds (T§1).
func batchID(t time.Time) string {
	t = t.UTC()
	return fmt.Sprintf("batch_%s_%03d", t.Format("20060102_150405"), t.Nanosecond()/int(time.Millisecond))
}

// latin1 decodes a header value as the source's server does: one byte, one
// character.
func latin1(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}
