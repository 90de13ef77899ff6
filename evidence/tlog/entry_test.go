package tlog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

func wantCheck(t *testing.T, err error, want Check) {
	t.Helper()
	var refused *EntryError
	if !errors.As(err, &refused) {
		t.Fatalf("got error %v, want a refusal by the check %q", err, want)
	}
	if refused.Check != want {
		t.Fatalf("refused by the check %q (%v), want %q", refused.Check, err, want)
	}
}

func TestT10RealEntryOfThePublicLogVerifies(t *testing.T) {
	uuid, document, anchored, logs := realEntry(t)
	e, err := VerifyEntry(uuid, document, anchored, logs)
	if err != nil {
		t.Fatal(err)
	}
	if e.Index != 1018479057 || e.LeafIndex != 896574795 || e.TreeSize != 2695801602 {
		t.Errorf("index %d, leaf %d of %d", e.Index, e.LeafIndex, e.TreeSize)
	}
	if want := time.Date(2026, 3, 3, 16, 18, 55, 0, time.UTC); !e.IntegratedTime.Equal(want) || e.IntegratedTime.Location() != time.UTC {
		t.Errorf("integrated %v, want %v", e.IntegratedTime, want)
	}
	if want := "c0d23d6ad406973f9559f3ba2d1ca01f84147d8ffc5b8445c224f98b9591801d"; e.LogID != want {
		t.Errorf("log id %s, want %s", e.LogID, want)
	}
	if !e.Log.Independent || e.Log.Name != "rekor" || e.UUID != uuid {
		t.Errorf("log %+v, uuid %s", e.Log, e.UUID)
	}
	if got := hex.EncodeToString(e.LeafHash[:]); got != uuid[16:] {
		t.Errorf("leaf hash %s, want %s", got, uuid[16:])
	}
	if id, err := e.Checkpoint.TreeID(); err != nil || id != 1193050959916656506 {
		t.Errorf("tree id %d, %v", id, err)
	}
	if _, err := VerifyEntry(uuid[16:], bytes.Replace(document, []byte(uuid), []byte(uuid[16:]), 1), anchored, logs); err != nil {
		t.Errorf("under its leaf hash alone: %v", err)
	}
}

