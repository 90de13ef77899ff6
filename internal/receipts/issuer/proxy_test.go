package issuer

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
)

func TestT42Authentication(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	ip := fromIP("192.0.2.7")
	for range 9 {
		r := w.post("/v1/proxy", `{`, ip, withKey("mcp_free_unknown"))
		require.Equal(t, 401, r.Status)
		require.Equal(t, "invalid_api_key", r.at("/error/code"))
	}
	require.Equal(t, 400, w.call(key, `{`, ip).Status, "nine failures still let a good key in")
	require.Equal(t, 401, w.post("/v1/proxy", `{`, ip).Status, "no key counts as a failure")
	r := w.call(key, `{`, ip)
	require.Equal(t, 429, r.Status, "the tenth failure blocks the address, good key or not")
	require.Equal(t, `{"error":{"code":"rate_limited","message":"Too many failed authentication attempts. Try again in 5 minutes.","status":429}}`, r.Body)
	require.Equal(t, 401, w.get("/v1/usage", ip).Status, "only the proxy counts and blocks")
	require.Equal(t, 400, w.call(key, `{`, fromIP("192.0.2.8")).Status)
	w.clock.advance(5 * time.Minute)
	require.Equal(t, 400, w.call(key, `{`, ip).Status)
}

func TestT1TheKeyHeaderWinsOverTheBearerToken(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	bearer := withHeader("Authorization", "Bearer "+key)
	require.Equal(t, 200, w.get("/v1/usage", bearer).Status)
	require.Equal(t, 401, w.get("/v1/usage", bearer, withKey("mcp_free_other")).Status)
}

func TestT42Step5HasAFlatBody(t *testing.T) {
	w := newWorld(t)
	r := w.call(w.key(PlanFree), entity, withHeader("X-Agent-Identity", "a\x01"))
	require.Equal(t, 400, r.Status)
	require.Equal(t, `{"error":"invalid_agent_identity","message":"X-Agent-Identity contains control characters"}`, r.Body)
}

func TestT42Steps8To10AndT46(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.cfg.Quotas = map[Plan]Quota{PlanFree: {Monthly: 3, Daily: 2}} })
	key := w.key(PlanFree)
	for target, message := range map[string]string{
		"https://nowhere.example.test/a": "Could not resolve hostname 'nowhere.example.test'",
		"https://private.example.test/a": "Target host is private, local or reserved",
		"https://127.0.0.1/a":            "Target host is private, local or reserved",
		"https://[::ffff:10.0.0.1]/a":    "Target host is private, local or reserved",
		"https://[64:ff9b::1]/a":         "Target host is private, local or reserved",
		"https://224.0.0.1/a":            "Target host is private, local or reserved",
	} {
		r := w.call(key, `{"target":"`+target+`"}`)
		require.Equal(t, 400, r.Status, target)
		require.Equal(t, "invalid_target", r.at("/error/code"))
		require.Equal(t, message, r.at("/error/message"), target)
	}
	require.Equal(t, 200, w.call(key, entity).Status, "a refused target costs nothing")
	require.Equal(t, 400, w.call(key, `{"target":"https://`+corpusHost+`/a","extra_headers":{"A":1}}`).Status)
	r := w.call(key, entity)
	require.Equal(t, 429, r.Status, "rejected extra_headers cost a unit (T§2)")
	require.Equal(t, "Daily rate limit reached", r.at("/error/message"))
	w.clock.advance(24 * time.Hour)
	require.Equal(t, 200, w.call(key, entity).Status)
	r = w.call(key, entity)
	require.Equal(t, "Monthly quota exhausted. Enable overage at POST /v1/keys/overage to continue.", r.at("/error/message"))
}

func TestT42Step9ASignerThatIsDownCountsNothing(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.svc.deps.Signer.entry.RetiredAt = w.clock.now().Format(secondsLayout)
	r := w.call(key, entity)
	require.Equal(t, 503, r.Status)
	require.Equal(t, "signing_unavailable", r.at("/error/code"))
	require.Equal(t, canonjson.Int("0"), w.get("/v1/usage", withKey(key)).at("/daily/used"))
	_, _, calls := w.upstream.seen()
	require.Zero(t, calls)
}

