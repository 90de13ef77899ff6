package season

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Deps are what the service needs from outside.
type Deps struct {
	DB     *store.DB
	Issuer Issuer
	// Key signs the receipts of submissions. It is the season's own and signs
	// nothing else.
	Key ed25519.PrivateKey
	// ChallengeSecret is what the proxy forwards; without it no freeze call is
	// taken.
	ChallengeSecret string
	Clock           func() time.Time
	Rand            io.Reader // Season tokens come from here.
	Logger          *slog.Logger
}

// Service holds the use cases. It is safe for concurrent use, also by several
// processes on one database.
type Service struct {
	db     *store.DB
	issuer Issuer
	key    ed25519.PrivateKey
	secret string
	clock  func() time.Time
	random io.Reader
	log    *slog.Logger

	mu    sync.Mutex // Guards cache.
	cache map[int64]compiled
}

// New brings the tables up to date and returns the service.
func New(ctx context.Context, d Deps) (*Service, error) {
	if len(d.Key) != ed25519.PrivateKeySize {
		return nil, errors.New("season: the key for receipts is missing")
	}
	if err := migrate(ctx, d.DB); err != nil {
		return nil, err
	}
	return &Service{
		db: d.DB, issuer: d.Issuer, key: d.Key, secret: d.ChallengeSecret,
		clock: d.Clock, random: d.Rand, log: d.Logger, cache: map[int64]compiled{},
	}, nil
}

func migrate(ctx context.Context, db *store.DB) error {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("season: %w", err)
	}
	return db.Migrate(ctx, "season", sub)
}

// write runs one write transaction. The context for its statements is not
// cancelled with the request: a half-cancelled transaction helps nobody.
func (s *Service) write(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	inside := context.WithoutCancel(ctx)
	return s.db.Tx(ctx, func(tx *sql.Tx) error { return fn(inside, tx) })
}

// writeGrouped is write for what participants do, many at a time: they share a
// commit. fn may run twice (store.DB.Batch).
func (s *Service) writeGrouped(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	inside := context.WithoutCancel(ctx)
	return s.db.Batch(ctx, func(tx *sql.Tx) error { return fn(inside, tx) })
}

// now is the service's clock with the precision that is recorded.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// Define announces a season. The same definition again changes nothing; another
// one is taken only until the first freeze of the season has its proof. A freeze
// that was stored and never proven (its call failed, or was timestamped after the
// opening) goes with the definition it was made for: nothing of it was published.
func (s *Service) Define(ctx context.Context, d Definition) error {
	d.Opens, d.Closes, d.Tracks = d.Opens.UTC().Round(0), d.Closes.UTC().Round(0), slices.Sorted(slices.Values(d.Tracks))
	if err := d.check(); err != nil {
		return err
	}
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		old, err := lockSeason(ctx, tx, d.Number, s.now())
		var r *Refusal
		if errors.As(err, &r) && r.Kind == NotFound {
			return insertSeason(ctx, tx, d)
		}
		if err != nil {
			return err
		}
		if reflect.DeepEqual(old.Definition, d) {
			return nil
		}
		proven, err := hasProvenFreezes(ctx, tx, d.Number)
		if err != nil {
			return err
		}
		if proven || old.State != Draft {
			return fmt.Errorf("season %d: %w: it is defined otherwise, from %s to %s, and the rules hash of its freeze covers that", d.Number, ErrState,
				old.Opens.Format(secondLayout), old.Closes.Format(secondLayout))
		}
		if err := deleteSeason(ctx, tx, d.Number); err != nil {
			return err
		}
		return insertSeason(ctx, tx, d)
	})
}

// Season reads a season with the state it has now.
func (s *Service) Season(ctx context.Context, number int64) (Season, error) {
	season, err := readSeason(ctx, s.db.Reader(), number)
	if err != nil {
		return Season{}, err
	}
	season.State = season.at(s.now())
	return season, nil
}

// Advance writes down a state that time has brought about, so that it holds
// whatever the clock does later. Every write does this as well.
func (s *Service) Advance(ctx context.Context, number int64) (State, error) {
	var state State
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		season, err := lockSeason(ctx, tx, number, s.now())
		state = season.State
		return err
	})
	return state, err
}

// Close ends the intake of an open season now. A season that time has closed
// already stays as it is; the announced window does not change, so that the
// rules hash keeps holding.
func (s *Service) Close(ctx context.Context, number int64) error {
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.now()
		season, err := lockSeason(ctx, tx, number, now)
		switch {
		case err != nil:
			return err
		case season.State.Reached(Closed):
			return nil
		case season.State != Open:
			return fmt.Errorf("season %d: %w: it is %s, there is nothing to close", number, ErrState, season.State)
		}
		return setClosed(ctx, tx, number, now)
	})
}