// TestT14NegativeCasesOfTheLogWitness makes the changes that the known verifier's own tests make, and those that it
// does not look at, in the production entry.
func TestT14NegativeCasesOfTheLogWitness(t *testing.T) {
	uuid, document, anchored, logs := realEntry(t)
	replace := func(old, replacement string) func(string) string {
		return func(doc string) string {
			if strings.Count(doc, old) != 1 {
				t.Fatalf("%q stands %d times in the document", old, strings.Count(doc, old))
			}
			return strings.Replace(doc, old, replacement, 1)
		}
	}
	body := func(old, replacement string) func(string) string {
		return func(doc string) string {
			encoded := strings.Split(doc, `"`)[5]
			raw, err := decodeBase64(encoded)
			if err != nil || bytes.Count(raw, []byte(old)) != 1 {
				t.Fatalf("%q stands %d times in the body (%v)", old, bytes.Count(raw, []byte(old)), err)
			}
			return strings.Replace(doc, encoded, base64Of(bytes.Replace(raw, []byte(old), []byte(replacement), 1)), 1)
		}
	}
	const node = `"038a280aac99a19bdf6ad518b84cf93b49bb4ed30a1c054605acaf737ff91ce6"`
	for name, tc := range map[string]struct {
		change func(string) string
		want   Check
	}{
		"inclusion node zeroed":           {replace(node, `"`+strings.Repeat("0", 64)+`"`), CheckInclusion},
		"extra inclusion node":            {replace(node, node+","+node), CheckInclusion},
		"inclusion node removed":          {replace(node+",", ""), CheckInclusion},
		"inclusion path emptied":          {func(s string) string { return s[:strings.Index(s, node)] + s[strings.Index(s, `],"logIndex"`):] }, CheckInclusion},
		"inclusion node null":             {replace(node, "null"), CheckInclusion},
		"inclusion node in upper case":    {replace(node, strings.ToUpper(node)), CheckInclusion},
		"inclusion node not hex":          {replace(node, `"`+strings.Repeat("g", 64)+`"`), CheckInclusion},
		"entry timestamp last byte":       {replace("lbgaY8c=", "lbgaY8g="), CheckEntryTimestamp},
		"entry timestamp first byte":      {replace(`"MEUCIQCGtF`, `"NEUCIQCGtF`), CheckEntryTimestamp},
		"entry timestamp trailing bits":   {replace("lbgaY8c=", "lbgaY8d="), CheckEntryTimestamp},
		"checkpoint root replaced":        {replace("ADUX9MfVV/ZztRJ2dvVvd/wEfgOhs+hgKvizMxosLaU=", base64Of(make([]byte, 32))), CheckCheckpoint},
		"checkpoint size changed":         {replace(`\n2695801602\n`, `\n2695801603\n`), CheckCheckpoint},
		"checkpoint origin changed":       {replace("rekor.sigstore.dev - 119", "rekor.sigstore.dev - 219"), CheckCheckpoint},
		"checkpoint signature changed":    {replace("Hc/jAfdbi", "Hc/jAfdbj"), CheckCheckpoint},
		"checkpoint key hint changed":     {replace("dev wNI9aj", "dev wNI8aj"), CheckCheckpoint},
		"checkpoint removed":              {replace(`"checkpoint"`, `"checkpoint_"`), CheckCheckpoint},
		"tree size changed":               {replace(`"treeSize":2695801602`, `"treeSize":2695801603`), CheckCheckpoint},
		"tree size of another path":       {replace(`"treeSize":2695801602`, `"treeSize":896574796`), CheckInclusion},
		"tree size as a string":           {replace(`"treeSize":2695801602`, `"treeSize":"2695801602"`), CheckInclusion},
		"tree size as a float":            {replace(`"treeSize":2695801602`, `"treeSize":2695801602.0`), CheckInclusion},
		"leaf index changed":              {replace(`"logIndex":896574795`, `"logIndex":896574794`), CheckInclusion},
		"leaf index equal to the size":    {replace(`"logIndex":896574795`, `"logIndex":2695801602`), CheckInclusion},
		"leaf index negative":             {replace(`"logIndex":896574795`, `"logIndex":-1`), CheckInclusion},
		"leaf index true":                 {replace(`"logIndex":896574795`, `"logIndex":true`), CheckInclusion},
		"leaf index beyond 64 bits":       {replace(`"logIndex":896574795`, `"logIndex":18446744073709551617`), CheckInclusion},
		"root replaced":                   {replace(`"rootHash":"003517`, `"rootHash":"103517`), CheckInclusion},
		"inclusion proof removed":         {replace(`"inclusionProof"`, `"inclusion"`), CheckInclusion},
		"integrated time restated":        {replace("1772554735", "1772554736"), CheckEntryTimestamp},
		"integrated time as a float":      {replace("1772554735", "1772554735.0"), CheckDocument},
		"global index restated":           {replace("1018479057", "1018479058"), CheckEntryTimestamp},
		"log id restated":                 {replace(`"logID":"c0`, `"logID":"c1`), CheckLogID},
		"entry about another artifact":    {body("25a93efd", "25a93efe"), CheckArtifact},
		"entry signature flipped":         {body(`"content":"MEQCIDSEj6`, `"content":"MEQCIDSEj7`), CheckEntrySignature},
		"entry of another kind":           {body(`"hashedrekord"`, `"dsse"`), CheckBody},
		"entry of another hash algorithm": {body(`"sha256"`, `"sha512"`), CheckBody},
		"entry with a space in its body":  {body(`"kind":`, `"kind": `), CheckEntryTimestamp},
		"body with a line break":          {replace(`"body":"eyJh`, `"body":"eyJh\n`), CheckBody},
		"body with padding too much":      {replace(`","integratedTime`, `=","integratedTime`), CheckBody},
		"member written twice":            {replace(`{"body"`, `{"logID":"x","body"`), CheckDocument},
		"a second entry":                  {func(s string) string { return strings.TrimSuffix(strings.TrimSpace(s), "}") + `,"x":{}}` }, CheckDocument},
		"something after the document":    {func(s string) string { return s + "{}" }, CheckDocument},
		"a byte order mark":               {func(s string) string { return "\ufeff" + s }, CheckDocument},
		"an array around it":              {func(s string) string { return "[" + s + "]" }, CheckDocument},
		"nothing":                         {func(string) string { return "" }, CheckDocument},
	} {
		t.Run(name, func(t *testing.T) {
			changed := tc.change(string(document))
			if changed == string(document) {
				t.Fatal("the case changes nothing")
			}
			_, err := VerifyEntry(uuid, []byte(changed), anchored, logs)
			wantCheck(t, err, tc.want)
		})
	}
	t.Run("uuid of a real unrelated entry", func(t *testing.T) {
		other, unrelated := newDraft().build()
		_, err := VerifyEntry(other, unrelated, anchored, logs)
		wantCheck(t, err, CheckArtifact)
		_, err = VerifyEntry(other, document, anchored, logs)
		wantCheck(t, err, CheckDocument)
		_, err = VerifyEntry(other, bytes.Replace(document, []byte(uuid), []byte(other), 1), anchored, logs)
		wantCheck(t, err, CheckLeaf)
	})
	t.Run("uuid of another tree", func(t *testing.T) {
		other := "208e9186e8c5677a" + uuid[16:]
		_, err := VerifyEntry(other, bytes.Replace(document, []byte(uuid), []byte(other), 1), anchored, logs)
		wantCheck(t, err, CheckTreeID)
	})
	t.Run("chain hash swapped", func(t *testing.T) {
		_, err := VerifyEntry(uuid, document, strings.Repeat("ab", 32), logs)
		wantCheck(t, err, CheckArtifact)
	})
	t.Run("anchored hash in upper case", func(t *testing.T) {
		_, err := VerifyEntry(uuid, document, strings.ToUpper(anchored), logs)
		wantCheck(t, err, CheckArtifact)
	})
}

