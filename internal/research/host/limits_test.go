package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
)

func TestAWindowSlides(t *testing.T) {
	w := newWindow(4, time.Minute)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	took := func(d time.Duration) bool {
		ok, wait := w.take("a", at.Add(d))
		require.Equal(t, ok, wait == 0)
		require.LessOrEqual(t, wait, time.Minute+time.Millisecond)
		return ok
	}
	for range 4 {
		require.True(t, took(30*time.Second))
	}
	require.False(t, took(59*time.Second))
	require.False(t, took(60*time.Second), "the four of the span before still weigh 4")
	require.True(t, took(75*time.Second), "at a quarter of the span they weigh 3")
	require.False(t, took(75*time.Second))
	ok, wait := w.take("a", at.Add(75*time.Second))
	require.False(t, ok)
	require.True(t, took(75*time.Second+wait), "the wait that was told is enough")
	other, _ := w.take("b", at.Add(75*time.Second))
	require.True(t, other, "senders do not share")
	for range 4 {
		require.True(t, took(time.Hour))
	}
	require.False(t, took(time.Hour))
	w.back("a", at.Add(time.Hour))
	require.True(t, took(time.Hour), "what did not come about is not counted")
}

func TestAWindowWithoutALimitCountsNothing(t *testing.T) {
	w := newWindow(0, time.Minute)
	for range 1000 {
		ok, _ := w.take("a", time.Unix(0, 0))
		require.True(t, ok)
	}
	require.Empty(t, w.senders)
	w.back("a", time.Unix(0, 0))
}

func TestAFloodOfSendersDoesNotGrowAWindow(t *testing.T) {
	w := newWindow(1, time.Minute)
	at := time.Unix(1_800_000_000, 0)
	for i := range most {
		ok, _ := w.take(fmt.Sprint(i), at)
		require.True(t, ok)
	}
	ok, _ := w.take("one more", at)
	require.False(t, ok)
	require.Len(t, w.senders, most)
	ok, _ = w.take("one more", at.Add(3*time.Minute))
	require.True(t, ok, "quiet senders are forgotten")
	require.Len(t, w.senders, 1)
}

func TestAnIPv6HostCountsAsItsPrefix(t *testing.T) {
	require.Equal(t, sender("2001:db8:1:2::1"), sender("2001:db8:1:2:ffff::9%eth0"))
	require.NotEqual(t, sender("2001:db8:1:2::1"), sender("2001:db8:1:3::1"))
	require.Equal(t, "192.0.2.1", sender("192.0.2.1"))
	require.NotEqual(t, sender("::ffff:192.0.2.1"), sender("::ffff:192.0.2.2"))
	require.Equal(t, "no address", sender("no address"))
}

func TestASlowWaiterMissesAnEndingAndHoldsNobodyUp(t *testing.T) {
	r := newRuns()
	slow, quick := r.join("d"), r.join("d")
	for n := range ledger.FlightID(10) {
		r.tell("d", ending{flight: n})
		require.Equal(t, n, (<-quick).flight)
	}
	require.Len(t, slow, cap(slow))
	r.leave("d", slow)
	r.leave("d", quick)
	require.Empty(t, r.waiting)
	r.tell("d", ending{})
}

func TestAnOutcomeIsClaimedOnceAndOnlyForItsEpoch(t *testing.T) {
	r := newRuns()
	o := &intake.Outcome{Submission: &intake.Submission{Digest: "d", Epoch: 3}}
	r.keep(o, time.Unix(0, 0))
	require.Same(t, o, r.claim(&ledger.Flight{Digest: "d", Epoch: 3}))
	require.Nil(t, r.claim(&ledger.Flight{Digest: "d", Epoch: 3}))
	r.keep(o, time.Unix(0, 0))
	require.Nil(t, r.claim(&ledger.Flight{Digest: "d", Epoch: 4}))
	r.keep(o, time.Unix(0, 0))
	r.drop(&intake.Outcome{Submission: o.Submission})
	require.Len(t, r.decided, 1, "another outcome of the digest is not this one's to drop")
	r.sweep(map[string]bool{"d": true}, time.Unix(9, 0))
	require.Len(t, r.decided, 1)
	r.sweep(nil, time.Unix(9, 0))
	require.Empty(t, r.decided)
}
