package receipttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

// Provider and LogHost name the two witnesses of an Issuer.
const (
	Provider = "tsa.prova.test"
	LogHost  = "log.prova.test"
)

// Epoch is where an Issuer's clock starts.
var epoch = time.Date(2026, 9, 21, 10, 0, 0, 0, time.UTC)

// Epoch returns the instant at which the clock of a new Issuer stands.
func Epoch() time.Time { return epoch }

// Key is one signing key of the issuer, as its trust names it.
type Key struct {
	Kid                  string
	Private              ed25519.PrivateKey
	ValidFrom, RetiredAt time.Time
}

// Public returns the key as proofs write it.
func (k Key) Public() string {
	return "ed25519:" + base64.RawURLEncoding.EncodeToString(k.Private.Public().(ed25519.PublicKey))
}

// Sign returns the signature of a chain hash as proofs write it: over its 64 hex
// characters.
func (k Key) Sign(chain [32]byte) string {
	return "ed25519:" + base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.Private, []byte(hex.EncodeToString(chain[:]))))
}

// Issuer makes proofs. Its clock stands still until Advance. It is safe for
// concurrent use, its exported fields excepted: change them before issuing.
type Issuer struct {
	// Keys are published in the trust; the first one signs.
	Keys []Key
	// LogKey signs log entries as LogKid; LogRetiredAt bounds it when not zero.
	LogKey       *ecdsa.PrivateKey
	LogKid       string
	LogRetiredAt time.Time
	// TSA and Log are the witnesses.
	TSA *timestamp.Local
	Log *tlog.Embedded

	t testing.TB

	mu      sync.Mutex
	now     time.Time
	issued  int
	batches int
	entries map[string][]byte
}

// New returns an issuer with fresh keys and empty witnesses.
func New(t testing.TB) *Issuer {
	t.Helper()
	is := &Issuer{t: t, now: epoch, LogKid: "log-1", entries: map[string][]byte{}}
	is.Keys = []Key{NewKey(t, "key-1")}
	var err error
	is.LogKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	is.must(err)
	identity, err := timestamp.NewLocalIdentity(rand.Reader, epoch.AddDate(-1, 0, 0))
	is.must(err)
	is.TSA, err = identity.Open(is.Now)
	is.must(err)
	logSigner, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	is.must(err)
	is.Log, err = tlog.OpenEmbedded(context.Background(), &tlog.MemoryStore{}, logSigner, LogHost, 1193050959916656506, is.Now)
	is.must(err)
	return is
}

// NewKey returns a fresh signing key without bounds.
func NewKey(t testing.TB, kid string) Key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{Kid: kid, Private: private}
}

func (is *Issuer) must(err error) {
	is.t.Helper()
	if err != nil {
		is.t.Fatal(err)
	}
}

// Now is the issuer's clock.
func (is *Issuer) Now() time.Time {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.now
}

// Advance moves the clock.
func (is *Issuer) Advance(d time.Duration) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.now = is.now.Add(d)
}

// Trust returns what a verifier must believe, both witnesses called independent.
func (is *Issuer) Trust() *receipt.Trust {
	t := is.LocalTrust()
	t.Authorities[0].Independent = true
	t.Logs[0].Independent = true
	return t
}

// LocalTrust is Trust with both witnesses called local, as an operator's own
// embedded ones are.
func (is *Issuer) LocalTrust() *receipt.Trust {
	is.t.Helper()
	t := &receipt.Trust{
		Authorities: []timestamp.Authority{is.TSA.Authority(Provider)},
		Logs:        []tlog.Log{is.Log.Log()},
	}
	for _, k := range is.Keys {
		t.IssuerKeys = append(t.IssuerKeys, receipt.IssuerKey{
			Kid: k.Kid, Public: k.Private.Public().(ed25519.PublicKey), ValidFrom: k.ValidFrom, RetiredAt: k.RetiredAt,
		})
	}
	der, err := x509.MarshalPKIXPublicKey(&is.LogKey.PublicKey)
	is.must(err)
	t.LogKeys = []receipt.LogKey{{Kid: is.LogKid, Public: &is.LogKey.PublicKey, DER: der, RetiredAt: is.LogRetiredAt}}
	return t
}

