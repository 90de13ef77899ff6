package tlog

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"sync/atomic"
	"testing"
)

// BenchmarkECDSAVerify is what an entry costs at least three times: its own signature, the timestamp's, the checkpoint's.
func BenchmarkECDSAVerify(b *testing.B) {
	key := testKey(3)
	digest := sha256.Sum256([]byte("x"))
	signature := mustSign(key, digest)
	for b.Loop() {
		if !ecdsa.VerifyASN1(&key.PublicKey, digest[:], signature) {
			b.Fatal("does not verify")
		}
	}
}

func BenchmarkVerifyEntry(b *testing.B) {
	uuid, document, anchored, logs := realEntry(b)
	for b.Loop() {
		if _, err := VerifyEntry(uuid, document, anchored, logs); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkSubmit(b *testing.B, s Store, parallel int) {
	e := openLog(b, s)
	var n atomic.Int64
	b.SetParallelism(parallel)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			submit(b, e, int(n.Add(1)))
		}
	})
}

func BenchmarkSubmitMemory(b *testing.B) { benchmarkSubmit(b, new(MemoryStore), 1) }

func BenchmarkSubmitFile(b *testing.B) { benchmarkSubmit(b, openStore(b, b.TempDir()), 1) }

// BenchmarkSubmitFile32 shows how submissions that arrive together share their syncs.
func BenchmarkSubmitFile32(b *testing.B) { benchmarkSubmit(b, openStore(b, b.TempDir()), 32) }

func BenchmarkEntryOfTenThousand(b *testing.B) {
	e := openLog(b, new(MemoryStore))
	var uuid string
	for n := range 10_000 {
		if n == 5000 {
			uuid, _ = submit(b, e, n)
			continue
		}
		h := hashedRekord{hash: sha256.Sum256([]byte{byte(n), byte(n >> 8)}), key: &testKey(7).PublicKey}
		if _, _, err := e.add(b.Context(), &h); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := e.Entry(b.Context(), uuid); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReopenTenThousand(b *testing.B) {
	dir := b.TempDir()
	s := openStore(b, dir)
	records := make([]Record, 10_000)
	for n := range records {
		records[n] = Record{Body: append(make([]byte, 700), byte(n), byte(n>>8))}
	}
	if err := s.Append(b.Context(), 0, records, ""); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		s = openStore(b, dir)
		var t tree
		err := s.Scan(b.Context(), 0, func(_ uint64, r Record) error {
			t.add(sha256.Sum256(r.Body))
			return nil
		})
		if err != nil || t.size() != uint64(len(records)) {
			b.Fatal(t.size(), err)
		}
	}
}
