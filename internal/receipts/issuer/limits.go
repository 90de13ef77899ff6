package issuer

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// maxTracked bounds the memory of a limiter: beyond it expired entries go first,
// then any.
const maxTracked = 100_000

// sliding counts events of a key within the last window. A limit below 1 never
// refuses. Counters are of this process and forgotten when it ends, as in the
// source (T§15.14).
type sliding struct {
	limit  int
	window time.Duration

	mu   sync.Mutex
	hits map[string][]time.Time
}

func newSliding(limit int, window time.Duration) *sliding {
	return &sliding{limit: limit, window: window, hits: map[string][]time.Time{}}
}

// recent drops what is older than the window. The caller holds the lock.
func (s *sliding) recent(key string, now time.Time) []time.Time {
	hits := s.hits[key]
	for len(hits) > 0 && now.Sub(hits[0]) >= s.window {
		hits = hits[1:]
	}
	if len(hits) == 0 {
		delete(s.hits, key)
		return nil
	}
	s.hits[key] = hits
	return hits
}

// full reports whether key has used up its limit; it counts nothing.
func (s *sliding) full(key string, now time.Time) bool {
	if s.limit < 1 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.recent(key, now)) >= s.limit
}

// add counts one event.
func (s *sliding) add(key string, now time.Time) {
	if s.limit < 1 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, now)
}

func (s *sliding) put(key string, now time.Time) {
	if _, known := s.hits[key]; !known && len(s.hits) >= maxTracked {
		s.shrink(now)
	}
	s.hits[key] = append(s.hits[key], now)
	if over := len(s.hits[key]) - s.limit; over > 0 {
		s.hits[key] = s.hits[key][over:]
	}
}

// take counts one event unless the limit is used up, and reports whether it did.
func (s *sliding) take(key string, now time.Time) bool {
	if s.limit < 1 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recent(key, now)) >= s.limit {
		return false
	}
	s.put(key, now)
	return true
}

func (s *sliding) shrink(now time.Time) {
	for key := range s.hits {
		s.recent(key, now)
	}
	for key := range s.hits {
		if len(s.hits) < maxTracked/2 {
			return
		}
		delete(s.hits, key)
	}
}

// fixed is the read counter of T§3.5: a window that starts with the first read,
// and a read is refused when the counter is above the limit, so limit+1 pass.
type fixed struct {
	limit  int
	window time.Duration

	mu   sync.Mutex
	seen map[string]fixedWindow
}

type fixedWindow struct {
	start time.Time
	count int
}

func newFixed(limit int, window time.Duration) *fixed {
	return &fixed{limit: limit, window: window, seen: map[string]fixedWindow{}}
}

func (f *fixed) take(key string, now time.Time) bool {
	if f.limit < 1 {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w, known := f.seen[key]
	if !known || now.Sub(w.start) >= f.window {
		if !known && len(f.seen) >= maxTracked {
			f.shrink(now)
		}
		w = fixedWindow{start: now}
	}
	if w.count > f.limit {
		return false
	}
	w.count++
	f.seen[key] = w
	return true
}

func (f *fixed) shrink(now time.Time) {
	for key, w := range f.seen {
		if now.Sub(w.start) >= f.window {
			delete(f.seen, key)
		}
	}
	for key := range f.seen {
		if len(f.seen) < maxTracked/2 {
			return
		}
		delete(f.seen, key)
	}
}

// clientIP is the address that limits count (T§1): X-Real-IP when the operator
// says that a front proxy sets it, else the peer.
func clientIP(r *http.Request, trustRealIP bool) string {
	if trustRealIP {
		if addr, err := netip.ParseAddr(strings.TrimSpace(r.Header.Get("X-Real-IP"))); err == nil {
			return addr.Unmap().WithZone("").String()
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	return host
}
