package receipt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
)

// at walks into a document: names of objects and indexes of arrays.
func at(t *testing.T, o *canonjson.Object, path ...string) *canonjson.Object {
	t.Helper()
	for _, name := range path {
		v, _ := o.Get(name)
		next, ok := v.(*canonjson.Object)
		if !ok {
			t.Fatalf("%s is %T, want an object", name, v)
		}
		o = next
	}
	return o
}

func str(t *testing.T, o *canonjson.Object, name string) string {
	t.Helper()
	v, _ := o.Get(name)
	s, ok := v.(string)
	if !ok {
		t.Fatalf("%s is %T, want a string", name, v)
	}
	return s
}

// flip changes one hex digit of a text.
func flip(s string, i int) string {
	c := byte('0')
	if s[i] == '0' {
		c = '1'
	}
	return s[:i] + string(c) + s[i+1:]
}

// season is an issuer with a batch of five proofs, of which leaf 2 is broken.
type season struct {
	is    *receipttest.Issuer
	draft *receipttest.Draft
	batch []*receipttest.Draft
}

func newSeason(t *testing.T, s receipttest.Spec) *season {
	t.Helper()
	is := receipttest.New(t)
	var batch []*receipttest.Draft
	for range 5 {
		batch = append(batch, is.Issue(s))
	}
	is.Advance(10 * time.Minute)
	is.Batch(batch...)
	return &season{is: is, draft: batch[2], batch: batch}
}

func (s *season) verify(p *receipt.Proof) *receipt.Report {
	return receipt.NewChecker(s.is.Trust()).Verify(p, receipt.VerifyOptions{Require: receipt.RequireBoth, Entry: s.is.FetchEntry})
}

func (s *season) admit(p *receipt.Proof) (*receipt.Evidence, *receipt.Refusal) {
	return receipt.NewChecker(s.is.Trust()).Admit(p, s.is.Entry, receipt.Policy{RequireLog: true})
}

// broken is a case of T§14: an edit of a good proof, the witness that must fail
// in a report, and the word with which Admit refuses it ("" admits it).
type broken struct {
	name    string
	edit    func(t *testing.T, s *season, o *canonjson.Object)
	witness string
	detail  string
}

func set(path []string, name string, v any) func(*testing.T, *season, *canonjson.Object) {
	return func(t *testing.T, _ *season, o *canonjson.Object) { at(t, o, path...).Set(name, v) }
}

func flipped(digit int, name string, path ...string) func(*testing.T, *season, *canonjson.Object) {
	return func(t *testing.T, _ *season, o *canonjson.Object) {
		in := at(t, o, path...)
		in.Set(name, flip(str(t, in, name), digit))
	}
}

func path(change func(path []any) []any) func(*testing.T, *season, *canonjson.Object) {
	return func(t *testing.T, _ *season, o *canonjson.Object) {
		anchor := at(t, o, "batch_anchor")
		v, _ := anchor.Get("audit_path")
		anchor.Set("audit_path", change(append([]any(nil), v.([]any)...)))
	}
}

// entryEdit changes the log entry's document, not the proof.
func entryEdit(f func(t *testing.T, entry *canonjson.Object)) func(*testing.T, *season, *canonjson.Object) {
	return func(t *testing.T, s *season, o *canonjson.Object) {
		uuid := str(t, at(t, o, "transparency_log"), "uuid")
		document, _ := s.is.Entry(uuid)
		v, err := canonjson.ParseStrict(document)
		if err != nil {
			t.Fatal(err)
		}
		f(t, at(t, v.(*canonjson.Object), uuid))
		s.is.SetEntry(uuid, canonjson.Compact(v))
	}
}

