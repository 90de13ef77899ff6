package intake

import (
	"testing"

	"github.com/prova-dev/prova/internal/research/topic"
)

// BenchmarkRefusalAtRow5 reads a whole signed submission and refuses it because its
// topic is not open: what a closed topic costs a host, on all cores.
func BenchmarkRefusalAtRow5(b *testing.B) {
	f := newFixture(func(f *fixture) { f.doc.Status = topic.Closed })
	body := f.body()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			facts := Facts{ContentType: "application/json", Body: body, Host: f.host}
			if _, refusal := Before(&facts); refusal == nil || refusal.Row != "5" {
				b.Error(refusal)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "refusals/s")
}

// BenchmarkWholeGate is the way of a signed submission to its run, the check of the
// signature included.
func BenchmarkWholeGate(b *testing.B) {
	f := newFixture()
	f.facts.Body = f.body()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, refusal := Decide(f.facts); refusal != nil {
				b.Error(refusal)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "submissions/s")
}
