package storetest

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/platform/store"
)

// AppRole returns the address of the same database for a process that connects as
// [store.AppRole], an account that owns nothing and can create nothing; it makes
// the account on a server that has none (the account of PROVA_TEST_POSTGRES_URL must
// be allowed to, and to become it). An SQLite file has no accounts: its
// address is returned as it is.
func AppRole(tb testing.TB, address string) string {
	tb.Helper()
	if strings.HasPrefix(address, "sqlite:") {
		return address
	}
	createRole(tb, address)
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: %v", err)
	}
	// Each connection becomes the role as it starts; no password is needed for that.
	query := u.Query()
	query.Set("role", store.AppRole)
	u.RawQuery = query.Encode()
	return u.String()
}

// createRole makes the role unless it is there; two test binaries may do so at once.
func createRole(tb testing.TB, address string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", address)
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: %v", err)
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, `DO $$ BEGIN
		CREATE ROLE `+store.AppRole+` LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
	END $$`)
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: the role %s: %v", store.AppRole, err)
	}
}
