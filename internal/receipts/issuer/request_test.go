package issuer

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// TestT42OrderOfChecks sends requests with two faults each: the earlier step of
// T§4.2 must answer.
func TestT42OrderOfChecks(t *testing.T) {
	long := strings.Repeat("a", 257)
	for name, c := range map[string]struct {
		body, identity string
		status         int
		code, message  string
	}{
		"step 3: not JSON, whatever the identity":     {`{`, long, 400, "invalid_request", "Invalid JSON body"},
		"step 3: an array":                            {`[]`, long, 400, "invalid_request", "Body must be a JSON object"},
		"step 4: target missing before identity":      {`{}`, long, 400, "invalid_target", "Missing 'target' field"},
		"step 4: target empty":                        {`{"target":""}`, "", 400, "invalid_target", "Missing 'target' field"},
		"step 4: target null":                         {`{"target":null}`, "", 400, "invalid_target", "Missing 'target' field"},
		"step 4: target zero":                         {`{"target":0}`, "", 400, "invalid_target", "Missing 'target' field"},
		"step 4: target a number":                     {`{"target":7}`, "", 400, "invalid_target", "'target' must be a string: an https URL"},
		"step 4: payload before currency":             {`{"target":"http://x","payload":[],"currency":7}`, "", 400, "invalid_request", "'payload' must be a JSON object"},
		"step 4: payload null":                        {`{"target":"https://x","payload":null}`, "", 400, "invalid_request", "'payload' must be a JSON object"},
		"step 4: method":                              {`{"target":"http://x","method":"PUT"}`, long, 400, "invalid_request", "'method' must be GET or POST"},
		"step 4: method null":                         {`{"target":"https://x","method":null}`, "", 400, "invalid_request", "'method' must be GET or POST"},
		"step 4: method a number":                     {`{"target":"https://x","method":1}`, "", 400, "invalid_request", "'method' must be GET or POST"},
		"step 4: currency type before identity":       {`{"target":"http://x","currency":null}`, long, 400, "invalid_request", "'currency' must be a string"},
		"step 4: extra_headers type":                  {`{"target":"http://x","extra_headers":[]}`, long, 400, "invalid_request", "'extra_headers' must be a JSON object or null"},
		"step 4: provider_payment":                    {`{"target":"http://x","provider_payment":{"type":"stripe"}}`, long, 400, "invalid_request", "'provider_payment' (payment receipts, Mode B) is not offered by this issuer: leave it out"},
		"step 4: NaN in a POST body":                  {`{"target":"https://x","payload":{"a":NaN}}`, "", 400, "invalid_request", "'payload' holds NaN, Infinity or a lone surrogate, which a JSON body cannot carry"},
		"step 4: lone surrogate in a POST body":       {`{"target":"https://x","payload":{"a":["\ud800"]}}`, "", 400, "invalid_request", "'payload' holds NaN, Infinity or a lone surrogate, which a JSON body cannot carry"},
		"step 4: lone surrogate name in a GET query":  {`{"target":"https://x","method":"GET","payload":{"\udc00":1}}`, "", 400, "invalid_request", "'payload' holds a lone surrogate, which a query string cannot carry"},
		"step 5: identity before currency":            {`{"target":"http://x","currency":"chf"}`, long, 400, "invalid_agent_identity", "X-Agent-Identity exceeds 256 characters"},
		"step 5: a tab in the identity":               {`{"target":"https://x"}`, "a\tb", 400, "invalid_agent_identity", "X-Agent-Identity contains control characters"},
		"step 5: DEL in the identity":                 {`{"target":"https://x"}`, "a\x7f", 400, "invalid_agent_identity", "X-Agent-Identity contains control characters"},
		"step 6: currency before URL":                 {`{"target":"http://x","currency":"chf"}`, "", 400, "invalid_currency", "Unsupported currency. Use eur, usd or gbp."},
		"step 7: scheme":                              {`{"target":"http://x.example"}`, "", 400, "invalid_target", "Target must be an https URL"},
		"step 7: localhost":                           {`{"target":"https://LOCALHOST/"}`, "", 400, "invalid_target", "Target host is not allowed"},
		"step 7: 0.0.0.0":                             {`{"target":"https://0.0.0.0/"}`, "", 400, "invalid_target", "Target host is not allowed"},
		"step 7: no host":                             {`{"target":"https:///path"}`, "", 400, "invalid_target", "Target URL has no host"},
		"step 7: a space is no part of a port":        {`{"target":"https://h.example:4x/"}`, "", 400, "invalid_target", "'target' has a malformed port"},
		"step 7: control character":                   {`{"target":"https://h.example/\n"}`, "", 400, "invalid_target", "'target' holds a control character"},
		"step 7: an address that hides in characters": {`{"target":"https://[::1/"}`, "", 400, "invalid_target", "'target' has a malformed host"},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			if c.identity != "" {
				h.Set("X-Agent-Identity", c.identity)
			}
			_, refused := parseProxyRequest([]byte(c.body), h)
			require.NotNil(t, refused)
			require.Equal(t, c.status, refused.Status)
			require.Equal(t, c.code, refused.Code)
			require.Equal(t, c.message, refused.Message)
			require.Equal(t, c.code == "invalid_agent_identity", refused.Flat)
		})
	}
}

