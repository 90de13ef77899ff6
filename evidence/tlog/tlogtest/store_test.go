package tlogtest_test

import (
	"path/filepath"
	"testing"

	"github.com/prova-dev/prova/evidence/tlog"
	"github.com/prova-dev/prova/evidence/tlog/tlogtest"
)

func TestStoreContractOfTheFileStore(t *testing.T) {
	dir := t.TempDir()
	opened := map[string]*tlog.FileStore{}
	tlogtest.Store(t, func(t *testing.T, name string) tlog.Store {
		if earlier := opened[name]; earlier != nil {
			if err := earlier.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := tlog.OpenFileStore(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		opened[name] = s
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func TestStoreContractOfTheMemoryStore(t *testing.T) {
	stores := map[string]*tlog.MemoryStore{}
	tlogtest.Store(t, func(_ *testing.T, name string) tlog.Store {
		if stores[name] == nil {
			stores[name] = new(tlog.MemoryStore)
		}
		return stores[name]
	})
}
