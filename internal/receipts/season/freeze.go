package season

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// Freeze is one track's frozen documents, as published, and the hashes of what
// the season service must not see (§8).
type Freeze struct {
	Track          string
	CorpusHost     string
	RulesText      []byte // rules/<track>.md
	Rules          []byte // rules/<track>.json
	Tasks          []byte // The array of tasks as in season.json.
	Catalogue      []byte // {"corpus_host","urls":[…]}, served as it is.
	ManifestSHA256 string
	KeyCommitment  string
	Reason         string // Why it replaces the freeze before it; empty for the first.
}

// FreezeCall is the pre-registration call to be made through the proxy: a POST
// to Target with Statement as payload (bundle format §7).
type FreezeCall struct {
	Target      string
	Statement   *canonjson.Object
	RulesSHA256 string
}

// frozen is a freeze, read.
type frozen struct {
	id int64
	Freeze
	version     string
	rulesSHA256 string
	rules       *track.Rules
	rulesValue  any
	tasksValue  any
	tasks       []track.Task
	urls        map[string]bool
	proofID     string
	disclosures []byte
	calledAt    string
}

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// read parses and cross-checks the documents.
func (f Freeze) read(d Definition) (*frozen, error) {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("freeze of track %s: "+format, append([]any{f.Track}, args...)...)
	}
	if !slices.Contains(d.Tracks, f.Track) {
		return nil, fault("season %d has no such track", d.Number)
	}
	if !sha256Hex.MatchString(f.ManifestSHA256) || !sha256Hex.MatchString(f.KeyCommitment) {
		return nil, fault("manifest hash and key commitment must be 64 lower-case hex digits")
	}
	out := &frozen{Freeze: f}
	var err error
	if out.rulesValue, err = canonjson.ParseStrict(f.Rules); err != nil {
		return nil, fault("rules: %w", err)
	}
	if out.rules, err = track.ParseRules(out.rulesValue); err != nil {
		return nil, fault("rules: %w", err)
	}
	if sum := hexSum(f.RulesText); sum != out.rules.TextSHA256 {
		return nil, fault("the rules name the text %s, the text is %s", out.rules.TextSHA256, sum)
	}
	if out.tasksValue, err = canonjson.ParseStrict(f.Tasks); err != nil {
		return nil, fault("tasks: %w", err)
	}
	if out.tasks, err = track.ParseTasks(out.tasksValue, f.Track); err != nil {
		return nil, fault("tasks: %w", err)
	}
	if len(out.tasks) == 0 {
		return nil, fault("there are no tasks")
	}
	if out.urls, err = readCatalogue(f.Catalogue, f.CorpusHost); err != nil {
		return nil, fault("catalogue: %w", err)
	}
	out.version = out.rules.Version
	out.rulesSHA256 = bundle.RulesHash(out.rulesInput(d))
	return out, nil
}

// readCatalogue accepts what is published: sorted canonical URLs of one host.
func readCatalogue(text []byte, host string) (map[string]bool, error) {
	v, err := canonjson.ParseStrict(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, errors.New("it must be an object")
	}
	if named, _ := o.Get("corpus_host"); named != host {
		return nil, fmt.Errorf("corpus_host must be %s", host)
	}
	list, _ := o.Get("urls")
	items, ok := list.([]any)
	if !ok {
		return nil, errors.New("urls must be an array")
	}
	urls, before := make(map[string]bool, len(items)), ""
	for i, item := range items {
		u, ok := item.(string)
		if !ok || !strings.HasPrefix(u, host+"/") {
			return nil, fmt.Errorf("/urls/%d must be a URL under %s", i, host)
		}
		if u <= before {
			return nil, fmt.Errorf("/urls/%d: the URLs must be sorted, each once", i)
		}
		urls[u], before = true, u
	}
	return urls, nil
}

