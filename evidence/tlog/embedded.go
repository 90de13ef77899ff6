package tlog

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
)

// Appender is a log that takes entries: a [Client] of one elsewhere, or an [Embedded] one in this process.
type Appender interface {
	// Submit signs the 64 lower-case hex characters anchoredHex with signer, whose key must be on P-256, and logs the
	// signature. It returns the entry's uuid and the document {"<uuid>": …} that VerifyEntry takes. Submitting the
	// same hash with the same key again returns the entry that is there. Signer.Sign is called with nil for
	// randomness, by which *ecdsa.PrivateKey makes RFC 6979 signatures.
	Submit(ctx context.Context, anchoredHex string, signer crypto.Signer) (uuid string, document []byte, err error)
	// Entry returns the document of a logged entry with a current inclusion proof. The error wraps ErrNotFound when
	// the log has none of that uuid.
	Entry(ctx context.Context, uuid string) ([]byte, error)
}

var (
	_ Appender = (*Client)(nil)
	_ Appender = (*Embedded)(nil)
)

// maxQueue bounds the submissions that wait for the store.
const maxQueue = 4096

// errBusy says that maxQueue submissions wait.
var errBusy = errors.New("too many submissions wait for the log's store, try again")

// Embedded is an append-only log in this process. Its methods and its HTTP interface may be used at once by any number
// of goroutines; submissions that arrive together are stored together.
type Embedded struct {
	store  Store
	key    *ecdsa.PrivateKey
	keyPEM string
	logID  string
	name   string
	origin string
	treeID uint64
	clock  func() time.Time

	turn  chan struct{} // held by the one that writes; guards stale
	stale bool          // the store may hold more than is known here

	mu         sync.RWMutex // guards what follows
	tree       tree         // beyond size while an append is under way
	size       uint64
	root       [32]byte
	checkpoint string
	byLeaf     map[[32]byte]uint64
	queue      []*submission
	waiting    map[[32]byte]*submission
	lastErr    error
}

// submission is an entry on its way into the store.
type submission struct {
	leaf [32]byte
	body []byte
	done chan struct{} // closed when err says how it ended
	err  error
}

// OpenEmbedded opens the log kept in store, which the caller may share with nobody. The log's name is name, without
// spaces and plus signs, such as "log.prova.local"; its checkpoints' first line is "<name> - <treeID>". A store that
// was used before must be opened with the same key, name and tree id, and must hold the tree that its last checkpoint
// names: otherwise the error wraps [ErrCorrupt] or says which of them differs. Clock gives the entries' times.
func OpenEmbedded(ctx context.Context, store Store, key *ecdsa.PrivateKey, name string, treeID uint64, clock func() time.Time) (*Embedded, error) {
	if store == nil || key == nil || clock == nil {
		return nil, errors.New("embedded log: store, key and clock are required")
	}
	if !validKeyName(name) {
		return nil, fmt.Errorf("embedded log: name %q: want one without white space and plus signs", name)
	}
	if treeID == 0 {
		return nil, errors.New("embedded log: tree id 0: choose a number from 1 on and keep it")
	}
	e := &Embedded{
		store: store, key: key, name: name, treeID: treeID, clock: clock,
		origin:  name + " - " + strconv.FormatUint(treeID, 10),
		turn:    make(chan struct{}, 1),
		byLeaf:  make(map[[32]byte]uint64),
		waiting: make(map[[32]byte]*submission),
	}
	var err error
	if e.keyPEM, err = FormatPublicKeyPEM(&key.PublicKey); err != nil {
		return nil, fmt.Errorf("embedded log: %w", err)
	}
	if e.logID, err = e.Log().ID(); err != nil {
		return nil, fmt.Errorf("embedded log: %w", err)
	}
	if err := e.load(ctx); err != nil {
		return nil, fmt.Errorf("embedded log %s: %w", name, err)
	}
	return e, nil
}

// Log returns what a verifier has to trust to accept this log's entries. It is not independent.
func (e *Embedded) Log() Log {
	return Log{Name: e.name, Key: &e.key.PublicKey, Origin: e.origin}
}

