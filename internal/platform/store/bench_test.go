package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/prova-dev/prova/internal/platform/store/storetest"
)

// BenchmarkDurableInsert compares one fsync a row (Tx) with group commit (Batch)
// at 64 goroutines, on both databases:
//
//	go test -run '^$' -bench DurableInsert ./internal/platform/store/
func BenchmarkDurableInsert(b *testing.B) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		for _, mode := range []string{"Tx", "Batch"} {
			b.Run(fmt.Sprintf("%s/%s/goroutines=64", dialect, mode), func(b *testing.B) {
				url := "sqlite:" + filepath.Join(b.TempDir(), "bench.db")
				if dialect == "postgres" {
					url = storetest.Postgres(b)
				}
				d := open(b, url)
				write := map[string]func(context.Context, func(*sql.Tx) error) error{"Tx": d.Tx, "Batch": d.Batch}[mode]
				bench(b, write)
			})
		}
	}
}

func bench(b *testing.B, write func(context.Context, func(*sql.Tx) error) error) {
	var next atomic.Int64
	b.ResetTimer() // Starting a server is not part of it.
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(next.Add(1))
			if err := write(context.Background(), insert(i, fmt.Sprint(i))); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
