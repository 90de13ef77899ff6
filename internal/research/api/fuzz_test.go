package api

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/shape"
)

func FuzzRowQuery(f *testing.F) {
	for _, seed := range []string{
		"", "topic=dt-no-ib-v0&limit=20", "hotkey=0x" + strings.Repeat("Ab", 32), "before=pf_00000000000000ff", "limit=0", "limit=+1", "a=b", "limit=1&limit=2", "%zz", "a;b", "topic=%00", "=", "&&&",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := rowQuery(raw)
		if err != nil {
			status, why, known := meaning(err)
			if status != http.StatusBadRequest || why == "" || len(why) > 400 || !known {
				t.Fatalf("%q: %d %q", raw, status, why)
			}
			return
		}
		if q.Limit < 1 || q.Limit > maxRows || q.Topic != "" && !shape.Slug(q.Topic) {
			t.Fatalf("%q: %+v", raw, q)
		}
		if stored, ok := intake.Hex64(q.Hotkey); q.Hotkey != "" && (!ok || stored != q.Hotkey) {
			t.Fatalf("%q: hotkey %q", raw, q.Hotkey)
		}
	})
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("# a\n\ntoken\n"))
	f.Add([]byte("a b"))
	f.Add([]byte("\r\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tokens, err := ParseTokens(data)
		if err != nil && tokens != nil || len(tokens) > maxTokens {
			t.Fatalf("%d tokens, %v", len(tokens), err)
		}
		for _, token := range tokens {
			if token.Label == "" || token.SHA256 == [32]byte{} {
				t.Fatalf("%+v", token)
			}
		}
	})
}

func FuzzForwardedFor(f *testing.F) {
	f.Add("203.0.113.1, 10.0.0.1")
	f.Add("[2001:db8::1]:80")
	f.Add(" ,,unknown")
	f.Add("::ffff:10.0.0.1%eth0")
	s := &server{o: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{RemoteAddr: "10.0.0.2:1", Header: http.Header{"X-Forwarded-For": {header}}}
		if got := s.client(r); !got.IsValid() || got.Zone() != "" || got.Is4In6() {
			t.Fatalf("%q: %v", header, got)
		}
		r.RemoteAddr = "192.0.2.1:1"
		if got := s.client(r); got != netip.MustParseAddr("192.0.2.1") {
			t.Fatalf("%q is believed of a peer that is not trusted: %v", header, got)
		}
	})
}

func FuzzPrefer(f *testing.F) {
	f.Add("respond-async")
	f.Add("wait=1, RESPOND-ASYNC;x")
	f.Add("respond-async=1")
	f.Fuzz(func(t *testing.T, header string) {
		if prefersAsync(http.Header{"Prefer": {header}}) && !strings.Contains(strings.ToLower(header), "respond-async") {
			t.Fatalf("%q", header)
		}
	})
}

func TestDecision18TheThrottleForgetsNobodyItStillCountsAndRemembersNoMoreThanItMay(t *testing.T) {
	th, now := newThrottle(), time.Unix(1000, 0)
	first := netip.MustParseAddr("2001:db8::1")
	for range maxFailures {
		th.failed(first, now)
	}
	if th.wait(netip.MustParseAddr("2001:db8::ffff"), now) == 0 || th.wait(netip.MustParseAddr("2001:db8:0:1::1"), now) != 0 {
		t.Error("a host is its /64")
	}
	for i := range most + 10 {
		from := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if th.wait(from, now) == 0 {
			th.failed(from, now)
		}
	}
	if len(th.from) != most {
		t.Errorf("%d addresses are remembered", len(th.from))
	}
	stranger := netip.MustParseAddr("192.0.2.77")
	if th.wait(stranger, now) != span || th.wait(first, now) == 0 {
		t.Error("a flood of made-up addresses opened the door")
	}
	later := now.Add(span)
	if th.wait(stranger, later) != 0 || th.wait(first, later) != 0 || len(th.from) != 0 {
		t.Errorf("a minute later %d are remembered", len(th.from))
	}
	if network(netip.Addr{}) != (netip.Prefix{}) {
		t.Error("no address is one sender")
	}
}
