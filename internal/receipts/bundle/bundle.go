package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// Bundle is a readable season bundle. It is safe for concurrent use.
type Bundle struct {
	Season      *Season
	Trust       *receipt.Trust // the publisher's proposal (D4)
	Tracks      map[string]*Track
	Enrolments  []Enrolment  // by DID, in code point order
	Corrections *Corrections // nil without corrections.json

	src      source
	contexts map[string]TrackContext
}

// Track is what a bundle holds about one track.
type Track struct {
	*TrackEntry
	Rules    *track.Rules
	Manifest *Manifest
	Key      *Key

	rules   any    // rules/<track>.json as written, for the rules hash
	textSum string // SHA-256 of rules/<track>.md
	src     source
}

// Open reads a bundle from a folder or a tar.zst. An error is an
// [*UnreadableError]; the caller closes the bundle.
func Open(path string) (*Bundle, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &UnreadableError{Path: path, Fault: "cannot be opened: " + cause(err)}
	}
	var src source
	switch {
	case info.IsDir():
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, &UnreadableError{Path: path, Fault: "cannot be opened: " + cause(err)}
		}
		src = folder{fsys: root.FS(), closer: root}
	case info.Mode().IsRegular():
		f, err := os.Open(path)
		if err != nil {
			return nil, &UnreadableError{Path: path, Fault: "cannot be opened: " + cause(err)}
		}
		defer f.Close() // read only
		if src, err = readArchive(f, DefaultArchiveLimits()); err != nil {
			return nil, &UnreadableError{Path: filepath.Base(path), Fault: err.Error()}
		}
	default:
		return nil, &UnreadableError{Path: path, Fault: "is neither a folder nor a tar.zst"}
	}
	return open(src)
}

// OpenFS reads a bundle from a file system whose root is the bundle's.
func OpenFS(fsys fs.FS) (*Bundle, error) { return open(folder{fsys: fsys}) }

// cause is the system's part of a file error; the path is said elsewhere.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// Close frees what the bundle holds open.
func (b *Bundle) Close() error { return b.src.close() }

func open(src source) (*Bundle, error) {
	b := &Bundle{src: src, Tracks: map[string]*Track{}, contexts: map[string]TrackContext{}}
	if err := b.read(); err != nil {
		_ = src.close() // the fault found says more
		return nil, err
	}
	return b, nil
}

// read reads every file that can make a bundle unreadable.
func (b *Bundle) read() error {
	data, err := b.required(SeasonPath)
	if err != nil {
		return err
	}
	if b.Season, err = ParseSeason(data); err != nil {
		return err
	}
	if data, err = b.required(TrustPath); err != nil {
		return err
	}
	if b.Trust, err = receipt.ParseTrust(data); err != nil {
		return &UnreadableError{Path: TrustPath, Fault: err.Error()}
	}
	for _, name := range b.Season.TrackNames() {
		t, err := b.readTrack(b.Season.Tracks[name])
		if err != nil {
			return err
		}
		b.Tracks[name] = t
		b.contexts[name] = t.context()
	}
	if data, err = b.required(EnrolmentsPath); err != nil {
		return err
	}
	if b.Enrolments, err = ParseEnrolments(data); err != nil {
		return err
	}
	if err := b.readCorrections(); err != nil {
		return err
	}
	return b.checkSubmissionNames()
}

func (b *Bundle) readTrack(entry *TrackEntry) (*Track, error) {
	t := &Track{TrackEntry: entry, src: b.src}
	data, err := b.required(RulesPath(entry.Name))
	if err != nil {
		return nil, err
	}
	d, v := parseDocument(RulesPath(entry.Name), data)
	if d.Failed() {
		return nil, d.result()
	}
	t.rules = v
	if t.Rules, err = track.ParseRules(v); err != nil {
		return nil, &UnreadableError{Path: d.path, Fault: err.Error()}
	}
	if data, err = b.required(RulesTextPath(entry.Name)); err != nil {
		return nil, err
	}
	t.textSum = hexSum(data)
	if data, err = b.required(ManifestPath(entry.Name)); err != nil {
		return nil, err
	}
	if t.Manifest, err = ParseManifest(ManifestPath(entry.Name), data); err != nil {
		return nil, err
	}
	if data, err = b.required(KeyPath(entry.Name)); err != nil {
		return nil, err
	}
	ids := make([]string, len(entry.Tasks))
	for i, task := range entry.Tasks {
		ids[i] = task.ID
	}
	t.Key, err = ParseKey(KeyPath(entry.Name), data, ids)
	return t, err
}

func (b *Bundle) readCorrections() error {
	data, found, err := b.optional(CorrectionsPath)
	if err != nil || !found {
		return err
	}
	if b.Corrections, err = ParseCorrections(data); err != nil {
		return err
	}
	return b.Corrections.checkNames(b.Season, b.enrolled)
}

func (b *Bundle) enrolled(did string) bool {
	_, ok := slices.BinarySearchFunc(b.Enrolments, did, func(e Enrolment, did string) int {
		return strings.Compare(e.AgentDID, did)
	})
	return ok
}

