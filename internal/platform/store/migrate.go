package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

var roomName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// Migrate brings the tables of one room up to date. fsys holds the room's
// migrations (0001_name.sql, goose's comment syntax) at its root; the versions
// are kept in the table migrations_<room>, so that rooms move independently. It is
// safe to call from several processes at once, and again: what was applied is
// left alone.
//
// One SQL text serves both databases. Three words, in double braces, stand for
// what they name differently:
//
//	{{blob}}    BLOB     | BYTEA          raw bytes
//	{{id}}      INTEGER PRIMARY KEY AUTOINCREMENT | BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY
//	{{bytes}}   COLLATE BINARY | COLLATE "C"   text ordered by its bytes (code points in UTF-8)
func (d *DB) Migrate(ctx context.Context, room string, fsys fs.FS) error {
	if !roomName.MatchString(room) {
		return fmt.Errorf("store: %q is no room name: lower-case letters, digits and underscores", room)
	}
	words := strings.NewReplacer("{{blob}}", "BLOB", "{{id}}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{{bytes}}", "COLLATE BINARY")
	dialect := goose.DialectSQLite3
	options := []goose.ProviderOption{
		goose.WithTableName("migrations_" + room),
		goose.WithSlog(slog.New(slog.DiscardHandler)),
		goose.WithDisableGlobalRegistry(true),
	}
	if d.dialect == Postgres {
		words = strings.NewReplacer("{{blob}}", "BYTEA", "{{id}}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "{{bytes}}", `COLLATE "C"`)
		dialect = goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return fmt.Errorf("store: migrating %s: %w", room, err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, d.writer, dialectFS{FS: fsys, words: words}, options...)
	if err != nil {
		return fmt.Errorf("store: the migrations of %s do not read: %w", room, err)
	}
	if err := d.up(ctx, p); err != nil {
		return fmt.Errorf("store: migrating %s: %w", room, err)
	}
	return nil
}

// Tries of a migration on SQLite, and the pause between two.
const (
	migrateTries = 40
	migratePause = 25 * time.Millisecond
)

// up applies what is missing. PostgreSQL has a lock for that. On SQLite another
// process may apply a migration between our look at the versions and our turn;
// each migration is one transaction, so ours then fails whole, and a second look
// finds it applied. A migration that is broken fails every time.
func (d *DB) up(ctx context.Context, p *goose.Provider) error {
	for try := 1; ; try++ {
		_, err := p.Up(ctx)
		if err == nil || d.dialect != SQLite || try == migrateTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(migratePause):
		}
	}
}

// dialectFS hands out the migration files with the template's words replaced.
type dialectFS struct {
	fs.FS
	words *strings.Replacer
}

func (f dialectFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &sqlFile{File: file, Reader: strings.NewReader(f.words.Replace(string(bytes.TrimSpace(text))) + "\n")}, nil
}

// sqlFile is a migration file whose bytes come from memory.
type sqlFile struct {
	fs.File
	*strings.Reader
}

func (f *sqlFile) Read(p []byte) (int, error) { return f.Reader.Read(p) }
