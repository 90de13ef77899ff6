package tlog

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
)

// Entry is a log entry that passed every check of [VerifyEntry].
type Entry struct {
	// UUID is the name under which the entry was asked for: 64 or 80 lower-case hex.
	UUID string
	// Index is the global index, which counts over all trees of the log; LeafIndex counts within the entry's tree.
	Index int64
	// IntegratedTime is when the log says it took the entry, in UTC with a precision of one second. Only the log
	// vouches for it.
	IntegratedTime time.Time
	// LogID is the SHA-256 of the log key's DER, lower-case hex.
	LogID string
	// SubmitterDER is the SubjectPublicKeyInfo of the key that signed the entry. Whose key it is, the caller decides.
	SubmitterDER []byte
	// Log is the trusted log that holds the entry: a pointer to a copy of the caller's element.
	Log *Log
	// TreeSize, LeafIndex and Root describe the tree in which inclusion was proven.
	TreeSize, LeafIndex uint64
	Root                [32]byte
	// LeafHash is the RFC 6962 hash of the entry's body.
	LeafHash [32]byte
	// Checkpoint is the log's signed statement of that tree.
	Checkpoint *Checkpoint
}

// Check names one of the checks of [VerifyEntry].
type Check string

// The checks, in the order in which they are made.
const (
	CheckUUID           Check = "uuid"                   // form of the uuid
	CheckDocument       Check = "document"               // strict JSON, one member named as the uuid, members of the right type
	CheckBody           Check = "body"                   // canonical base64 of a strict JSON hashedrekord
	CheckArtifact       Check = "artifact"               // the entry is about the anchored hash
	CheckEntrySignature Check = "entry signature"        // by the entry's own key over the anchored hash
	CheckLogID          Check = "log id"                 // names a trusted log
	CheckEntryTimestamp Check = "signed entry timestamp" // by the log over body, time, log id and index
	CheckInclusion      Check = "inclusion"              // the body is a leaf of the tree
	CheckCheckpoint     Check = "checkpoint"             // the log signed that tree
	CheckLeaf           Check = "uuid leaf"              // the uuid ends in the leaf hash
	CheckTreeID         Check = "uuid tree id"           // an 80-hex uuid starts with the checkpoint's tree id
)

// EntryError says which check refused an entry, and why.
type EntryError struct {
	Check Check
	Err   error
}

// Error names the check, then its cause.
func (e *EntryError) Error() string { return "log entry: " + string(e.Check) + ": " + e.Err.Error() }

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *EntryError) Unwrap() error { return e.Err }

// VerifyEntry checks that document, as fetched from a log under uuid, proves that anchoredHex (64 lower-case hex) was
// signed and logged in one of logs. It makes every check of the bundle format's section 10, "Log entry", but the
// attribution of the entry's key to an issuer, for which the result has SubmitterDER. Every error is an [*EntryError].
func VerifyEntry(uuid string, document []byte, anchoredHex string, logs []Log) (*Entry, error) {
	v := &verification{uuid: uuid, anchored: anchoredHex, logs: logs, out: &Entry{UUID: uuid}}
	for _, step := range []struct {
		check Check
		run   func() error
	}{
		{CheckUUID, v.checkUUID},
		{CheckDocument, func() error { return v.readDocument(document) }},
		{CheckBody, v.readBody},
		{CheckArtifact, v.checkArtifact},
		{CheckEntrySignature, v.checkEntrySignature},
		{CheckLogID, v.findLogs},
		{CheckEntryTimestamp, v.checkEntryTimestamp},
		{CheckInclusion, v.checkInclusion},
		{CheckCheckpoint, v.checkCheckpoint},
		{CheckLeaf, v.checkLeaf},
		{CheckTreeID, v.checkTreeID},
	} {
		if err := step.run(); err != nil {
			return nil, &EntryError{Check: step.check, Err: err}
		}
	}
	return v.out, nil
}

// verification is one run of VerifyEntry: what was read so far.
type verification struct {
	uuid, anchored string
	logs           []Log

	entry      *canonjson.Object // the one member's value
	body       string            // base64 as in the document
	leaf       []byte            // decoded body
	record     *hashedRekord
	candidates []Log // trusted logs with the entry's log id
	proof      *canonjson.Object
	out        *Entry
}

