package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/scoring"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// BundleDir is the folder of the season's bundle.
func (o *Operator) BundleDir() string { return o.bundle }

// CloseSeason ends the intake now (or finds that time has ended it), has every
// batch closed and anchored, and writes the bundle. Repeated before the publication
// it takes up proofs that have been anchored since; otherwise it changes nothing.
func (o *Operator) CloseSeason(ctx context.Context) (err error) {
	release, err := o.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := o.season.Advance(ctx, o.number); err != nil {
		return err
	}
	if err := o.season.Close(ctx, o.number); err != nil {
		return err
	}
	if _, err := os.Stat(o.BundleDir()); err == nil {
		return o.refreshPending(ctx)
	}
	if err := removePartials(o.BundleDir()); err != nil {
		return err
	}
	o.progress("intake closed; closing and anchoring the last batch")
	if err := o.closeBatch(ctx); err != nil {
		return err
	}
	if err := o.season.RefreshLinks(ctx, o.number); err != nil {
		return err
	}
	snapshot, err := o.season.Snapshot(ctx, o.number)
	if err != nil {
		return err
	}
	w, err := bundle.Create(o.BundleDir())
	if err != nil {
		return err
	}
	if err := o.assemble(ctx, w, snapshot); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit(ctx)
}

// assemble writes every file of the bundle but the results.
func (o *Operator) assemble(ctx context.Context, w *bundle.Writer, s *season.Snapshot) error {
	trust, err := o.trust(ctx)
	if err != nil {
		return err
	}
	document, err := s.Document()
	if err != nil {
		return err
	}
	err = errors.Join(
		w.PutJSON("season.json", document),
		w.Put("trust.json", trust.JSON()),
		w.PutJSON("enrolments.json", s.EnrolmentsDocument()))
	if err != nil {
		return err
	}
	proofs := map[string]bool{}
	sealed, err := sealedFreezes(o.freezesDir())
	if err != nil {
		return err
	}
	for _, f := range s.Freezes {
		if err := o.assembleTrack(ctx, w, f, sealed); err != nil {
			return fmt.Errorf("track %s: %w", f.Track, err)
		}
	}
	for submission, err := range o.season.Submissions(ctx, o.number) {
		if err != nil {
			return err
		}
		if err := w.Put(bundle.SubmissionPath(submission.AgentDID, submission.TaskID), submission.Body); err != nil {
			return err
		}
		for _, id := range citedProofs(submission.Body) {
			proofs[id] = true
		}
	}
	o.progress("reading the proofs that submissions cite: %d", len(proofs))
	return o.assembleProofs(ctx, w, proofs)
}

// assembleTrack opens what the freeze sealed: corpus, key and salt.
func (o *Operator) assembleTrack(ctx context.Context, w *bundle.Writer, f season.FreezeRecord, sealed []sealedFreeze) error {
	i := slices.IndexFunc(sealed, func(s sealedFreeze) bool { return s.ProofID == f.ProofID })
	if i < 0 {
		return fmt.Errorf("the sealed freeze of proof %s is not in %s", f.ProofID, o.freezesDir())
	}
	c, err := corpus.Load(filepath.Join(sealed[i].dir, "corpus"))
	if err != nil {
		return err
	}
	key, err := sealed[i].openedKey(c.Key)
	if err != nil {
		return err
	}
	if err := o.replacedSalts(key, f, sealed); err != nil {
		return err
	}
	err = errors.Join(
		w.Put(bundle.RulesPath(f.Track), f.Rules),
		w.Put(bundle.RulesTextPath(f.Track), f.RulesText),
		w.Put(bundle.ManifestPath(f.Track), c.Manifest),
		w.PutJSON(bundle.KeyPath(f.Track), key))
	for name, body := range c.Files {
		err = errors.Join(err, w.Put(bundle.CorpusFilePath(f.Track, name), body))
	}
	if err != nil {
		return err
	}
	_, view, err := o.anchored(ctx, f.ProofID)
	if err != nil {
		return err
	}
	disclosures, err := canonjson.ParseStrict(f.Disclosures)
	if err != nil {
		return err
	}
	proof, err := canonjson.ParseStrict(view)
	if err != nil {
		return err
	}
	if err := o.putEntry(ctx, w.Put, view, map[string]bool{}); err != nil {
		return err
	}
	return w.PutJSON(bundle.FreezePath(f.Track), canonjson.NewObject("proof", proof, "disclosures", disclosures))
}

// openedKey is keys/<track>.json (bundle-format §6).
func (s *sealedFreeze) openedKey(key []byte) (*canonjson.Object, error) {
	salt, err := s.salt()
	if err != nil {
		return nil, err
	}
	v, err := canonjson.ParseStrict(key)
	if err != nil {
		return nil, fmt.Errorf("%s: key.json: %w", s.dir, err)
	}
	return canonjson.NewObject("salt", hex.EncodeToString(salt[:]), "key", v), nil
}