// MarkScored notes that the bundle of a closed season has been scored.
func (s *Service) MarkScored(ctx context.Context, number int64) error {
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		season, err := lockSeason(ctx, tx, number, s.now())
		switch {
		case err != nil:
			return err
		case season.State.Reached(Scored):
			return nil
		case season.State != Closed:
			return fmt.Errorf("season %d: %w: it is %s; only a closed season is scored", number, ErrState, season.State)
		}
		return setState(ctx, tx, number, Scored)
	})
}

// Publication says where the published files are. They are served as they are.
type Publication struct {
	Results map[string]string `json:"results"` // Track → file.
	Reports string            `json:"reports"` // A folder of <did>.json.
	Bundle  string            `json:"bundle"`  // A tar.zst.
	SHA256  string            `json:"sha256"`  // Of Bundle, lower-case hex; tells one publication from the next.
}

// Publish serves results, reports and bundle from now on. Publishing another
// bundle is a new version (bundle format §13), the same one again is the version
// that it has; earlier files are the operator's to keep.
func (s *Service) Publish(ctx context.Context, number int64, p Publication) (version int64, err error) {
	if p, err = p.check(); err != nil {
		return 0, fmt.Errorf("season %d: publication: %w", number, err)
	}
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.now()
		season, err := lockSeason(ctx, tx, number, now)
		if err != nil {
			return err
		}
		if !season.State.Reached(Scored) {
			return fmt.Errorf("season %d: %w: it is %s; score it first", number, ErrState, season.State)
		}
		for _, t := range season.Tracks {
			if p.Results[t] == "" {
				return fmt.Errorf("season %d: publication: the results of track %s are missing", number, t)
			}
		}
		newest, at, _, found, err := publication(ctx, tx, number)
		if err != nil {
			return err
		}
		if found && p.SHA256 != "" && newest.SHA256 == p.SHA256 {
			version = at
			return nil
		}
		if version, err = insertPublication(ctx, tx, number, p, now); err != nil {
			return err
		}
		return setState(ctx, tx, number, Published)
	})
	return version, err
}

// check makes the paths absolute and sees that what they name is there.
func (p Publication) check() (Publication, error) {
	out := Publication{Results: make(map[string]string, len(p.Results)), SHA256: p.SHA256}
	regular := func(path string) (string, error) {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if !info.Mode().IsRegular() {
			return "", fmt.Errorf("%s is no file", path)
		}
		return filepath.Abs(path)
	}
	var err error
	for t, path := range p.Results {
		if out.Results[t], err = regular(path); err != nil {
			return out, fmt.Errorf("results of %s: %w", t, err)
		}
	}
	if out.Bundle, err = regular(p.Bundle); err != nil {
		return out, fmt.Errorf("bundle: %w", err)
	}
	info, err := os.Stat(p.Reports)
	if err != nil {
		return out, fmt.Errorf("reports: %w", err)
	}
	if !info.IsDir() {
		return out, fmt.Errorf("reports: %s is no folder", p.Reports)
	}
	out.Reports, err = filepath.Abs(p.Reports)
	return out, err
}

// compiled is the current freezes of a season, read once.
type compiled struct {
	ids    []int64
	tracks map[string]*frozen
}

// tracks returns the season's current freezes. Parsing is done once for each set
// of freezes; a replaced freeze has another id.
func (s *Service) tracks(ctx context.Context, d Definition) (map[string]*frozen, error) {
	ids, err := currentIDs(ctx, s.db.Reader(), d.Number)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.cache[d.Number]; ok && slices.Equal(c.ids, ids) {
		return c.tracks, nil
	}
	list, err := freezesByID(ctx, s.db.Reader(), d, ids)
	if err != nil {
		return nil, err
	}
	c := compiled{ids: ids, tracks: make(map[string]*frozen, len(list))}
	for _, f := range list {
		c.tracks[f.Track] = f
	}
	s.cache[d.Number] = c
	return c.tracks, nil
}

// frozenTrack is the current freeze of one track, from the freeze of the whole
// season on.
func (s *Service) frozenTrack(ctx context.Context, number int64, trackName string) (Season, *frozen, error) {
	season, err := s.Season(ctx, number)
	if err != nil {
		return Season{}, nil, err
	}
	if !slices.Contains(season.Tracks, trackName) {
		return Season{}, nil, refuse(NotFound, "season %d has no track %q", number, trackName)
	}
	if !season.State.Reached(Frozen) {
		return Season{}, nil, refuse(NotFound, "season %d is not frozen yet", number)
	}
	tracks, err := s.tracks(ctx, season.Definition)
	if err != nil {
		return Season{}, nil, err
	}
	f, ok := tracks[trackName]
	if !ok {
		return Season{}, nil, fmt.Errorf("season %d: track %s is frozen and its freeze is not there", number, trackName)
	}
	return season, f, nil
}

// intake is the context that submissions are checked in.
func intake(d Definition, did string, tracks map[string]*frozen) bundle.SubmissionContext {
	c := bundle.SubmissionContext{Season: d.Number, AgentDID: did, Tracks: make(map[string]bundle.TrackContext, len(tracks)), RefuseOverCap: true}
	for name, f := range tracks {
		c.Tracks[name] = f.context()
	}
	return c
}