func TestT42TheTableOfChecksIsInTheOrderOfItsSteps(t *testing.T) {
	step := 0
	for _, c := range proxyRequestChecks() {
		require.GreaterOrEqual(t, c.step, step, c.name)
		step = c.step
	}
}

func TestT41Defaults(t *testing.T) {
	r, refused := parseProxyRequest([]byte(`{"target":"https://h.example/a","currency":" EUR\t","description":7,"amount":"x","extra_headers":null,"unknown":1}`), http.Header{})
	require.Nil(t, refused)
	require.Equal(t, "POST", r.Method)
	require.Equal(t, "eur", r.Currency)
	require.Zero(t, r.Payload.Len())
	require.Equal(t, `{"amount":0.0,"currency":"eur","method":"POST","payload":{},"target":"https://h.example/a"}`, string(canonjson.Marshal(r.data())))
}

func TestT41TheLastOfTwoMembersWinsAsInTheSource(t *testing.T) {
	r, refused := parseProxyRequest([]byte(`{"target":"https://a.example","target":"https://b.example","method":"get"}`), http.Header{})
	require.Nil(t, refused)
	require.Equal(t, "https://b.example", r.Target)
	require.Equal(t, "GET", r.Method)
}

// vectors are the request and response hashes computed with CPython (ORIGIN.md).
type vectors struct {
	Hashes []struct{ Canonical, SHA256 string } `json:"request_response_hashes"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/hashes.json")
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(data, &v))
	require.NotEmpty(t, v.Hashes)
	return v
}

func TestT43RequestHash(t *testing.T) {
	r, refused := parseProxyRequest([]byte(`{"target":"https://corpus.example.test/entites/ENT-0001","method":"get"}`), http.Header{})
	require.Nil(t, refused)
	require.Equal(t, "bddf2156fd8aa0075470d98c2d3b51b6882da25be12c8a60106d1373cc4dd896", r.hash())
	require.Equal(t, readVectors(t).Hashes[0].SHA256, r.hash())

	r, refused = parseProxyRequest([]byte(`{"target":"https://x.example/api","payload":{"q":"é","n":[1,2.0,null]},"currency":"usd",
		"extra_headers":{"X-Trace":"1","Accept":"text/plain","Host":"h"}}`), http.Header{})
	require.Nil(t, refused)
	require.Equal(t, `{"amount":0.0,"currency":"usd","extra_headers_keys":["Accept","Host","X-Trace"],"method":"POST","payload":{"n":[1,2.0,null],"q":"\u00e9"},"target":"https://x.example/api"}`,
		string(canonjson.Marshal(r.data())), "names are listed even if the header is dropped later, values never")
}

func TestT43EmptyExtraHeadersLeaveNoTrace(t *testing.T) {
	for _, body := range []string{`{"target":"https://x.example","extra_headers":{}}`, `{"target":"https://x.example","extra_headers":null}`} {
		r, refused := parseProxyRequest([]byte(body), http.Header{})
		require.Nil(t, refused)
		require.False(t, r.data().Has("extra_headers_keys"))
	}
}

func TestT44WhatIsFetched(t *testing.T) {
	for name, c := range map[string]struct{ target, method, payload, uri, host string }{
		"an empty GET payload removes the query": {"https://h.example/a?page=2", "GET", `{}`, "/a", "h.example"},
		"a GET payload replaces the query":       {"https://h.example/a?page=2", "GET", `{"q":"x y"}`, "/a?q=x+y", "h.example"},
		"booleans, null and numbers as text":     {"https://h.example/a", "GET", `{"t":true,"f":false,"n":null,"i":7,"d":1e3}`, "/a?t=true&f=false&n=&i=7&d=1000.0", "h.example"},
		"a list repeats its key":                 {"https://h.example/a", "GET", `{"l":[1,"b",null]}`, "/a?l=1&l=b&l=", "h.example"},
		"an empty list leaves a question mark":   {"https://h.example/a", "GET", `{"l":[]}`, "/a?", "h.example"},
		"a nested object is a Python repr":       {"https://h.example/a", "GET", `{"o":{"a":[true,null,"it's"]}}`, "/a?o=%7B%27a%27%3A+%5BTrue%2C+None%2C+%22it%27s%22%5D%7D", "h.example"},
		"UTF-8 is percent-encoded":               {"https://h.example/a", "GET", `{"é":"~-._"}`, "/a?%C3%A9=~-._", "h.example"},
		"POST keeps the query":                   {"https://h.example/a?page=2&x=%20", "POST", `{}`, "/a?page=2&x=%20", "h.example"},
		"dot segments are resolved":              {"https://h.example/a/../b//c", "GET", `{}`, "/b//c", "h.example"},
		"escapes are kept":                       {"https://h.example/%7Ea/é b", "GET", `{}`, "/%7Ea/%C3%A9%20b", "h.example"},
		"the fragment is not sent":               {"https://h.example/a#b?c", "GET", `{}`, "/a", "h.example"},
		"no path is a slash":                     {"https://h.example", "GET", `{}`, "/", "h.example"},
		"a path of two slashes":                  {"https://h.example//a", "GET", `{}`, "//a", "h.example"},
		"a port stays, the default one does not": {"https://H.Example:8443/a", "GET", `{}`, "/a", "h.example:8443"},
		"port 443":                               {"https://h.example:443/a", "GET", `{}`, "/a", "h.example"},
		"upper-case scheme":                      {"HTTPS://h.example/a", "GET", `{}`, "/a", "h.example"},
		"an international name":                  {"https://bücher.example/", "GET", `{}`, "/", "xn--bcher-kva.example"},
	} {
		t.Run(name, func(t *testing.T) {
			dest, refused := parseTarget(c.target)
			require.Nil(t, refused, "%v", refused)
			payload, err := canonjson.Parse([]byte(c.payload))
			require.NoError(t, err)
			u := dest.url(c.method, payload.(*canonjson.Object))
			require.Equal(t, c.uri, u.RequestURI())
			require.Equal(t, c.host, u.Host)
		})
	}
}

func TestT49SellerIsTheHostWithoutPortOrUser(t *testing.T) {
	for target, seller := range map[string]string{
		"https://User:Pass@Host.Example:9443/x": "host.example",
		"https://[2606:4700::1]:444/x":          "2606:4700::1",
		"https://93.184.216.34/":                "93.184.216.34",
	} {
		dest, refused := parseTarget(target)
		require.Nil(t, refused)
		require.Equal(t, seller, dest.Host)
	}
}

func TestT45ExtraHeaders(t *testing.T) {
	eleven := `{"a1":"","a2":"","a3":"","a4":"","a5":"","a6":"","a7":"","a8":"","a9":"","b1":"","b2":""}`
	for name, c := range map[string]struct{ headers, want, fault string }{
		"forwarded, and may override a default":     {`{"accept":"text/plain","X-Trace":"1"}`, "Accept=text/plain X-Trace=1", ""},
		"hop-by-hop and secrets dropped, any case":  {`{"HOST":"a","Transfer-encoding":"b","connection":"c","Upgrade":"d","Content-Length":"5","content-type":"f","x-internal-SECRET":"g","X-Challenge-Secret":"h","X-A":"1"}`, "X-A=1", ""},
		"eleven are too many":                       {eleven, "", "extra_headers: max 10 headers allowed"},
		"a number is no value":                      {`{"X-A":1}`, "", "extra_headers: keys and values must be strings"},
		"4097 characters are too long":              {`{"X-A":"` + strings.Repeat("v", 4097) + `"}`, "", "extra_headers: a value exceeds 4096 characters"},
		"4096 pass":                                 {`{"X-A":"` + strings.Repeat("v", 4096) + `"}`, "X-A=" + strings.Repeat("v", 4096), ""},
		"not ASCII":                                 {`{"X-A":"é"}`, "", `extra_headers: the value of "X-A" must be printable ASCII`},
		"a line break cannot smuggle a header":      {`{"X-A":"1\r\nX-Challenge-Secret: x"}`, "", `extra_headers: the value of "X-A" must be printable ASCII`},
		"a name with a colon":                       {`{"X-A: b":"1"}`, "", `extra_headers: "X-A: b" is not a header name`},
		"an empty name":                             {`{"":"1"}`, "", `extra_headers: "" is not a header name`},
		"a dropped header may have any ASCII value": {`{"Host":"x"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := canonjson.Parse([]byte(c.headers))
			require.NoError(t, err)
			h, fault := checkExtraHeaders(v.(*canonjson.Object))
			if c.fault != "" {
				require.NotNil(t, fault)
				require.Equal(t, c.fault, fault.Message)
				require.Equal(t, "invalid_request", fault.Code)
				return
			}
			require.Nil(t, fault)
			var parts []string
			for _, n := range []string{"Accept", "X-A", "X-Trace"} {
				if h.Get(n) != "" {
					parts = append(parts, n+"="+h.Get(n))
				}
			}
			require.Equal(t, c.want, strings.Join(parts, " "))
		})
	}
}

