package app

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/receipts/corpus"
)

// corpora serves the frozen corpora of a season, one canonical host each. It
// takes up a corpus when its freeze has put it into the data directory, so that
// the listener can run before the first freeze.
type corpora struct {
	dir    string // seasons/<n>/freezes
	secret string
	logger *slog.Logger
	clock  func() time.Time

	mu      sync.Mutex
	byHost  map[string]http.Handler // guarded by mu
	scanned time.Time               // guarded by mu; when dir was last read
}

// rescan is how long an unknown host is answered from memory: a caller that
// invents host names must not make the disk work.
const rescan = 250 * time.Millisecond

func newCorpora(dir, secret string, clock func() time.Time, logger *slog.Logger) *corpora {
	return &corpora{dir: dir, secret: secret, clock: clock, logger: logger, byHost: map[string]http.Handler{}}
}

func (c *corpora) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	handler, err := c.find(host)
	if err != nil {
		c.logger.ErrorContext(r.Context(), "corpus cannot be served", "host", host, "error", err)
		handler = nil
	}
	if handler == nil {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"no corpus has this host name"}`)
		return
	}
	handler.ServeHTTP(w, r)
}

func (c *corpora) find(host string) (http.Handler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.byHost[host]; h != nil {
		return h, nil
	}
	if now := c.clock(); now.Sub(c.scanned) < rescan {
		return nil, nil
	} else {
		c.scanned = now
	}
	folders, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Later freezes of a track sort after earlier ones and replace them.
	for _, f := range folders {
		frozen, err := corpus.Load(filepath.Join(c.dir, f.Name(), "corpus"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a freeze that was cut off before its corpus was whole
		}
		if err != nil {
			return nil, err
		}
		server, err := corpus.NewServer(frozen, c.secret, c.logger)
		if err != nil {
			return nil, err
		}
		c.byHost[hostOf(frozen.Host)] = server
	}
	return c.byHost[host], nil
}