func (s *sealedFreeze) salt() ([32]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, "salt"))
	if err != nil {
		return [32]byte{}, err
	}
	return parseSalt(text)
}

// replacedSalts adds the salts of freezes that were replaced before the opening
// (§8): they are published at close like the one in force.
func (o *Operator) replacedSalts(key *canonjson.Object, f season.FreezeRecord, sealed []sealedFreeze) error {
	var replaced []any
	for _, old := range f.Replaced {
		i := slices.IndexFunc(sealed, func(s sealedFreeze) bool { return s.ProofID == old.ProofID })
		if i < 0 {
			return fmt.Errorf("the sealed freeze of replaced proof %s is not in %s", old.ProofID, o.freezesDir())
		}
		salt, err := sealed[i].salt()
		if err != nil {
			return err
		}
		replaced = append(replaced, canonjson.NewObject("proof_id", old.ProofID, "salt", hex.EncodeToString(salt[:])))
	}
	if replaced != nil {
		key.Set("replaced", replaced)
	}
	return nil
}

// citedProofs reads the proof ids of a submission that intake has accepted.
func citedProofs(submission []byte) []string {
	var s struct {
		Disclosures map[string]json.RawMessage `json:"disclosures"`
	}
	if err := json.Unmarshal(submission, &s); err != nil {
		return nil
	}
	ids := make([]string, 0, len(s.Disclosures))
	for id := range s.Disclosures {
		ids = append(ids, id)
	}
	return ids
}

// refreshPending replaces the proofs that were pending when the bundle was
// written and no longer are (§4.1). After the publication no input changes in
// place: that takes a correction.
func (o *Operator) refreshPending(ctx context.Context) error {
	current, err := o.Season(ctx)
	if err != nil || current.State.Reached(season.Published) {
		return err
	}
	names, err := filepath.Glob(filepath.Join(o.BundleDir(), "proofs", "prf_*.json"))
	if err != nil {
		return err
	}
	var pending []string
	for _, name := range names {
		view, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if isPending(view) {
			pending = append(pending, strings.TrimSuffix(filepath.Base(name), ".json"))
		}
	}
	if len(pending) == 0 {
		return nil
	}
	if err := o.closeBatch(ctx); err != nil {
		return err
	}
	put := func(name string, data []byte) error {
		if err := os.MkdirAll(filepath.Join(o.BundleDir(), filepath.FromSlash(path.Dir(name))), 0o755); err != nil {
			return err
		}
		return bundle.Replace(o.BundleDir(), name, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	anchored, entries := 0, map[string]bool{}
	err = o.source().Proofs(ctx, pending, func(id string, view []byte) error {
		if isPending(view) {
			return nil
		}
		anchored++
		// The entry first: an anchored proof without it would not verify.
		if err := o.putEntry(ctx, put, view, entries); err != nil {
			return err
		}
		return put(bundle.ProofPath(id), view)
	})
	o.progress("%d proofs were pending in the bundle; %d of them are anchored now: score the season again", len(pending), anchored)
	return err
}

// removePartials removes what a kill left of earlier attempts to write target. The
// caller holds the season's lock, so no other attempt is under way.
func removePartials(target string) error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".partial-*"))
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

// proofsAtOnce is how many views are asked for in one go.
const proofsAtOnce = 500

