package receipt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/evidence/tlog"
)

// checkNotes: a code is a known one and has its number of Args, each bounded; no
// code, no Args.
func checkNotes(t testing.TB, r *receipt.Report) {
	t.Helper()
	for _, w := range r.Witnesses {
		want, known := receipt.NoteArgs()[w.Note.Code]
		if w.Note.Code != "" && !known || len(w.Note.Args) != want {
			t.Errorf("%s: note %q of %q, want %d args", w.Name, w.Note.Args, w.Note.Code, want)
		}
		for _, a := range w.Note.Args {
			if len(a) > 210 {
				t.Errorf("%s: an arg of %s has %d bytes", w.Name, w.Note.Code, len(a))
			}
		}
	}
}

// noteCase is a proof, or an edit of a good one, and the notes it must get.
type noteCase struct {
	name  string
	edit  func(o *canonjson.Object)
	entry func(string) ([]byte, error)
	want  map[string]string // witness → code and args
}

func drop(name string) func(*canonjson.Object) {
	return func(o *canonjson.Object) { o.Set(name, nil) }
}

func TestAWitnessSaysItsFindingInAFormForPrograms(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	good := s.verify(s.draft.Proof())
	v, err := canonjson.ParseStrict(s.draft.JSON())
	if err != nil {
		t.Fatal(err)
	}
	doc := v.(*canonjson.Object)
	uuid := str(t, at(t, doc, "transparency_log"), "uuid")
	root := strings.TrimPrefix(str(t, at(t, doc, "batch_anchor"), "root"), "sha256:")
	kid := str(t, doc, "arkforge_kid")
	provider := str(t, at(t, doc, "timestamp_authority"), "provider")
	commitments := fmt.Sprint(at(t, doc, "commitments").Len())
	cases := []noteCase{
		{"a good proof", func(*canonjson.Object) {}, s.is.FetchEntry, map[string]string{
			"identity": "identity_bound " + str(t, doc, "agent_identity"), "chain": "chain_committed " + commitments, "disclosure": "disclosed 4",
			"signature": "issuer_key " + kid, "batch": "batch_leaf 2 5 " + root, "timestamp": "token " + provider,
		}},
		{"no entry supplied", func(*canonjson.Object) {}, nil, map[string]string{"log": "entry_not_supplied " + uuid}},
		{"a log that denies the entry", func(*canonjson.Object) {}, func(string) ([]byte, error) { return nil, tlog.ErrNotFound }, map[string]string{"log": "entry_denied " + uuid}},
		{"a log out of reach", func(*canonjson.Object) {}, func(string) ([]byte, error) { return nil, errors.New("no route") }, map[string]string{"log": "entry_unavailable " + uuid}},
		{"nothing but the chain", func(o *canonjson.Object) {
			for _, name := range []string{"batch_anchor", "timestamp_authority", "transparency_log", "arkforge_signature"} {
				o.Set(name, nil)
			}
		}, nil, map[string]string{"batch": "batch_none", "timestamp": "token_missing", "log": "entry_unnamed", "signature": "signature_missing"}},
		{"witnesses that the issuer reports as failed", func(o *canonjson.Object) {
			o.Set("timestamp_authority", canonjson.NewObject("status", "failed"))
			o.Set("transparency_log", canonjson.NewObject("status", "timeout"))
		}, nil, map[string]string{"timestamp": "token_reported failed", "log": "entry_reported timeout"}},
		{"an unknown authority, of a name of any length", func(o *canonjson.Object) {
			at(t, o, "timestamp_authority").Set("provider", strings.Repeat("x", 5000))
		}, nil, map[string]string{"timestamp": "authority_unknown " + strings.Repeat("x", 200) + "…"}},
		{"a uuid that is none", func(o *canonjson.Object) { at(t, o, "transparency_log").Set("uuid", "x") }, nil, map[string]string{"log": "entry_malformed"}},
		{"an open batch", func(o *canonjson.Object) { o.Set("batch_anchor", canonjson.NewObject("status", "pending")) }, nil,
			map[string]string{"batch": "batch_waiting", "timestamp": "batch_waiting", "log": "batch_waiting"}},
		{"a path that is too short", func(o *canonjson.Object) { at(t, o, "batch_anchor").Set("audit_path", []any{}) }, nil,
			map[string]string{"batch": "batch_path_length", "timestamp": "batch_failed", "log": "batch_failed"}},
		{"a leaf in another place", func(o *canonjson.Object) { at(t, o, "batch_anchor").Set("leaf_index", 3) }, nil, map[string]string{"batch": "batch_path_mismatch"}},
		{"an unknown key", func(o *canonjson.Object) { o.Set("arkforge_kid", "key-99") }, nil, map[string]string{"signature": "issuer_key_unknown key-99"}},
		{"an embedded key that is unknown", func(o *canonjson.Object) { o.Set("arkforge_kid", nil); o.Set("arkforge_pubkey", "ed25519:x") }, nil,
			map[string]string{"signature": "issuer_key_unknown ed25519:x"}},
		{"a signature of another", func(o *canonjson.Object) { o.Set("arkforge_signature", "ed25519:"+strings.Repeat("A", 86)) }, nil,
			map[string]string{"signature": "signature_wrong " + kid}},
		{"no chain hash", func(o *canonjson.Object) { at(t, o, "hashes").Set("chain", "x"); o.Set("batch_anchor", nil) }, nil,
			map[string]string{"chain": "chain_malformed", "signature": "chain_malformed", "timestamp": "chain_malformed", "disclosure": "disclosed_loose"}},
		{"commitments of another chain hash", func(o *canonjson.Object) { at(t, o, "hashes").Set("chain", "sha256:"+strings.Repeat("0", 64)) }, nil,
			map[string]string{"chain": "chain_other " + commitments}},
		{"a value that its nonce does not open", func(o *canonjson.Object) {
			at(t, o, "disclosed", "agent_identity").Set("value", "did:web:other.example")
		}, nil,
			map[string]string{"disclosure": "disclosed_wrong agent_identity", "identity": "identity_unopened agent_identity"}},
		{"a field that is not disclosed", func(o *canonjson.Object) { at(t, o, "disclosed").Delete("agent_identity") }, nil, map[string]string{"identity": "identity_undisclosed agent_identity"}},
		{"a field that is not committed", func(o *canonjson.Object) { at(t, o, "commitments").Delete("agent_identity") }, nil, map[string]string{"identity": "identity_uncommitted agent_identity"}},
		{"a version that is none", func(o *canonjson.Object) { o.Set("spec_version", "new") }, nil, map[string]string{"identity": "spec_unknown", "disclosure": "spec_unknown", "chain": ""}},
		{"the identity of an early version", func(o *canonjson.Object) { o.Set("spec_version", "3.0") }, nil,
			map[string]string{"identity": "identity_unanchored " + str(t, doc, "agent_identity")}},
		{"no identity in an early version", func(o *canonjson.Object) { o.Set("spec_version", "3.0"); drop("agent_identity")(o); drop("parties")(o) }, nil,
			map[string]string{"identity": "identity_unclaimed"}},
		{"a version without commitments", func(o *canonjson.Object) {
			o.Set("spec_version", "2.0")
			drop("commitments")(o)
			drop("disclosed")(o)
		}, nil, map[string]string{"disclosure": "nothing_to_commit", "chain": "chain_redacted"}},
	}
	ck := receipt.NewChecker(s.is.Trust())
	seen := map[string]bool{good.Witness(receipt.WitnessLog).Note.Code: true}
	for _, c := range cases {
		r := ck.Verify(s.is.Edit(s.draft.JSON(), c.edit), receipt.VerifyOptions{Require: receipt.RequireBoth, Entry: c.entry})
		checkNotes(t, r)
		for name, want := range c.want {
			w := r.Witness(name)
			seen[w.Note.Code] = true
			if got := strings.Join(append([]string{w.Note.Code}, w.Note.Args...), " "); got != want {
				t.Errorf("%s: %s: note %q, want %q (%s: %s)", c.name, name, got, want, w.Status, w.Detail)
			}
		}
	}
	if n := good.Witness(receipt.WitnessLog).Note; n.Code != receipt.NoteEntry || len(n.Args) != 2 || !strings.HasSuffix(good.Witness(receipt.WitnessLog).Detail, fmt.Sprintf("%s of %q", n.Args[0], n.Args[1])) {
		t.Errorf("log: %+v", good.Witness(receipt.WitnessLog))
	}
	for want, r := range noteReports(t) {
		checkNotes(t, r)
		seen[want] = true
		if !slices.ContainsFunc(r.Witnesses, func(w receipt.Witness) bool { return w.Note.Code == want }) {
			t.Errorf("no witness has the note %s: %+v", want, r.Witnesses)
		}
	}
	for code := range receipt.NoteArgs() {
		if !seen[code] {
			t.Errorf("no case of this test leads to %s", code)
		}
	}
}

