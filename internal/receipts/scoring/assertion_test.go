package scoring_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// oneClaim is a season in which one assertion is made with a proof that the case
// breaks, beside a sound one that fills the minimum.
type oneClaim struct {
	t       *testing.T
	s       *bundletest.Season
	did     string
	claim   bundletest.Claim
	spec    receipttest.Spec
	drafted *receipttest.Draft
}

// defect breaks the proof at one of the moments of its life.
type defect struct {
	name          string
	spec          func(c *oneClaim) // before it is issued
	pending       bool              // it is never batched
	drafted       func(c *oneClaim) // issued, not yet in a batch
	anchored      func(c *oneClaim) // the finished view, before it is published
	published     func(c *oneClaim) // the files of the bundle
	submission    func(o *canonjson.Object)
	status, cause string // status "" means unsupported
	detail        string
}

func (d defect) run(t *testing.T) {
	t.Parallel()
	c := &oneClaim{t: t, s: bundletest.New(t, bundletest.Compliance(1))}
	c.did = c.s.Enrol("alpha")
	sound := c.s.Cite(c.did, "conf-01", c.s.Claims("conf-01")[1])
	c.claim = c.s.Claims("conf-01")[0]
	c.spec = c.s.Spec(c.did, "conformite", c.claim.Resource)
	step := func(f func(*oneClaim)) {
		if f != nil {
			f(c)
		}
	}
	step(d.spec)
	c.drafted = c.s.Issuer.Issue(c.spec)
	step(d.drafted)
	if d.pending {
		c.s.Files[bundle.ProofPath(c.id())] = c.drafted.JSON()
	} else {
		c.s.Issuer.Batch(c.drafted, c.s.Issuer.Issue(receipttest.Spec{}), c.s.Issuer.Issue(receipttest.Spec{}))
		c.s.Publish(c.drafted)
		step(d.anchored)
		c.s.Files[bundle.ProofPath(c.id())] = c.drafted.JSON()
	}
	c.s.Record(c.did, "conf-01", "conforme", bundletest.Assertion{Claim: c.claim, Proofs: []*receipttest.Draft{c.drafted}}, sound[0])
	if d.submission != nil {
		bundletest.Edit(t, c.s.Files, bundle.SubmissionPath(c.did, "conf-01"), d.submission)
	}
	step(d.published)
	task := taskOf(t, row(t, scored(t, c.s.Files), "conformite", c.did), "conf-01")
	if len(task.Assertions) != 2 {
		t.Fatalf("state %s, reason %v: no assertion was verified", task.State, task.Reason)
	}
	want := d.status
	if want == "" {
		want = bundle.StatusUnsupported
	}
	a := task.Assertions[0]
	if a.Status != want || text(a.Cause) != d.cause || text(a.Detail) != d.detail {
		t.Errorf("got %s/%s/%s, want %s/%s/%s", a.Status, text(a.Cause), text(a.Detail), want, d.cause, d.detail)
	}
	if b := task.Assertions[1]; b.Status != bundle.StatusSupported {
		t.Errorf("the sound assertion is %s/%s", b.Status, text(b.Detail))
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *oneClaim) id() string {
	id, _ := c.drafted.Doc.Get("proof_id")
	return id.(string)
}

// set changes a member of the finished view by a path of names.
func set(v any, path ...string) func(*oneClaim) {
	return func(c *oneClaim) { setIn(c.drafted.Doc, v, path...) }
}

func setIn(o *canonjson.Object, v any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next, _ := o.Get(name)
		o = next.(*canonjson.Object)
	}
	o.Set(path[len(path)-1], v)
}

func getIn(o *canonjson.Object, pointer string) any {
	v, _ := canonjson.Resolve(o, pointer)
	return v
}

// flip changes one hex digit or base64 character in the middle of a text.
func flip(s string) string {
	i := len(s) / 2
	c := byte('a')
	if s[i] == c {
		c = 'b'
	}
	return s[:i] + string(c) + s[i+1:]
}

