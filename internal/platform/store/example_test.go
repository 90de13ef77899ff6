package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/prova-dev/prova/internal/platform/store"
)

// A room keeps its migrations in a folder of its own, writes through Batch and
// reads through Reader. The same text runs on PostgreSQL.
func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "prova.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	room := fstest.MapFS{"0001_notes.sql": {Data: []byte("-- +goose Up\nCREATE TABLE notes (n {{id}}, body {{blob}} NOT NULL);\n")}}
	if err := db.Migrate(ctx, "notes", room); err != nil {
		fmt.Println(err)
		return
	}
	err = db.Batch(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO notes (body) VALUES ($1)`, []byte("on disk when Batch returns"))
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var body []byte
	if err := db.Reader().QueryRowContext(ctx, `SELECT body FROM notes WHERE n = $1`, 1).Scan(&body); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(body))
	// Output: on disk when Batch returns
}