func TestT48ResponseData(t *testing.T) {
	const falsyHash = "247fb85306c7b6f642aee12a918f957c0b9a12bb7ec0137ac820deb73746f779"
	for name, c := range map[string]struct{ body, kind, canonical, returned string }{
		"an object":             {`{"b":1,"a":[2.50]}`, "application/json", `{"a":[2.5],"b":1}`, `{"b":1,"a":[2.5]}`},
		"a byte order mark":     {"\xef\xbb\xbf{\"a\":1}", "", `{"a":1}`, `{"a":1}`},
		"the last double wins":  {`{"a":1,"a":2}`, "", `{"a":2}`, `{"a":2}`},
		"an empty object":       {`{}`, "", `{"error":null}`, `{}`},
		"an empty array":        {`[]`, "", `{"error":null}`, `{}`},
		"an empty string":       {`""`, "", `{"error":null}`, `{}`},
		"zero":                  {`0`, "", `{"error":null}`, `{}`},
		"zero point zero":       {`0.0`, "", `{"error":null}`, `{}`},
		"minus zero":            {`-0.0`, "", `{"error":null}`, `{}`},
		"false":                 {`false`, "", `{"error":null}`, `{}`},
		"null":                  {`null`, "", `{"error":null}`, `{}`},
		"an empty body":         {``, "", `{"_raw_text":""}`, `{"_raw_text":""}`},
		"text":                  {`<html>`, "text/html", `{"_raw_text":"<html>"}`, `{"_raw_text":"<html>"}`},
		"latin-1":               {"caf\xe9", "text/plain; charset=ISO-8859-1", `{"_raw_text":"caf\u00e9"}`, `{"_raw_text":"café"}`},
		"an unknown charset":    {"caf\xc3\xa9", "text/plain; charset=x-nope", `{"_raw_text":"caf\u00e9"}`, `{"_raw_text":"café"}`},
		"broken UTF-8, 3 to 1":  {"a\xe2\x82b\xf0\x9f\x98", "", `{"_raw_text":"a\ufffdb\ufffd"}`, `{"_raw_text":"a` + "\ufffd" + `b` + "\ufffd" + `"}`},
		"stray bytes, 1 to 1":   {"\x80\x80\xff", "", `{"_raw_text":"\ufffd\ufffd\ufffd"}`, `{"_raw_text":"` + "\ufffd\ufffd\ufffd" + `"}`},
		"10 000 nested arrays":  {strings.Repeat("[", 10000) + strings.Repeat("]", 10000), "", `{"_raw_text":"` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `"}`, ""},
		"a 4301-digit integer":  {strings.Repeat("9", 4301), "", `{"_raw_text":"` + strings.Repeat("9", 4301) + `"}`, ""},
		"NaN comes back a null": {`{"a":NaN}`, "", `{"a":NaN}`, `{"a":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			hashed, returned := responseData([]byte(c.body), c.kind)
			require.Equal(t, c.canonical, string(canonjson.Marshal(hashed)))
			if c.returned != "" {
				require.Equal(t, c.returned, string(canonjson.Compact(returned)))
			}
			if c.canonical == `{"error":null}` {
				require.Equal(t, falsyHash, hashOf(hashed))
			}
		})
	}
}

func TestT48VectorHashes(t *testing.T) {
	for _, v := range readVectors(t).Hashes {
		value, err := canonjson.Parse([]byte(v.Canonical))
		require.NoError(t, err)
		require.Equal(t, v.SHA256, hashOf(value), v.Canonical)
	}
	require.Equal(t, "19b2dbc9f55a7fbe2f7b1e1f74320785cca4df8ef1ef1fe1bff00da13a74150f", hashOf(canonjson.NewObject("error", faultTimeout)))
	require.Equal(t, "055d6834c55a62474d0d3d871ff2f4028df4f8af75e7771dcb37ea0a04cdc051", hashOf(canonjson.NewObject("error", faultNetwork)))
}

func TestT48RawTextIsCutAfterAMillionCharacters(t *testing.T) {
	hashed, _ := responseData([]byte(strings.Repeat("é", 1_000_001)), "")
	raw, _ := hashed.(*canonjson.Object).Get("_raw_text")
	require.Len(t, raw, 2_000_000)
}
