package store_test

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/prova-dev/prova/internal/platform/store"
)

func TestOpeningANewFileSeveralTimesAtOnceIsNoFault(t *testing.T) {
	t.Parallel()
	for range 20 {
		url := "sqlite:" + filepath.Join(t.TempDir(), "new.db")
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				db, err := store.Open(t.Context(), url)
				if err != nil {
					t.Error(err)
					return
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
}

func TestMigratingANewFileSeveralTimesAtOnceIsNoFault(t *testing.T) {
	t.Parallel()
	room := fstest.MapFS{
		"0001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (id {{id}});\n")},
		"0002_b.sql": {Data: []byte("-- +goose Up\nCREATE TABLE b (id {{id}});\nINSERT INTO b DEFAULT VALUES;\n")},
	}
	for range 4 {
		url := "sqlite:" + filepath.Join(t.TempDir(), "new.db")
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				db, err := store.Open(t.Context(), url)
				if err != nil {
					t.Error(err)
					return
				}
				defer db.Close()
				if err := db.Migrate(t.Context(), "room", room); err != nil {
					t.Error(err)
					return
				}
				var rows int
				if err := db.Reader().QueryRow(`SELECT COUNT(*) FROM b`).Scan(&rows); err != nil || rows != 1 {
					t.Errorf("%d rows (%v), want the migration applied once", rows, err)
				}
			})
		}
		group.Wait()
	}
}