func entryBody(f func(t *testing.T, body *canonjson.Object)) func(*testing.T, *season, *canonjson.Object) {
	return entryEdit(func(t *testing.T, entry *canonjson.Object) {
		raw, err := base64.StdEncoding.DecodeString(str(t, entry, "body"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := canonjson.ParseStrict(raw)
		if err != nil {
			t.Fatal(err)
		}
		f(t, v.(*canonjson.Object))
		entry.Set("body", base64.StdEncoding.EncodeToString(canonjson.Marshal(v)))
	})
}

func flipByte(s string, i int) string {
	raw, _ := base64.StdEncoding.DecodeString(s)
	if i < 0 {
		i += len(raw)
	}
	raw[i] ^= 1
	return base64.StdEncoding.EncodeToString(raw)
}

func (b broken) run(t *testing.T, spec receipttest.Spec) {
	t.Parallel()
	s := newSeason(t, spec)
	p := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) { b.edit(t, s, o) })
	r := s.verify(p)
	checkNotes(t, r)
	if w := r.Witness(b.witness); w.Status != receipt.Fail || r.Verdict != receipt.VerdictInvalid {
		t.Errorf("verdict %s (%s), %s is %s (%s); want fail", r.Verdict, r.Reason, b.witness, w.Status, w.Detail)
	}
	_, refusal := s.admit(p)
	if got := detailOf(refusal); got != b.detail {
		t.Errorf("Admit: %q, want %q", got, b.detail)
	}
	if refusal != nil && (refusal.Why == "" || !strings.Contains(refusal.Error(), refusal.Why)) {
		t.Errorf("the refusal does not say why: %v", refusal)
	}
}

func detailOf(r *receipt.Refusal) string {
	if r == nil {
		return ""
	}
	return r.Detail
}

