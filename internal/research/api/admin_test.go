package api_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api"
	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// adminRoutes are all of decision 18, with a body where the route takes one.
func adminRoutes() []call {
	at := "/v1/admin/proof"
	post := func(path, body string) call { return call{method: http.MethodPost, path: at + path, body: body} }
	get := func(path string) call { return call{path: at + path} }
	return []call{
		post("/topics", "{}"), post("/executor", "{}"), get("/topics/" + apitest.DraftID + "/presend"),
		post("/topics/"+apitest.DraftID+"/setup", "{}"), post("/topics/"+apitest.DraftID+"/rules", "{}"),
		get("/topics/" + apitest.DraftID + "/lifecycle"), get("/topics/" + apitest.DraftID + "/measurement"),
		get("/vm-orchestrator"), post("/reload", ""), get("/audit"),
	}
}

func TestSection143ParseTokensReadsOneTokenALine(t *testing.T) {
	tokens, err := api.ParseTokens([]byte("\ufefffirst"))
	require.ErrorContains(t, err, "line 1")
	require.Nil(t, tokens)
	tokens, err = api.ParseTokens([]byte("# operators\r\n\r\n  alpha-token \r\n#beta\ngamma-token"))
	require.NoError(t, err)
	require.Len(t, tokens, 2)
	require.Equal(t, "token-3", tokens[0].Label)
	require.Equal(t, "token-5", tokens[1].Label)
	for text, why := range map[string]string{
		"two words": "one word", "a\x00b": "one word", "é": "one word", "same\nsame": "line 2: the same token as token-1", strings.Repeat("x", 5000): "longer than",
		manyTokens(): "more than 256",
	} {
		_, err := api.ParseTokens([]byte(text))
		require.ErrorContains(t, err, why)
		require.NotContains(t, err.Error(), "words")
	}
	tokens, err = api.ParseTokens([]byte("# nobody\n"))
	require.NoError(t, err)
	require.Empty(t, tokens)
}

func manyTokens() string {
	var b strings.Builder
	for i := range 257 {
		b.WriteString(apitest.Hash(i) + "\n")
	}
	return b.String()
}

func TestSection143WithoutTokensEveryAdminRouteIs503(t *testing.T) {
	p := open(t, func(p *plane) { p.options.Tokens = nil })
	for _, c := range adminRoutes() {
		c.admin = true
		p.do(c).refused(http.StatusServiceUnavailable, "auth_unconfigured")
	}
}

func TestSection143AMissingOrWrongTokenIs401OnEveryAdminRoute(t *testing.T) {
	p := open(t)
	for _, c := range adminRoutes() {
		a := p.do(c)
		a.refused(http.StatusUnauthorized, "unauthorized")
		require.Equal(t, `Bearer realm="proof"`, a.Header().Get("WWW-Authenticate"))
		p.Clock.Advance(time.Minute)
	}
	for given, want := range map[string]int{
		apitest.Token: 200, "Bearer " + apitest.Token: 200, "bearer  " + apitest.Token + " ": 200,
		"Basic " + apitest.Token: 401, "Bearer": 401, "": 401, "Bearer " + apitest.Token + "x": 401, apitest.Token[1:]: 401, "# of the operator": 401,
	} {
		require.Equal(t, want, p.do(call{path: "/v1/admin/proof/audit", header: map[string]string{"Authorization": given}}).Code, given)
	}
	twice := call{path: "/v1/admin/proof/audit", admin: true}.request()
	twice.Header.Add("Authorization", apitest.Token)
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, twice)
	require.Equal(t, http.StatusUnauthorized, w.Code)
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read before the bearer was found good")
	return 0, errors.New("unread")
}