func validUUID(uuid string) bool { return isHex(uuid, 64) || isHex(uuid, 80) }

func (v *verification) checkUUID() error {
	if !validUUID(v.uuid) {
		return fmt.Errorf("%s is not 64 or 80 lower-case hex", excerpt(v.uuid))
	}
	return nil
}

func (v *verification) readDocument(document []byte) error {
	value, err := canonjson.ParseStrict(document)
	if err != nil {
		return err
	}
	root, err := as[*canonjson.Object](value, "")
	if err != nil {
		return err
	}
	if root.Len() != 1 {
		return fmt.Errorf("%d members, want exactly one named as the uuid", root.Len())
	}
	if name := root.Names()[0]; name != v.uuid {
		return fmt.Errorf("its member is named %s, want the uuid %s", excerpt(name), v.uuid)
	}
	if v.entry, err = member[*canonjson.Object](root, "", v.uuid); err != nil {
		return err
	}
	if v.body, err = member[string](v.entry, "", "body"); err != nil {
		return err
	}
	if v.out.LogID, err = member[string](v.entry, "", "logID"); err != nil {
		return err
	}
	seconds, err := integerMember(v.entry, "", "integratedTime")
	if err != nil {
		return err
	}
	v.out.IntegratedTime = time.Unix(seconds, 0).UTC()
	v.out.Index, err = integerMember(v.entry, "", "logIndex")
	return err
}

func (v *verification) readBody() error {
	var err error
	if v.leaf, err = decodeBase64(v.body); err != nil {
		return err
	}
	value, err := canonjson.ParseStrict(v.leaf)
	if err != nil {
		return err
	}
	if v.record, err = parseHashedRekord(value); err != nil {
		return err
	}
	v.out.SubmitterDER = v.record.keyDER
	v.out.LeafHash = merkle.LeafHash(v.leaf)
	return nil
}

func (v *verification) checkArtifact() error {
	if !isHex(v.anchored, 64) {
		return fmt.Errorf("the anchored hash %s is not 64 lower-case hex", excerpt(v.anchored))
	}
	if want := sha256.Sum256([]byte(v.anchored)); v.record.hash != want {
		return fmt.Errorf("the entry is about %x, want %x, the SHA-256 of the text %s", v.record.hash, want, v.anchored)
	}
	return nil
}

func (v *verification) checkEntrySignature() error { return v.record.verify() }

// findLogs keeps the trusted logs that the entry names. Two of them may have one key and differ in origin.
func (v *verification) findLogs() error {
	for _, l := range v.logs {
		id, err := l.ID()
		if err != nil {
			return err
		}
		if id == v.out.LogID {
			v.candidates = append(v.candidates, l)
		}
	}
	if len(v.candidates) == 0 {
		return fmt.Errorf("/logID: %s is none of the %d trusted logs", excerpt(v.out.LogID), len(v.logs))
	}
	return nil
}

func (v *verification) checkEntryTimestamp() error {
	proof, err := member[*canonjson.Object](v.entry, "", "verification")
	if err != nil {
		return err
	}
	encoded, err := member[string](proof, "/verification", "signedEntryTimestamp")
	if err != nil {
		return err
	}
	signature, err := decodeBase64(encoded)
	if err != nil {
		return fmt.Errorf("/verification/signedEntryTimestamp: %w", err)
	}
	digest := entryTimestampDigest(v.body, v.out.IntegratedTime.Unix(), v.out.LogID, v.out.Index)
	if !ecdsa.VerifyASN1(v.candidates[0].Key, digest[:], signature) {
		return errors.New("/verification/signedEntryTimestamp: not a DER ECDSA signature by the log over body, integratedTime, logID and logIndex")
	}
	return nil
}

// entryTimestampDigest is what a log signs as its promise to include an entry: the canonical JSON of four members.
func entryTimestampDigest(body string, integrated int64, logID string, index int64) [32]byte {
	return canonjson.Sum(canonjson.NewObject(
		"body", body,
		"integratedTime", intValue(integrated),
		"logID", logID,
		"logIndex", intValue(index),
	))
}