// TestT14Verifier covers the list "Verifier" of the reference's negative cases.
func TestT14Verifier(t *testing.T) {
	t.Parallel()
	const sig, batch, ts, log, chain = receipt.WitnessSignature, receipt.WitnessBatch, receipt.WitnessTimestamp, receipt.WitnessLog, receipt.WitnessChain
	tsa, anchor, tlog := []string{"timestamp_authority"}, []string{"batch_anchor"}, []string{"transparency_log"}
	cases := []broken{
		{"a byte of the token flipped", func(t *testing.T, _ *season, o *canonjson.Object) {
			in := at(t, o, tsa...)
			in.Set("tsr_base64", flipByte(str(t, in, "tsr_base64"), -1))
		}, ts, receipt.DetailTokenInvalid},
		{"an unknown provider", set(tsa, "provider", "tsa.example"), ts, receipt.DetailTokenInvalid},
		{"no provider", set(tsa, "provider", nil), ts, receipt.DetailTokenInvalid},
		{"a token that is no string", set(tsa, "tsr_base64", true), ts, receipt.DetailTokenMissing},
		{"chain hash swapped for another proof's", func(t *testing.T, s *season, o *canonjson.Object) {
			at(t, o, "hashes").Set("chain", "sha256:"+hex.EncodeToString(hash(s.batch[0])))
		}, chain, receipt.DetailChainMismatch},
		{"a byte of the signature flipped", func(t *testing.T, _ *season, o *canonjson.Object) {
			s := str(t, o, "arkforge_signature")
			o.Set("arkforge_signature", s[:20]+swap(s[20])+s[21:])
		}, sig, receipt.DetailSignatureInvalid},
		{"a signature with padding", func(t *testing.T, _ *season, o *canonjson.Object) {
			o.Set("arkforge_signature", str(t, o, "arkforge_signature")+"==")
		}, sig, receipt.DetailSignatureInvalid},
		{"a signature with stray low bits", func(t *testing.T, _ *season, o *canonjson.Object) {
			s := str(t, o, "arkforge_signature")
			last := map[byte]string{'A': "B", 'Q': "R", 'g': "h", 'w': "x"}[s[len(s)-1]]
			o.Set("arkforge_signature", s[:len(s)-1]+last)
		}, sig, receipt.DetailSignatureInvalid},
		{"an embedded key that is not published", func(t *testing.T, s *season, o *canonjson.Object) {
			o.Set("arkforge_pubkey", receipttest.NewKey(t, "x").Public())
		}, sig, receipt.DetailIssuerKeyRefused},
		{"uuid of an unrelated entry", func(t *testing.T, s *season, o *canonjson.Object) {
			uuid, _ := s.is.LogEntry(strings.Repeat("ab", 32))
			at(t, o, tlog...).Set("uuid", uuid)
		}, log, receipt.DetailLogEntryInvalid},
		{"an entry of kind dsse", entryBody(func(t *testing.T, b *canonjson.Object) { b.Set("kind", "dsse") }), log, receipt.DetailLogEntryInvalid},
		{"an inclusion node zeroed", entryInclusion(func(in *canonjson.Object) { in.Set("hashes", []any{strings.Repeat("0", 64)}) }), log, receipt.DetailLogEntryInvalid},
		{"an extra inclusion node", entryInclusion(func(in *canonjson.Object) {
			v, _ := in.Get("hashes")
			in.Set("hashes", append(append([]any{}, v.([]any)...), strings.Repeat("0", 64)))
		}), log, receipt.DetailLogEntryInvalid},
		{"the last byte of the SET flipped", entryEdit(func(t *testing.T, e *canonjson.Object) {
			v := at(t, e, "verification")
			v.Set("signedEntryTimestamp", flipByte(str(t, v, "signedEntryTimestamp"), -1))
		}), log, receipt.DetailLogEntryInvalid},
		{"the checkpoint's root replaced", entryInclusion(func(in *canonjson.Object) {
			v, _ := in.Get("checkpoint")
			lines := strings.Split(v.(string), "\n")
			lines[2] = base64.StdEncoding.EncodeToString(make([]byte, 32))
			in.Set("checkpoint", strings.Join(lines, "\n"))
		}), log, receipt.DetailLogEntryInvalid},
		{"the entry's signature flipped", entryBody(func(t *testing.T, b *canonjson.Object) {
			in := at(t, b, "spec", "signature")
			in.Set("content", flipByte(str(t, in, "content"), -1))
		}), log, receipt.DetailLogEntryInvalid},
		{"a commitment replaced", flipped(10, "seller", "commitments"), chain, receipt.DetailChainMismatch},
		{"an audit path node zeroed", path(func(p []any) []any { p[0] = strings.Repeat("0", 64); return p }), batch, receipt.DetailPathMismatch},
		{"leaf_index shifted", set(anchor, "leaf_index", 3), batch, receipt.DetailPathMismatch},
		{"leaf_index = tree_size", set(anchor, "leaf_index", 5), batch, receipt.DetailBatchMalformed},
		{"leaf_index true", set(anchor, "leaf_index", true), batch, receipt.DetailBatchMalformed},
		{"leaf_index 2.0", set(anchor, "leaf_index", 2.0), batch, receipt.DetailBatchMalformed},
		{"leaf_index negative", set(anchor, "leaf_index", -1), batch, receipt.DetailBatchMalformed},
		{"tree_size a string", set(anchor, "tree_size", "5"), batch, receipt.DetailBatchMalformed},
		{"tree_size beyond 63 bits", set(anchor, "tree_size", canonjson.Int("9223372036854775808")), batch, receipt.DetailBatchMalformed},
		{"tree_size 4096", set(anchor, "tree_size", 4096), batch, receipt.DetailPathLength},
		{"root replaced", flipped(10, "root", "batch_anchor"), batch, receipt.DetailPathMismatch},
		{"root without its prefix", set(anchor, "root", strings.Repeat("0", 64)), batch, receipt.DetailBatchMalformed},
		{"path padded", path(func(p []any) []any { return append(p, p[0]) }), batch, receipt.DetailPathLength},
		{"path truncated", path(func(p []any) []any { return p[:len(p)-1] }), batch, receipt.DetailPathLength},
		{"path emptied", path(func([]any) []any { return []any{} }), batch, receipt.DetailPathLength},
		{"path item null", path(func(p []any) []any { p[0] = nil; return p }), batch, receipt.DetailBatchMalformed},
		{"path item not hex", path(func(p []any) []any { p[0] = strings.Repeat("g", 64); return p }), batch, receipt.DetailBatchMalformed},
		{"path item in upper case", path(func(p []any) []any { p[0] = strings.Repeat("A", 64); return p }), batch, receipt.DetailBatchMalformed},
		{"path an object", set(anchor, "audit_path", canonjson.NewObject()), batch, receipt.DetailBatchMalformed},
		{"status closed", set(anchor, "status", "closed"), batch, receipt.DetailBatchMalformed},
		{"batch_anchor a string", set(nil, "batch_anchor", "anchored"), batch, receipt.DetailBatchMalformed},
		{"a commitment not hex", set([]string{"commitments"}, "seller", "sha256:"+strings.Repeat("g", 64)), chain, receipt.DetailCommitmentsMalformed},
		{"a commitment in upper case", set([]string{"commitments"}, "seller", "sha256:"+strings.Repeat("A", 64)), chain, receipt.DetailCommitmentsMalformed},
		{"a commitment with its prefix twice", set([]string{"commitments"}, "seller", "sha256:sha256:"+strings.Repeat("a", 64)), chain, receipt.DetailCommitmentsMalformed},
		{"a commitment null", set([]string{"commitments"}, "seller", nil), chain, receipt.DetailCommitmentsMalformed},
		{"a commitment a number", set([]string{"commitments"}, "seller", 5), chain, receipt.DetailCommitmentsMalformed},
		{"a commitment an object", set([]string{"commitments"}, "seller", canonjson.NewObject()), chain, receipt.DetailCommitmentsMalformed},
		{"spec 3.x without commitments", set(nil, "commitments", nil), chain, receipt.DetailCommitmentsMissing},
		{"commitments empty", set(nil, "commitments", canonjson.NewObject()), chain, receipt.DetailCommitmentsMissing},
		{"hashes.chain without its prefix", set([]string{"hashes"}, "chain", strings.Repeat("a", 64)), chain, receipt.DetailProofMalformed},
		{"no log entry id but a wrong one", set(tlog, "uuid", "108e"), log, receipt.DetailLogEntryMissing},
		{"an entry the log denies", set(tlog, "uuid", strings.Repeat("0", 80)), log, receipt.DetailLogEntryMissing},
		{"transparency_log a string", set(nil, "transparency_log", "rekor"), log, receipt.DetailLogEntryMissing},
	}
	for _, version := range []string{"3.0", "3.1"} {
		for _, c := range cases {
			t.Run(version+": "+c.name, func(t *testing.T) { c.run(t, receipttest.Spec{Version: version}) })
		}
	}
}