func TestDecision18TheBearerComesBeforeTheBodyAndTheWayBeforeTheBearer(t *testing.T) {
	p := open(t)
	for _, c := range []call{{}, {from: "192.0.2.1:1", admin: true}, {from: "10.0.0.1:1", admin: true, header: map[string]string{"X-Forwarded-Proto": "http"}}} {
		c.method, c.path = http.MethodPost, "/v1/admin/proof/topics"
		r := c.request()
		r.Body, r.ContentLength = io.NopCloser(untouched{t}), 10
		w := httptest.NewRecorder()
		p.handler.ServeHTTP(w, r)
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, w.Code)
	}
	for name, c := range map[string]struct {
		from   string
		header map[string]string
		tls    bool
		want   int
	}{
		"over TLS from anywhere":                   {"192.0.2.1:1", nil, true, 200},
		"from loopback":                            {"[::1]:1", nil, false, 200},
		"through a trusted proxy":                  {"10.9.9.9:1", map[string]string{"X-Forwarded-For": "192.0.2.1"}, false, 200},
		"through a proxy that spoke TLS":           {"10.9.9.9:1", map[string]string{"X-Forwarded-Proto": "https"}, false, 200},
		"through a proxy that was spoken to":       {"10.9.9.9:1", map[string]string{"X-Forwarded-Proto": "http"}, false, 403},
		"in the clear":                             {"192.0.2.1:1", nil, false, 403},
		"in the clear, said to come from loopback": {"192.0.2.1:1", map[string]string{"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https"}, false, 403},
		"over a socket without an address":         {"@", nil, false, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := call{path: "/v1/admin/proof/audit", admin: true, from: c.from, header: c.header}.request()
			r.TLS = nil
			if c.tls {
				r.TLS = &tls.ConnectionState{}
			}
			w := httptest.NewRecorder()
			p.handler.ServeHTTP(w, r)
			require.Equal(t, c.want, w.Code, "%s", w.Body)
		})
	}
}

func TestDecision18FailuresOfAnAddressAreThrottledUntilItsMinuteIsOver(t *testing.T) {
	p := open(t)
	try := func(token, client string) answer {
		return p.do(call{path: "/v1/admin/proof/audit", from: "10.0.0.1:1", header: map[string]string{"Authorization": token, "X-Forwarded-For": client}})
	}
	for range 10 {
		try("guess", "203.0.113.1").is(http.StatusUnauthorized)
	}
	a := try(apitest.Token, "203.0.113.1")
	a.refused(http.StatusTooManyRequests, "too many failed attempts")
	require.NotEmpty(t, a.Header().Get("Retry-After"))
	try(apitest.Token, "203.0.113.2").is(http.StatusOK)
	p.Clock.Advance(time.Minute)
	try(apitest.Token, "203.0.113.1").is(http.StatusOK)
}

func TestDecision18WhatAnAdminChangedIsInTheAuditWithItsStatusAndLabel(t *testing.T) {
	p := open(t)
	post := func(path, body string) answer {
		return p.do(call{method: http.MethodPost, path: "/v1/admin/proof" + path, body: body, admin: true})
	}
	d := p.Topic("another-draft", topic.Draft)
	published := post("/topics", string(p.Sign(d))).is(http.StatusCreated)
	require.Equal(t, "another-draft", published["id"])
	post("/topics", `{"id":"bad-one"}`).is(http.StatusBadRequest)
	post("/executor", string(apitest.Executor(t, 99999999))).is(http.StatusBadRequest)
	post("/executor", string(apitest.Executor(t, 600))).is(http.StatusCreated)
	require.Equal(t, map[string]any{"reloaded": true}, post("/reload", "").is(http.StatusOK))
	p.do(call{method: http.MethodPost, path: "/v1/admin/proof/reload"}).is(http.StatusUnauthorized)
	got := p.do(call{path: "/v1/admin/proof/audit?limit=20", admin: true}).is(http.StatusOK)
	var lines []string
	for _, item := range got["items"].([]any) {
		e := item.(map[string]any)
		require.NotEmpty(t, e["at"])
		require.Equal(t, "token-3", e["token"])
		text, err := json.Marshal([]any{e["action"], e["subject"], e["status"]})
		require.NoError(t, err)
		lines = append(lines, string(text))
	}
	require.Equal(t, []string{
		`["host.reload","",200]`, `["executor.set","exec-a",201]`, `["executor.set","exec-a",400]`, `["topic.publish","bad-one",400]`, `["topic.publish","another-draft",201]`,
	}, lines)
	require.Len(t, p.do(call{path: "/v1/admin/proof/audit?limit=2", admin: true}).is(http.StatusOK)["items"], 2)
	p.do(call{path: "/v1/admin/proof/audit?limit=1001", admin: true}).refused(http.StatusBadRequest, "1 to 1000")
}

