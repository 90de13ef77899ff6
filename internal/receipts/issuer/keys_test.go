package issuer

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/did"
)

func TestT2PlanIsDecidedByThePrefixAlone(t *testing.T) {
	p := newPlans(nil)
	for key, want := range map[string]planRow{
		"mcp_free_x": {PlanFree, "mcp_free_", Quota{500, 500}, "free_tier"}, "mcp_trial_x": {PlanTrial, "mcp_trial_", Quota{5000, 5000}, ""},
		"mcp_pro_x": {PlanPro, "mcp_pro_", Quota{5000, 5000}, "subscription"}, "mcp_ent_x": {PlanEnterprise, "mcp_ent_", Quota{50000, 50000}, "subscription"},
		"mcp_plat_x": {PlanPlatform, "mcp_plat_", Quota{500000, 500000}, ""}, "mcp_test_x": {PlanTest, "mcp_test_", Quota{0, 100}, "free_tier"},
		"mcp_int_x": {PlanInternal, "mcp_int_", Quota{0, 10000}, "internal"}, "anything": {PlanPro, "mcp_pro_", Quota{5000, 5000}, "subscription"},
	} {
		require.Equal(t, want, p.of(key), key)
	}
}

func TestT2KeysAreStoredAsHashesOnly(t *testing.T) {
	w := newWorld(t)
	key := w.post("/v1/keys/free-signup", `{"email":"a@agents.example"}`).at("/api_key").(string)
	require.Regexp(t, `^mcp_free_[0-9a-f]{48}$`, key)
	w.bind(key)
	w.issue(key)
	require.NoError(t, w.svc.meter.flush(context.Background()))
	rows, err := w.db.Reader().Query(`SELECT 'k', fingerprint || counter_key || email || ref_id FROM issuer_keys
		UNION ALL SELECT 'u', counter_key FROM issuer_usage UNION ALL SELECT 'p', record || private FROM issuer_proofs
		UNION ALL SELECT 'd', fingerprint || did FROM issuer_key_dids`)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for rows.Next() {
		var table, value string
		require.NoError(t, rows.Scan(&table, &value))
		require.NotContains(t, value, key[:16], "table %s holds a part of a key", table)
		n++
	}
	require.NoError(t, rows.Err())
	require.GreaterOrEqual(t, n, 5)
	require.NotContains(t, w.logs.String(), key[:16])
}

func TestT2ATrialKeyExpiresLazily(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanTrial)
	require.Equal(t, 200, w.get("/v1/usage", withKey(key)).Status)
	w.clock.advance(14 * 24 * time.Hour)
	require.Equal(t, 401, w.get("/v1/usage", withKey(key)).Status)
}

func TestT2UsageSurvivesARestart(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.issue(key)
	w.issue(key)
	second, err := New(context.Background(), w.svc.cfg, w.svc.deps)
	require.NoError(t, err)
	day, month, err := second.meter.used(context.Background(), counterKeyOf(key), w.clock.now())
	require.NoError(t, err)
	require.Equal(t, []int64{2, 2}, []int64{day, month})
	require.NoError(t, second.Close(context.Background()))
}

