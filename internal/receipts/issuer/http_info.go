package issuer

import (
	"net/http"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// getKeys is GET /v1/pubkey (T§3.11).
func (s *Service) getKeys(w http.ResponseWriter, _ *http.Request) error {
	sg := s.deps.Signer
	return ok(w, canonjson.NewObject(
		"pubkey", sg.entry.Public,
		"algorithm", keyTypeProof,
		"kid", sg.entry.Kid,
		"rekor_pubkey", sg.logKey.Public,
		"rekor_algorithm", keyTypeLog,
		"rekor_kid", sg.logKey.Kid,
		"keys", sg.history.list(sg.history.Keys, keyTypeProof, "public"),
		"rekor_keys", sg.history.list(sg.history.LogKeys, keyTypeLog, "public_pem")))
}

// getDIDDocument is GET /.well-known/did.json (T§3.12): every published key, this
// node's first; retired ones authenticate nothing.
func (s *Service) getDIDDocument(w http.ResponseWriter, _ *http.Request) error {
	own, name := s.deps.Signer.entry, s.DID()
	keys := []HistoryKey{own}
	for _, k := range s.deps.Signer.history.Keys {
		if k.Kid != own.Kid {
			keys = append(keys, k)
		}
	}
	var methods, current []any
	for _, k := range keys {
		id := name + "#" + k.Kid
		methods = append(methods, canonjson.NewObject(
			"id", id,
			"type", "Ed25519VerificationKey2020",
			"controller", name,
			"publicKeyJwk", canonjson.NewObject("kty", "OKP", "crv", "Ed25519", "x", strings.TrimPrefix(k.Public, "ed25519:"))))
		if k.RetiredAt == "" {
			current = append(current, id)
		}
	}
	return ok(w, canonjson.NewObject(
		"@context", []any{"https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/ed25519-2020/v1"},
		"id", name,
		"verificationMethod", methods,
		"authentication", current,
		"assertionMethod", current))
}

// getHealth is GET /v1/health (T§3.15). A signer that fails its self-test makes
// the node degraded, with status 503, so that a front proxy takes it out.
func (s *Service) getHealth(w http.ResponseWriter, r *http.Request) error {
	now := s.now()
	status, test, code := "ok", "ok", http.StatusOK
	if err := s.deps.Signer.selfTest(now); err != nil {
		status, test, code = "degraded", "failed", http.StatusServiceUnavailable
	}
	writable, mode, role := !s.cfg.ReadOnly, "primary", "primary"
	if s.cfg.ReadOnly {
		mode, role = "failover", "standby"
	}
	if err := s.deps.DB.Reader().PingContext(r.Context()); err != nil {
		status, writable, code = "degraded", false, http.StatusServiceUnavailable
	}
	writeJSON(w, code, canonjson.Compact(canonjson.NewObject(
		"status", status,
		"service", s.cfg.Service,
		"version", s.cfg.Version,
		"timestamp", isoFormat(now),
		"environment", s.cfg.Environment,
		"mode", mode,
		"role", role,
		"write_enabled", writable,
		"signing", canonjson.NewObject("mode", "signer", "kid", s.deps.Signer.entry.Kid, "self_test", test),
		"email", canonjson.NewObject("enabled", false))))
	return nil
}

// getPricing lists the plans; nothing is sold here.
func (s *Service) getPricing(w http.ResponseWriter, _ *http.Request) error {
	var list []any
	for _, p := range s.plans.rows {
		o := canonjson.NewObject("plan", string(p.plan), "daily_cap", number(p.quota.Daily))
		if p.quota.Monthly > 0 {
			o.Set("monthly_quota", number(p.quota.Monthly))
		}
		list = append(list, o)
	}
	return ok(w, canonjson.NewObject("currency", "eur", "plans", list))
}
