package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver "pgx".
)

// Each runs fn once as subtest "sqlite" and once as "postgres", each time with
// the address of an empty database for store.Open, whose contents are gone when
// the subtest ends.
//
// PostgreSQL is the server that PROVA_TEST_POSTGRES_URL names, otherwise Debian's,
// started for this test binary on a Unix socket. Where it is not installed the
// subtest fails and says how to install it: a suite that quietly tests one
// database only would promise too much.
func Each(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		fn(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		fn(t, Postgres(t))
	})
}

// Postgres returns the address of an empty schema of the PostgreSQL server for
// tests, which is dropped when the test ends.
func Postgres(tb testing.TB) string {
	tb.Helper()
	base := os.Getenv("PROVA_TEST_POSTGRES_URL")
	if base == "" {
		s, err := shared()
		if err != nil {
			tb.Fatal(err)
		}
		base = s.url
	}
	address, err := url.Parse(base)
	if err != nil {
		tb.Fatalf("PROVA_TEST_POSTGRES_URL does not parse: %v", err)
	}
	name := make([]byte, 8)
	_, _ = rand.Read(name) // Never fails: crypto/rand.
	schema := "t_" + hex.EncodeToString(name)
	runStatement(tb, base, "CREATE SCHEMA "+schema)
	tb.Cleanup(func() { runStatement(tb, base, "DROP SCHEMA "+schema+" CASCADE") })
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	return address.String()
}

func runStatement(tb testing.TB, address, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", address)
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: %v", err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		tb.Fatalf("PostgreSQL for tests: %s: %v", statement, err)
	}
}