func TestT31SignUp(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.cfg.Limits.CheckMX = true
		s.cfg.Limits.SignupsPerHour = 0
		s.deps.MX = func(_ context.Context, domain string) (bool, error) {
			if domain == "dns-trouble.example" {
				return false, errors.New("server failure")
			}
			return domain != "no-mail.example", nil
		}
	})
	for name, c := range map[string]struct {
		body          string
		status        int
		code, message string
	}{
		"not JSON":                        {`{`, 400, "invalid_request", "Invalid JSON body"},
		"not an object":                   {`"a"`, 400, "invalid_request", "Body must be a JSON object"},
		"no email":                        {`{}`, 400, "invalid_request", "A valid email is required"},
		"a number":                        {`{"email":7}`, 400, "invalid_request", "A valid email is required"},
		"no at sign":                      {`{"email":"agent"}`, 400, "invalid_request", "A valid email is required"},
		"no dot in the domain":            {`{"email":"a@b"}`, 400, "invalid_request", "A valid email is required"},
		"a lone surrogate":                {`{"email":"\ud800@agents.example"}`, 400, "invalid_request", "A valid email is required"},
		"white space inside":              {`{"email":"a b@agents.example"}`, 400, "invalid_request", "A valid email is required"},
		"malformed before too long":       {`{"email":"` + strings.Repeat("a", 400) + `"}`, 400, "invalid_request", "A valid email is required"},
		"local part of 65":                {`{"email":"` + strings.Repeat("a", 65) + `@agents.example"}`, 400, "invalid_request", "Email address exceeds maximum allowed length"},
		"321 characters":                  {`{"email":"a@` + strings.Repeat("b", 311) + `.example"}`, 400, "invalid_request", "Email address exceeds maximum allowed length"},
		"disposable":                      {`{"email":"a@mailinator.com"}`, 422, "invalid_request", "Please use a real, non-disposable email address"},
		"a subdomain of a disposable one": {`{"email":"a@x.YOPMAIL.com"}`, 422, "invalid_request", "Please use a real, non-disposable email address"},
		"no MX record":                    {`{"email":"a@no-mail.example"}`, 422, "invalid_request", "The email domain does not accept mail"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.post("/v1/keys/free-signup", c.body)
			require.Equal(t, c.status, r.Status, r.Body)
			require.Equal(t, c.code, r.at("/error/code"))
			require.Equal(t, c.message, r.at("/error/message"))
		})
	}
	require.Equal(t, `{"api_key":"","limit":"500 proofs/month","email":"","message":"OK"}`,
		w.post("/v1/keys/free-signup", `{"email":"nonsense","website":"http://spam"}`).Body, "the honeypot comes before the email")
	require.Equal(t, 200, w.post("/v1/keys/free-signup", `{"email":"a@dns-trouble.example"}`).Status, "DNS trouble lets the sign-up pass")
	r := w.post("/v1/keys/free-signup", `{"email":" Agent@Agents.example","utm_source":"x"}`)
	require.Equal(t, []string{"api_key", "plan", "limit", "email", "message", "upgrade_url", "upgrade_cta"}, r.object().Names())
	require.Equal(t, "agent@agents.example", r.at("/email"))
	for _, v := range r.object().All() {
		require.IsType(t, "", v)
	}
	r = w.post("/v1/keys/free-signup", `{"email":"agent@agents.EXAMPLE"}`)
	require.Equal(t, 409, r.Status)
	require.Equal(t, "already_exists", r.at("/error/code"))
}

func TestT31FiveSignUpsAnHourSliding(t *testing.T) {
	w := newWorld(t)
	sign := func(email, ip string) int {
		return w.post("/v1/keys/free-signup", `{"email":"`+email+`"}`, fromIP(ip)).Status
	}
	require.Equal(t, 200, sign("a1@agents.example", "192.0.2.1"))
	require.Equal(t, 409, sign("a1@agents.example", "192.0.2.1"), "the slot is taken even if the next check fails")
	w.clock.advance(30 * time.Minute)
	require.Equal(t, 200, sign("a3@agents.example", "192.0.2.1"))
	require.Equal(t, 200, sign("a4@agents.example", "192.0.2.1"))
	require.Equal(t, 200, sign("a5@agents.example", "192.0.2.1"))
	require.Equal(t, 429, sign("a6@agents.example", "192.0.2.1"))
	require.Equal(t, 200, sign("a6@agents.example", "192.0.2.2"))
	require.Equal(t, 422, sign("a@test.com", "192.0.2.1"), "earlier checks still answer first")
	w.clock.advance(30 * time.Minute)
	require.Equal(t, 200, sign("a7@agents.example", "192.0.2.1"))
}