func TestDecision8BodiesOfAdminRoutesAreReadStrictly(t *testing.T) {
	p := open(t)
	setup, rules := "/topics/"+apitest.DraftID+"/setup", "/topics/"+apitest.DraftID+"/rules"
	for _, c := range []struct {
		path, body string
		status     int
		why        string
	}{
		{setup, `{`, 400, ""},
		{setup, ``, 400, ""},
		{setup, `{}`, 422, "approve is required"},
		{setup, `{"approve":null}`, 422, "approve is required"},
		{setup, `{"approve":"yes"}`, 422, "approve"},
		{setup, `{"approve":true,"Reason":"x"}`, 422, "Reason"},
		{setup, `{"approve":true,"approve":true}`, 422, "approve"},
		{setup, `{"reason":"` + strings.Repeat("x", 20000) + `"}`, 413, "larger than"},
		{rules, `{"rules":[]}`, 400, "rule set is empty"},
		{rules, `{"rules":[{"id":"a_b","text":"t","weight":1}]}`, 422, "rules[0].weight"},
		{rules, `{"rules":[{"id":"A","text":"t"}]}`, 400, "checklist"},
		{"/topics", `{`, 400, ""},
		{"/topics", `{"nobody":1}`, 422, "nobody"},
		{"/executor", `{"offer_id":1}`, 422, "offer_id"},
	} {
		a := p.do(call{method: http.MethodPost, path: "/v1/admin/proof" + c.path, body: c.body, admin: true, header: map[string]string{"Content-Type": "application/json"}})
		a.refused(c.status, c.why)
	}
	p.do(call{method: http.MethodPost, path: "/v1/admin/proof/topics", body: "{}", admin: true, header: map[string]string{"Content-Type": "text/plain"}}).refused(http.StatusUnsupportedMediaType, "application/json")
	for _, c := range adminRoutes() {
		if c.admin = true; strings.Contains(c.path, apitest.DraftID) {
			c.path = strings.Replace(c.path, apitest.DraftID, "nobody", 1)
			if strings.HasSuffix(c.path, "/setup") {
				c.body = `{"approve":true}`
			}
			if strings.HasSuffix(c.path, "/rules") {
				c.body = `{"rules":[]}`
			}
			p.do(c).refused(http.StatusNotFound, "unknown topic")
		}
	}
}

func TestSection18TheCeremonyOverHTTP(t *testing.T) {
	p := open(t)
	at := "/v1/admin/proof/topics/" + apitest.DraftID
	do := func(method, rest, body string) answer {
		return p.do(call{method: method, path: at + rest, body: body, admin: true})
	}
	shown := do(http.MethodGet, "/presend", "").is(http.StatusOK)
	require.Equal(t, apitest.DraftID, shown["topic_id"])
	do(http.MethodGet, "/measurement", "").refused(http.StatusNotFound, "no baseline measured")
	require.Equal(t, "draft", do(http.MethodGet, "/lifecycle", "").is(http.StatusOK)["state"])
	started := do(http.MethodPost, "/setup", `{"approve":true,"reason":"go on"}`).is(http.StatusAccepted)
	require.Equal(t, map[string]any{"topic_id": apitest.DraftID, "state": "draft"}, started)
	var life map[string]any
	require.Eventually(t, func() bool {
		life = do(http.MethodGet, "/lifecycle", "").is(http.StatusOK)
		return life["state"] == "baselining" && life["setup_running"] == false
	}, 5*time.Second, 5*time.Millisecond)
	require.Nil(t, life["setup_error"])
	require.NotEmpty(t, life["events"])
	measured := do(http.MethodGet, "/measurement", "").is(http.StatusOK)
	require.InDelta(t, apitest.Sealed, measured["primary_value"], 0)
	edited := do(http.MethodPost, "/rules", `{"rules":[{"id":"one_rule","text":"only this"}]}`).is(http.StatusCreated)
	require.Equal(t, "operator", edited["source"])
	public := p.get("/v1/proof/topics/" + apitest.DraftID + "/rules").is(http.StatusOK)
	require.Equal(t, edited["version"], public["version"])
	require.Equal(t, edited["digest"], public["digest"])
	require.NotEmpty(t, public["earlier"])
	probe := p.do(call{path: "/v1/admin/proof/vm-orchestrator", admin: true}).is(http.StatusOK)
	require.Equal(t, true, probe["wired"])
	require.Equal(t, "firecracker", p.get("/v1/status").is(http.StatusOK)["sandbox"].(map[string]any)["driver"])
}