func (f *frozen) rulesInput(d Definition) bundle.RulesInput {
	return bundle.RulesInput{
		Season: d.Number, Opens: d.Opens, Closes: d.Closes, SeasonHost: d.Host, WitnessPolicy: d.policy(),
		Track: f.Track, CorpusHost: f.CorpusHost, Tasks: f.tasksValue, Rules: f.rulesValue,
	}
}

// rulesStatement is the text whose SHA-256 is the rules hash.
func rulesStatement(d Definition, f *frozen) []byte {
	return canonjson.Marshal(bundle.RulesObject(f.rulesInput(d)))
}

func (f *frozen) statement(d Definition) *canonjson.Object {
	return bundle.Statement(d.Number, f.Track, f.version, bundle.Freeze{
		RulesSHA256: f.rulesSHA256, ManifestSHA256: f.ManifestSHA256, KeyCommitment: f.KeyCommitment,
	})
}

// context is what intake needs of the track: its tasks' caps and its verdicts.
// A verdict that names a resource must be in the published catalogue (design
// §3): the manifest is not known here.
func (f *frozen) context() bundle.TrackContext {
	caps := make(map[string]int, len(f.tasks))
	for _, t := range f.tasks {
		caps[t.ID] = t.Cap
	}
	words := strings.Join(f.rules.Verdicts, ", ")
	if c := f.rules.VerdictCollection; c != nil {
		words += ", or a reference whose URL under " + *c + " is in the catalogue"
	}
	listed := func(resource string) bool { return f.urls[f.CorpusHost+resource] }
	return bundle.TrackContext{
		Caps: caps, Verdicts: words,
		VerdictAllowed: func(v string) bool { return f.rules.VerdictAllowed(v, listed) },
	}
}

// Freeze stores a track's documents and returns the call that anchors them. It
// takes effect, for a first freeze as for one that replaces another, when
// RecordFreezeProof names the proof of that call. Only before the opening.
func (s *Service) Freeze(ctx context.Context, number int64, f Freeze) (*FreezeCall, error) {
	var call *FreezeCall
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.now()
		season, err := lockSeason(ctx, tx, number, now)
		if err != nil {
			return err
		}
		if season.State.Reached(Open) || !now.Before(season.Opens) {
			return fmt.Errorf("freeze of track %s: %w: season %d is past its opening, nothing frozen changes any more", f.Track, ErrState, number)
		}
		read, err := f.read(season.Definition)
		if err != nil {
			return err
		}
		others, err := freezes(ctx, tx, season.Definition, "status IN ('current', 'pending')")
		if err != nil {
			return err
		}
		if err := read.apartFrom(others); err != nil {
			return err
		}
		call = &FreezeCall{
			Target:      bundle.FreezeTarget(season.Host, number, f.Track),
			Statement:   read.statement(season.Definition),
			RulesSHA256: read.rulesSHA256,
		}
		return insertFreeze(ctx, tx, number, read, now)
	})
	if err != nil {
		return nil, err
	}
	return call, nil
}

// apartFrom checks a freeze against those of the season: no task id and no
// corpus host in two tracks (bundle format §1, D2), and a reason if it replaces one.
func (f *frozen) apartFrom(others []*frozen) error {
	for _, o := range others {
		if o.Track == f.Track {
			if o.proofID != "" && strings.TrimSpace(f.Reason) == "" {
				return fmt.Errorf("freeze of track %s: it replaces %s; say why in its reason", f.Track, o.proofID)
			}
			continue
		}
		if o.CorpusHost == f.CorpusHost {
			return fmt.Errorf("freeze of track %s: track %s has the corpus host %s already", f.Track, o.Track, f.CorpusHost)
		}
		for _, t := range f.tasks {
			if slices.ContainsFunc(o.tasks, func(other track.Task) bool { return other.ID == t.ID }) {
				return fmt.Errorf("freeze of track %s: track %s has a task %s already", f.Track, o.Track, t.ID)
			}
		}
	}
	return nil
}