func TestT1XRealIPCountsOnlyBehindAFrontProxy(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		w := newWorld(t, func(s *setup) { s.cfg.TrustRealIP, s.cfg.Limits.ReadsPerHour = trusted, 1 })
		read := func(real string) int {
			return w.get("/v1/proof/prf_20260101_000000_abcdef", withHeader("X-Real-IP", real)).Status
		}
		got := []int{read("198.51.100.1"), read("198.51.100.1"), read("198.51.100.1"), read("198.51.100.2")}
		if trusted {
			require.Equal(t, []int{404, 404, 429, 404}, got)
		} else {
			require.Equal(t, []int{404, 404, 429, 429}, got, "a caller cannot choose its own address")
		}
	}
}

func TestT314Usage(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.issue(key)
	require.Equal(t, `{"plan":"free","daily":{"used":1,"limit":500,"remaining":499},"monthly":{"used":1,"limit":500,"remaining":499}}`, w.get("/v1/usage", withKey(key)).Body)
	require.Equal(t, `{"plan":"internal","daily":{"used":0,"limit":10000,"remaining":10000}}`, w.get("/v1/usage", withKey(w.key(PlanInternal))).Body)
	require.Equal(t, `{"plan":"pro","daily":{"used":0,"limit":5000,"remaining":5000},"monthly":{"used":0,"limit":5000,"remaining":5000},"overage_credits_eur":0.0}`,
		w.get("/v1/usage", withKey(w.key(PlanPro))).Body)
	require.Equal(t, 401, w.get("/v1/usage").Status)
}

// fetcher serves did:web documents.
type fetcher map[string]struct {
	body   string
	status int
	err    error
}

func (f fetcher) Fetch(_ context.Context, url string) ([]byte, int, error) {
	d, ok := f[url]
	if !ok {
		return nil, 404, nil
	}
	return []byte(d.body), d.status, d.err
}

func TestT121StartOfABinding(t *testing.T) {
	pub, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	jwk := `{"verificationMethod":[{"type":"Ed25519VerificationKey2020","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"` + base64.RawURLEncoding.EncodeToString(pub) + `"}}]}`
	documents := fetcher{
		"https://good.example/.well-known/did.json":  {jwk, 200, nil},
		"https://good.example/a/b/did.json":          {jwk, 200, nil},
		"https://nokey.example/.well-known/did.json": {`{"verificationMethod":[{"type":"JsonWebKey2020"}]}`, 200, nil},
		"https://text.example/.well-known/did.json":  {`<html>`, 200, nil},
		"https://down.example/.well-known/did.json":  {"", 0, errors.New("connection refused by 10.1.2.3")},
		"https://inner.example/.well-known/did.json": {"", 0, did.ErrInvalid},
	}
	w := newWorld(t, func(s *setup) { s.cfg.Limits.BindsPerHour = 0; s.deps.DIDs = documents })
	key := w.key(PlanFree)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"did:key":                     {`{"did":"` + did.FormatKey(pub) + `"}`, 200, ""},
		"did:web":                     {`{"did":"did:web:good.example"}`, 200, ""},
		"did:web with a path":         {`{"did":"did:web:good.example:a:b"}`, 200, ""},
		"bad JSON counts as {}":       {`{`, 400, "invalid_did"},
		"an array counts as {}":       {`[1]`, 400, "invalid_did"},
		"no did":                      {`{}`, 400, "invalid_did"},
		"null":                        {`{"did":null}`, 400, "invalid_did"},
		"a number":                    {`{"did":7}`, 400, "invalid_did"},
		"another method":              {`{"did":"did:ion:abc"}`, 400, "invalid_did"},
		"not base58":                  {`{"did":"did:key:z0OIl"}`, 400, "did_resolution_failed"},
		"P-256 did:key":               {`{"did":"did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169"}`, 400, "did_resolution_failed"},
		"document missing":            {`{"did":"did:web:missing.example"}`, 404, "did_resolution_failed"},
		"document without a key":      {`{"did":"did:web:nokey.example"}`, 400, "did_resolution_failed"},
		"document that is no JSON":    {`{"did":"did:web:text.example"}`, 400, "did_resolution_failed"},
		"network failure":             {`{"did":"did:web:down.example"}`, 503, "did_resolution_failed"},
		"private address":             {`{"did":"did:web:inner.example"}`, 400, "did_resolution_failed"},
		"a port hides in the domain":  {`{"did":"did:web:good.example%3A8443"}`, 400, "did_resolution_failed"},
		"OATR is not offered":         {`{"did":"` + did.FormatKey(pub) + `","oatr_issuer_id":"x"}`, 400, "oatr_delegation_failed"},
		"a DID of 10 000 characters":  {`{"did":"did:key:z` + strings.Repeat("6", 10000) + `"}`, 400, "did_resolution_failed"},
		"a document is not leaked in": {`{"did":"did:web:good.example:..:x"}`, 400, "did_resolution_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.post("/v1/keys/bind-did", c.body, withKey(key))
			require.Equal(t, c.status, r.Status, r.Body)
			require.NotContains(t, r.Body, "10.1.2.3")
			if c.status == 200 {
				require.Regexp(t, `^\{"challenge":"[0-9a-f]{64}","expires_in":300\}$`, r.Body)
				return
			}
			require.Equal(t, c.code, r.at("/error/code"))
		})
	}
	require.Equal(t, 401, w.post("/v1/keys/bind-did", `{}`).Status)
}

