package tlog

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
)

// testKey returns the P-256 key of a small scalar, so that tests and fuzz corpora are the same on every run.
func testKey(scalar int64) *ecdsa.PrivateKey {
	raw := big.NewInt(scalar).FillBytes(make([]byte, 32))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		panic(err)
	}
	return key
}

var testAnchored = strings.Repeat("0123456789abcdef", 4)

// draft is an entry in the making, all of whose parts a test may replace before or after they are signed.
type draft struct {
	logKey, submitter *ecdsa.PrivateKey
	kind              string
	algorithm         string
	value             string // hash in the entry
	signed            string // what the submitter signs
	keyContent        string // PEM in the entry
	body              []byte
	encoded           string // body in the document
	before, after     int    // leaves around the entry's own
	leafIndex, size   any
	integrated, index any
	logID             any
	origin            string
	extensions        string
	checkpoint        func(text string) string // text to signed note
	uuid              string
	edit              func(entry *canonjson.Object)
}

func newDraft() *draft {
	sum := sha256.Sum256([]byte(testAnchored))
	return &draft{
		logKey: testKey(11), submitter: testKey(7),
		kind: "hashedrekord", algorithm: "sha256", value: hex.EncodeToString(sum[:]), signed: testAnchored,
		before: 4, after: 2,
		integrated: canonjson.NewInt(1794071319), index: canonjson.NewInt(1000004),
		origin: "log.test - 63117254729573873",
	}
}

func (d *draft) log() Log { return Log{Name: "draft", Key: &d.logKey.PublicKey, Origin: d.origin} }

func mustSign(key *ecdsa.PrivateKey, digest [32]byte) []byte {
	signature, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		panic(err)
	}
	return signature
}

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// note signs a checkpoint's text as Rekor does.
func (d *draft) note(text string) string {
	return text + "\n" + noteLine("log.test", d.logKey, text)
}

func noteLine(name string, key *ecdsa.PrivateKey, text string) string {
	sum, err := keySum(&key.PublicKey)
	if err != nil {
		panic(err)
	}
	return "— " + name + " " + base64Of(append(sum[:hintSize:hintSize], mustSign(key, sha256.Sum256([]byte(text)))...)) + "\n"
}

func (d *draft) build() (uuid string, document []byte) {
	if d.keyContent == "" {
		d.keyContent, _ = FormatPublicKeyPEM(&d.submitter.PublicKey)
	}
	if d.body == nil {
		d.body = canonjson.Marshal(canonjson.NewObject(
			"apiVersion", "0.0.1", "kind", d.kind, "spec", canonjson.NewObject(
				"data", canonjson.NewObject("hash", canonjson.NewObject("algorithm", d.algorithm, "value", d.value)),
				"signature", canonjson.NewObject(
					"content", base64Of(mustSign(d.submitter, sha256.Sum256([]byte(d.signed)))),
					"publicKey", canonjson.NewObject("content", base64Of([]byte(d.keyContent)))))))
	}
	if d.encoded == "" {
		d.encoded = base64Of(d.body)
	}
	var leaves [][32]byte
	for i := range d.before + 1 + d.after {
		leaf := merkle.LeafHash(fmt.Appendf(nil, "leaf %d", i))
		if i == d.before {
			leaf = merkle.LeafHash(d.body)
		}
		leaves = append(leaves, leaf)
	}
	root, err := merkle.Root(leaves)
	if err != nil {
		panic(err)
	}
	if d.leafIndex == nil {
		d.leafIndex = canonjson.NewInt(int64(d.before))
	}
	if d.size == nil {
		d.size = canonjson.NewInt(int64(len(leaves)))
	}
	if d.logID == nil {
		d.logID, _ = d.log().ID()
	}
	if d.checkpoint == nil {
		d.checkpoint = d.note
	}
	text := fmt.Sprintf("%s\n%d\n%s\n%s", d.origin, len(leaves), base64Of(root[:]), d.extensions)
	timestamp := mustSign(d.logKey, canonjson.Sum(canonjson.NewObject(
		"body", d.encoded, "integratedTime", d.integrated, "logID", d.logID, "logIndex", d.index)))
	entry := canonjson.NewObject(
		"body", d.encoded, "integratedTime", d.integrated, "logID", d.logID, "logIndex", d.index,
		"verification", canonjson.NewObject(
			"inclusionProof", canonjson.NewObject(
				"checkpoint", d.checkpoint(text),
				"hashes", hexList(merkle.Paths(leaves)[d.before]),
				"logIndex", d.leafIndex, "rootHash", hex.EncodeToString(root[:]), "treeSize", d.size),
			"signedEntryTimestamp", base64Of(timestamp)))
	if d.edit != nil {
		d.edit(entry)
	}
	if d.uuid == "" {
		leaf := merkle.LeafHash(d.body)
		d.uuid = fmt.Sprintf("%016x%x", uint64(63117254729573873), leaf)
	}
	return d.uuid, canonjson.Compact(canonjson.NewObject(d.uuid, entry))
}

// inside returns the object at a pointer of an entry.
func inside(entry *canonjson.Object, pointer string) *canonjson.Object {
	v, ok := canonjson.Resolve(entry, pointer)
	if !ok {
		panic("no " + pointer)
	}
	return v.(*canonjson.Object)
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// realEntry returns the production entry, the hash that its proof anchored, and its log.
func realEntry(t testing.TB) (uuid string, document []byte, anchored string, logs []Log) {
	t.Helper()
	var proof struct {
		Hashes          struct{ Chain string }
		TransparencyLog struct{ UUID string } `json:"transparency_log"`
	}
	if err := json.Unmarshal(readTestdata(t, "proof_rekor.json"), &proof); err != nil {
		t.Fatal(err)
	}
	key, _, err := ParsePublicKeyPEM(string(readTestdata(t, "rekor_log_pubkey.pem")))
	if err != nil {
		t.Fatal(err)
	}
	return proof.TransparencyLog.UUID, readTestdata(t, "rekor_entry.json"), strings.TrimPrefix(proof.Hashes.Chain, "sha256:"),
		[]Log{{Name: "rekor", Key: key, Origin: "rekor.sigstore.dev - 1193050959916656506", Independent: true}}
}
