package index

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// edition is one published season: its bundle and its results, ready to be looked
// up. It is read-only and safe for concurrent use.
type edition struct {
	dir           string
	fsys          fs.FS
	bundle        *bundle.Bundle
	results       *results.Results
	resultsSHA256 string
	enrolments    map[string]bundle.Enrolment // by DID
	checker       *receipt.Checker

	proofIDs []string              // every view of the folder, sorted
	isProof  map[string]bool       // the same, and the freeze proofs
	freezes  map[string]string     // freeze proof id → track
	cited    map[string][]citation // proof id → assertions that cite it
	rows     map[string]map[string]*results.Participant
	bySlug   map[string]map[string]string // track → slug → DID, for reports
	hashes   map[string]*trackHashes
}

// citation is an assertion of the results that cites a proof.
type citation struct {
	track, did, taskID string
	assertion          results.Assertion
}

// trackHashes find the resource behind an opened hash.
type trackHashes struct {
	request  map[string]string
	response map[string][]string // several resources can have one body
}

// openEdition opens a bundle folder. Nothing stays open: files are read when a
// page needs them.
func openEdition(dir string) (*edition, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("is not a folder: unpack the archive first")
	}
	return newEdition(dir, os.DirFS(dir))
}

func newEdition(dir string, fsys fs.FS) (*edition, error) {
	b, err := bundle.OpenFS(fsys)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(fsys, bundle.ResultsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("has no results.json: score the season first ('prova season score')")
	}
	if err != nil {
		return nil, err
	}
	r, err := results.Parse(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	e := &edition{
		dir: dir, fsys: fsys, bundle: b, results: r, resultsSHA256: hex.EncodeToString(sum[:]),
		enrolments: map[string]bundle.Enrolment{}, checker: receipt.NewChecker(b.Trust),
		isProof: map[string]bool{}, freezes: map[string]string{}, cited: map[string][]citation{},
		rows: map[string]map[string]*results.Participant{}, bySlug: map[string]map[string]string{}, hashes: map[string]*trackHashes{},
	}
	for _, en := range b.Enrolments {
		if en.RunFault != "" {
			return nil, fmt.Errorf("%s: %s", bundle.EnrolmentsPath, en.RunFault)
		}
		e.enrolments[en.AgentDID] = en
	}
	if err := e.indexResults(); err != nil {
		return nil, err
	}
	return e, e.indexProofs()
}

func (e *edition) number() int64 { return e.bundle.Season.Number }

func (e *edition) document(name string) (any, error) {
	data, err := fs.ReadFile(e.fsys, name)
	if err != nil {
		return nil, err
	}
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, strict.Reason(err))
	}
	return v, nil
}

// indexResults holds results and bundle against each other: results of another
// bundle would show wrong names.
func (e *edition) indexResults() error {
	if e.results.Season != e.number() {
		return fmt.Errorf("results.json is of season %d, the bundle of season %d", e.results.Season, e.number())
	}
	for _, name := range e.bundle.TrackNames() {
		r, ok := e.results.Tracks[name]
		if !ok {
			return fmt.Errorf("results.json has no track %s", name)
		}
		e.rows[name], e.bySlug[name] = map[string]*results.Participant{}, map[string]string{}
		for i := range r.Participants {
			p := &r.Participants[i]
			if _, ok := e.enrolments[p.AgentDID]; !ok {
				return fmt.Errorf("results.json: track %s: %s is not enrolled", name, strict.Quote(p.AgentDID))
			}
			e.rows[name][p.AgentDID] = p
			e.bySlug[name][slug(p.AgentDID)] = p.AgentDID
			if err := e.indexTasks(name, p); err != nil {
				return err
			}
		}
		e.hashes[name] = hashesOf(e.bundle.Tracks[name].Manifest)
	}
	if len(e.results.Tracks) != len(e.rows) {
		return errors.New("results.json has a track that season.json does not have")
	}
	return nil
}

func (e *edition) indexTasks(track string, p *results.Participant) error {
	for _, t := range p.Tasks {
		if entry, _, ok := e.bundle.Season.Task(t.TaskID); !ok || entry.Name != track {
			return fmt.Errorf("results.json: track %s has no task %s", track, strict.Quote(t.TaskID))
		}
		for _, a := range t.Assertions {
			for _, id := range a.ProofIDs {
				e.cited[id] = append(e.cited[id], citation{track: track, did: p.AgentDID, taskID: t.TaskID, assertion: a})
			}
		}
	}
	return nil
}

func hashesOf(m *bundle.Manifest) *trackHashes {
	h := &trackHashes{request: make(map[string]string, len(m.Entries)), response: make(map[string][]string, len(m.Entries))}
	for _, entry := range m.Entries {
		if entry.RequestSHA256 != nil {
			h.request[*entry.RequestSHA256] = entry.Resource
		}
		h.response[entry.ResponseSHA256] = append(h.response[entry.ResponseSHA256], entry.Resource)
	}
	return h
}

// indexProofs lists the views of the folder; only those get a page.
func (e *edition) indexProofs() error {
	entries, err := fs.ReadDir(e.fsys, "proofs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if ok && bundle.ValidProofID(id) && entry.Type().IsRegular() {
			e.isProof[id] = true
		}
	}
	for _, name := range e.bundle.TrackNames() {
		id := e.bundle.Tracks[name].Freeze.ProofID
		e.freezes[id], e.isProof[id] = name, true
	}
	for id := range e.isProof {
		e.proofIDs = append(e.proofIDs, id)
	}
	slices.Sort(e.proofIDs)
	return nil
}

// view reads the public view of a proof: the bundle's file, or the one inside the
// track's freeze.
func (e *edition) view(id string) ([]byte, bool, error) {
	track, frozen := e.freezes[id]
	if !frozen {
		return e.bundle.Proof(id)
	}
	v, err := e.document(bundle.FreezePath(track))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	proof, ok := canonjson.Resolve(v, "/proof")
	if !ok {
		return nil, false, nil
	}
	return canonjson.Compact(proof), true, nil
}

// submission reads a task's submission as the scorer does; nil with its faults
// when it breaks a rule, nil without any when there is none.
func (e *edition) submission(did, taskID string) (*bundle.Submission, []bundle.Fault, error) {
	data, ok, err := e.bundle.Submission(did, taskID)
	if err != nil || !ok {
		return nil, nil, err
	}
	s, faults := bundle.ParseSubmission(data, e.bundle.SubmissionContext(did, taskID))
	if len(faults) > 0 {
		return nil, faults, nil
	}
	return s, nil, nil
}

// enrolment is the entry of a participant of the results, which always exists.
func (e *edition) enrolment(did string) bundle.Enrolment { return e.enrolments[did] }