func TestT44DefaultHeadersAndNothingOfTheCallers(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	r := w.call(key, `{"target":"https://`+corpusHost+`/a?x=1","payload":{"b":"é","a":1.0}}`,
		withHeader("Cookie", "c=1"), withHeader("X-Custom", "mine"), withHeader("User-Agent", "curl"))
	require.Equal(t, 200, r.Status, r.Body)
	got, body, _ := w.upstream.seen()
	require.Equal(t, `{"b":"é","a":1.0}`, string(body))
	require.Equal(t, "/a?x=1", got.RequestURI)
	require.Equal(t, corpusHost, got.Host)
	got.Header.Del("X-Challenge-Secret")
	got.Header.Del("Content-Length")
	require.Equal(t, http.Header{
		"Accept": {"*/*"}, "Accept-Encoding": {"gzip, deflate"}, "Connection": {"keep-alive"},
		"User-Agent": {"python-httpx/0.28.1"}, "Content-Type": {"application/json"},
	}, got.Header)

	w.call(key, `{"target":"https://u:p%40@`+corpusHost+`/a","method":"GET","extra_headers":{"user-agent":"mine/1","Content-Type":"text/x"}}`)
	got, _, _ = w.upstream.seen()
	require.Equal(t, "mine/1", got.Header.Get("User-Agent"))
	require.Empty(t, got.Header.Get("Content-Type"))
	user, password, _ := got.BasicAuth()
	require.Equal(t, "u p@", user+" "+password)
}

func TestT44RedirectsAreNotFollowed(t *testing.T) {
	w := newWorld(t)
	w.upstream.handle(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", "https://elsewhere.example/")
		rw.WriteHeader(302)
		_, _ = io.WriteString(rw, `{"moved":true}`)
	})
	r := w.call(w.key(PlanFree), entity)
	require.Equal(t, canonjson.Int("302"), r.at("/service_response/status_code"))
	require.Equal(t, true, r.at("/proof/transaction_success"), "200 to 399 is success")
	_, _, calls := w.upstream.seen()
	require.Equal(t, 1, calls)
}

func TestT44CompressedBodiesAreHashedDecoded(t *testing.T) {
	w := newWorld(t)
	w.upstream.handle(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(rw)
		_, _ = io.WriteString(z, `{"a":1}`)
		_ = z.Close()
	})
	r := w.call(w.key(PlanFree), entity)
	require.Equal(t, "sha256:"+sha256Hex([]byte(`{"a":1}`)), r.at("/proof/hashes/response"))
}

func TestT47ServiceSecrets(t *testing.T) {
	w := newWorld(t)
	w.svc.cfg.Challenge.Open = false
	key, listed := w.key(PlanFree), w.key(PlanFree)
	w.svc.cfg.Challenge.Keys = []string{"not a fingerprint", fingerprintOf(listed)}
	sent := func(key, host string) (challenge, internal string) {
		r := w.call(key, `{"target":"https://`+host+`/a","method":"GET","extra_headers":{"x-challenge-secret":"forged","X-INTERNAL-Secret":"forged"}}`)
		require.Equal(t, 200, r.Status, "without the secret the call still goes out")
		got, _, _ := w.upstream.seen()
		return got.Header.Get("X-Challenge-Secret"), got.Header.Get("X-Internal-Secret")
	}
	for name, c := range map[string]struct {
		key, host           string
		open                bool
		challenge, internal string
	}{
		"closed, unlisted key":                        {key, corpusHost, false, "", ""},
		"closed, listed key":                          {listed, corpusHost, false, challengeSecret, ""},
		"open, any key":                               {key, corpusHost, true, challengeSecret, ""},
		"host of the other list":                      {listed, otherHost, true, "", internalSecret},
		"the key list does not gate the internal one": {key, otherHost, false, "", internalSecret},
		"the port is ignored, the case too":           {key, strings.ToUpper(corpusHost) + ":443", true, challengeSecret, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w.svc.cfg.Challenge.Open = c.open
			challenge, internal := sent(c.key, c.host)
			require.Equal(t, c.challenge, challenge)
			require.Equal(t, c.internal, internal)
		})
	}
}