func TestSection10Step0AndStep1InvalidProof(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("0", 64)
	cases := []defect{
		{name: "a proof that waits for its batch is pending, no cause", pending: true, status: bundle.StatusPending},
		{name: "check 1: no file is proof_missing", detail: "proof_missing",
			published: func(c *oneClaim) { delete(c.s.Files, bundle.ProofPath(c.id())) }},
		{name: "check 1: bytes that are not strict JSON are proof_malformed", detail: "proof_malformed",
			published: func(c *oneClaim) {
				c.s.Files[bundle.ProofPath(c.id())] = append(c.drafted.JSON(), '{')
			}},
		{name: "check 1: a file above the size limit is proof_malformed", detail: "proof_malformed",
			published: func(c *oneClaim) {
				c.s.Files[bundle.ProofPath(c.id())] = make([]byte, bundle.MaxItemSize+1)
			}},
		{name: "check 1: another proof_id inside is proof_malformed", detail: "proof_malformed",
			anchored: nil, published: func(c *oneClaim) {
				bundletest.Edit(c.t, c.s.Files, bundle.ProofPath(c.id()), func(o *canonjson.Object) { o.Set("proof_id", "prf_20260101_000000_abcdef") })
			}},
		{name: "check 1: hashes.chain without prefix is proof_malformed", detail: "proof_malformed", anchored: set(other, "hashes", "chain")},
		{name: "check 2: commitments null are commitments_missing", detail: "commitments_missing", anchored: set(nil, "commitments")},
		{name: "check 2: a commitment without prefix is commitments_malformed", detail: "commitments_malformed", anchored: set(other, "commitments", "seller")},
		{name: "check 3: another commitment is chain_mismatch", detail: "chain_mismatch", anchored: set("sha256:"+other, "commitments", "seller")},
		{name: "check 4: an unknown kid is issuer_key_refused", detail: "issuer_key_refused", anchored: set("key-9", "arkforge_kid")},
		{name: "check 5: another signature is signature_invalid", detail: "signature_invalid",
			anchored: func(c *oneClaim) {
				set(flip(getIn(c.drafted.Doc, "/arkforge_signature").(string)), "arkforge_signature")(c)
			}},
		{name: "check 6: a float as leaf_index is batch_malformed", detail: "batch_malformed", anchored: set(0.0, "batch_anchor", "leaf_index")},
		{name: "check 6: a path without its last node is path_length", detail: "path_length",
			anchored: func(c *oneClaim) {
				set(getIn(c.drafted.Doc, "/batch_anchor/audit_path").([]any)[:1], "batch_anchor", "audit_path")(c)
			}},
		{name: "check 6: another root is path_mismatch", detail: "path_mismatch", anchored: set("sha256:"+other, "batch_anchor", "root")},
		{name: "check 7: no token is token_missing", detail: "token_missing", anchored: set(nil, "timestamp_authority", "tsr_base64")},
		{name: "check 7: a token of other bytes is token_invalid", detail: "token_invalid",
			anchored: func(c *oneClaim) {
				set(flip(getIn(c.drafted.Doc, "/timestamp_authority/tsr_base64").(string)), "timestamp_authority", "tsr_base64")(c)
			}},
		{name: "check 7: a local authority is witness_not_independent", detail: "witness_not_independent", anchored: localToken},
		{name: "check 8: a token an hour after the key's retirement is issuer_key_refused", detail: "issuer_key_refused",
			spec: func(c *oneClaim) { c.spec.Timestamp = c.s.Issuer.Now() }, drafted: retireKey},
		{name: "check 9: no entry file is log_entry_missing", detail: "log_entry_missing",
			published: func(c *oneClaim) { delete(c.s.Files, bundle.LogEntryPath(uuid(c))) }},
		{name: "check 9: an entry of other bytes is log_entry_invalid", detail: "log_entry_invalid",
			published: func(c *oneClaim) {
				bundletest.Edit(c.t, c.s.Files, bundle.LogEntryPath(uuid(c)), func(o *canonjson.Object) { setIn(o, canonjson.Int("1"), uuid(c), "integratedTime") })
			}},
		{name: "check 9: a local log is witness_not_independent", detail: "witness_not_independent", anchored: localLog},
		{name: "check 10: a nonce that opens nothing is disclosure_mismatch", detail: "disclosure_mismatch",
			submission: firstPair("response_hash", "nonce", other)},
		{name: "check 10: a value that opens nothing is disclosure_mismatch", detail: "disclosure_mismatch",
			submission: firstPair("request_hash", "value", other)},
		{name: "check 11: a token a second after the close is token_outside_window", detail: "token_outside_window",
			drafted: func(c *oneClaim) { c.s.Issuer.Advance(bundletest.Closes().Sub(c.s.Issuer.Now()) + time.Second) }},
		{name: "check 11: a token a second before the opening is token_outside_window", detail: "token_outside_window",
			drafted: func(c *oneClaim) { c.s.Issuer.Advance(bundletest.Opens().Sub(c.s.Issuer.Now()) - time.Second) }},
		{name: "check 11: a token exactly at the close is inside", status: bundle.StatusSupported,
			drafted: func(c *oneClaim) { c.s.Issuer.Advance(bundletest.Closes().Sub(c.s.Issuer.Now())) }},
		{name: "check 11: a token exactly at the opening is inside", status: bundle.StatusSupported,
			drafted: func(c *oneClaim) { c.s.Issuer.Advance(bundletest.Opens().Sub(c.s.Issuer.Now())) }},
	}
	for _, c := range cases {
		if c.status == "" {
			c.cause = bundle.CauseInvalidProof
		}
		t.Run(c.name, c.run)
	}
}

