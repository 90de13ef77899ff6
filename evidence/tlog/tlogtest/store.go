package tlogtest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/tlog"
)

// Store runs the contract against stores that open returns. Open is called with a name for the store: the same name
// within one call of Store means the same data, a new name an empty store. What it opened before under that name is not
// used any more, and open or t.Cleanup may close it.
func Store(t *testing.T, open func(t *testing.T, name string) tlog.Store) {
	t.Run("a new store is empty", func(t *testing.T) {
		wantRecords(t, open(t, "empty"), 0, "")
	})
	t.Run("records come back in order, with the last checkpoint, also after opening again", func(t *testing.T) {
		s := open(t, "order")
		for n := range 3 {
			mustAppend(t, s, n, fmt.Sprintf("checkpoint %d\n\n— ü", n), n)
		}
		mustAppend(t, s, 3, "checkpoint of several", 3, 4, 5)
		wantRecords(t, s, 6, "checkpoint of several")
		wantRecords(t, open(t, "order"), 6, "checkpoint of several")
	})
	t.Run("an append without records saves a checkpoint", func(t *testing.T) {
		s := open(t, "checkpoint")
		mustAppend(t, s, 0, "first")
		wantRecords(t, s, 0, "first")
		mustAppend(t, s, 0, "second", 0)
		mustAppend(t, s, 1, "third")
		wantRecords(t, open(t, "checkpoint"), 1, "third")
	})
	t.Run("an append at another place than the end is a conflict and changes nothing", func(t *testing.T) {
		s := open(t, "conflict")
		mustAppend(t, s, 0, "kept", 0, 1)
		for _, first := range []uint64{0, 1, 3} {
			for _, records := range [][]tlog.Record{nil, {record(7)}} {
				if err := s.Append(t.Context(), first, records, "no"); !errors.Is(err, tlog.ErrConflict) {
					t.Errorf("append of %d at %d of 2: %v, want ErrConflict", len(records), first, err)
				}
			}
		}
		wantRecords(t, s, 2, "kept")
	})
	t.Run("a scan stops at the callback's error and at the context's end", func(t *testing.T) {
		s := open(t, "scan")
		mustAppend(t, s, 0, "", 0, 1, 2)
		stop, calls := errors.New("stop"), 0
		err := s.Scan(t.Context(), 1, func(number uint64, _ tlog.Record) error {
			if calls++; number != 1 {
				t.Errorf("started at %d, want 1", number)
			}
			return stop
		})
		if !errors.Is(err, stop) || calls != 1 {
			t.Errorf("%d calls, %v; want one, and its error", calls, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Scan(ctx, 0, func(uint64, tlog.Record) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("under a cancelled context: %v", err)
		}
	})
	t.Run("an embedded log runs on it and is the same after opening again", func(t *testing.T) {
		embedded(t, open)
	})
}

func embedded(t *testing.T, open func(t *testing.T, name string) tlog.Store) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), 5))
	if err != nil {
		t.Fatal(err)
	}
	start := func() *tlog.Embedded {
		clock := func() time.Time { return time.Unix(1794071319, 0) }
		e, err := tlog.OpenEmbedded(t.Context(), open(t, "log"), key, "log.test", 9, clock)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	hash := func(n int) string {
		sum := sha256.Sum256(fmt.Append(nil, n))
		return hex.EncodeToString(sum[:])
	}
	const entries = 24
	uuids := make([]string, entries)
	for half := range 2 {
		e := start()
		var wg sync.WaitGroup
		for n := half * entries / 2; n < (half+1)*entries/2; n++ {
			wg.Go(func() {
				uuid, _, err := e.Submit(t.Context(), hash(n), key)
				if err != nil {
					t.Error(err)
				}
				uuids[n] = uuid
			})
		}
		wg.Wait()
	}
	e := start()
	for n, uuid := range uuids {
		document, err := e.Entry(t.Context(), uuid)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := tlog.VerifyEntry(uuid, document, hash(n), []tlog.Log{e.Log()})
		if err != nil {
			t.Fatal(err)
		}
		if entry.TreeSize != entries {
			t.Fatalf("a tree of %d, want %d", entry.TreeSize, entries)
		}
	}
}

func record(n int) tlog.Record {
	// Every byte value is in it: a body is bytes, not text.
	body := fmt.Appendf(nil, "body %d ", n)
	for b := range 256 {
		body = append(body, byte(b))
	}
	return tlog.Record{Body: body, IntegratedTime: int64(n) - 1}
}

func mustAppend(t *testing.T, s tlog.Store, first int, checkpoint string, numbers ...int) {
	t.Helper()
	var records []tlog.Record
	for _, n := range numbers {
		records = append(records, record(n))
	}
	if err := s.Append(t.Context(), uint64(first), records, checkpoint); err != nil {
		t.Fatal(err)
	}
}

func wantRecords(t *testing.T, s tlog.Store, want int, checkpoint string) {
	t.Helper()
	same := func(r tlog.Record, n int) bool {
		return bytes.Equal(r.Body, record(n).Body) && r.IntegratedTime == record(n).IntegratedTime
	}
	n, saved, err := s.State(t.Context())
	if err != nil || n != uint64(want) || saved != checkpoint {
		t.Fatalf("state: %d records, checkpoint %q, %v; want %d, %q", n, saved, err, want, checkpoint)
	}
	for first := range want + 2 {
		next := first
		err := s.Scan(t.Context(), uint64(first), func(number uint64, r tlog.Record) error {
			if number != uint64(next) || !same(r, next) {
				return fmt.Errorf("record %d: got number %d, %q", next, number, r.Body)
			}
			next++
			return nil
		})
		if err != nil || next != max(first, want) {
			t.Fatalf("scan from %d ended at %d: %v", first, next, err)
		}
	}
	for i := range want {
		if r, err := s.Read(t.Context(), uint64(i)); err != nil || !same(r, i) {
			t.Fatalf("read %d: %q, %v", i, r.Body, err)
		}
	}
	if _, err := s.Read(t.Context(), uint64(want)); !errors.Is(err, tlog.ErrNotFound) {
		t.Fatalf("read beyond the end: %v, want ErrNotFound", err)
	}
}