func hash(d *receipttest.Draft) []byte { c := d.Chain(); return c[:] }

func swap(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

func entryInclusion(f func(in *canonjson.Object)) func(*testing.T, *season, *canonjson.Object) {
	return entryEdit(func(t *testing.T, e *canonjson.Object) { f(at(t, e, "verification", "inclusionProof")) })
}

// TestT14VerifierSwappedChainOfAnUnbatchedProof: without a batch both outside
// witnesses attest the chain hash itself, so both object.
func TestT14VerifierSwappedChainOfAnUnbatchedProof(t *testing.T) {
	t.Parallel()
	is := receipttest.New(t)
	d, other := is.Issue(receipttest.Spec{Version: "2.1"}), is.Issue(receipttest.Spec{Version: "2.1", RequestHash: strings.Repeat("d", 64)})
	is.Anchor(d)
	p := is.Edit(d.FullJSON(), func(o *canonjson.Object) { at(t, o, "hashes").Set("chain", "sha256:"+hex.EncodeToString(hash(other))) })
	r := receipt.NewChecker(is.Trust()).Verify(p, receipt.VerifyOptions{Entry: is.FetchEntry})
	for _, name := range []string{receipt.WitnessChain, receipt.WitnessSignature, receipt.WitnessTimestamp, receipt.WitnessLog} {
		if w := r.Witness(name); w.Status != receipt.Fail {
			t.Errorf("%s is %s (%s), want fail", name, w.Status, w.Detail)
		}
	}
}

// TestT14KeyHistory covers the list "Key history", with D11.
func TestT14KeyHistory(t *testing.T) {
	t.Parallel()
	retirement := receipttest.Epoch().Add(time.Hour)
	cases := []struct {
		name    string
		prepare func(t *testing.T, is *receipttest.Issuer) receipttest.Spec // makes the keys, returns what to issue
		edit    func(o *canonjson.Object)
		wait    time.Duration // until the batch closes
		detail  string
		witness string
	}{
		{name: "an old key still verifies older proofs", prepare: retired(retirement, 0), wait: 10 * time.Minute},
		{name: "a new node's key verifies", prepare: func(t *testing.T, is *receipttest.Issuer) receipttest.Spec {
			k := receipttest.NewKey(t, "key-2")
			k.ValidFrom = receipttest.Epoch()
			is.Keys = append(is.Keys, k)
			return receipttest.Spec{Key: &k}
		}},
		{name: "a key before its valid_from", prepare: func(t *testing.T, is *receipttest.Issuer) receipttest.Spec {
			k := receipttest.NewKey(t, "key-2")
			k.ValidFrom = receipttest.Epoch().Add(time.Second)
			is.Keys = append(is.Keys, k)
			return receipttest.Spec{Key: &k}
		}, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a retired key on a later-dated proof", prepare: retired(retirement, 2*time.Hour), detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a retired key on a proof dated exactly then", prepare: retired(retirement, time.Hour), detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a retired key one second before", prepare: retired(retirement, time.Hour-time.Second), wait: time.Hour},
		{name: "a retired key, token one second before the hour", prepare: retired(retirement, 0), wait: 2*time.Hour - time.Second},
		{name: "a retired key, token an hour after its retirement", prepare: retired(retirement, 0), wait: 2 * time.Hour, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a bounded key on a proof whose timestamp is no instant", prepare: retired(retirement, 0), edit: func(o *canonjson.Object) { o.Set("timestamp", "soon") }, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a bounded key on a timestamp with a space for the T", prepare: retired(retirement, 0), edit: func(o *canonjson.Object) { o.Set("timestamp", "2026-09-21 10:00:00Z") }, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a bounded key on a timestamp with a letter for a digit", prepare: retired(retirement, 0), edit: func(o *canonjson.Object) { o.Set("timestamp", "2026-09-21T1O:00:00Z") }, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a bounded key reads the first 19 characters only", prepare: retired(retirement, 0), edit: func(o *canonjson.Object) { o.Set("timestamp", "2026-09-21T10:00:00.5+02:00") }},
		{name: "an unbounded key does not read the timestamp", prepare: plain, edit: func(o *canonjson.Object) { o.Set("timestamp", 5) }},
		{name: "a kid that names another key", prepare: func(t *testing.T, is *receipttest.Issuer) receipttest.Spec {
			is.Keys = append(is.Keys, receipttest.NewKey(t, "key-2"))
			return receipttest.Spec{}
		}, edit: func(o *canonjson.Object) { o.Set("arkforge_kid", "key-2") }, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "an unknown kid", prepare: plain, edit: func(o *canonjson.Object) { o.Set("arkforge_kid", "key-9") }, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a kid that is no string", prepare: plain, edit: func(o *canonjson.Object) { o.Set("arkforge_kid", []any{"key-1"}) }, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "neither kid nor key", prepare: plain, edit: func(o *canonjson.Object) { o.Delete("arkforge_kid"); o.Delete("arkforge_pubkey") }, detail: receipt.DetailIssuerKeyRefused, witness: receipt.WitnessSignature},
		{name: "a null kid and a published key", prepare: plain, edit: func(o *canonjson.Object) { o.Set("arkforge_kid", nil) }},
		{name: "a kid and no embedded key", prepare: plain, edit: func(o *canonjson.Object) { o.Delete("arkforge_pubkey") }},
		{name: "an entry by a retired log key still attributed", prepare: func(_ *testing.T, is *receipttest.Issuer) receipttest.Spec {
			is.LogRetiredAt = retirement
			return receipttest.Spec{}
		}, wait: time.Hour},
		{name: "an entry by a log key retired an hour before the token", prepare: func(_ *testing.T, is *receipttest.Issuer) receipttest.Spec {
			is.LogRetiredAt = retirement
			return receipttest.Spec{}
		}, wait: 2 * time.Hour, detail: receipt.DetailLogEntryInvalid, witness: receipt.WitnessLog},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			is := receipttest.New(t)
			d := is.Issue(c.prepare(t, is))
			is.Advance(c.wait)
			is.Batch(d)
			p := is.Edit(d.JSON(), func(o *canonjson.Object) {
				if c.edit != nil {
					c.edit(o)
				}
			})
			ck := receipt.NewChecker(is.Trust())
			_, refusal := ck.Admit(p, is.Entry, receipt.Policy{RequireLog: true})
			if detailOf(refusal) != c.detail {
				t.Errorf("Admit: %v, want %q", refusal, c.detail)
			}
			r := ck.Verify(p, receipt.VerifyOptions{Require: receipt.RequireBoth, Entry: is.FetchEntry})
			switch w := r.Witness(c.witness); {
			case c.witness == "" && r.Verdict != receipt.VerdictValid:
				t.Errorf("verdict %s: %s", r.Verdict, r.Reason)
			case c.witness != "" && (w.Status != receipt.Fail || r.Verdict != receipt.VerdictInvalid):
				t.Errorf("verdict %s, %s is %s (%s), want fail", r.Verdict, c.witness, w.Status, w.Detail)
			}
		})
	}
}

func plain(*testing.T, *receipttest.Issuer) receipttest.Spec { return receipttest.Spec{} }

// retired retires the issuer's key and issues a proof dated after the epoch.
func retired(at time.Time, dated time.Duration) func(*testing.T, *receipttest.Issuer) receipttest.Spec {
	return func(_ *testing.T, is *receipttest.Issuer) receipttest.Spec {
		is.Keys[0].RetiredAt = at
		return receipttest.Spec{Timestamp: receipttest.Epoch().Add(dated)}
	}
}

// TestT14KeyHistoryUnpublishedLogKey: an entry by somebody else's key is
// refused, unless the trust publishes no log key at all.
func TestT14KeyHistoryUnpublishedLogKey(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimPrefix(str(t, at(t, s.draft.Doc, "batch_anchor"), "root"), "sha256:")
	uuid, _ := s.is.LogEntryBy(foreign, root)
	p := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) { at(t, o, "transparency_log").Set("uuid", uuid) })
	if _, refusal := s.admit(p); detailOf(refusal) != receipt.DetailLogEntryInvalid {
		t.Errorf("Admit: %v, want log_entry_invalid", refusal)
	}
	if w := s.verify(p).Witness(receipt.WitnessLog); w.Status != receipt.Fail {
		t.Errorf("log is %s (%s), want fail", w.Status, w.Detail)
	}
	nobody := s.is.Trust()
	nobody.LogKeys = nil
	if _, refusal := receipt.NewChecker(nobody).Admit(p, s.is.Entry, receipt.Policy{RequireLog: true}); refusal != nil {
		t.Errorf("without published log keys nobody is asked, yet: %v", refusal)
	}
}