// noteReports are reports by a code that no edit of one good proof leads to.
func noteReports(t *testing.T) map[string]*receipt.Report {
	t.Helper()
	out := map[string]*receipt.Report{}
	is := receipttest.New(t)
	for want, identity := range map[string]map[string]any{
		receipt.NoteIdentityUnbound:      {"agent_identity": "did:web:a.example", "agent_identity_verified": true, "did_resolution_status": "unbound"},
		receipt.NoteIdentitySelfDeclared: {"agent_identity": "somebody", "agent_identity_verified": false},
		receipt.NoteIdentityNone:         {},
	} {
		d := is.Issue(receipttest.Spec{Identity: identity})
		out[want] = receipt.NewChecker(is.Trust()).Verify(d.Proof(), receipt.VerifyOptions{})
	}
	out[receipt.NoteDisclosedNone] = receipt.NewChecker(is.Trust()).Verify(is.Issue(receipttest.Spec{Version: "3.0"}).Proof(), receipt.VerifyOptions{})
	old := is.Issue(receipttest.Spec{Version: "2.1"})
	out[receipt.NoteChainRecomputed] = receipt.NewChecker(is.Trust()).Verify(old.FullProof(), receipt.VerifyOptions{})

	logged := is.Issue(receipttest.Spec{})
	is.Batch(logged)
	foreign := is.Trust()
	foreign.LogKeys = receipt.BuiltinTrust().LogKeys
	out[receipt.NoteEntryForeign] = receipt.NewChecker(foreign).Verify(logged.Proof(), receipt.VerifyOptions{Entry: is.FetchEntry})

	is.Keys[0].RetiredAt = receipttest.Epoch().Add(time.Hour)
	late := is.Issue(receipttest.Spec{})
	is.Advance(3 * time.Hour)
	is.Batch(late)
	after := is.Issue(receipttest.Spec{})
	retired := receipt.NewChecker(is.Trust())
	out[receipt.NoteIssuerKeyRetired] = retired.Verify(is.Edit(logged.JSON(), drop("timestamp_authority")), receipt.VerifyOptions{})
	out[receipt.NoteIssuerKeyTooLate] = retired.Verify(late.Proof(), receipt.VerifyOptions{})
	out[receipt.NoteIssuerKeyOutside] = retired.Verify(after.Proof(), receipt.VerifyOptions{})
	return out
}
