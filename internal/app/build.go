package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// build makes the services of this process and mounts them: public routes on one
// mux, routes between services on the other.
func (s *Server) build(ctx context.Context, runs map[string]bool, public, internal *http.ServeMux) (err error) {
	c := &s.config
	release, err := lockKeys(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if runs[ServiceIssuer] {
		parts, err := openIssuer(ctx, c, s.db, s.clock, s.logger, challengeHosts(c), s.duringSeason)
		if err != nil {
			return err
		}
		s.issuer = parts
		handler := parts.service.Handler()
		for _, pattern := range []string{"/v1/", "/v/", "/health", "/.well-known/did.json"} {
			public.Handle(pattern, handler)
		}
		internal.Handle("/internal/v1/", parts.service.InternalHandler())
		if embedded := parts.witnesses.embedded; embedded != nil {
			// Anyone may read the embedded log; entries come from this process only.
			public.Handle("GET /api/v1/log/", embedded)
			public.Handle("GET /api/v1/log", embedded)
		}
	}
	if runs[ServiceSeason] || runs[ServiceIndex] || runs[ServiceWorker] || runs[ServiceCorpus] {
		secret, err := c.challengeSecret()
		if err != nil {
			return err
		}
		if s.season, err = openSeason(ctx, c, s.db, secret, s.clock, s.logger); err != nil {
			return err
		}
	}
	if runs[ServiceSeason] {
		public.Handle("/v1/season/", s.season.Handler())
	}
	if runs[ServiceIndex] {
		site, err := newSite(ctx, s)
		if err != nil {
			return err
		}
		s.site = site
		public.Handle("/", site.Handler())
	}
	return nil
}

// challengeHosts are the canonical hosts that receive the challenge secret by
// default: the season service and the corpora.
func challengeHosts(c *Config) []string {
	return append([]string{hostOf(c.Season.Host)}, corpusHosts()...)
}

// corpusHosts are the canonical hosts of the tracks' corpora.
func corpusHosts() []string {
	return []string{hostOf(corpus.DefaultHost("conformite")), hostOf(corpus.DefaultHost("generique"))}
}

// freezesInForce are the freezes whose corpora are served: those of the season
// that this configuration names.
func (s *Server) freezesInForce(ctx context.Context) (proofs []string, final bool, err error) {
	current, freezes, err := s.season.Announced(ctx, s.config.Season.Number)
	var refusal *season.Refusal
	if errors.As(err, &refusal) && refusal.Kind == season.NotFound {
		return nil, false, nil // not announced yet
	}
	if err != nil {
		return nil, false, err
	}
	for _, f := range freezes {
		proofs = append(proofs, f.ProofID)
	}
	return proofs, current.State.Reached(season.Open), nil
}

// forceBefore is how long before the season's end the issuer closes its batches,
// so that tokens still fall inside the window (design of the season service).
const forceBefore = 60 * time.Second

// forcePoll is how often the season's window is looked up; it may be announced
// while the issuer runs.
const forcePoll = time.Second

// window is when a season is open, both bounds included.
type window struct{ opens, closes time.Time }

// duringSeason narrows the challenge gate to the announced window: nobody reads
// the corpus through the proxy before everybody may. Until a season is announced
// the configuration alone decides.
func (s *Server) duringSeason() bool {
	w := s.window.Load()
	if w == nil {
		return true
	}
	now := s.clock()
	return !now.Before(w.opens) && !now.After(w.closes)
}

// forceBatches closes what is pending shortly before the season's end and once
// more at the end. A restart in between repeats a close, which costs nothing.
func (s *Server) forceBatches(ctx context.Context, service *season.Service) error {
	done := map[time.Time]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(forcePoll):
		}
		current, err := service.Season(ctx, s.config.Season.Number)
		if err != nil {
			continue // not announced yet
		}
		s.window.Store(&window{current.Opens, current.Closes})
		now := s.clock()
		for _, at := range []time.Time{current.Closes.Add(-forceBefore), current.Closes} {
			if now.Before(at) || done[at] || now.Sub(at) > time.Hour {
				continue
			}
			if _, err := s.issuer.service.CloseBatch(ctx, "season end"); err != nil {
				s.logger.ErrorContext(ctx, "batch not closed at the season's end, trying again", "error", err)
				continue
			}
			done[at] = true
		}
	}
}
