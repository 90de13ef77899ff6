package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// keyCacheTTL bounds how long another process's change of a key stays unseen by
// the proxy. A change made through this process is seen at once.
const keyCacheTTL = time.Second

const maxCachedKeys = 10_000

// trialPeriod is how long a trial key lives (T§2).
const trialPeriod = 14 * 24 * time.Hour

// caller is an authenticated request's key.
type caller struct {
	*keyRow
	plan planRow
}

// keyCache remembers key rows for a moment, so that the proxy's path does not
// read the database for each call. A row that was read before a change is not
// remembered after it: a proof made after a binding must carry it.
type keyCache struct {
	mu      sync.RWMutex
	rows    map[string]cachedKey
	changes uint64
}

type cachedKey struct {
	row *keyRow
	at  time.Time
}

// get returns the row, or nil and the count of changes that put wants to see.
func (c *keyCache) get(fingerprint string, now time.Time) (row *keyRow, changes uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.rows[fingerprint]
	if age := now.Sub(k.at); !ok || age < 0 || age >= keyCacheTTL {
		return nil, c.changes
	}
	return k.row, c.changes
}

func (c *keyCache) put(row *keyRow, now time.Time, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	if c.rows == nil || len(c.rows) >= maxCachedKeys {
		c.rows = map[string]cachedKey{}
	}
	c.rows[row.Fingerprint] = cachedKey{row, now}
}

func (c *keyCache) forget(fingerprint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rows, fingerprint)
	c.changes++
}

// rawKey reads the key a request carries: X-Api-Key wins over a bearer token.
func rawKey(h http.Header) string {
	if k := h.Get("X-Api-Key"); k != "" {
		return k
	}
	if scheme, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// authenticate finds the caller. The refusal is 401 for a missing, unknown,
// inactive or expired key alike (T§1).
func (s *Service) authenticate(ctx context.Context, h http.Header) (*caller, error) {
	raw := rawKey(h)
	if raw == "" {
		return nil, invalidKey()
	}
	fingerprint, now := fingerprintOf(raw), s.now()
	row, changes := s.keys.get(fingerprint, now)
	if row == nil {
		var err error
		row, err = s.store.key(ctx, fingerprint)
		if errors.Is(err, errNoRow) {
			return nil, invalidKey()
		}
		if err != nil {
			return nil, fmt.Errorf("issuer: read a key: %w", err)
		}
		s.keys.put(row, now, changes)
	}
	if !row.Active || (row.ExpiresAt != "" && now.Format(secondsLayout) >= row.ExpiresAt) {
		return nil, invalidKey()
	}
	return &caller{keyRow: row, plan: s.plans.of(raw)}, nil
}

// IssueKey makes a key of a plan for an operator's own use, such as the
// challenge's internal key. owner is free text. The key is returned once and
// stored as a hash only.
func (s *Service) IssueKey(ctx context.Context, plan Plan, owner string) (string, error) {
	row, ok := s.plans.named(plan)
	if !ok {
		return "", fmt.Errorf("issuer: %q is no plan", plan)
	}
	key, added, err := s.newKey(ctx, row, owner, string(plan)+"_"+owner)
	if err == nil && !added {
		err = fmt.Errorf("issuer: an active %s key of this owner exists", plan)
	}
	return key, err
}

func (s *Service) newKey(ctx context.Context, p planRow, email, ref string) (key string, added bool, err error) {
	secret, err := randomHex(s.deps.Rand, 24)
	if err != nil {
		return "", false, fmt.Errorf("issuer: make a key: %w", err)
	}
	key = p.prefix + secret
	now := s.now()
	row := &keyRow{
		Fingerprint: fingerprintOf(key), CounterKey: counterKeyOf(key), Plan: p.plan,
		CreatedAt: isoFormat(now), Email: email, Ref: ref,
	}
	if p.plan == PlanTrial {
		row.ExpiresAt = now.Add(trialPeriod).Format(secondsLayout)
	}
	added, err = s.store.addKey(ctx, row)
	return key, added, err
}

// signupCheck is one step of T§3.1 that looks at the request alone.
type signupCheck func(*signupDraft) *apiError

type signupDraft struct {
	cfg   *Config
	body  []byte
	trap  bool // the honeypot was filled in
	email string
}

func signupChecks() []signupCheck {
	return []signupCheck{checkSignupBody, checkEmailForm, checkEmailLength, checkEmailDomain}
}

func checkSignupBody(d *signupDraft) *apiError {
	v, err := canonjson.Parse(d.body)
	if err != nil {
		return badRequest("Invalid JSON body")
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return badRequest("Body must be a JSON object")
	}
	if website, _ := o.Get("website"); !falsy(website) {
		d.trap = true
		return nil
	}
	email, _ := o.Get("email")
	d.email, _ = email.(string)
	if hasSurrogate(d.email) {
		d.email = "" // Lower-casing would make it a well-formed address of U+FFFD.
	}
	d.email = strings.ToLower(strings.TrimFunc(d.email, pythonSpace))
	return nil
}

func checkEmailForm(d *signupDraft) *apiError {
	if !d.trap && !validEmail(d.email) {
		return badRequest("A valid email is required")
	}
	return nil
}

// validEmail wants one @ between two parts without white space or control
// characters, and a dotted domain.
func validEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || local == "" || strings.Contains(domain, "@") {
		return false
	}
	for _, r := range s {
		if r <= 0x20 || r == 0x7f || pythonSpace(r) {
			return false
		}
	}
	labels := strings.Split(domain, ".")
	if len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if l == "" || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") {
			return false
		}
	}
	return true
}