// TestEachCharacterUnderAHashOrSignatureCounts replaces every single character of the production entry by its
// successor, except where nothing is signed: white space and the name on the checkpoint's signature line.
func TestEachCharacterUnderAHashOrSignatureCounts(t *testing.T) {
	uuid, document, anchored, logs := realEntry(t)
	unsigned := strings.Index(string(document), "— rekor.sigstore.dev ") + len("— ")
	changed := 0
	for i, c := range document {
		if i >= unsigned && i < unsigned+len("rekor.sigstore.dev") || c == '\n' {
			continue
		}
		mutant := slices.Clone(document)
		switch c {
		case '9':
			mutant[i] = '0'
		case 'z', 'Z':
			mutant[i]--
		case '/', '+':
			mutant[i] = 'A'
		default:
			mutant[i]++
		}
		if _, err := VerifyEntry(uuid, mutant, anchored, logs); err == nil {
			t.Fatalf("accepted with %q instead of %q at byte %d: …%s…", mutant[i], c, i, mutant[max(0, i-20):min(len(mutant), i+20)])
		}
		changed++
	}
	if changed < 3500 {
		t.Fatalf("only %d characters were changed", changed)
	}
}

func TestSection10LogEntryCasesOfTheExampleBundle(t *testing.T) {
	var example struct {
		Logs []struct {
			Name, Origin string
			PublicPEM    string `json:"public_pem"`
			Independent  bool
		}
		Entries []struct {
			Rule, UUID, Anchored, Document string
			Accept                         bool
		}
	}
	if err := json.Unmarshal(readTestdata(t, "example-entries.json"), &example); err != nil {
		t.Fatal(err)
	}
	var logs []Log
	for _, l := range example.Logs {
		key, _, err := ParsePublicKeyPEM(l.PublicPEM)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, Log{Name: l.Name, Key: key, Origin: l.Origin, Independent: l.Independent})
	}
	checks := map[string]Check{
		"log: hash of the raw bytes": CheckArtifact, "log: signature over the raw bytes": CheckEntrySignature,
		"log: kind dsse": CheckBody, "log: entry timestamp signature": CheckEntryTimestamp,
		"log: integrated time restated": CheckEntryTimestamp, "log: inclusion node altered": CheckInclusion,
		"log: inclusion path padded": CheckInclusion, "log: inclusion path truncated": CheckInclusion,
		"log: checkpoint of another root": CheckCheckpoint, "log: checkpoint of another size": CheckCheckpoint,
		"log: checkpoint of another origin": CheckCheckpoint, "log: checkpoint signed by another key": CheckCheckpoint,
		"log: log not trusted": CheckLogID, "log: log id restated": CheckLogID,
		"log: uuid of another leaf": CheckLeaf, "log: uuid of another tree": CheckTreeID, "log: two members": CheckDocument,
		"log: member of another name": CheckDocument, "log: member written twice": CheckDocument,
		"log: tree size as a string": CheckInclusion,
	}
	for i, e := range example.Entries {
		t.Run(strconv.Itoa(i)+" "+e.Rule, func(t *testing.T) {
			got, err := VerifyEntry(e.UUID, []byte(e.Document), e.Anchored, logs)
			if !e.Accept {
				wantCheck(t, err, checks[e.Rule])
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if local := e.Rule == "policy: local log"; got.Log.Independent == local {
				t.Errorf("log %q is independent: %v", got.Log.Name, got.Log.Independent)
			}
		})
	}
}

