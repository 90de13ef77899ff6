package scoring_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

// BenchmarkScore scores seasons of growing size, ten tasks of four assertions
// with a proof each, from a folder and from a tar.zst. The aim is linear time and
// a heap that does not grow with the participants: compare participants/s and
// peak-heap-MB of the sizes.
//
//	go test -run xxx -bench Score -benchtime 3x ./internal/receipts/scoring
func BenchmarkScore(b *testing.B) {
	for _, participants := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%dx10", participants), func(b *testing.B) {
			dir := madeUp(b, participants)
			b.Run("folder", func(b *testing.B) { benchmarkScore(b, dir, participants) })
			archive := filepath.Join(b.TempDir(), "bundle.tar.zst")
			if err := bundle.Pack(b.Context(), dir, archive); err != nil {
				b.Fatal(err)
			}
			b.Run("archive", func(b *testing.B) { benchmarkScore(b, archive, participants) })
		})
	}
}

func benchmarkScore(b *testing.B, path string, participants int) {
	var peak uint64
	for b.Loop() {
		stop := watchHeap(&peak)
		opened, err := bundle.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		err = scoring.Score(opened, nil, io.Discard)
		if err := errors.Join(err, opened.Close()); err != nil {
			b.Fatal(err)
		}
		stop()
	}
	b.ReportMetric(float64(participants*b.N)/b.Elapsed().Seconds(), "participants/s")
	b.ReportMetric(float64(40*participants*b.N)/b.Elapsed().Seconds(), "proofs/s")
	b.ReportMetric(float64(peak)/(1<<20), "peak-heap-MB")
}

// watchHeap keeps the largest heap of live and not yet collected objects seen in
// short intervals.
func watchHeap(peak *uint64) (stop func()) {
	runtime.GC()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			*peak = max(*peak, sample[0].Value.Uint64())
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// madeUp writes a season of n participants who answer all ten tasks with four
// sound assertions. A batch holds the proofs of 25 participants, as a batch that
// closes every few minutes does.
func madeUp(b *testing.B, n int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "bundle")
	write := func(files map[string][]byte) {
		for name, data := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
				b.Fatal(err)
			}
		}
		clear(files)
	}
	s := bundletest.New(b, bundletest.Compliance(10))
	write(s.Files)
	var drafts []*receipttest.Draft
	for i := range n {
		did := s.Enrol(fmt.Sprintf("p%06d", i))
		for t := range 10 {
			task := fmt.Sprintf("conf-%02d", t+1)
			var assertions []bundletest.Assertion
			for _, c := range s.Claims(task) {
				d := s.Issuer.Issue(s.Spec(did, "conformite", c.Resource))
				drafts = append(drafts, d)
				assertions = append(assertions, bundletest.Assertion{Claim: c, Proofs: []*receipttest.Draft{d}})
			}
			s.Record(did, task, "conforme", assertions...)
		}
		if i%25 == 24 || i == n-1 {
			s.Issuer.Batch(drafts...)
			s.Publish(drafts...)
			drafts = nil
		}
		if i < n-1 {
			delete(s.Files, bundle.EnrolmentsPath) // the last one is written
		}
		write(s.Files)
	}
	return dir
}
