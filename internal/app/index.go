package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/index"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// indexPoll is how often the Index looks for another state or publication.
const indexPoll = 2 * time.Second

// site is the Index of this process and what it shows.
type site struct {
	*index.Index
	server *Server

	mu sync.Mutex
	// shown is the content shown, as a key; another key means reload. Guarded by mu.
	shown string
	// bundles overrides where a season's published bundle is. Guarded by mu.
	bundles map[int64]string
}

func newSite(ctx context.Context, s *Server) (*site, error) {
	x := &site{server: s, bundles: map[int64]string{}}
	content, key, err := x.content(ctx)
	if err != nil {
		return nil, err
	}
	c := &s.config
	x.Index, err = index.New(index.Options{
		IssuerName: c.Issuer.Name, IssuerURL: c.Issuer.BaseURL, Contact: c.Index.Contact,
		ForeignIssuer: c.Season.IssuerInternalURL == "", Log: s.logger, Content: content,
	})
	x.shown = key
	return x, err
}

// content gathers the seasons of the data directory: the published ones as
// bundles, the others as announced.
func (x *site) content(ctx context.Context) (index.Content, string, error) {
	var out index.Content
	root := x.server.config.path("seasons")
	names, err := folders(root)
	if err != nil {
		return out, "", err
	}
	numbers := map[int64]bool{x.server.config.Season.Number: true}
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil && n > 0 {
			numbers[n] = true
		}
	}
	key := ""
	for n := range numbers {
		announced, freezes, err := x.server.season.Announced(ctx, n)
		var refusal *season.Refusal
		if errors.As(err, &refusal) && refusal.Kind == season.NotFound {
			continue
		}
		if err != nil {
			return out, "", err
		}
		if announced.State.Reached(season.Published) {
			dir := x.bundleDir(n)
			info, err := os.Stat(filepath.Join(dir, "results.json"))
			if err != nil {
				return out, "", fmt.Errorf("season %d is published, its bundle cannot be read: %w", n, err)
			}
			out.Bundles = append(out.Bundles, dir)
			key += fmt.Sprintf("%d published %d;", n, info.ModTime().UnixNano())
			continue
		}
		out.Seasons = append(out.Seasons, upcoming(announced, freezes))
		key += fmt.Sprintf("%d %s %d;", n, announced.State, len(freezes))
		for _, f := range freezes {
			key += f.ProofID
		}
	}
	return out, key, nil
}

func (x *site) bundleDir(n int64) string {
	if dir := x.bundles[n]; dir != "" {
		return dir
	}
	return filepath.Join(x.server.config.seasonDir(n), "bundle")
}

// upcoming is a season before its publication: window and state, no score (§7.4).
func upcoming(s season.Season, freezes []season.FreezeRecord) index.Season {
	out := index.Season{Number: s.Number, Opens: s.Opens, Closes: s.Closes, State: string(s.State), Practice: s.Practice}
	for _, name := range s.Tracks {
		track := index.SeasonTrack{Name: name}
		for _, f := range freezes {
			if f.Track != name {
				continue
			}
			track.Freeze = bundle.Freeze{ProofID: f.ProofID, RulesSHA256: f.RulesSHA256, ManifestSHA256: f.ManifestSHA256, KeyCommitment: f.KeyCommitment}
			for _, r := range f.Replaced {
				track.Freeze.Replaced = append(track.Freeze.Replaced, bundle.ReplacedFreeze{ProofID: r.ProofID, Reason: r.Reason})
			}
		}
		out.Tracks = append(out.Tracks, track)
	}
	return out
}

// follow shows what changes until the context ends. A fault is logged and what
// was shown stays.
func (x *site) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(indexPoll):
		}
		if err := x.refresh(ctx); err != nil && ctx.Err() == nil {
			x.server.logger.ErrorContext(ctx, "the Index keeps its former content", "error", err)
		}
	}
}

func (x *site) refresh(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	content, key, err := x.content(ctx)
	if err != nil || key == x.shown {
		return err
	}
	if err := x.Reload(content); err != nil {
		return err
	}
	x.shown = key
	return nil
}