func TestT47TheOpenGateFollowsTheTimesItIsGiven(t *testing.T) {
	w := newWorld(t)
	key, listed := w.key(PlanFree), w.key(PlanFree)
	w.svc.cfg.Challenge.Keys = []string{fingerprintOf(listed)}
	during := false
	w.svc.cfg.Challenge.Open, w.svc.cfg.Challenge.During = true, func() bool { return during }
	sent := func(key string) string {
		require.Equal(t, 200, w.call(key, `{"target":"https://`+corpusHost+`/a","method":"GET"}`).Status)
		got, _, _ := w.upstream.seen()
		return got.Header.Get("X-Challenge-Secret")
	}
	require.Empty(t, sent(key), "before the opening the secret stays here")
	require.Equal(t, challengeSecret, sent(listed), "the challenge's own key freezes before the opening")
	during = true
	require.Equal(t, challengeSecret, sent(key))
	during = false
	require.Empty(t, sent(key), "after the close as well")
}

func TestT47OnlyTrueOpens(t *testing.T) {
	for text, open := range map[string]bool{"true": true, " TRUE\n": true, "1": false, "yes": false, "": false, "truee": false} {
		require.Equal(t, open, OpenByText(text), text)
	}
}

func TestT47ARawKeyInTheListIsReportedByPositionOnly(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.cfg.Challenge.Keys = []string{strings.Repeat("a", 64), "mcp_free_raw-key-of-somebody"}
	})
	require.Contains(t, w.logs.String(), "position=2")
	require.NotContains(t, w.logs.String(), "raw-key")
}

func TestT47AnEchoedSecretNeverComesBack(t *testing.T) {
	w := newWorld(t)
	w.upstream.answer(200, "application/json", `{"X-Challenge-Secret":"x","nested":[{"x-internal-secret":1,"seen":"<`+challengeSecret+`>"}],"`+internalSecret+`":"`+internalSecret+`"}`)
	r := w.call(w.key(PlanFree), entity)
	require.Equal(t, 200, r.Status)
	require.NotContains(t, r.Body, challengeSecret)
	require.NotContains(t, r.Body, internalSecret)
	require.Equal(t, "<[redacted]>", r.at("/service_response/body/nested/0/seen"))
	require.Equal(t, canonjson.Int("1"), canonjson.Int(itoa(r.at("/service_response/body/nested/0").(*canonjson.Object).Len())))

	w.upstream.answer(403, "text/plain", "no: "+challengeSecret)
	r = w.call(w.key(PlanFree), entity)
	require.Equal(t, "no: [redacted]", r.at("/service_response/body/_raw_text"))
	require.Equal(t, "sha256:"+hashOf(canonjson.NewObject("_raw_text", "no: "+challengeSecret)), r.at("/proof/hashes/response"), "scrubbing comes after hashing")

	w.upstream.handle(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Date", challengeSecret)
		_, _ = io.WriteString(rw, `{"a":1}`)
	})
	r = w.call(w.key(PlanFree), entity)
	require.NotContains(t, r.Body, challengeSecret)
	require.NotContains(t, w.logs.String(), challengeSecret)
}

func itoa(n int) string { return string(number(n)) }

func TestT47AShortSecretNeverRedacts(t *testing.T) {
	require.Equal(t, "a short one", newScrubber("short").text("a short one"))
	require.Equal(t, "a [redacted] one", newScrubber("eightchr").text("a eightchr one"))
}

func TestT49Identity(t *testing.T) {
	w := newWorld(t)
	identity := func(r *reply) []any {
		return []any{r.at("/proof/parties/agent_identity"), r.at("/proof/parties/agent_identity_verified"),
			r.at("/proof/parties/did_resolution_status"), r.at("/proof/identity_consistent")}
	}
	as := func(name string) option { return withHeader("X-Agent-Identity", name) }
	key := w.key(PlanFree)
	require.Equal(t, []any{nil, nil, nil, nil}, identity(w.call(key, entity)))
	require.Equal(t, []any{"one", nil, "unverified", true}, identity(w.call(key, entity, as("one"))))
	require.Equal(t, []any{"", nil, nil, nil}, identity(w.call(key, entity, as(""))), "an empty header commits the empty string")
	require.Equal(t, []any{"one", nil, "unverified", true}, identity(w.call(key, entity, as("one"))))
	require.Equal(t, []any{"two", nil, "unverified", false}, identity(w.call(key, entity, as("two"))))
	require.Equal(t, []any{"two", nil, "unverified", false}, identity(w.call(key, entity, as("two"))), "once a mismatch, always")
	require.Equal(t, []any{"one", nil, "unverified", false}, identity(w.call(key, entity, as("one"))))
	require.Equal(t, []any{"Ã©", nil, "unverified", true}, identity(w.call(w.key(PlanFree), entity, as("é"))), "header bytes are Latin-1")
	did := w.bind(key)
	require.Equal(t, []any{did, true, "bound", true}, identity(w.call(key, entity, as("one"))), "a bound key wins over any header")
	require.Equal(t, []any{did, true, "bound", true}, identity(w.call(key, entity)))
}