func uuid(c *oneClaim) string { return getIn(c.drafted.Doc, "/transparency_log/uuid").(string) }

func firstPair(pair, member, value string) func(*canonjson.Object) {
	return func(o *canonjson.Object) {
		id := getIn(o, "/assertions/0/proof_ids/0").(string)
		setIn(o, value, "disclosures", id, pair, member)
	}
}

// localToken replaces the token by one of a local authority that the trust names.
func localToken(c *oneClaim) {
	local := receipttest.New(c.t)
	local.Advance(c.s.Issuer.Now().Sub(local.Now()))
	trust := c.s.Issuer.Trust()
	trust.Authorities = append(trust.Authorities, local.TSA.Authority("local.prova.test"))
	c.s.Files[bundle.TrustPath] = trust.JSON()
	set(base64Of(local.Token(batchRoot(c))), "timestamp_authority", "tsr_base64")(c)
	set("local.prova.test", "timestamp_authority", "provider")(c)
}

// localLog replaces the log entry by one of a local log that the trust names.
func localLog(c *oneClaim) {
	local := receipttest.New(c.t)
	local.Advance(c.s.Issuer.Now().Sub(local.Now()))
	log := local.Log.Log()
	log.Name, log.Independent = "local log", false
	trust := c.s.Issuer.Trust()
	trust.Logs = append(trust.Logs, log)
	c.s.Files[bundle.TrustPath] = trust.JSON()
	id, _ := local.LogEntryBy(c.s.Issuer.LogKey, hexOf(batchRoot(c)))
	document, _ := local.Entry(id)
	c.s.Files[bundle.LogEntryPath(id)] = document
	set(id, "transparency_log", "uuid")(c)
}

// retireKey retires the issuer's key a second after the proof was made and stamps
// the batch an hour and a second later.
func retireKey(c *oneClaim) {
	c.s.Issuer.Keys[0].RetiredAt = c.s.Issuer.Now().Add(time.Second)
	c.s.Files[bundle.TrustPath] = c.s.Issuer.Trust().JSON()
	c.s.Issuer.Advance(time.Hour + time.Second)
}

