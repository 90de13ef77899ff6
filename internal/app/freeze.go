package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// FreezePlan is what an operator freezes (§8).
type FreezePlan struct {
	// Corpora are the folders to freeze, by track.
	Corpora map[string]string
	// Opens and Closes are the window, in whole seconds; both bounds belong to it.
	Opens, Closes time.Time
	// Practice allows a built-in corpus, whose key anyone can compute.
	Practice bool
	// Reason says why a freeze replaces an earlier one; empty for the first.
	Reason string
}

// Frozen is one track's freeze as it was anchored.
type Frozen struct {
	Track, ProofID, RulesSHA256, ManifestSHA256, KeyCommitment string
	// At is the time of the token over the freeze.
	At time.Time
}

// Freeze commits rules, corpus and key of each track and anchors them by a
// proxied call of the challenge's own key. Corpus, key and salt are on disk,
// readable by their owner only, before the call is made.
func (o *Operator) Freeze(ctx context.Context, p FreezePlan) (out []Frozen, err error) {
	if len(p.Corpora) == 0 {
		return nil, errors.New("freeze: name at least one corpus folder")
	}
	release, err := o.lock()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	tracks := make([]string, 0, len(p.Corpora))
	loaded := map[string]*corpus.Corpus{}
	practice := false
	for trackName, dir := range p.Corpora {
		c, err := loadForFreeze(dir, trackName, o.number, p.Practice)
		if err != nil {
			return nil, err
		}
		tracks = append(tracks, trackName)
		loaded[trackName] = c
		practice = practice || c.Practice
	}
	slices.Sort(tracks)
	// What the call will need, before anything is stored or sealed.
	if _, err := o.challengeKey(); err != nil {
		return nil, err
	}
	err = o.season.Define(ctx, season.Definition{
		Number: o.number, Opens: p.Opens, Closes: p.Closes, Host: o.config.Season.Host,
		Witnesses: bundle.WitnessPolicy{RequireLog: o.config.Season.RequireLog, AllowLocal: o.config.Season.AllowLocal},
		Practice:  practice, Tracks: tracks,
	})
	if err != nil {
		return nil, err
	}
	for _, name := range tracks {
		f, err := o.freezeTrack(ctx, loaded[name], p)
		if err != nil {
			return out, fmt.Errorf("freeze of track %s: %w", name, err)
		}
		out = append(out, *f)
	}
	return out, nil
}

// loadForFreeze reads a corpus and refuses what must not be frozen.
func loadForFreeze(dir, trackName string, number int64, practice bool) (*corpus.Corpus, error) {
	c, err := corpus.Load(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Track != trackName:
		return nil, fmt.Errorf("corpus %s is of track %q, not %q", dir, c.Track, trackName)
	case int64(c.Season) != number:
		return nil, fmt.Errorf("corpus %s was built for season %d, not %d: build it with --season %d", dir, c.Season, number, number)
	case c.Key == nil:
		return nil, fmt.Errorf("corpus %s has no key.json: a season is frozen from the folder that holds the key", dir)
	case c.Practice && !practice:
		return nil, fmt.Errorf("corpus %s is a practice corpus, anyone can compute its key: build one from a secret seed, or freeze with --practice", dir)
	}
	if faults := corpus.Lint(c); len(faults) > 0 {
		return nil, fmt.Errorf("corpus %s has %d lint faults, the first: %s; run 'prova corpus lint %s'", dir, len(faults), faults[0], dir)
	}
	return c, nil
}

// sealedFreeze is a freeze on disk: seasons/<n>/freezes/<track>-<k>/ with the
// corpus, the salt and, once anchored, freeze.json. All of it is 0700.
type sealedFreeze struct {
	Track   string `json:"track"`
	ProofID string `json:"proof_id"`
	dir     string
}

func (o *Operator) freezesDir() string {
	return filepath.Join(o.config.seasonDir(o.number), "freezes")
}

func (o *Operator) freezeTrack(ctx context.Context, c *corpus.Corpus, p FreezePlan) (*Frozen, error) {
	salt, err := newSalt()
	if err != nil {
		return nil, err
	}
	key, err := canonjson.ParseStrict(c.Key)
	if err != nil {
		return nil, fmt.Errorf("key.json: %w", err)
	}
	sealed, err := o.seal(c, salt)
	if err != nil {
		return nil, err
	}
	urls, err := c.Catalogue()
	if err != nil {
		return nil, err
	}
	f := season.Freeze{
		Track: c.Track, CorpusHost: c.Host, RulesText: c.RulesText, Rules: c.Rules, Tasks: c.Tasks,
		Catalogue:      canonjson.Compact(canonjson.NewObject("corpus_host", c.Host, "urls", urls)),
		ManifestSHA256: corpus.ManifestHash(c.Manifest), KeyCommitment: bundle.KeyCommitment(salt, key),
		Reason: p.Reason,
	}
	call, err := o.season.Freeze(ctx, o.number, f)
	if err != nil {
		return nil, err
	}
	o.progress("track %s: rules, corpus and key committed; anchoring the freeze through the proxy", c.Track)
	proofID, disclosures, at, err := o.anchorFreeze(ctx, call, p.Opens)
	if err != nil {
		return nil, err
	}
	// The folder is named by its proof before the freeze comes into force: a kill in
	// between must not leave a freeze whose key and salt nothing finds again.
	sealed.ProofID = proofID
	if err := sealed.record(); err != nil {
		return nil, err
	}
	if err := o.season.RecordFreezeProof(ctx, o.number, c.Track, proofID, disclosures); err != nil {
		return nil, err
	}
	return &Frozen{
		Track: c.Track, ProofID: proofID, RulesSHA256: call.RulesSHA256,
		ManifestSHA256: f.ManifestSHA256, KeyCommitment: f.KeyCommitment, At: at,
	}, nil
}

