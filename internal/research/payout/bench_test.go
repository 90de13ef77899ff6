package payout

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/prova-dev/prova/internal/research/family"
)

// crowd is a field of miners on each of some topics: each has a passing run, one
// in ten copies another's artefact, one in ten has a second run.
func crowd(topics, miners int) ([]Topic, []Row) {
	var ts []Topic
	rows := make([]Row, 0, topics*miners*11/10)
	for i := range topics {
		t := discovery(fmt.Sprintf("topic-%03d", i), family.Min, ptr(3.0))
		ts = append(ts, t)
		for j := range miners {
			r := Row{ID: uint64(len(rows)), Epoch: 7, TopicID: t.ID, Pass: true, Primary: ptr(3 - float64(j%997+1)/1000),
				ArtifactDigest: fmt.Sprintf("%064x", j), TreeDigest: fmt.Sprintf("%064x", j+1<<40)}
			binary.BigEndian.PutUint64(r.Miner[:], uint64(j)*0x9e3779b97f4a7c15)
			if j%10 == 9 {
				r.ArtifactDigest = fmt.Sprintf("%064x", j-1)
			}
			rows = append(rows, r)
			if j%10 == 8 {
				r.ID, r.Primary = uint64(len(rows)), ptr(2.9999)
				rows = append(rows, r)
			}
		}
	}
	return ts, rows
}

// BenchmarkPayout is the whole way from the rows of an epoch to scores.
func BenchmarkPayout(b *testing.B) {
	for _, size := range []struct{ topics, miners int }{{1, 10_000}, {1, 100_000}, {10, 100_000}, {100, 100_000}} {
		b.Run(fmt.Sprintf("topics=%d/miners=%d", size.topics, size.miners), func(b *testing.B) {
			topics, rows := crowd(size.topics, size.miners)
			b.ReportAllocs()
			for b.Loop() {
				s, err := Close(7, topics, rows, nil)
				if err != nil {
					b.Fatal(err)
				}
				r, err := Payout(s)
				if err != nil {
					b.Fatal(err)
				}
				if len(r.Topics[0].Entries) != size.miners || len(r.Scores) == 0 {
					b.Fatalf("%d entries, %d scores", len(r.Topics[0].Entries), len(r.Scores))
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(size.topics), "s/topic")
		})
	}
}

// BenchmarkReplay is the payout from the bytes of a snapshot.
func BenchmarkReplay(b *testing.B) {
	topics, rows := crowd(1, 100_000)
	s, err := Close(7, topics, rows, nil)
	if err != nil {
		b.Fatal(err)
	}
	data, err := s.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s, err := ParseSnapshot(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Payout(s); err != nil {
			b.Fatal(err)
		}
	}
}
