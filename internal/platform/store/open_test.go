package store_test

import (
	"path/filepath"
	"sync"
	"testing"

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