// seal writes corpus and salt into a new folder of the season.
func (o *Operator) seal(c *corpus.Corpus, salt [32]byte) (*sealedFreeze, error) {
	if err := os.MkdirAll(o.freezesDir(), 0o700); err != nil {
		return nil, err
	}
	names, err := folders(o.freezesDir())
	if err != nil {
		return nil, err
	}
	k := 1
	for slices.Contains(names, freezeFolder(c.Track, k)) {
		k++
	}
	s := &sealedFreeze{Track: c.Track, dir: filepath.Join(o.freezesDir(), freezeFolder(c.Track, k))}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	// The salt first: a corpus without one in its folder could never be opened.
	if err := writeOnce(filepath.Join(s.dir, "salt"), []byte(hex.EncodeToString(salt[:])), 0o600); err != nil {
		return nil, err
	}
	return s, c.Write(filepath.Join(s.dir, "corpus"))
}

// freezeFolder sorts the freezes of one track in their order.
func freezeFolder(trackName string, k int) string { return fmt.Sprintf("%s-%04d", trackName, k) }

func (s *sealedFreeze) record() error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writeOnce(filepath.Join(s.dir, "freeze.json"), data, 0o600)
}

// sealedFreezes reads the anchored freezes of a season, in order. Which of them
// are in force, or were, the season service knows.
func sealedFreezes(root string) ([]sealedFreeze, error) {
	names, err := folders(root)
	if err != nil {
		return nil, err
	}
	var out []sealedFreeze
	for _, name := range names {
		dir := filepath.Join(root, name)
		data, err := os.ReadFile(filepath.Join(dir, "freeze.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue // never anchored, so never in force
		}
		if err != nil {
			return nil, err
		}
		s := sealedFreeze{dir: dir}
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// anchorFreeze makes the pre-registration call and waits until its proof holds:
// token and log entry verified, token time not after the opening.
func (o *Operator) anchorFreeze(ctx context.Context, call *season.FreezeCall, opens time.Time) (proofID string, disclosures []byte, at time.Time, err error) {
	key, err := o.challengeKey()
	if err != nil {
		return "", nil, at, err
	}
	body := canonjson.Compact(canonjson.NewObject("target", call.Target, "method", "POST", "payload", call.Statement, "currency", "eur"))
	answer, err := o.post(ctx, o.config.Season.IssuerURL+"/v1/proxy", body, map[string]string{"X-Api-Key": key})
	if err != nil {
		return "", nil, at, fmt.Errorf("the pre-registration call: %w", err)
	}
	var made struct {
		Proof struct {
			ProofID string `json:"proof_id"`
		} `json:"proof"`
		Response struct {
			Status int             `json:"status_code"`
			Body   json.RawMessage `json:"body"`
		} `json:"service_response"`
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return "", nil, at, fmt.Errorf("the pre-registration call: %w", err)
	}
	if made.Response.Status != 200 {
		return "", nil, at, fmt.Errorf("the season service refused the pre-registration call with %d: %s", made.Response.Status, strings.TrimSpace(string(made.Response.Body)))
	}
	proof, _, err := o.anchored(ctx, made.Proof.ProofID)
	if err != nil {
		return "", nil, at, err
	}
	trust, err := o.trust(ctx)
	if err != nil {
		return "", nil, at, err
	}
	entries := o.log()
	policy := receipt.Policy{RequireLog: o.config.Season.RequireLog, AllowLocal: o.config.Season.AllowLocal}
	evidence, refusal := receipt.NewChecker(trust).Admit(proof, func(uuid string) ([]byte, bool) {
		data, err := entries.Entry(ctx, uuid)
		return data, err == nil
	}, policy)
	if refusal != nil {
		return "", nil, at, fmt.Errorf("the freeze proof %s does not hold: %w", made.Proof.ProofID, refusal)
	}
	if evidence.TokenTime.After(opens) {
		return "", nil, at, fmt.Errorf("the freeze proof %s was timestamped at %s, after the opening %s: choose a later opening",
			made.Proof.ProofID, evidence.TokenTime.Format(time.RFC3339), opens.Format(time.RFC3339))
	}
	disclosures, err = o.disclosures(ctx, made.Proof.ProofID, key)
	return made.Proof.ProofID, disclosures, evidence.TokenTime, err
}