func TestT49Charge(t *testing.T) {
	w := newWorld(t)
	for plan, want := range map[Plan]string{PlanFree: "free_tier", PlanTest: "free_tier", PlanInternal: "internal", PlanPro: "subscription", PlanEnterprise: "subscription"} {
		fee := w.call(w.key(plan), entity).at("/proof/certification_fee").(*canonjson.Object)
		require.Equal(t, `{"method":"`+want+`","transaction_id":"`+want+`","amount":0.0,"currency":"eur","status":"`+want+`"}`, string(canonjson.Compact(fee)), plan)
	}
	for _, plan := range []Plan{PlanTrial, PlanPlatform} {
		fee := w.call(w.key(plan), entity).at("/proof/certification_fee").(*canonjson.Object)
		require.Equal(t, "prepaid_credit", text(fee, "method"))
		require.Regexp(t, `^crd_[0-9]{14}_[0-9a-f]{6}$`, text(fee, "transaction_id"))
		require.Equal(t, "succeeded", text(fee, "status"))
	}
}

func TestT410Success(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	r := w.call(key, entity, withHeader("X-Agent-Version", "7"))
	require.Equal(t, 200, r.Status)
	id := r.at("/proof/proof_id").(string)
	require.True(t, validProofID(id))
	require.Equal(t, []string{"proof", "service_response", "_links"}, r.object().Names())
	require.Equal(t, []string{"proof_id", "spec_version", "verification_url", "verification_algorithm", "hashes", "commitments", "parties",
		"certification_fee", "timestamp", "timestamp_authority", "batch_anchor", "identity_consistent", "transaction_success",
		"upstream_status_code", "upstream_timestamp", "arkforge_signature", "arkforge_pubkey", "arkforge_kid"}, child(r.object(), "proof").Names())
	require.Equal(t, []string{"request_hash", "response_hash", "transaction_id", "timestamp", "buyer_fingerprint", "seller", "upstream_timestamp",
		"agent_identity", "agent_identity_verified", "did_resolution_status", "identity_consistent"}, r.at("/proof/commitments").(*canonjson.Object).Names())
	require.Equal(t, `{"status":"pending"}`, string(canonjson.Compact(r.at("/proof/batch_anchor"))))
	require.Equal(t, `{"status":"pending_batch","tsr_url":"https://trust.example.test/v1/proof/`+id+`/tsr"}`, string(canonjson.Compact(r.at("/proof/timestamp_authority"))))
	require.NotContains(t, r.Body, "nonce")
	require.Equal(t, `{"id":"`+id+`","seal":"https://trust.example.test/v1/proof/`+id+`","status":"VERIFIED_TRANSACTION","msg":"Payment confirmed, execution anchored."}`,
		string(canonjson.Compact(r.at("/service_response/body/_arkforge_attestation"))))
	for name, want := range map[string]string{
		"X-ArkForge-Proof": "https://trust.example.test/v1/proof/" + id, "X-ArkForge-Verified": "true",
		"X-ArkForge-Proof-ID": id, "X-ArkForge-Trust-Link": "https://trust.example.test/v/" + id, "Content-Type": "application/json",
		"Strict-Transport-Security": "max-age=31536000; includeSubDomains", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	} {
		require.Equal(t, want, r.Header.Get(name), name)
	}
	require.Equal(t, fingerprintOf(key), r.at("/proof/parties/buyer_fingerprint"))
	require.NotContains(t, r.Body, key)
}