func TestSection10LogEntryRulesOneByOne(t *testing.T) {
	const proof = "/verification/inclusionProof"
	set := func(at, name string, v any) func(*draft) {
		return func(d *draft) { d.edit = func(e *canonjson.Object) { inside(e, at).Set(name, v) } }
	}
	other := testKey(99)
	otherPEM, _ := FormatPublicKeyPEM(&other.PublicKey)
	ownPEM, _ := FormatPublicKeyPEM(&newDraft().submitter.PublicKey)
	const accepted = Check("")
	for name, tc := range map[string]struct {
		change func(*draft)
		want   Check
	}{
		"an entry as it should be":          {func(*draft) {}, accepted},
		"in a tree of one leaf":             {func(d *draft) { d.before, d.after = 0, 0 }, accepted},
		"as the last leaf of an odd tree":   {func(d *draft) { d.before, d.after = 6, 0 }, accepted},
		"unknown members beside the known":  {set("", "attestation", canonjson.NewObject("x", "y")), accepted},
		"extension lines in the checkpoint": {func(d *draft) { d.extensions = "Timestamp: 1\nmore\n" }, accepted},
		"a witness line after the log's":    {func(d *draft) { d.checkpoint = func(s string) string { return d.note(s) + noteLine("w1", other, s) } }, accepted},
		"a witness line before the log's": {func(d *draft) {
			d.checkpoint = func(s string) string { return s + "\n" + noteLine("w1", other, s) + noteLine("log.test", d.logKey, s) }
		}, accepted},
		"a bad line of the log's before a good one": {func(d *draft) {
			d.checkpoint = func(s string) string {
				return s + "\n" + noteLine("log.test", d.logKey, "x") + noteLine("log.test", d.logKey, s)
			}
		}, accepted},
		"only bad lines of the log's": {func(d *draft) {
			d.checkpoint = func(s string) string { return s + "\n" + noteLine("log.test", d.logKey, "x") }
		}, CheckCheckpoint},
		"only a witness line": {func(d *draft) {
			d.checkpoint = func(s string) string { return s + "\n" + noteLine("log.test", other, s) }
		}, CheckCheckpoint},
		"a negative integrated time that the log signed": {func(d *draft) { d.integrated = canonjson.NewInt(-1) }, accepted},
		"an integrated time that is a string":            {func(d *draft) { d.integrated = "1" }, CheckDocument},
		"a global index that is null":                    {func(d *draft) { d.index = nil }, CheckDocument},
		"a global index of 70 bits":                      {func(d *draft) { d.index = canonjson.Int("1180591620717411303424") }, CheckDocument},
		"a log id in upper case that the log signed":     {func(d *draft) { id, _ := d.log().ID(); d.logID = strings.ToUpper(id) }, CheckLogID},
		"a body that is an array":                        {func(d *draft) { d.body = []byte("[]") }, CheckBody},
		"a body that is not JSON":                        {func(d *draft) { d.body = []byte("{") }, CheckBody},
		"a body with a member twice":                     {func(d *draft) { d.body = []byte(`{"kind":"hashedrekord","kind":"hashedrekord"}`) }, CheckBody},
		"a body without spec":                            {func(d *draft) { d.body = []byte(`{"kind":"hashedrekord"}`) }, CheckBody},
		"a body with spec null":                          {func(d *draft) { d.body = []byte(`{"kind":"hashedrekord","spec":null}`) }, CheckBody},
		"another kind":                                   {func(d *draft) { d.kind = "rekord" }, CheckBody},
		"another hash algorithm":                         {func(d *draft) { d.algorithm = "SHA256" }, CheckBody},
		"a hash in upper case":                           {func(d *draft) { d.value = strings.ToUpper(d.value) }, CheckBody},
		"the anchored hash instead of its hash":          {func(d *draft) { d.value = testAnchored }, CheckArtifact},
		"a signature over the raw bytes":                 {func(d *draft) { raw, _ := hex.DecodeString(testAnchored); d.signed = string(raw) }, CheckEntrySignature},
		"a signature by another key than the entry's":    {func(d *draft) { d.keyContent = otherPEM }, CheckEntrySignature},
		"a key text with two blocks":                     {func(d *draft) { d.keyContent = ownPEM + otherPEM }, CheckBody},
		"a key text with words before it":                {func(d *draft) { d.keyContent = "key:\n" + ownPEM }, CheckBody},
		"a key text that is empty":                       {func(d *draft) { d.keyContent = "\n" }, CheckBody},
		"a log key that nobody trusts":                   {func(d *draft) { d.logKey = testKey(12) }, CheckLogID},
		"an entry timestamp by another key":              {set("/verification", "signedEntryTimestamp", base64Of(mustSign(other, [32]byte{}))), CheckEntryTimestamp},
		"an entry timestamp that is a number":            {set("/verification", "signedEntryTimestamp", canonjson.NewInt(1)), CheckEntryTimestamp},
		"no entry timestamp": {func(d *draft) {
			d.edit = func(e *canonjson.Object) { inside(e, "/verification").Delete("signedEntryTimestamp") }
		}, CheckEntryTimestamp},
		"no verification":                                 {func(d *draft) { d.edit = func(e *canonjson.Object) { e.Delete("verification") } }, CheckEntryTimestamp},
		"a tree of size zero":                             {func(d *draft) { d.size, d.leafIndex = canonjson.NewInt(0), canonjson.NewInt(0) }, CheckInclusion},
		"a negative tree size":                            {func(d *draft) { d.size = canonjson.NewInt(-7) }, CheckInclusion},
		"hashes that are an object":                       {set(proof, "hashes", canonjson.NewObject()), CheckInclusion},
		"a root of 63 digits":                             {set(proof, "rootHash", strings.Repeat("a", 63)), CheckInclusion},
		"a checkpoint that is an object":                  {set(proof, "checkpoint", canonjson.NewObject()), CheckCheckpoint},
		"a checkpoint of another origin, properly signed": {func(d *draft) { d.checkpoint = func(s string) string { return d.note("x" + s) } }, CheckCheckpoint},
		"a checkpoint without signature lines":            {func(d *draft) { d.checkpoint = func(s string) string { return s } }, CheckCheckpoint},
		"a checkpoint whose size has a leading zero": {func(d *draft) {
			d.checkpoint = func(s string) string { return d.note(strings.Replace(s, "\n7\n", "\n07\n", 1)) }
		}, CheckCheckpoint},
		"a checkpoint of a smaller tree": {func(d *draft) {
			d.checkpoint = func(s string) string { return d.note(strings.Replace(s, "\n7\n", "\n6\n", 1)) }
		}, CheckCheckpoint},
		"a uuid of another leaf":                            {func(d *draft) { d.uuid = "00e03ccf0b5aa5f1" + strings.Repeat("0", 64) }, CheckLeaf},
		"a uuid of 64 hex of another leaf":                  {func(d *draft) { d.uuid = strings.Repeat("0", 64) }, CheckLeaf},
		"a uuid of 79 hex":                                  {func(d *draft) { d.uuid = strings.Repeat("0", 79) }, CheckUUID},
		"a uuid in upper case":                              {func(d *draft) { d.uuid = strings.Repeat("A", 80) }, CheckUUID},
		"an empty uuid in another place of the file system": {func(d *draft) { d.uuid = "../" + strings.Repeat("0", 61) }, CheckUUID},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDraft()
			trusted := d.log()
			tc.change(d)
			uuid, document := d.build()
			e, err := VerifyEntry(uuid, document, testAnchored, []Log{trusted})
			if tc.want == accepted {
				if err != nil {
					t.Fatal(err)
				}
				if key, der, _ := ParsePublicKeyPEM(ownPEM); !bytes.Equal(e.SubmitterDER, der) || !key.Equal(&d.submitter.PublicKey) {
					t.Error("the submitter's key is not the one that signed")
				}
				return
			}
			wantCheck(t, err, tc.want)
		})
	}
}