// Checkpoint returns the current tree's signed checkpoint.
func (e *Embedded) Checkpoint() string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.checkpoint
}

// Err returns why the last attempt to store entries failed, nil when it did not: the log's health.
func (e *Embedded) Err() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.lastErr
}

// Submit implements [Appender] in process. The entry is durable when it returns.
func (e *Embedded) Submit(ctx context.Context, anchoredHex string, signer crypto.Signer) (string, []byte, error) {
	h, err := sign(anchoredHex, signer)
	if err != nil {
		return "", nil, err
	}
	leaf, _, err := e.add(ctx, h)
	if err != nil {
		return "", nil, fmt.Errorf("embedded log %s: %w", e.name, err)
	}
	uuid := e.uuid(leaf)
	document, err := e.Entry(ctx, uuid)
	return uuid, document, err
}

// Entry implements [Appender] in process. A uuid of 64 hex finds the entry too, in a document named by its 80 hex, as
// Rekor does.
func (e *Embedded) Entry(ctx context.Context, uuid string) ([]byte, error) {
	index, err := e.find(uuid)
	if err != nil {
		return nil, err
	}
	_, document, err := e.document(ctx, index)
	return document, err
}

func (e *Embedded) uuid(leaf [32]byte) string {
	return fmt.Sprintf("%016x%x", e.treeID, leaf)
}

func (e *Embedded) find(uuid string) (uint64, error) {
	if !validUUID(uuid) {
		return 0, fmt.Errorf("uuid %s is not 64 or 80 lower-case hex", excerpt(uuid))
	}
	leaf, err := parseHash(uuid[len(uuid)-64:])
	if err != nil {
		return 0, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	index, ok := e.byLeaf[leaf]
	if !ok || len(uuid) == 80 && uuid != e.uuid(leaf) {
		return 0, fmt.Errorf("log entry %s: %w", uuid, ErrNotFound)
	}
	return index, nil
}

// document makes the answer for an entry, with a proof in the current tree.
func (e *Embedded) document(ctx context.Context, index uint64) (uuid string, document []byte, err error) {
	e.mu.RLock()
	if index >= e.size {
		size := e.size
		e.mu.RUnlock()
		return "", nil, fmt.Errorf("log entry %d of %d: %w", index, size, ErrNotFound)
	}
	path, err := e.tree.inclusion(index, e.size)
	leaf, size, root, checkpoint := e.tree.levels[0][index], e.size, e.root, e.checkpoint
	e.mu.RUnlock()
	if err != nil {
		return "", nil, err
	}
	r, err := e.store.Read(ctx, index)
	if err != nil {
		return "", nil, err
	}
	if merkle.LeafHash(r.Body) != leaf {
		return "", nil, fmt.Errorf("log entry %d: %w: its body is not the one in the tree", index, ErrCorrupt)
	}
	body := base64.StdEncoding.EncodeToString(r.Body)
	digest := entryTimestampDigest(body, r.IntegratedTime, e.logID, int64(index))
	timestamp, err := e.key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return "", nil, fmt.Errorf("log entry %d: sign: %w", index, err)
	}
	uuid = e.uuid(leaf)
	return uuid, canonjson.Compact(canonjson.NewObject(uuid, canonjson.NewObject(
		"body", body,
		"integratedTime", intValue(r.IntegratedTime),
		"logID", e.logID,
		"logIndex", intValue(int64(index)),
		"verification", canonjson.NewObject(
			"inclusionProof", canonjson.NewObject(
				"checkpoint", checkpoint,
				"hashes", hexList(path),
				"logIndex", intValue(int64(index)),
				"rootHash", hex.EncodeToString(root[:]),
				"treeSize", intValue(int64(size)),
			),
			"signedEntryTimestamp", base64.StdEncoding.EncodeToString(timestamp),
		),
	))), nil
}

func hexList(hashes [][32]byte) []any {
	out := make([]any, len(hashes))
	for i, h := range hashes {
		out[i] = hex.EncodeToString(h[:])
	}
	return out
}