func TestT410Outcomes(t *testing.T) {
	hang := make(chan struct{})
	w := newWorld(t, func(s *setup) { s.cfg.UpstreamTimeout = 150 * time.Millisecond })
	t.Cleanup(func() { close(hang) })
	key := w.key(PlanFree)
	for name, c := range map[string]struct {
		handler            http.HandlerFunc
		target             string
		status             int
		code, message      string
		hash, verified     string
		stamped, succeeded bool
	}{
		"an upstream error is an answer": {plain(500, `{"oops":1}`), "", 200, "", "", "", "false", false, false},
		"raw text gets no stamp":         {plain(200, `hello`), "", 200, "", "", "", "true", false, true},
		"an array gets no stamp":         {plain(200, `[1]`), "", 200, "", "", "", "true", false, true},
		"a falsy body comes back as {}":  {plain(200, `null`), "", 200, "", "", "sha256:247fb85306c7b6f642aee12a918f957c0b9a12bb7ec0137ac820deb73746f779", "true", true, true},
		"a timeout": {func(http.ResponseWriter, *http.Request) { <-hang }, "", 504, "proxy_timeout", "Target service timed out",
			"sha256:19b2dbc9f55a7fbe2f7b1e1f74320785cca4df8ef1ef1fe1bff00da13a74150f", "false", false, false},
		"a network failure": {nil, "https://unreachable.example.test/", 502, "service_error", "Target service is unreachable",
			"sha256:055d6834c55a62474d0d3d871ff2f4028df4f8af75e7771dcb37ea0a04cdc051", "false", false, false},
		"a connection cut in the middle of a body": {cut, "", 502, "service_error", "Target service is unreachable",
			"sha256:055d6834c55a62474d0d3d871ff2f4028df4f8af75e7771dcb37ea0a04cdc051", "false", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.handler != nil {
				w.upstream.handle(c.handler)
			}
			body := entity
			if c.target != "" {
				body = `{"target":"` + c.target + `"}`
			}
			r := w.call(key, body)
			require.Equal(t, c.status, r.Status, r.Body)
			require.Equal(t, c.verified, r.Header.Get("X-ArkForge-Verified"))
			require.Equal(t, c.succeeded, r.at("/proof/transaction_success"))
			if c.hash != "" {
				require.Equal(t, c.hash, r.at("/proof/hashes/response"))
			}
			require.Equal(t, c.stamped, strings.Contains(r.Body, "_arkforge_attestation"))
			if c.code != "" {
				require.Equal(t, []string{"error", "proof", "_links"}, r.object().Names())
				require.Equal(t, c.code, r.at("/error/code"))
				require.Equal(t, c.message, r.at("/error/message"))
				require.False(t, child(r.object(), "proof").Has("upstream_status_code"))
				require.False(t, child(r.object(), "proof").Has("upstream_timestamp"))
			}
			require.Equal(t, 200, w.get("/v1/proof/"+r.at("/proof/proof_id").(string)).Status, "a failed call has a proof too")
		})
	}
}

func plain(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\"")
	_ = buf.Flush()
	_ = conn.Close()
}

func TestT410AnUpstreamBodyOverTheLimitIsAnUnreachableService(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.cfg.MaxResponseBody = 100 })
	w.upstream.answer(200, "application/json", `"`+strings.Repeat("x", 100)+`"`)
	require.Equal(t, 502, w.call(w.key(PlanFree), entity).Status)
}

func TestT53ABodyThatCannotBeReturnedStillReturnsItsProof(t *testing.T) {
	w := newWorld(t)
	w.upstream.answer(200, "application/json", `{"nan":NaN,"half":"\ud800"}`)
	r := w.call(w.key(PlanFree), entity)
	require.Equal(t, 200, r.Status)
	require.Contains(t, r.Body, `"body":{"nan":null,"half":"\ud800"`)
	require.Contains(t, r.Body, `"proof_id":"prf_`)
}

func TestT46ALinkLocalAddressIsRefusedBeforeTheCall(t *testing.T) {
	w := newWorld(t)
	_, err := w.svc.resolveTarget(context.Background(), &target{Host: "169.254.169.254", authority: "169.254.169.254"})
	require.Error(t, err)
}
