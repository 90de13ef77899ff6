package tlog

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
)

const testTree = 63117254729573873

func testClock() time.Time { return time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC) }

func openLog(t testing.TB, s Store) *Embedded {
	t.Helper()
	e, err := OpenEmbedded(t.Context(), s, testKey(21), "log.prova.local", testTree, testClock)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// anchoredHash returns the n-th hash that tests log.
func anchoredHash(n int) string {
	h := merkle.LeafHash(fmt.Appendf(nil, "anchored %d", n))
	return hex.EncodeToString(h[:])
}

func submit(t testing.TB, a Appender, n int) (uuid string, document []byte) {
	t.Helper()
	uuid, document, err := a.Submit(t.Context(), anchoredHash(n), testKey(7))
	if err != nil {
		t.Fatal(err)
	}
	return uuid, document
}

func verify(t testing.TB, uuid string, document []byte, n int, l Log) *Entry {
	t.Helper()
	e, err := VerifyEntry(uuid, document, anchoredHash(n), []Log{l})
	if err != nil {
		t.Fatalf("entry %d: %v\n%s", n, err, document)
	}
	return e
}

func TestEmbeddedEntriesVerifyNowAndAsTheLogGrows(t *testing.T) {
	e := openLog(t, openStore(t, t.TempDir()))
	var uuids []string
	for n := range 20 {
		uuid, document := submit(t, e, n)
		entry := verify(t, uuid, document, n, e.Log())
		if entry.TreeSize != uint64(n+1) || entry.LeafIndex != uint64(n) || entry.Index != int64(n) {
			t.Fatalf("entry %d: leaf %d of %d, index %d", n, entry.LeafIndex, entry.TreeSize, entry.Index)
		}
		if !entry.IntegratedTime.Equal(testClock()) || entry.Log.Independent {
			t.Fatalf("time %v, independent %v", entry.IntegratedTime, entry.Log.Independent)
		}
		uuids = append(uuids, uuid)
		for earlier, uuid := range uuids {
			document, err := e.Entry(t.Context(), uuid)
			if err != nil {
				t.Fatal(err)
			}
			if got := verify(t, uuid, document, earlier, e.Log()); got.TreeSize != uint64(n+1) {
				t.Fatalf("entry %d carries a proof of size %d, the log has %d", earlier, got.TreeSize, n+1)
			}
		}
	}
	again, document := submit(t, e, 3)
	if again != uuids[3] {
		t.Errorf("submitted again it is %s, was %s", again, uuids[3])
	}
	verify(t, again, document, 3, e.Log())
	if size := openedCheckpoint(t, e).Size; size != 20 {
		t.Errorf("the log has %d entries, want 20", size)
	}
}

func openedCheckpoint(t testing.TB, e *Embedded) *Checkpoint {
	t.Helper()
	c, err := ParseCheckpoint(e.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SignedBy(e.Log().Key); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEmbeddedSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	documents := map[string][]byte{}
	var uuids []string
	checkpoint := ""
	for round := range 4 {
		s := openStore(t, dir)
		e := openLog(t, s)
		if round > 0 && e.Checkpoint() != checkpoint {
			t.Fatalf("checkpoint after the restart:\n%swas:\n%s", e.Checkpoint(), checkpoint)
		}
		for n, uuid := range uuids {
			document, err := e.Entry(t.Context(), uuid)
			if err != nil {
				t.Fatal(err)
			}
			verify(t, uuid, document, n, e.Log())
			if last := documents[uuid]; last != nil && !bytes.Equal(document, last) {
				t.Fatalf("entry %d reads otherwise after the restart:\n%s\n%s", n, document, last)
			}
		}
		for range 3 {
			uuid, _ := submit(t, e, len(uuids))
			uuids = append(uuids, uuid)
		}
		for _, uuid := range uuids {
			documents[uuid], _ = e.Entry(t.Context(), uuid)
		}
		checkpoint = e.Checkpoint()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmbeddedReopensOnlyWithItsOwnKeyNameAndTree(t *testing.T) {
	store := new(MemoryStore)
	openLog(t, store) // an empty log is bound already
	for name, tc := range map[string]struct {
		key   *ecdsa.PrivateKey
		name  string
		tree  uint64
		fault string
	}{
		"another key":  {testKey(22), "log.prova.local", testTree, "another key"},
		"another name": {testKey(21), "log2.prova.local", testTree, "name and tree id"},
		"another tree": {testKey(21), "log.prova.local", testTree + 1, "name and tree id"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenEmbedded(t.Context(), store, tc.key, tc.name, tc.tree, testClock)
			if err == nil || !strings.Contains(err.Error(), tc.fault) {
				t.Fatalf("got %v, want an error about %q", err, tc.fault)
			}
		})
	}
	openLog(t, store)
}

func TestEmbeddedRefusesToOpenWithoutWhatItNeeds(t *testing.T) {
	ctx, s, key := t.Context(), new(MemoryStore), testKey(1)
	for name, open := range map[string]func() (*Embedded, error){
		"no store":            func() (*Embedded, error) { return OpenEmbedded(ctx, nil, key, "l", 1, testClock) },
		"no key":              func() (*Embedded, error) { return OpenEmbedded(ctx, s, nil, "l", 1, testClock) },
		"no clock":            func() (*Embedded, error) { return OpenEmbedded(ctx, s, key, "l", 1, nil) },
		"no name":             func() (*Embedded, error) { return OpenEmbedded(ctx, s, key, "", 1, testClock) },
		"a name with a space": func() (*Embedded, error) { return OpenEmbedded(ctx, s, key, "my log", 1, testClock) },
		"a name with a plus":  func() (*Embedded, error) { return OpenEmbedded(ctx, s, key, "a+b", 1, testClock) },
		"two lines":           func() (*Embedded, error) { return OpenEmbedded(ctx, s, key, "a\nb", 1, testClock) },
		"tree zero":           func() (*Embedded, error) { return OpenEmbedded(ctx, s, key, "l", 0, testClock) },
	} {
		if _, err := open(); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// TestEmbeddedReopeningChecksTheStoredTreeAgainstTheLastCheckpoint changes a store as no honest one changes.
func TestEmbeddedReopeningChecksTheStoredTreeAgainstTheLastCheckpoint(t *testing.T) {
	for name, change := range map[string]func(*MemoryStore){
		"a body changed":                func(s *MemoryStore) { s.records[2].Body[5] ^= 1 },
		"two records exchanged":         func(s *MemoryStore) { s.records[0], s.records[4] = s.records[4], s.records[0] },
		"the last record gone":          func(s *MemoryStore) { s.records = s.records[:4] },
		"the checkpoint gone":           func(s *MemoryStore) { s.checkpoint = "" },
		"the checkpoint cut":            func(s *MemoryStore) { s.checkpoint = s.checkpoint[:20] },
		"the checkpoint's root changed": func(s *MemoryStore) { s.checkpoint = strings.Replace(s.checkpoint, "\n5\n", "\n4\n", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			store := new(MemoryStore)
			e := openLog(t, store)
			for n := range 5 {
				submit(t, e, n)
			}
			change(store)
			_, err := OpenEmbedded(t.Context(), store, testKey(21), "log.prova.local", testTree, testClock)
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v, want ErrCorrupt", err)
			}
		})
	}
}

func TestEmbeddedFindsABodyThatChangedUnderIt(t *testing.T) {
	store := new(MemoryStore)
	e := openLog(t, store)
	uuid, _ := submit(t, e, 0)
	store.records[0].Body[3] ^= 1
	if _, err := e.Entry(t.Context(), uuid); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v, want ErrCorrupt", err)
	}
}

func TestEmbeddedEntryNames(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	uuid, document := submit(t, e, 0)
	short, err := e.Entry(t.Context(), uuid[16:])
	if err != nil || !bytes.Equal(short, document) {
		t.Errorf("by its leaf hash: %v\n%s", err, short)
	}
	for name, missing := range map[string]string{
		"another tree":      "0000000000000001" + uuid[16:],
		"another leaf":      uuid[:16] + strings.Repeat("0", 64),
		"another leaf hash": strings.Repeat("0", 64),
	} {
		if _, err := e.Entry(t.Context(), missing); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	for _, bad := range []string{"", "x", strings.ToUpper(uuid), uuid + "0", "../" + uuid[3:]} {
		if _, err := e.Entry(t.Context(), bad); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, want a refusal of the form", bad, err)
		}
	}
}

func TestSubmitRefusesWhatCannotBeLogged(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	for name, hash := range map[string]string{
		"empty": "", "upper case": strings.ToUpper(anchoredHash(1)), "short": anchoredHash(1)[1:], "prefixed": "sha256:" + anchoredHash(1),
	} {
		if _, _, err := e.Submit(t.Context(), hash, testKey(7)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, _, err := e.Submit(t.Context(), anchoredHash(1), nil); err == nil {
		t.Error("no signer: accepted")
	}
	if openedCheckpoint(t, e).Size != 0 {
		t.Error("something was logged")
	}
}

func TestEmbeddedConcurrentSubmissionsAreEachLoggedOnce(t *testing.T) {
	store := &countingStore{Store: openStore(t, t.TempDir())}
	e := openLog(t, store)
	const writers, each = 8, 12
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				// Every hash is submitted by two writers at about the same time.
				n := w/2*each + i
				uuid, document, err := e.Submit(t.Context(), anchoredHash(n), testKey(7))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := VerifyEntry(uuid, document, anchoredHash(n), []Log{e.Log()}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if size := openedCheckpoint(t, e).Size; size != writers/2*each {
		t.Errorf("%d entries, want %d", size, writers/2*each)
	}
	records, _, err := store.State(t.Context())
	if err != nil || records != writers/2*each {
		t.Errorf("%d records, %v", records, err)
	}
	if overlapping := store.overlapping; overlapping > 0 {
		t.Errorf("%d appends overlapped", overlapping)
	}
}

// countingStore fails appends on demand, and watches that none overlap.
type countingStore struct {
	Store
	mu          sync.Mutex
	active      int
	overlapping int
	fail        func(first uint64, records []Record) error // before the append
	lost        error                                      // answer instead of success
	hold        chan struct{}                              // an append waits until it can receive
}

func (s *countingStore) Append(ctx context.Context, first uint64, records []Record, checkpoint string) error {
	s.mu.Lock()
	if s.active++; s.active > 1 {
		s.overlapping++
	}
	fail, lost, hold := s.fail, s.lost, s.hold
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.active--
		s.mu.Unlock()
	}()
	if hold != nil {
		<-hold
	}
	if fail != nil {
		if err := fail(first, records); err != nil {
			return err
		}
	}
	if err := s.Store.Append(ctx, first, records, checkpoint); err != nil {
		return err
	}
	return lost
}

func (s *countingStore) set(change func(*countingStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func TestEmbeddedAnAppendThatFailsLeavesNoTrace(t *testing.T) {
	full := errors.New("no space left")
	store := &countingStore{Store: new(MemoryStore)}
	e := openLog(t, store)
	first, _ := submit(t, e, 0)
	checkpoint := e.Checkpoint()
	store.set(func(s *countingStore) { s.fail = func(uint64, []Record) error { return full } })
	for range 3 {
		if _, _, err := e.Submit(t.Context(), anchoredHash(1), testKey(7)); !errors.Is(err, full) {
			t.Fatalf("got %v, want the store's error", err)
		}
	}
	if !errors.Is(e.Err(), full) {
		t.Errorf("health: %v", e.Err())
	}
	if e.Checkpoint() != checkpoint {
		t.Error("the checkpoint moved")
	}
	document, err := e.Entry(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, first, document, 0, e.Log())
	store.set(func(s *countingStore) { s.fail = nil })
	uuid, document := submit(t, e, 1)
	if got := verify(t, uuid, document, 1, e.Log()); got.LeafIndex != 1 || got.TreeSize != 2 {
		t.Errorf("leaf %d of %d, want 1 of 2", got.LeafIndex, got.TreeSize)
	}
	if e.Err() != nil {
		t.Errorf("health after success: %v", e.Err())
	}
}

// TestEmbeddedAnAppendWhoseAnswerIsLostCountsAsDone is a database that commits and then cannot say so.
func TestEmbeddedAnAppendWhoseAnswerIsLostCountsAsDone(t *testing.T) {
	store := &countingStore{Store: new(MemoryStore)}
	e := openLog(t, store)
	store.set(func(s *countingStore) { s.lost = errors.New("connection reset") })
	uuid, document := submit(t, e, 0)
	store.set(func(s *countingStore) { s.lost = nil })
	verify(t, uuid, document, 0, e.Log())
	submit(t, e, 1)
	if size := openedCheckpoint(t, e).Size; size != 2 {
		t.Errorf("%d entries, want 2", size)
	}
}

// TestEmbeddedTakesInWhatAnotherWriterAppended is two processes on one database.
func TestEmbeddedTakesInWhatAnotherWriterAppended(t *testing.T) {
	store := new(MemoryStore)
	a, b := openLog(t, store), openLog(t, store)
	for n := range 10 {
		writer := a
		if n%2 == 1 {
			writer = b
		}
		uuid, document := submit(t, writer, n)
		if got := verify(t, uuid, document, n, a.Log()); got.LeafIndex != uint64(n) {
			t.Fatalf("entry %d is leaf %d", n, got.LeafIndex)
		}
	}
	// The same entry by both, while neither knows of the other's.
	first, _ := submit(t, a, 10)
	second, document := submit(t, b, 10)
	if first != second {
		t.Errorf("one entry under two uuids: %s, %s", first, second)
	}
	if got := verify(t, second, document, 10, b.Log()); got.TreeSize != 11 {
		t.Errorf("tree of %d, want 11", got.TreeSize)
	}
}

func TestEmbeddedACallerThatGoesAwayDoesNotTakeOthersAlong(t *testing.T) {
	store := &countingStore{Store: new(MemoryStore), hold: make(chan struct{})}
	close(store.hold) // opening appends the empty checkpoint
	e := openLog(t, store)
	hold := make(chan struct{})
	store.set(func(s *countingStore) { s.hold = hold })

	ctx, cancel := context.WithCancel(t.Context())
	leader, follower, waiter := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { _, _, err := e.Submit(ctx, anchoredHash(0), testKey(7)); leader <- err }()
	waitFor(t, func() bool { store.mu.Lock(); defer store.mu.Unlock(); return store.active == 1 })
	go func() { _, _, err := e.Submit(t.Context(), anchoredHash(1), testKey(7)); follower <- err }()
	go func() { _, _, err := e.Submit(ctx, anchoredHash(2), testKey(7)); waiter <- err }()
	waitFor(t, func() bool { e.mu.RLock(); defer e.mu.RUnlock(); return len(e.queue) == 2 })
	cancel()
	if err := <-waiter; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that waits: %v, want context.Canceled", err)
	}
	close(hold)
	<-leader // its entry is stored; only reading it back may fail under its context
	if err := <-follower; err != nil {
		t.Errorf("the one behind it: %v", err)
	}
	if size := openedCheckpoint(t, e).Size; size != 3 {
		t.Errorf("%d entries, want 3: what waited is logged with the next", size)
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited ten seconds in vain")
		}
	}
}

func TestRFC6962TreeProofsOfEverySize(t *testing.T) {
	var tr tree
	var leaves [][32]byte
	hasher := rfc6962.DefaultHasher
	if tr.root(0) != [32]byte(hasher.EmptyRoot()) {
		t.Error("root of the empty tree")
	}
	for n := range 40 {
		leaf := merkle.LeafHash([]byte{byte(n)})
		leaves = append(leaves, leaf)
		tr.add(merkle.LeafHash([]byte("taken back")))
		tr.truncate(uint64(n))
		tr.add(leaf)
	}
	for size := 1; size <= len(leaves); size++ {
		root := tr.root(uint64(size))
		if want, err := merkle.Root(leaves[:size]); err != nil || root != want {
			t.Fatalf("root of %d: %x, want %x, %v", size, root, want, err)
		}
		for index := range size {
			path, err := tr.inclusion(uint64(index), uint64(size))
			if err != nil {
				t.Fatal(err)
			}
			if err := merkle.Verify(leaves[index], uint64(index), uint64(size), path, root); err != nil {
				t.Fatalf("leaf %d of %d: %v", index, size, err)
			}
			hashes, err := tr.consistency(uint64(index+1), uint64(size))
			if err != nil {
				t.Fatal(err)
			}
			raw := make([][]byte, len(hashes))
			for i := range hashes {
				raw[i] = hashes[i][:]
			}
			old := tr.root(uint64(index + 1))
			if err := proof.VerifyConsistency(hasher, uint64(index+1), uint64(size), raw, old[:], root[:]); err != nil {
				t.Fatalf("consistency of %d and %d: %v", index+1, size, err)
			}
		}
	}
	if _, err := tr.inclusion(0, 41); err == nil {
		t.Error("inclusion beyond the tree")
	}
	if _, err := tr.inclusion(5, 5); err == nil {
		t.Error("inclusion of a leaf that is not there")
	}
	if _, err := tr.consistency(1, 41); err == nil {
		t.Error("consistency beyond the tree")
	}
}

func TestEmbeddedBodyIsTheCanonicalEntry(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	_, document := submit(t, e, 0)
	v, err := canonjson.ParseStrict(document)
	if err != nil {
		t.Fatal(err)
	}
	root := v.(*canonjson.Object)
	entry, _ := root.Get(root.Names()[0])
	encoded, _ := entry.(*canonjson.Object).Get("body")
	raw, err := decodeBase64(encoded.(string))
	if err != nil {
		t.Fatal(err)
	}
	body, err := canonjson.ParseStrict(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(canonjson.Marshal(body), raw) {
		t.Errorf("not canonical: %s", raw)
	}
	if kind, _ := canonjson.Resolve(body, "/apiVersion"); kind != "0.0.1" {
		t.Errorf("version %v", kind)
	}
}