func TestSection10Step2IdentityNotBound(t *testing.T) {
	t.Parallel()
	identity := func(verified, status any) func(*oneClaim) {
		return func(c *oneClaim) {
			c.spec.Identity = map[string]any{"agent_identity": c.did, "agent_identity_verified": verified,
				"did_resolution_status": status, "identity_consistent": true}
		}
	}
	cases := []defect{
		{name: "a proof at 3.0 is spec_version_too_old", detail: "spec_version_too_old", spec: func(c *oneClaim) { c.spec.Version = "3.0" }},
		{name: "a proof at 3.10 is later than 3.9", status: bundle.StatusSupported, spec: func(c *oneClaim) { c.spec.Version = "3.10" }},
		{name: "a disclosed entry that opens nothing is disclosed_mismatch", detail: "disclosed_mismatch",
			anchored: set("did:web:other.prova.test", "disclosed", "agent_identity", "value")},
		{name: "no disclosed block is disclosed_mismatch", detail: "disclosed_mismatch", anchored: set(nil, "disclosed")},
		{name: "an unverified identity is identity_unverified", detail: "identity_unverified", spec: identity(nil, "bound")},
		{name: "a status other than bound is identity_unverified", detail: "identity_unverified", spec: identity(true, "unverified")},
		{name: "another bound DID is identity_other_did", detail: "identity_other_did", spec: func(c *oneClaim) { c.spec.DID = "did:web:other.prova.test" }},
	}
	for _, c := range cases {
		if c.status == "" {
			c.cause = bundle.CauseIdentityNotBound
		}
		t.Run(c.name, c.run)
	}
}