// ReceiveFreeze is the pre-registration call as it arrives through the proxy:
// before the opening, with exactly the statement that was stored.
func (s *Service) ReceiveFreeze(ctx context.Context, number int64, trackName string, statement []byte) error {
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.now()
		season, err := lockSeason(ctx, tx, number, now)
		if err != nil {
			return err
		}
		if !slices.Contains(season.Tracks, trackName) {
			return refuse(NotFound, "season %d has no track %q", number, trackName)
		}
		if season.State.Reached(Open) || !now.Before(season.Opens) {
			return refuse(Forbidden, "season %d is past its opening: nothing can be frozen any more", number)
		}
		pending, err := freezes(ctx, tx, season.Definition, "status = 'pending' AND track = $2", trackName)
		if err != nil {
			return err
		}
		if len(pending) == 0 {
			return refuse(Conflict, "no freeze of track %s waits for its call", trackName)
		}
		got, err := canonjson.ParseStrict(statement)
		if err != nil || !canonjson.Equal(got, pending[0].statement(season.Definition)) {
			return refuse(Conflict, "the payload is not the statement that was stored for track %s", trackName)
		}
		return setCalled(ctx, tx, pending[0].id, now)
	})
}

// RecordFreezeProof makes the pending freeze of a track the current one: proofID
// is the proof of its call, disclosures the opened pairs of request_hash and
// response_hash as in freeze/<track>.json. The freeze it replaces stays on record.
// When the last track has its proof the season is frozen.
func (s *Service) RecordFreezeProof(ctx context.Context, number int64, trackName, proofID string, disclosures []byte) error {
	if !bundle.ValidProofID(proofID) {
		return fmt.Errorf("freeze of track %s: %q is no proof id", trackName, proofID)
	}
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.now()
		season, err := lockSeason(ctx, tx, number, now)
		if err != nil {
			return err
		}
		pending, err := freezes(ctx, tx, season.Definition, "status = 'pending' AND track = $2", trackName)
		if err != nil {
			return err
		}
		if len(pending) == 0 || pending[0].calledAt == "" {
			return fmt.Errorf("freeze of track %s: %w: its call has not arrived here; make it through the proxy first", trackName, ErrState)
		}
		if season.State.Reached(Open) {
			return fmt.Errorf("freeze of track %s: %w: season %d has opened with the freeze before it", trackName, ErrState, number)
		}
		want := bundle.FreezeRequestHash(season.Host, number, trackName, pending[0].statement(season.Definition))
		if err := checkDisclosures(disclosures, want); err != nil {
			return fmt.Errorf("freeze of track %s: %w", trackName, err)
		}
		if err := makeCurrent(ctx, tx, number, pending[0].id, trackName, proofID, disclosures); err != nil {
			return err
		}
		current, err := freezes(ctx, tx, season.Definition, "status = 'current'")
		if err != nil {
			return err
		}
		if season.State == Draft && len(current) == len(season.Tracks) {
			return setState(ctx, tx, number, Frozen)
		}
		return nil
	})
}

// checkDisclosures wants both pairs, and the request hash of the very call.
func checkDisclosures(text []byte, requestHash string) error {
	v, err := canonjson.ParseStrict(text)
	if err != nil {
		return fmt.Errorf("disclosures: %w", err)
	}
	for _, name := range []string{"request_hash", "response_hash"} {
		for _, member := range []string{"nonce", "value"} {
			got, _ := canonjson.Resolve(v, "/"+name+"/"+member)
			if s, ok := got.(string); !ok || !sha256Hex.MatchString(s) {
				return fmt.Errorf("disclosures: /%s/%s must be 64 lower-case hex digits", name, member)
			}
		}
	}
	if got, _ := canonjson.Resolve(v, "/request_hash/value"); got != requestHash {
		return fmt.Errorf("disclosures: the proof is of another call: its request hash must be %s", requestHash)
	}
	return nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