// TestT14Commitments covers the list "Commitments" as far as a verifier sees it.
func TestT14Commitments(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	e, refusal := s.admit(s.draft.Proof())
	if refusal != nil {
		t.Fatal(refusal)
	}
	nonce := func(field string) string { return s.draft.Nonces[field].String() }
	value := strings.Repeat("a", 64)
	for name, open := range map[string]bool{
		"a forged value":                     e.Opens("request_hash", nonce("request_hash"), strings.Repeat("b", 64)),
		"a pair moved to another field":      e.Opens("response_hash", nonce("request_hash"), value),
		"a wrong nonce":                      e.Opens("request_hash", nonce("response_hash"), value),
		"a nonce that is not hex":            e.Opens("request_hash", strings.Repeat("g", 64), value),
		"a nonce that is too short":          e.Opens("request_hash", nonce("request_hash")[:62], value),
		"a nonce of 16 bytes":                e.Opens("request_hash", nonce("request_hash")[:32], value),
		"a nonce in upper case":              e.Opens("request_hash", strings.ToUpper(nonce("request_hash")), value),
		"a nonce with a space":               e.Opens("request_hash", " "+nonce("request_hash"), value),
		"a field that is not committed":      e.Opens("amount", nonce("request_hash"), value),
		"the text of a value with prefix":    e.Opens("request_hash", nonce("request_hash"), "sha256:"+value),
		"true is not the string \"true\"":    e.Opens("agent_identity_verified", nonce("agent_identity_verified"), "true"),
		"no pair at all, both strings empty": e.Opens("request_hash", "", ""),
	} {
		if open {
			t.Errorf("%s opens a commitment", name)
		}
	}
	if !e.Opens("request_hash", nonce("request_hash"), value) {
		t.Error("the true pair does not open its commitment")
	}
}

