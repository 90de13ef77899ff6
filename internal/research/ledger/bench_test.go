package ledger

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/research/intake"
)

// onBoth runs a benchmark on both databases. Many callers write at once, as on a
// server, and share commits.
func onBoth(b *testing.B, fn func(b *testing.B, f *fixture)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { fn(b, newFixture(b, "sqlite:"+b.TempDir()+"/bench.db")) })
	b.Run("postgres", func(b *testing.B) { fn(b, newFixture(b, storetest.Postgres(b))) })
}

const callers = 32

// BenchmarkAdmit is an accepted submission of a miner of its own: what is known of
// it, the flight and the nonce, durable.
func BenchmarkAdmit(b *testing.B) {
	onBoth(b, func(b *testing.B, f *fixture) {
		var n atomic.Int64
		b.SetParallelism(callers)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s := submission("topic-a", int(n.Add(1)), 1)
				a := options()
				a.QueueCap = 1 << 30
				if got, err := f.Admit(context.Background(), s, a, gate(s, intake.Run)); err != nil || got.Refusal != nil {
					b.Error(got, err)
					return
				}
			}
		})
	})
}

// BenchmarkAdmitRefused is a submission that the store's part of the gate refuses.
func BenchmarkAdmitRefused(b *testing.B) {
	onBoth(b, func(b *testing.B, f *fixture) {
		f.admit(b, submission("topic-a", 1, 1), intake.Run, options())
		b.SetParallelism(callers)
		b.RunParallel(func(pb *testing.PB) {
			s := submission("topic-a", 1, 2)
			for pb.Next() {
				if got, err := f.Admit(context.Background(), s, options(), gate(s, intake.Run)); err != nil || got.Refusal == nil {
					b.Error(got, err)
					return
				}
			}
		})
	})
}

// BenchmarkCommit is a whole row: id, row, artefact, nonce and flight.
func BenchmarkCommit(b *testing.B) {
	onBoth(b, func(b *testing.B, f *fixture) {
		b.StopTimer()
		commits := make(chan Commit, b.N)
		for i := range b.N {
			s := submission("topic-a", i, 1)
			a := options()
			a.QueueCap = 1 << 30
			f.admit(b, s, intake.Run, a)
			flight, err := f.Claim(b.Context(), "w1", time.Hour)
			if err != nil {
				b.Fatal(err)
			}
			commits <- f.commitOf(b, s, flight.ID, "w1", 2, nil)
		}
		b.SetParallelism(callers)
		b.StartTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := f.Commit(context.Background(), <-commits); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkPayoutRows reads what the close of an epoch with 100 000 rows starts
// from.
func BenchmarkPayoutRows(b *testing.B) {
	const rows = 100_000
	onBoth(b, func(b *testing.B, f *fixture) {
		fill := `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) INSERT INTO `
		for _, statement := range []string{
			fill + `proof_row_id (id, reserved_at) SELECT i, '' FROM n`,
			fill + `proof_submission (id, topic_id, miner_hotkey, submission_digest, artifact_digest, tree_digest, epoch, state, pass, primary_value, document, created_at)
				SELECT i, 'topic-a', substr('` + hash("a") + `', 1, 56) || CAST(10000000 + i AS TEXT), '` + hash("b") + `', '` + hash("c") + `', '` + hash("d") + `', 0, 'awaiting_admin', 1, i / 7.0, '', '' FROM n`,
		} {
			if f.db.Dialect() == "postgres" {
				statement = strings.Replace(statement, "1, i / 7.0, ''", "1, i / 7.0, ''::bytea", 1)
			}
			if err := f.db.Tx(b.Context(), func(tx *sql.Tx) error {
				_, err := tx.Exec(statement)
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if got, err := f.PayoutRows(b.Context(), 0); err != nil || len(got) != rows {
				b.Fatal(len(got), err)
			}
		}
	})
}

// BenchmarkReserveRow is a row id, durable, beside as many as there are already.
func BenchmarkReserveRow(b *testing.B) {
	onBoth(b, func(b *testing.B, f *fixture) {
		b.SetParallelism(callers)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := f.ReserveRow(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