func TestSection10TreeIDOfAnOriginWithoutOneRefusesALongUUIDOnly(t *testing.T) {
	d := newDraft()
	d.origin = "log.test"
	uuid, document := d.build()
	_, err := VerifyEntry(uuid, document, testAnchored, []Log{d.log()})
	wantCheck(t, err, CheckTreeID)
	short := bytes.Replace(document, []byte(uuid), []byte(uuid[16:]), 1)
	if _, err := VerifyEntry(uuid[16:], short, testAnchored, []Log{d.log()}); err != nil {
		t.Fatal(err)
	}
}

func TestSection10OriginIsAskedOnlyWhenTrustNamesOne(t *testing.T) {
	d := newDraft()
	uuid, document := d.build()
	anyOrigin, wrong, right := d.log(), d.log(), d.log()
	anyOrigin.Origin, wrong.Origin, right.Name = "", "log.test - 1", "second of two with one key"
	if _, err := VerifyEntry(uuid, document, testAnchored, []Log{anyOrigin}); err != nil {
		t.Error(err)
	}
	_, err := VerifyEntry(uuid, document, testAnchored, []Log{wrong})
	wantCheck(t, err, CheckCheckpoint)
	e, err := VerifyEntry(uuid, document, testAnchored, []Log{wrong, right})
	if err != nil {
		t.Fatal(err)
	}
	if e.Log.Name != right.Name {
		t.Errorf("log %q, want %q", e.Log.Name, right.Name)
	}
	_, err = VerifyEntry(uuid, document, testAnchored, nil)
	wantCheck(t, err, CheckLogID)
	_, err = VerifyEntry(uuid, document, testAnchored, []Log{{Name: "no key"}})
	wantCheck(t, err, CheckLogID)
}