func TestT121TheSixthStartInAnHourIsRefusedBeforeAnythingIsLookedAt(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	for range 5 {
		require.Equal(t, 400, w.post("/v1/keys/bind-did", `{`, withKey(key)).Status)
	}
	r := w.post("/v1/keys/bind-did", `{`, withKey(key))
	require.Equal(t, `{"error":{"code":"rate_limited","message":"Too many DID bind attempts. Try again later.","status":429}}`, r.Body)
	require.Equal(t, 400, w.post("/v1/keys/bind-did", `{`, withKey(w.key(PlanFree))).Status, "the limit is the key's")
}

func TestT122Confirmation(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.cfg.Limits.BindsPerHour = 0 })
	key, other := w.key(PlanFree), w.key(PlanFree)
	pub, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	_, stranger, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	name := did.FormatKey(pub)
	start := func() string {
		return w.post("/v1/keys/bind-did", `{"did":"`+name+`"}`, withKey(key)).at("/challenge").(string)
	}
	confirm := func(key, challenge, signature string) *reply {
		return w.post("/v1/keys/bind-did/confirm", `{"challenge":"`+challenge+`","signature":"`+signature+`"}`, withKey(key))
	}
	refused := func(r *reply, status int, code string) {
		t.Helper()
		require.Equal(t, status, r.Status, r.Body)
		require.Equal(t, code, r.at("/error/code"))
	}
	refused(w.post("/v1/keys/bind-did/confirm", `{}`), 401, "invalid_api_key")
	for _, body := range []string{`{`, `{}`, `{"challenge":"x"}`, `{"signature":"x"}`, `{"challenge":7,"signature":"x"}`, `{"challenge":"","signature":"x"}`} {
		refused(w.post("/v1/keys/bind-did/confirm", body, withKey(key)), 400, "missing_fields")
	}
	refused(confirm(key, strings.Repeat("a", 64), "x"), 410, "challenge_expired")

	c := start()
	refused(confirm(other, c, signText(private, c)), 400, "key_mismatch")
	refused(confirm(key, c, signText(private, c)), 410, "challenge_expired")

	c = start()
	refused(confirm(key, c, signText(stranger, c)), 400, "invalid_signature")
	refused(confirm(key, c, signText(private, c)), 410, "challenge_expired")

	for _, bad := range []string{"!!!", "AAAA", signText(private, c) + "AA"} {
		c = start()
		refused(confirm(key, c, bad), 400, "invalid_signature")
	}

	c = start()
	w.clock.advance(300 * time.Second)
	refused(confirm(key, c, signText(private, c)), 410, "challenge_expired")

	for _, encode := range []*base64.Encoding{base64.RawURLEncoding, base64.URLEncoding, base64.StdEncoding} {
		c = start()
		r := confirm(key, c, encode.EncodeToString(ed25519.Sign(private, []byte(c))))
		require.Equal(t, 200, r.Status, r.Body)
		require.Equal(t, []string{"verified_did", "bound_at", "method"}, r.object().Names())
		require.Equal(t, name, r.at("/verified_did"))
		require.Equal(t, "challenge_response", r.at("/method"))
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00$`, r.at("/bound_at"))
	}
}

func TestT124HistoryAndT313Identity(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.cfg.Limits.BindsPerHour = 0 })
	key := w.key(PlanFree)
	require.Equal(t, `{"verified_did":null,"verified_did_method":null,"verified_did_bound_at":null,"verified_did_history":[]}`, w.get("/v1/keys/identity", withKey(key)).Body)
	require.Equal(t, 401, w.get("/v1/keys/identity").Status)
	first := w.bind(key)
	at := w.get("/v1/keys/identity", withKey(key)).at("/verified_did_bound_at")
	require.NoError(t, w.svc.store.bind(context.Background(), fingerprintOf(key), first, methodChallenge, "2026-01-01T00:00:00+00:00"))
	require.Empty(t, w.get("/v1/keys/identity", withKey(key)).at("/verified_did_history"), "the same DID and method append nothing")
	require.NoError(t, w.svc.store.bind(context.Background(), fingerprintOf(key), first, methodChallenge, at.(string)))
	w.clock.advance(time.Minute)
	second := w.bind(key)
	r := w.get("/v1/keys/identity", withKey(key))
	require.Equal(t, second, r.at("/verified_did"))
	require.Equal(t, `[{"did":"`+first+`","bound_at":"`+at.(string)+`","method":"challenge_response","unbound_at":"`+r.at("/verified_did_bound_at").(string)+`"}]`,
		string(canonjson.Compact(r.at("/verified_did_history"))))
	require.NoError(t, w.svc.store.bind(context.Background(), fingerprintOf(key), second, "oatr_delegation", "2026-02-01T00:00:00+00:00"))
	require.Len(t, w.get("/v1/keys/identity", withKey(key)).at("/verified_did_history"), 2, "a new method appends too")
}

func TestT124ARebindingAppliesToLaterProofsOnly(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	first := w.bind(key)
	id := w.issue(key)
	second := w.bind(key)
	require.Equal(t, first, w.get("/v1/proof/"+id).at("/agent_identity"))
	require.Equal(t, second, w.get("/v1/proof/"+w.issue(key)).at("/agent_identity"))
}

func TestLinkedDIDsAreThoseEverBoundToACommonKey(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.cfg.Limits.BindsPerHour = 0 })
	one, two := w.key(PlanFree), w.key(PlanFree)
	a, b := w.bind(one), w.bind(one)
	require.NoError(t, w.svc.store.bind(context.Background(), fingerprintOf(two), b, methodChallenge, "x"))
	c := w.bind(two)
	linked := func(name string) []any {
		r := w.do(w.internal, "GET", "/internal/v1/linked-dids?did="+name, "")
		require.Equal(t, 200, r.Status, r.Body)
		require.Equal(t, []string{"did", "linked_dids"}, r.object().Names())
		return r.at("/linked_dids").([]any)
	}
	require.ElementsMatch(t, []any{b}, linked(a))
	require.ElementsMatch(t, []any{a, c}, linked(b))
	require.ElementsMatch(t, []any{b}, linked(c))
	require.Empty(t, linked("did:web:unknown.example"))
	require.Equal(t, 400, w.do(w.internal, "GET", "/internal/v1/linked-dids?did=nonsense", "").Status)
	require.Equal(t, 404, w.get("/internal/v1/linked-dids?did="+a).Status, "internal routes are not public")
}
