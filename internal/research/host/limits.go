package host

import (
	"net/netip"
	"sync"
	"time"
)

// Limits bound what one sender may ask for (decisions 6 and 7).
type Limits struct {
	QueueCap         int // submissions that wait for a worker; 0 takes the default, 64
	Workers          int // runs at a time; 0 takes the default, 2
	AddressPerMinute int // submissions sent from one address; 0 is no limit
	HotkeyPerHour    int // submissions of one hotkey that were taken; 0 is no limit
}

func (l Limits) filled() Limits {
	if l.QueueCap <= 0 {
		l.QueueCap = 64
	}
	if l.Workers <= 0 {
		l.Workers = 2
	}
	return l
}

// most is the number of senders that a window remembers. Beyond it, the ones that
// are quiet are forgotten, and if all of them are busy, new ones are refused: a
// flood of made-up senders must not take the memory of the host.
const most = 1 << 16

// window counts what each sender did in the last span. It keeps two counts of a
// sender, of the running span and the one before, and weights the older by the part
// of it that is not yet a span ago.
type window struct {
	cap  int
	span time.Duration

	mu      sync.Mutex
	senders map[string]*tally
}

type tally struct {
	span     int64 // number of the running span
	now, was int
}

// newWindow allows cap events of each sender in a span; a cap of 0 all of them.
func newWindow(limit int, span time.Duration) *window {
	return &window{cap: limit, span: span, senders: make(map[string]*tally)}
}

// take counts an event of a sender, or returns false and how long to wait.
func (w *window) take(sender string, at time.Time) (ok bool, wait time.Duration) {
	if w.cap <= 0 {
		return true, 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	span, into := w.place(at)
	t := w.senders[sender]
	if t == nil {
		if len(w.senders) >= most && !w.forget(span) {
			return false, w.span
		}
		t = &tally{span: span}
		w.senders[sender] = t
	}
	t.turn(span)
	old := float64(t.was) * (1 - float64(into)/float64(w.span))
	if float64(t.now)+old < float64(w.cap) {
		t.now++
		return true, 0
	}
	if t.now >= w.cap {
		return false, w.span - into
	}
	enough := 1 - float64(w.cap-t.now)/float64(t.was) // share of the span after which the older ones weigh little enough
	return false, time.Duration(enough*float64(w.span)) - into + time.Millisecond
}

// back undoes a take whose event did not come about.
func (w *window) back(sender string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	span, _ := w.place(at)
	if t := w.senders[sender]; t != nil && t.span == span && t.now > 0 {
		t.now--
	}
}

func (w *window) place(at time.Time) (span int64, into time.Duration) {
	n := at.UnixNano()
	return n / int64(w.span), time.Duration(n % int64(w.span))
}

// turn moves a tally to a span.
func (t *tally) turn(span int64) {
	switch span - t.span {
	case 0:
	case 1:
		t.was, t.now = t.now, 0
	default:
		t.was, t.now = 0, 0
	}
	t.span = span
}

// forget drops the senders that did nothing in this span and the one before, and
// reports whether there is room now.
func (w *window) forget(span int64) bool {
	for sender, t := range w.senders {
		if span-t.span > 1 {
			delete(w.senders, sender)
		}
	}
	return len(w.senders) < most
}

// sender is what an address counts as: an IPv6 host has a whole /64 to send from.
func sender(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Unmap().Is4() {
		return address
	}
	prefix, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