// checkSubmissionNames refuses folders of DIDs that are not enrolled and files
// of tasks that the season does not have (§9).
func (b *Bundle) checkSubmissionNames() error {
	folders, err := b.src.list(submissionsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &UnreadableError{Path: submissionsDir, Fault: cause(err)}
	}
	for _, f := range folders {
		if f.kind != folderEntry {
			continue
		}
		if !b.enrolled(f.name) {
			return &UnreadableError{Path: submissionsDir + "/" + printable(f.name), Fault: "is no enrolled DID: enrolments.json must name it"}
		}
		if _, err := b.Submitted(f.name); err != nil {
			return err
		}
	}
	return nil
}

// Submitted lists the tasks, of all tracks, for which a participant's folder
// holds a file, sorted.
func (b *Bundle) Submitted(did string) ([]string, error) {
	dir := submissionsDir + "/" + did
	files, err := b.src.list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &UnreadableError{Path: dir, Fault: cause(err)}
	}
	var tasks []string
	for _, f := range files {
		id, ok := strings.CutSuffix(f.name, ".json")
		if !ok || f.kind != fileEntry {
			continue
		}
		if _, _, ok := b.Season.Task(id); !ok {
			return nil, &UnreadableError{Path: dir + "/" + printable(f.name), Fault: "is for a task that the season does not have"}
		}
		tasks = append(tasks, id)
	}
	slices.Sort(tasks)
	return tasks, nil
}

// printable keeps a name from outside on one line of a message.
func printable(name string) string {
	q := strict.Quote(name)
	if strings.ContainsAny(q, "\\…") {
		return q
	}
	return name
}

// Submission reads the file of one task; ok is false when there is none. A file
// above [MaxItemSize] reads as empty, which no rule accepts.
func (b *Bundle) Submission(did, taskID string) (data []byte, ok bool, err error) {
	return b.item(SubmissionPath(did, taskID))
}

// Proof reads the public view of a proof; ok is false when there is none.
func (b *Bundle) Proof(id string) (data []byte, ok bool, err error) {
	if !ValidProofID(id) {
		return nil, false, nil
	}
	return b.item(ProofPath(id))
}

// LogEntry reads a log entry; ok is false when there is none under a valid uuid.
func (b *Bundle) LogEntry(uuid string) (data []byte, ok bool, err error) {
	if !ValidEntryUUID(uuid) {
		return nil, false, nil
	}
	return b.item(LogEntryPath(uuid))
}

// Results opens the published results.json; ok is false when there is none.
func (b *Bundle) Results() (r io.ReadCloser, ok bool, err error) {
	r, _, err = b.src.open(ResultsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, &UnreadableError{Path: ResultsPath, Fault: cause(err)}
	}
	return r, true, nil
}

// SubmissionContext is the context in which the file of a task is read (§9).
func (b *Bundle) SubmissionContext(did, taskID string) SubmissionContext {
	return SubmissionContext{Season: b.Season.Number, AgentDID: did, TaskID: taskID, Tracks: b.contexts}
}

func (t *Track) context() TrackContext {
	return NewTrackContext(t.Rules, t.Tasks, func(resource string) bool {
		_, ok := t.Manifest.Entry(resource)
		return ok
	})
}

// NewTrackContext gathers what the rules for submissions need of a track.
// inManifest is asked for verdicts of a collection (§4): at intake the published
// catalogue answers it.
func NewTrackContext(r *track.Rules, tasks []track.Task, inManifest func(resource string) bool) TrackContext {
	caps := make(map[string]int, len(tasks))
	for _, t := range tasks {
		caps[t.ID] = t.Cap
	}
	words := make([]string, len(r.Verdicts))
	for i, v := range r.Verdicts {
		words[i] = strict.Quote(v)
	}
	set := strings.Join(words, ", ")
	if r.VerdictCollection != nil {
		set += ", or a reference listed under " + *r.VerdictCollection
	}
	return TrackContext{
		Caps:           caps,
		VerdictAllowed: func(v string) bool { return r.VerdictAllowed(v, inManifest) },
		Verdicts:       set,
	}
}

// Value reads the frozen value of a resource that the manifest lists
// (track.Corpus). It reads the file each time; whoever asks often keeps it.
func (t *Track) Value(resource string) (any, bool) {
	e, ok := t.Manifest.Entry(resource)
	if !ok {
		return nil, false
	}
	data, err := readAll(t.src, CorpusFilePath(t.Name, e.File))
	if err != nil {
		return nil, false
	}
	v, err := canonjson.Parse(data)
	return v, err == nil
}

// required reads a file without which a bundle is unreadable.
func (b *Bundle) required(name string) ([]byte, error) {
	data, found, err := b.optional(name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &UnreadableError{Path: name, Fault: "is missing"}
	}
	return data, nil
}

func (b *Bundle) optional(name string) ([]byte, bool, error) {
	data, err := readAll(b.src, name)
	switch {
	case err == nil:
		return data, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	}
	return nil, false, &UnreadableError{Path: name, Fault: cause(err)}
}

// item reads a file that cannot make a bundle unreadable: one above the bound
// reads as empty and is then malformed.
func (b *Bundle) item(name string) ([]byte, bool, error) {
	data, err := readUpTo(b.src, name, MaxItemSize)
	if errors.Is(err, errTooLarge) {
		return nil, true, nil
	}
	if err == nil {
		return data, true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return nil, false, &UnreadableError{Path: name, Fault: fmt.Sprintf("cannot be read: %s", cause(err))}
}

// TrackNames lists the tracks in name order, the order of every check and of
// the results.
func (b *Bundle) TrackNames() []string { return slices.Sorted(maps.Keys(b.Tracks)) }
