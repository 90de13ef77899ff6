package issuer

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/prova-dev/prova/evidence/canonjson"
)

const (
	internalHeader  = "X-Internal-Secret"
	challengeHeader = "X-Challenge-Secret"

	redacted          = "[redacted]"
	minRedactedLength = 8

	maxExtraHeaders     = 10
	maxExtraHeaderValue = 4096
)

// ServiceSecret is a header that the proxy adds for listed hosts only (T§4.7).
type ServiceSecret struct {
	// Value is the secret; empty switches it off.
	Value string
	// Hosts are compared in lower case and exactly, the port ignored.
	Hosts []string
}

func (s ServiceSecret) goesTo(host string) bool {
	return s.Value != "" && slices.ContainsFunc(s.Hosts, func(h string) bool {
		return strings.ToLower(strings.TrimSpace(h)) == host
	})
}

// ChallengeGate is the challenge secret and the gate in front of it: open to
// every caller, or to the callers listed (T§4.7).
type ChallengeGate struct {
	ServiceSecret
	Open bool
	// During narrows Open to the times at which it reports true, such as a season's
	// window; nil means at any time. Keys are admitted whatever it says.
	During func() bool
	// Keys are fingerprints: 64 lower-case hex. Other entries are ignored and
	// reported by position when the service starts.
	Keys []string
}

func (g ChallengeGate) admits(fingerprint string) bool {
	return (g.Open && (g.During == nil || g.During())) || (validHash(fingerprint) && slices.Contains(g.Keys, fingerprint))
}

// report names the entries of Keys that cannot be fingerprints by their place:
// such an entry may be a raw key.
func (g ChallengeGate) report(log *slog.Logger) {
	for i, k := range g.Keys {
		if !validHash(k) {
			log.Warn("challenge key list: entry ignored, it is not 64 lower-case hex digits", "position", i+1)
		}
	}
}

// OpenByText reads TRUST_LAYER_CHALLENGE_OPEN as the source does: only "true",
// trimmed and in any case, opens the gate.
func OpenByText(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "true") }

func validHash(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// secretHeaders are the service secrets that a call to host by this caller
// carries.
func (c *Config) secretHeaders(host, fingerprint string) map[string]string {
	out := map[string]string{}
	if c.Internal.goesTo(host) {
		out[internalHeader] = c.Internal.Value
	}
	if c.Challenge.goesTo(host) && c.Challenge.admits(fingerprint) {
		out[challengeHeader] = c.Challenge.Value
	}
	return out
}

// droppedHeader names what extra_headers may not set (T§4.5).
func droppedHeader(name string) bool {
	switch strings.ToLower(name) {
	case "host", "transfer-encoding", "connection", "upgrade", "content-length",
		"content-type", "x-internal-secret", "x-challenge-secret":
		return true
	}
	return false
}

// checkExtraHeaders is T§4.5. A name or value that HTTP cannot carry is an
// unhandled 500, or a broken call, in the source; here it is refused.
func checkExtraHeaders(o *canonjson.Object) (http.Header, *apiError) {
	if o == nil {
		return nil, nil
	}
	if o.Len() > maxExtraHeaders {
		return nil, badRequest("extra_headers: max 10 headers allowed")
	}
	out := http.Header{}
	for name, v := range o.All() {
		value, ok := v.(string)
		if !ok {
			return nil, badRequest("extra_headers: keys and values must be strings")
		}
		if chars(value) > maxExtraHeaderValue {
			return nil, badRequest("extra_headers: a value exceeds 4096 characters")
		}
		if droppedHeader(name) {
			continue
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, badRequest("extra_headers: " + quoted(name) + " is not a header name")
		}
		if !visibleASCII(value) {
			return nil, badRequest("extra_headers: the value of " + quoted(name) + " must be printable ASCII")
		}
		out.Add(name, value)
	}
	return out, nil
}

func quoted(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	return fmt.Sprintf("%q", s)
}

func visibleASCII(s string) bool {
	for i := range len(s) {
		if (s[i] < 0x20 && s[i] != '\t') || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// chars counts code points, a lone surrogate as one.
func chars(s string) int {
	n := 0
	for i := range len(s) {
		if s[i]&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// scrubber removes the service secrets from what goes back to a caller (T§4.7).
type scrubber struct {
	replace *strings.Replacer // nil when no secret is long enough
	values  []string
}

func newScrubber(secrets ...string) *scrubber {
	s := &scrubber{}
	var pairs []string
	for _, v := range secrets {
		if len(v) >= minRedactedLength {
			s.values = append(s.values, v)
			pairs = append(pairs, v, redacted)
		}
	}
	if len(pairs) > 0 {
		s.replace = strings.NewReplacer(pairs...)
	}
	return s
}

func (s *scrubber) leaks(text string) bool {
	return slices.ContainsFunc(s.values, func(v string) bool { return strings.Contains(text, v) })
}

func (s *scrubber) text(t string) string {
	if !s.leaks(t) {
		return t
	}
	return s.replace.Replace(t)
}

// value returns v without secrets. It shares what it need not change and never
// alters v.
func (s *scrubber) value(v any) any {
	switch x := v.(type) {
	case string:
		return s.text(x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = s.value(e)
		}
		return out
	case *canonjson.Object:
		out := canonjson.NewObject()
		for name, e := range x.All() {
			if strings.EqualFold(name, internalHeader) || strings.EqualFold(name, challengeHeader) {
				continue
			}
			out.Set(s.text(name), s.value(e))
		}
		return out
	}
	return v
}