// TestT14CommitmentsNumbersAndStringsDiffer: 100 and "100" have two commitments.
func TestT14CommitmentsNumbersAndStringsDiffer(t *testing.T) {
	t.Parallel()
	n, err := commit.NewNonce(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	e := &receipt.Evidence{Commitments: map[string][32]byte{"amount": commit.Field("amount", n, canonjson.Int("100"))}}
	if e.Opens("amount", n.String(), "100") || !e.Opens("amount", n.String(), canonjson.Int("100")) {
		t.Error("the commitment of 100 must open with 100 and not with \"100\"")
	}
}

// TestT14CommitmentsPublicViewLeaksNothing: only the four identity pairs stand
// in the public view, and no two nonces are equal.
func TestT14CommitmentsPublicViewLeaksNothing(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	public := string(s.draft.JSON())
	seen := map[string]bool{}
	for _, d := range s.batch {
		for field, nonce := range d.Nonces {
			if seen[nonce.String()] {
				t.Fatalf("the nonce of %s is used twice", field)
			}
			seen[nonce.String()] = true
		}
	}
	for field, nonce := range s.draft.Nonces {
		_, identity := identityFields[field]
		if strings.Contains(public, nonce.String()) != identity {
			t.Errorf("nonce of %s in the public view: %t, want %t", field, !identity, identity)
		}
	}
	for _, secret := range []string{"buyer_fingerprint\":\"5c", "free_tier\""} {
		if strings.Contains(public, secret) {
			t.Errorf("the public view shows a preimage: %s", secret)
		}
	}
	if !json.Valid(s.draft.FullJSON()) {
		t.Error("the full view is no JSON")
	}
}

var identityFields = map[string]bool{"agent_identity": true, "agent_identity_verified": true, "did_resolution_status": true, "identity_consistent": true}