func TestSection10Steps3And4AndInstrumentFaults(t *testing.T) {
	t.Parallel()
	response := func(resource string) func(*oneClaim) {
		return func(c *oneClaim) { c.spec.ResponseHash = c.s.ResponseHash("conformite", resource) }
	}
	// asked is a call whose request differs from the documented one in one member.
	asked := func(member string, value any) func(*oneClaim) {
		return func(c *oneClaim) {
			amount, err := canonjson.Parse([]byte("0.0"))
			if err != nil {
				t.Fatal(err)
			}
			request := canonjson.NewObject("target", c.s.Tracks["conformite"].Host+c.claim.Resource, "method", "GET",
				"payload", canonjson.NewObject(), "amount", amount, "currency", "eur")
			request.Set(member, value)
			c.spec.RequestHash = fmt.Sprintf("%x", canonjson.Sum(request))
		}
	}
	claim := func(field string, value any) func(*oneClaim) {
		return func(c *oneClaim) { c.claim.Field, c.claim.Value = field, value }
	}
	cases := []defect{
		{name: "step 3: a proof of another resource is request_hash_differs", cause: "resource_mismatch", detail: "request_hash_differs",
			spec: func(c *oneClaim) { c.spec = c.s.Spec(c.did, "conformite", "/agrements/AGR-0001") }},
		{name: "step 3: a URL with a trailing slash is request_hash_differs", cause: "resource_mismatch", detail: "request_hash_differs",
			spec: func(c *oneClaim) {
				c.spec.RequestHash = bundle.RequestHash(c.s.Tracks["conformite"].Host + c.claim.Resource + "/")
			}},
		{name: "step 3, §2.4: another currency is request_hash_differs", cause: "resource_mismatch", detail: "request_hash_differs", spec: asked("currency", "usd")},
		{name: "step 3, §2.4: another method is request_hash_differs", cause: "resource_mismatch", detail: "request_hash_differs", spec: asked("method", "POST")},
		{name: "step 3, §2.4: a payload is request_hash_differs", cause: "resource_mismatch", detail: "request_hash_differs", spec: asked("payload", canonjson.NewObject("a", "b"))},
		{name: "step 3, §2.4: extra headers are request_hash_differs", cause: "resource_mismatch", detail: "request_hash_differs", spec: asked("extra_headers_keys", []any{"Accept"})},
		{name: "step 3, §2.4: an amount of 0 in place of 0.0 is request_hash_differs", cause: "resource_mismatch", detail: "request_hash_differs", spec: asked("amount", canonjson.NewInt(0))},
		{name: "step 3, §2.4: the documented request is supported", status: bundle.StatusSupported, spec: asked("method", "GET")},
		{name: "the 403 body is an instrument fault", status: bundle.StatusInstrumentFault, detail: "/_systeme/403", spec: response("/_systeme/403")},
		{name: "the 503 body is an instrument fault", status: bundle.StatusInstrumentFault, detail: "/_systeme/503", spec: response("/_systeme/503")},
		{name: "the 400 body is an instrument fault", status: bundle.StatusInstrumentFault, detail: "/_systeme/400", spec: response("/_systeme/400")},
		{name: "the 404 body is response_hash_differs", cause: "value_mismatch", detail: "response_hash_differs", spec: response("/_systeme/404")},
		{name: "the 403 body on a request that is not canonical is a resource mismatch", cause: "resource_mismatch", detail: "request_hash_differs",
			spec: func(c *oneClaim) {
				response("/_systeme/403")(c)
				c.spec.RequestHash = strings.Repeat("1", 64)
			}},
		{name: "step 4: another body is response_hash_differs", cause: "value_mismatch", detail: "response_hash_differs",
			spec: func(c *oneClaim) { c.spec.ResponseHash = strings.Repeat("1", 64) }},
		{name: "step 4: an index past the end is field_absent", cause: "value_mismatch", detail: "field_absent", spec: claim("/agrements/7", "AGR-0001")},
		{name: "step 4: another value is value_differs", cause: "value_mismatch", detail: "value_differs", spec: claim("/statut", "radiee")},
		{name: "step 4: another type is value_differs", cause: "value_mismatch", detail: "value_differs", spec: claim("/existe", "true")},
		{name: "a whole array is a value", status: bundle.StatusSupported, spec: claim("/agrements", []any{"AGR-0001"})},
		{name: "nothing broken is supported", status: bundle.StatusSupported},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// TestSection10EachStepComesBeforeTheNext breaks two things of one proof; the
// earlier step gives the cause.
func TestSection10EachStepComesBeforeTheNext(t *testing.T) {
	t.Parallel()
	otherDID := func(c *oneClaim) { c.spec.DID = "did:web:other.prova.test" }
	wrongRequest := func(c *oneClaim) { c.spec.RequestHash = strings.Repeat("1", 64) }
	both := func(fs ...func(*oneClaim)) func(*oneClaim) {
		return func(c *oneClaim) {
			for _, f := range fs {
				f(c)
			}
		}
	}
	cases := []defect{
		{name: "pending before a broken signature", pending: true, status: bundle.StatusPending, drafted: set("none", "arkforge_signature")},
		{name: "disclosure before the window", cause: "invalid_proof", detail: "disclosure_mismatch",
			drafted:    func(c *oneClaim) { c.s.Issuer.Advance(bundletest.Closes().Sub(c.s.Issuer.Now()) + time.Second) },
			submission: firstPair("response_hash", "nonce", "")},
		{name: "proof before identity", cause: "invalid_proof", detail: "signature_invalid", spec: otherDID, anchored: set("none", "arkforge_signature")},
		{name: "identity before resource", cause: "identity_not_bound", detail: "identity_other_did", spec: both(otherDID, wrongRequest)},
		{name: "resource before value", cause: "resource_mismatch", detail: "request_hash_differs",
			spec: both(wrongRequest, func(c *oneClaim) { c.claim.Value = "radiee" })},
		{name: "fault before value", status: bundle.StatusInstrumentFault, detail: "/_systeme/503",
			spec: func(c *oneClaim) {
				c.spec.ResponseHash = c.s.ResponseHash("conformite", "/_systeme/503")
				c.claim.Value = "radiee"
			}},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}