// assembleProofs reads the cited proofs until none of the known ones is pending,
// then writes views and log entries. A proof that stays pending past the wait is
// written as it is: it scores as pending until a repeated close takes it up.
func (o *Operator) assembleProofs(ctx context.Context, w *bundle.Writer, cited map[string]bool) error {
	want := make([]string, 0, len(cited))
	for id := range cited {
		want = append(want, id)
	}
	slices.Sort(want)
	entries := map[string]bool{}
	deadline := o.clock().Add(anchorWait)
	for len(want) > 0 {
		var pending []string
		for ids := range slices.Chunk(want, proofsAtOnce) {
			err := o.source().Proofs(ctx, ids, func(id string, view []byte) error {
				if isPending(view) {
					pending = append(pending, id)
				}
				return errors.Join(w.Put(bundle.ProofPath(id), view), o.putEntry(ctx, w.Put, view, entries))
			})
			if err != nil {
				return err
			}
		}
		if want = pending; len(want) == 0 {
			break
		}
		if o.clock().After(deadline) {
			o.progress("%d proofs still wait for their witnesses: their tasks are provisional", len(want))
			break
		}
		if err := o.closeBatch(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
	return nil
}

func isPending(view []byte) bool {
	var v struct {
		Batch struct {
			Status string `json:"status"`
		} `json:"batch_anchor"`
	}
	return json.Unmarshal(view, &v) == nil && v.Batch.Status == "pending"
}

// putEntry writes the log entry that a view names, once.
func (o *Operator) putEntry(ctx context.Context, put func(name string, data []byte) error, view []byte, done map[string]bool) error {
	var v struct {
		Log *struct {
			UUID string `json:"uuid"`
		} `json:"transparency_log"`
	}
	if err := json.Unmarshal(view, &v); err != nil {
		return fmt.Errorf("the issuer's view of a proof: %w", err)
	}
	if v.Log == nil || v.Log.UUID == "" || done[v.Log.UUID] {
		return nil
	}
	if !bundle.ValidEntryUUID(v.Log.UUID) {
		return fmt.Errorf("the issuer's proof names the log entry %q, which is no uuid", v.Log.UUID)
	}
	entry, err := o.log().Entry(ctx, v.Log.UUID)
	if err != nil {
		return err
	}
	done[v.Log.UUID] = true
	return put(bundle.LogEntryPath(v.Log.UUID), entry)
}

// Score computes the results of the closed season from its bundle and nothing
// else, and writes them into it.
func (o *Operator) Score(ctx context.Context) (_ *results.Results, err error) {
	release, err := o.lock()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := os.Stat(o.BundleDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("season %d has no bundle yet: close it first ('prova season close')", o.number)
	}
	b, err := bundle.Open(o.BundleDir())
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var computed bytes.Buffer
	if err := scoring.Score(b, nil, &computed); err != nil {
		return nil, err
	}
	err = bundle.Replace(o.BundleDir(), "results.json", func(w io.Writer) error {
		_, err := w.Write(computed.Bytes())
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := o.season.MarkScored(ctx, o.number); err != nil {
		return nil, err
	}
	return results.Parse(computed.Bytes())
}

// Publish packs the bundle and hands results, reports and bundle to the season
// service and the Index. The bundle that is published already stays the version
// that it is.
func (o *Operator) Publish(ctx context.Context) (version int64, err error) {
	release, err := o.lock()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	data, err := os.ReadFile(filepath.Join(o.BundleDir(), "results.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("season %d has no results yet: score it first ('prova season score')", o.number)
	}
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(o.config.seasonDir(o.number), "public")
	p, err := writePublication(dir, data)
	if err != nil {
		return 0, err
	}
	p.Bundle = filepath.Join(dir, "bundle.tar.zst")
	if err := removePartials(p.Bundle); err != nil {
		return 0, err
	}
	if err := bundle.Pack(ctx, o.BundleDir(), p.Bundle); err != nil {
		return 0, err
	}
	if p.SHA256, err = fileSHA256(p.Bundle); err != nil {
		return 0, err
	}
	return o.season.Publish(ctx, o.number, *p)
}

func fileSHA256(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writePublication splits the results into one file a track and one report a
// participant; each is a part of results.json, nothing is computed.
func writePublication(dir string, results []byte) (*season.Publication, error) {
	v, err := canonjson.ParseStrict(bytes.TrimSuffix(results, []byte("\n")))
	if err != nil {
		return nil, fmt.Errorf("results.json: %w", err)
	}
	root, _ := v.(*canonjson.Object)
	if root == nil {
		return nil, errors.New("results.json: want an object")
	}
	number, _ := root.Get("season")
	tracksValue, _ := root.Get("tracks")
	tracks, _ := tracksValue.(*canonjson.Object)
	if tracks == nil {
		return nil, errors.New("results.json: want tracks")
	}
	p := &season.Publication{Results: map[string]string{}, Reports: filepath.Join(dir, "reports")}
	if err := os.MkdirAll(p.Reports, 0o755); err != nil {
		return nil, err
	}
	reports := map[string]*canonjson.Object{}
	for name, value := range tracks.All() {
		p.Results[name] = filepath.Join(dir, "results-"+name+".json")
		part := canonjson.NewObject("season", number, "track", name, "results", value)
		if err := replaceFile(p.Results[name], canonjson.Marshal(part)); err != nil {
			return nil, err
		}
		if err := collectReports(reports, number, name, value); err != nil {
			return nil, err
		}
	}
	for did, report := range reports {
		if err := replaceFile(filepath.Join(p.Reports, did+".json"), canonjson.Marshal(report)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func collectReports(reports map[string]*canonjson.Object, number any, trackName string, value any) error {
	track, _ := value.(*canonjson.Object)
	if track == nil {
		return fmt.Errorf("results.json: track %s: want an object", trackName)
	}
	list, _ := track.Get("participants")
	participants, _ := list.([]any)
	for i, item := range participants {
		participant, _ := item.(*canonjson.Object)
		if participant == nil {
			return errors.New("results.json: participant " + strconv.Itoa(i) + ": want an object")
		}
		didValue, _ := participant.Get("agent_did")
		did, _ := didValue.(string)
		if !bundle.ValidDIDFolder(did) {
			return errors.New("results.json: participant " + strconv.Itoa(i) + ": agent_did is no DID")
		}
		if reports[did] == nil {
			reports[did] = canonjson.NewObject("season", number, "agent_did", did, "tracks", canonjson.NewObject())
		}
		tracks, _ := reports[did].Get("tracks")
		tracks.(*canonjson.Object).Set(trackName, participant)
	}
	return nil
}

// replaceFile writes a public file whole or not at all.
func replaceFile(name string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(data, '\n'))
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