// Entry returns the document of a log entry that Batch or Anchor made, in the
// form that receipt.Checker.Admit asks for.
func (is *Issuer) Entry(uuid string) ([]byte, bool) {
	is.mu.Lock()
	defer is.mu.Unlock()
	document, ok := is.entries[uuid]
	return document, ok
}

// FetchEntry is Entry in the form of receipt.VerifyOptions: an unknown entry is
// tlog.ErrNotFound.
func (is *Issuer) FetchEntry(uuid string) ([]byte, error) {
	document, ok := is.Entry(uuid)
	if !ok {
		return nil, fmt.Errorf("entry %s: %w", uuid, tlog.ErrNotFound)
	}
	return document, nil
}

// Batch closes a batch of these drafts: one token and one log entry for all.
func (is *Issuer) Batch(drafts ...*Draft) {
	is.t.Helper()
	leaves := make([][32]byte, len(drafts))
	for i, d := range drafts {
		chain := d.Chain()
		leaves[i] = merkle.LeafHash(chain[:])
	}
	root, err := merkle.Root(leaves)
	is.must(err)
	paths := merkle.Paths(leaves)
	token := is.Token(root[:])
	uuid, entry := is.LogEntry(hex.EncodeToString(root[:]))
	is.mu.Lock()
	is.batches++
	id := fmt.Sprintf("batch_%s_%03d", is.now.UTC().Format("20060102_150405"), is.batches%1000)
	is.mu.Unlock()
	for i, d := range drafts {
		path := make([]any, len(paths[i]))
		for j, node := range paths[i] {
			path[j] = hex.EncodeToString(node[:])
		}
		d.Doc.Set("batch_anchor", canonjson.NewObject("status", "anchored", "batch_id", id,
			"leaf_index", i, "tree_size", len(drafts), "audit_path", path, "root", prefixed(root)))
		d.setWitnesses(token, uuid, entry, "batch_root")
	}
}

// Anchor gives one draft its own token and log entry over its chain hash, as
// proofs before batching had.
func (is *Issuer) Anchor(d *Draft) {
	is.t.Helper()
	chain := d.Chain()
	token := is.Token(chain[:])
	uuid, entry := is.LogEntry(hex.EncodeToString(chain[:]))
	d.Doc.Set("batch_anchor", nil)
	d.setWitnesses(token, uuid, entry, "chain_hash")
}

// Token returns a DER TimeStampResp of the authority for message.
func (is *Issuer) Token(message []byte) []byte {
	is.t.Helper()
	response, _, err := is.TSA.Stamper(Provider).Stamp(context.Background(), message)
	is.must(err)
	return response
}

// LogEntry logs a hash, given as 64 hex characters, and keeps its document for
// Entry.
func (is *Issuer) LogEntry(anchoredHex string) (uuid string, entry *tlog.Entry) {
	is.t.Helper()
	return is.LogEntryBy(is.LogKey, anchoredHex)
}

// LogEntryBy is LogEntry with another submitter's key.
func (is *Issuer) LogEntryBy(key *ecdsa.PrivateKey, anchoredHex string) (uuid string, entry *tlog.Entry) {
	is.t.Helper()
	uuid, document, err := is.Log.Submit(context.Background(), anchoredHex, key)
	is.must(err)
	entry, err = tlog.VerifyEntry(uuid, document, anchoredHex, []tlog.Log{is.Log.Log()})
	is.must(err)
	is.mu.Lock()
	defer is.mu.Unlock()
	is.entries[uuid] = document
	return uuid, entry
}

// SetEntry replaces or, with nil, removes the document kept for a uuid.
func (is *Issuer) SetEntry(uuid string, document []byte) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if document == nil {
		delete(is.entries, uuid)
		return
	}
	is.entries[uuid] = document
}

func prefixed(hash [32]byte) string { return "sha256:" + hex.EncodeToString(hash[:]) }

func parsePrefixed(s string) (hash [32]byte, err error) {
	if len(s) != 71 || s[:7] != "sha256:" {
		return hash, errors.New("hashes.chain of the draft is not a prefixed hash")
	}
	_, err = hex.Decode(hash[:], []byte(s[7:]))
	return hash, err
}
