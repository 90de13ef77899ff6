package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Readers of one SQLite file: enough for two cores, few enough to stay small.
const sqliteReaders = 4

// sqlitePragmas make a commit durable (WAL with synchronous=FULL), references
// checked, and another process's lock waited for, ten seconds at most.
const sqlitePragmas = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"

func openSQLite(ctx context.Context, path string) (*DB, error) {
	if path == "" || strings.HasPrefix(path, ":") {
		return nil, fmt.Errorf("store: sqlite:%s names no file: write sqlite:PATH", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := createPrivate(abs); err != nil {
		return nil, fmt.Errorf("store: cannot open the SQLite file: %w", err)
	}
	// The path goes into an SQLite URI, where these three mean something else.
	name := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(abs)
	d := &DB{backEnd: backEnd{dialect: SQLite, failedCleanly: sqliteFailedCleanly, poisoned: true}}
	if d.writer, err = sql.Open("sqlite", name+"?"+sqlitePragmas+"&_txlock=immediate"); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	d.writer.SetMaxOpenConns(1)
	// The first connection creates the WAL, which readers need to find.
	if err := pingPatiently(ctx, d.writer); err != nil {
		return nil, errors.Join(fmt.Errorf("store: cannot open SQLite file %s: %w", path, err), d.writer.Close())
	}
	if d.reader, err = sql.Open("sqlite", name+"?mode=ro&_pragma=query_only(1)&"+sqlitePragmas); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), d.writer.Close())
	}
	d.reader.SetMaxOpenConns(sqliteReaders)
	d.reader.SetMaxIdleConns(sqliteReaders)
	if err := pingPatiently(ctx, d.reader); err != nil {
		return nil, errors.Join(fmt.Errorf("store: cannot read SQLite file %s: %w", path, err), d.reader.Close(), d.writer.Close())
	}
	return d, nil
}

// openPatience is how long an opening waits for another one of the same file.
const openPatience = 10 * time.Second

// pingPatiently opens the first connection. The switch of a new file to WAL needs
// the file for itself and is refused at once, without the busy timeout, while
// another process makes the same switch: two starts at once are no fault.
func pingPatiently(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		var e *sqlite.Error
		if err == nil || !errors.As(err, &e) || e.Code()&0xff != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// createPrivate makes the file readable by its owner only (it holds keys; SQLite
// gives the WAL the same mode) and makes its name durable in the folder.
func createPrivate(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// sqliteFailedCleanly knows the refusals after which SQLite has written no
// commit record. An I/O error (a failed fsync among them) is not one of them.
func sqliteFailedCleanly(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CONSTRAINT,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_ERROR:
		return true
	}
	return false
}
