package issuer

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// proxyRequest is the body of POST /v1/proxy, read and checked (T§4.1). Once
// parsed it cannot be wrong, but for extra_headers, which T§4.2 looks into
// only after the quota unit is spent.
type proxyRequest struct {
	Target       string
	Method       string
	Payload      *canonjson.Object
	Currency     string
	ExtraHeaders *canonjson.Object // nil when absent or null

	// HasIdentity tells an absent header from an empty one: the empty string
	// is committed as it is (T§4.9).
	Identity     string
	HasIdentity  bool
	AgentVersion string

	dest *target
}

// requestCheck is one step of T§4.2 that looks at the request alone.
type requestCheck struct {
	step  int
	name  string
	check func(*proxyDraft) *apiError
}

// proxyDraft is a request while it is being checked.
type proxyDraft struct {
	body   []byte
	header http.Header
	fields *canonjson.Object
	req    proxyRequest
}

// proxyRequestChecks are steps 3 to 7 of T§4.2 in their order: the first that
// fails gives the answer. Step 4 is one row of the reference and four here.
func proxyRequestChecks() []requestCheck {
	return []requestCheck{
		{3, "body is JSON", checkBody},
		{4, "target is there", checkTarget},
		{4, "payload is an object", checkPayload},
		{4, "method is GET or POST", checkMethod},
		{4, "currency is a string", checkCurrencyType},
		{4, "extra_headers is an object or null", checkExtraHeadersType},
		{4, "provider_payment is absent", checkProviderPayment},
		{5, "X-Agent-Identity is well-formed", checkIdentity},
		{6, "currency is supported", checkCurrency},
		{7, "target obeys the URL rules", checkURL},
	}
}

// parseProxyRequest runs steps 3 to 7 of T§4.2.
func parseProxyRequest(body []byte, h http.Header) (*proxyRequest, *apiError) {
	d := &proxyDraft{body: body, header: h}
	for _, c := range proxyRequestChecks() {
		if err := c.check(d); err != nil {
			return nil, err
		}
	}
	return &d.req, nil
}

func checkBody(d *proxyDraft) *apiError {
	v, err := canonjson.Parse(d.body)
	if err != nil {
		return badRequest("Invalid JSON body")
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		// The source answers an unhandled 500 here.
		return badRequest("Body must be a JSON object")
	}
	d.fields = o
	return nil
}

func checkTarget(d *proxyDraft) *apiError {
	v, _ := d.fields.Get("target")
	if falsy(v) {
		return badTarget("Missing 'target' field")
	}
	s, ok := v.(string)
	if !ok {
		return badTarget("'target' must be a string: an https URL")
	}
	d.req.Target = s
	return nil
}

func checkPayload(d *proxyDraft) *apiError {
	v, given := d.fields.Get("payload")
	if !given {
		d.req.Payload = canonjson.NewObject()
		return nil
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return badRequest("'payload' must be a JSON object")
	}
	d.req.Payload = o
	return nil
}

func checkMethod(d *proxyDraft) *apiError {
	v, given := d.fields.Get("method")
	if !given {
		v = http.MethodPost
	}
	s, _ := v.(string)
	switch m := strings.ToUpper(s); m {
	case http.MethodGet, http.MethodPost:
		d.req.Method = m
	default:
		return badRequest("'method' must be GET or POST")
	}
	// What the source cannot encode ends there in an unhandled 500.
	if d.req.Method == http.MethodPost && !encodable(d.req.Payload, true) {
		return badRequest("'payload' holds NaN, Infinity or a lone surrogate, which a JSON body cannot carry")
	}
	if d.req.Method == http.MethodGet && !encodable(d.req.Payload, false) {
		return badRequest("'payload' holds a lone surrogate, which a query string cannot carry")
	}
	return nil
}

func checkCurrencyType(d *proxyDraft) *apiError {
	v, given := d.fields.Get("currency")
	if !given {
		v = "eur"
	}
	s, ok := v.(string)
	if !ok {
		return badRequest("'currency' must be a string")
	}
	d.req.Currency = strings.ToLower(strings.TrimFunc(s, pythonSpace))
	return nil
}

