package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/receipts/corpus"
)

// inForce tells which freezes of a season are in force, by the ids of their
// proofs, and whether no other can come: none can from the opening on.
type inForce func(ctx context.Context) (proofs []string, final bool, err error)

// corpora serves the frozen corpora of a season, one canonical host each. Only a
// freeze in force is served: a folder may also hold one that was refused, cut off
// or replaced, and its bytes are not those of the published manifest. The listener
// can run before the first freeze and follows a freeze that replaces another.
type corpora struct {
	dir     string // seasons/<n>/freezes
	inForce inForce
	secret  string
	logger  *slog.Logger
	clock   func() time.Time

	mu     sync.Mutex
	byHost map[string]*corpus.Server // guarded by mu
	shown  []string                  // guarded by mu; the proofs of what byHost serves
	asked  time.Time                 // guarded by mu; when inForce was last asked
	final  bool                      // guarded by mu; inForce need not be asked again
}

// rescan is for how long the freezes in force are taken from memory: callers must
// not make the database and the disk work.
const rescan = 250 * time.Millisecond

func newCorpora(dir string, current inForce, secret string, clock func() time.Time, logger *slog.Logger) *corpora {
	return &corpora{dir: dir, inForce: current, secret: secret, clock: clock, logger: logger, byHost: map[string]*corpus.Server{}}
}

func (c *corpora) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	handler, err := c.find(r.Context(), host)
	if err != nil {
		c.logger.ErrorContext(r.Context(), "the corpora in force cannot be read", "error", err)
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

// find returns the handler of a host, nil when no corpus in force has it. After
// an error what was served before stays.
func (c *corpora) find(ctx context.Context, host string) (*corpus.Server, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if now := c.clock(); !c.final && (c.asked.IsZero() || now.Sub(c.asked) >= rescan || now.Before(c.asked)) {
		c.asked = now
		err = c.refresh(context.WithoutCancel(ctx))
	}
	return c.byHost[host], err
}

// malformed is the fixed body for a request that names no host, because it cannot
// be read: that of the first corpus by host, nil when none is served.
func (c *corpora) malformed() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, host := range slices.Sorted(maps.Keys(c.byHost)) {
		return c.byHost[host].Fixed(http.StatusBadRequest)
	}
	return nil
}

// refresh takes up what is in force now. The caller holds the lock.
func (c *corpora) refresh(ctx context.Context) error {
	proofs, final, err := c.inForce(ctx)
	if err != nil {
		return err
	}
	if slices.Equal(proofs, c.shown) {
		c.final = final
		return nil
	}
	sealed, err := sealedFreezes(c.dir)
	if err != nil {
		return err
	}
	byHost := make(map[string]*corpus.Server, len(proofs))
	for _, id := range proofs {
		i := slices.IndexFunc(sealed, func(s sealedFreeze) bool { return s.ProofID == id })
		if i < 0 {
			return fmt.Errorf("the sealed freeze of proof %s is not in %s", id, c.dir)
		}
		frozen, err := corpus.Load(filepath.Join(sealed[i].dir, "corpus"))
		if err != nil {
			return err
		}
		server, err := corpus.NewServer(frozen, c.secret, c.logger)
		if err != nil {
			return err
		}
		byHost[hostOf(frozen.Host)] = server
	}
	c.byHost, c.shown, c.final = byHost, proofs, final
	return nil
}