func intValue(n int64) canonjson.Int { return canonjson.Int(strconv.FormatInt(n, 10)) }

func (v *verification) checkInclusion() error {
	const at = "/verification/inclusionProof"
	outer, err := member[*canonjson.Object](v.entry, "", "verification")
	if err != nil {
		return err
	}
	proof, err := member[*canonjson.Object](outer, "/verification", "inclusionProof")
	if err != nil {
		return err
	}
	v.proof = proof
	index, err := integerMember(proof, at, "logIndex")
	if err != nil {
		return err
	}
	size, err := integerMember(proof, at, "treeSize")
	if err != nil {
		return err
	}
	if index < 0 || index >= size {
		return fmt.Errorf("%s/logIndex: %d is not within the tree of size %d", at, index, size)
	}
	v.out.LeafIndex, v.out.TreeSize = uint64(index), uint64(size)
	path, err := readPath(proof, at, merkle.PathLength(v.out.LeafIndex, v.out.TreeSize))
	if err != nil {
		return err
	}
	root, err := member[string](proof, at, "rootHash")
	if err != nil {
		return err
	}
	if v.out.Root, err = parseHash(root); err != nil {
		return fmt.Errorf("%s/rootHash: %w", at, err)
	}
	if err := merkle.Verify(v.out.LeafHash, v.out.LeafIndex, v.out.TreeSize, path, v.out.Root); err != nil {
		return fmt.Errorf("%s: leaf %d of %d: %w", at, index, size, err)
	}
	return nil
}

func readPath(proof *canonjson.Object, at string, want int) ([][32]byte, error) {
	hashes, err := member[[]any](proof, at, "hashes")
	if err != nil {
		return nil, err
	}
	if len(hashes) != want {
		return nil, fmt.Errorf("%s/hashes: %d of them, this leaf has exactly %d", at, len(hashes), want)
	}
	path := make([][32]byte, len(hashes))
	for i, h := range hashes {
		pointer := at + "/hashes/" + strconv.Itoa(i)
		text, err := as[string](h, pointer)
		if err != nil {
			return nil, err
		}
		if path[i], err = parseHash(text); err != nil {
			return nil, fmt.Errorf("%s: %w", pointer, err)
		}
	}
	return path, nil
}

func (v *verification) checkCheckpoint() error {
	text, err := member[string](v.proof, "/verification/inclusionProof", "checkpoint")
	if err != nil {
		return err
	}
	c, err := ParseCheckpoint(text)
	if err != nil {
		return err
	}
	v.out.Checkpoint = c
	if c.Size != v.out.TreeSize {
		return fmt.Errorf("it is of a tree of size %d, the inclusion proof of one of size %d", c.Size, v.out.TreeSize)
	}
	if c.Root != v.out.Root {
		return fmt.Errorf("its root is %x, the inclusion proof's %x", c.Root, v.out.Root)
	}
	for i := range v.candidates {
		l := v.candidates[i]
		if l.Origin == "" || l.Origin == c.Origin {
			v.out.Log = &l
			return c.SignedBy(l.Key)
		}
	}
	return fmt.Errorf("its origin is %s, want %q", excerpt(c.Origin), v.candidates[0].Origin)
}

func (v *verification) checkLeaf() error {
	leaf := hex.EncodeToString(v.out.LeafHash[:])
	if v.uuid[len(v.uuid)-64:] != leaf {
		return fmt.Errorf("the uuid ends in %s, the entry's leaf hash is %s", v.uuid[len(v.uuid)-64:], leaf)
	}
	return nil
}

func (v *verification) checkTreeID() error {
	if len(v.uuid) != 80 {
		return nil
	}
	id, err := v.out.Checkpoint.TreeID()
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%016x", id); v.uuid[:16] != want {
		return fmt.Errorf("the uuid starts with %s, the checkpoint's tree id is %d (%s)", v.uuid[:16], id, want)
	}
	return nil
}