func checkExtraHeadersType(d *proxyDraft) *apiError {
	v, _ := d.fields.Get("extra_headers")
	if v == nil {
		return nil
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return badRequest("'extra_headers' must be a JSON object or null")
	}
	d.req.ExtraHeaders = o
	return nil
}

func checkProviderPayment(d *proxyDraft) *apiError {
	if v, _ := d.fields.Get("provider_payment"); v != nil {
		return badRequest("'provider_payment' (payment receipts, Mode B) is not offered by this issuer: leave it out")
	}
	return nil
}

const maxIdentity = 256

func checkIdentity(d *proxyDraft) *apiError {
	if v := d.header.Values("X-Agent-Version"); len(v) > 0 {
		d.req.AgentVersion = latin1(v[0])
	}
	v := d.header.Values("X-Agent-Identity")
	if len(v) == 0 {
		return nil
	}
	fault := &apiError{Status: http.StatusBadRequest, Code: "invalid_agent_identity", Flat: true}
	if len(v[0]) > maxIdentity {
		fault.Message = "X-Agent-Identity exceeds 256 characters"
		return fault
	}
	for i := range len(v[0]) {
		if c := v[0][i]; c < 0x20 || c == 0x7f {
			fault.Message = "X-Agent-Identity contains control characters"
			return fault
		}
	}
	d.req.Identity, d.req.HasIdentity = latin1(v[0]), true
	return nil
}

func checkCurrency(d *proxyDraft) *apiError {
	switch d.req.Currency {
	case "eur", "usd", "gbp":
		return nil
	}
	return refuse(http.StatusBadRequest, "invalid_currency", "Unsupported currency. Use eur, usd or gbp.")
}

func checkURL(d *proxyDraft) *apiError {
	dest, err := parseTarget(d.req.Target)
	if err != nil {
		return err
	}
	d.req.dest = dest
	return nil
}

// data is request_data of T§4.3. The amount is the float 0.0: every call
// inside its quota costs nothing.
func (r *proxyRequest) data() *canonjson.Object {
	o := canonjson.NewObject(
		"target", r.Target,
		"method", r.Method,
		"payload", r.Payload,
		"amount", 0.0,
		"currency", r.Currency)
	if r.ExtraHeaders != nil && r.ExtraHeaders.Len() > 0 {
		names := slices.Sorted(slices.Values(r.ExtraHeaders.Names()))
		list := make([]any, len(names))
		for i, n := range names {
			list[i] = n
		}
		o.Set("extra_headers_keys", list)
	}
	return o
}

func (r *proxyRequest) hash() string { return hashOf(r.data()) }

// hashOf is the lower-case hex SHA-256 of the canonical JSON of v (T§5).
func hashOf(v any) string {
	sum := canonjson.Sum(v)
	return hex.EncodeToString(sum[:])
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// falsy is Python's truth value of a JSON value, negated (T§4.8).
func falsy(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case bool:
		return !x
	case string:
		return x == ""
	case canonjson.Int:
		return x == "0"
	case float64:
		return x == 0
	case []any:
		return len(x) == 0
	case *canonjson.Object:
		return x.Len() == 0
	}
	return false
}

// encodable reports whether v can leave as UTF-8: no lone surrogate in a name
// or a string, and with finite set no NaN or infinity.
func encodable(v any, finite bool) bool {
	switch x := v.(type) {
	case string:
		return !hasSurrogate(x)
	case float64:
		return !finite || !(math.IsNaN(x) || math.IsInf(x, 0))
	case []any:
		for _, e := range x {
			if !encodable(e, finite) {
				return false
			}
		}
	case *canonjson.Object:
		for name, e := range x.All() {
			if hasSurrogate(name) || !encodable(e, finite) {
				return false
			}
		}
	}
	return true
}

// hasSurrogate looks for ED A0..BF, the WTF-8 form of a lone surrogate.
func hasSurrogate(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == 0xED && s[i+1] >= 0xA0 {
			return true
		}
	}
	return false
}

// pythonSpace is the white space that str.strip removes.
func pythonSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20, r == 0x85, r == 0xa0,
		r == 0x1680, r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029,
		r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}
