package host

import (
	"context"
	"testing"
	"time"
)

// The figure of docs/performance.md: refusals a second where the topic is not open
// (row 5), limits on.
func BenchmarkSubmitRefusedAtRow5(b *testing.B) {
	w := newWorld(b, "sqlite:"+b.TempDir()+"/prova.db", func(w *world) {
		w.options.Log = nil
		w.options.Limits.AddressPerMinute = 1 << 30
		w.options.Now = time.Now
	})
	if err := w.open(b); err != nil {
		b.Fatal(err)
	}
	defer w.db.Close()
	d := newDraft(w, "not-open")
	if err := w.publish(d); err != nil {
		b.Fatal(err)
	}
	sent := w.sent("not-open", 1, 1)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			reply, err := w.Submit(context.Background(), sent)
			if err != nil || reply.Status != bad {
				b.Fatalf("%v %+v", err, reply)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "refusals/s")
}