func checkEmailLength(d *signupDraft) *apiError {
	if d.trap {
		return nil
	}
	local, _, _ := strings.Cut(d.email, "@")
	if chars(d.email) > 320 || chars(local) > 64 {
		return badRequest("Email address exceeds maximum allowed length")
	}
	return nil
}

func checkEmailDomain(d *signupDraft) *apiError {
	if d.trap {
		return nil
	}
	_, domain, _ := strings.Cut(d.email, "@")
	for _, bad := range d.cfg.DisposableDomains {
		if domain == bad || strings.HasSuffix(domain, "."+bad) {
			return refuse(http.StatusUnprocessableEntity, "invalid_request", "Please use a real, non-disposable email address")
		}
	}
	return nil
}

// disposableDomains is the built-in list of T§3.1.
func disposableDomains() []string {
	return []string{
		"example.com", "example.org", "example.net", "test.com", "test.org",
		"mailinator.com", "guerrillamail.com", "guerrillamail.net", "guerrillamail.org", "guerrillamail.de",
		"guerrillamail.biz", "guerrillamailblock.com", "sharklasers.com", "grr.la",
		"yopmail.com", "yopmail.fr", "yopmail.net", "trashmail.com", "trashmail.de", "trashmail.net", "trashmail.me",
		"10minutemail.com", "10minutemail.net", "tempmail.com", "temp-mail.org", "throwawaymail.com",
		"maildrop.cc", "getnada.com", "dispostable.com", "fakeinbox.com", "mintemail.com",
	}
}

const (
	freeLimitText = "500 proofs/month"
	mxTimeout     = 3 * time.Second
)

// signup is POST /v1/keys/free-signup: the checks of T§3.1 in their order.
func (s *Service) signup(ctx context.Context, body []byte, ip string) (*canonjson.Object, error) {
	d := &signupDraft{cfg: &s.cfg, body: body}
	for _, check := range signupChecks() {
		if err := check(d); err != nil {
			return nil, err
		}
	}
	if d.trap {
		return canonjson.NewObject("api_key", "", "limit", freeLimitText, "email", "", "message", "OK"), nil
	}
	if s.cfg.Limits.CheckMX && s.deps.MX != nil {
		_, domain, _ := strings.Cut(d.email, "@")
		lookup, cancel := context.WithTimeout(ctx, mxTimeout)
		takesMail, err := s.deps.MX(lookup, domain)
		cancel()
		if err == nil && !takesMail {
			return nil, refuse(http.StatusUnprocessableEntity, "invalid_request", "The email domain does not accept mail")
		}
	}
	if !s.signups.take(ip, s.now()) {
		return nil, rateLimited("Too many signups. Try again later.")
	}
	taken := refuse(http.StatusConflict, "already_exists", "An active free key already exists for this email")
	if exists, err := s.store.emailTaken(ctx, d.email); err != nil {
		return nil, fmt.Errorf("issuer: look for an email: %w", err)
	} else if exists {
		return nil, taken
	}
	row, _ := s.plans.named(PlanFree)
	key, added, err := s.newKey(ctx, row, d.email, "free_signup_"+d.email)
	if err != nil {
		return nil, err
	}
	if !added {
		return nil, taken
	}
	return canonjson.NewObject(
		"api_key", key,
		"plan", string(PlanFree),
		"limit", freeLimitText,
		"email", d.email,
		"message", "Keep this key: it is shown once and stored as a hash only.",
		"upgrade_url", s.cfg.BaseURL+"/v1/pricing",
		"upgrade_cta", "The free plan is enough for a season of the challenge."), nil
}

// usageDocument is GET /v1/usage (T§3.14).
func (s *Service) usageDocument(ctx context.Context, c *caller) (*canonjson.Object, error) {
	day, month, err := s.meter.used(ctx, c.CounterKey, s.now())
	if err != nil {
		return nil, fmt.Errorf("issuer: read usage: %w", err)
	}
	counter := func(used, limit int64) *canonjson.Object {
		return canonjson.NewObject("used", number(used), "limit", number(limit), "remaining", number(max(0, limit-used)))
	}
	o := canonjson.NewObject("plan", string(c.plan.plan), "daily", counter(day, c.plan.quota.Daily))
	if c.plan.quota.Monthly > 0 {
		o.Set("monthly", counter(month, c.plan.quota.Monthly))
	}
	switch c.plan.plan {
	case PlanFree, PlanTest, PlanInternal:
	default:
		o.Set("overage_credits_eur", 0.0)
	}
	return o, nil
}

// identityDocument is GET /v1/keys/identity (T§3.13). It reads the database, not
// the cache: enrolment depends on it.
func (s *Service) identityDocument(ctx context.Context, c *caller) (*canonjson.Object, error) {
	row, err := s.store.key(ctx, c.Fingerprint)
	if err != nil {
		return nil, fmt.Errorf("issuer: read a key: %w", err)
	}
	past, err := s.store.history(ctx, c.Fingerprint)
	if err != nil {
		return nil, fmt.Errorf("issuer: read a binding history: %w", err)
	}
	history := make([]any, len(past))
	for i, b := range past {
		history[i] = canonjson.NewObject("did", b.DID, "bound_at", b.BoundAt, "method", b.Method, "unbound_at", b.UnboundAt)
	}
	return canonjson.NewObject(
		"verified_did", orNull(row.DID),
		"verified_did_method", orNull(row.Method),
		"verified_did_bound_at", orNull(row.BoundAt),
		"verified_did_history", history), nil
}
