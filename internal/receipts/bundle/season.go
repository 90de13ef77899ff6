package bundle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// Format is the only value of season.json's member format that this page knows.
const Format = "prova-season-bundle/1"

// Season is season.json (§2).
type Season struct {
	Number        int64
	Opens, Closes time.Time // both bounds belong to the window
	SeasonHost    string    // https:// and a host
	Witnesses     WitnessPolicy
	Tracks        map[string]*TrackEntry
	// Practice says that the corpus is built in, so that anyone can compute its
	// key: "practice" is true. The format does not define the member, so any other
	// value of it is let stand.
	Practice bool

	policy any // as written, for the rules hash: unknown members count
}

// WitnessPolicy says which witnesses a proof of the season needs (D1, D4).
type WitnessPolicy struct {
	RequireLog bool // "required" holds "log"; the token is always required
	AllowLocal bool // "local" is "allowed"
}

// Receipt is the same policy in the words of package receipt.
func (w WitnessPolicy) Receipt() receipt.Policy {
	return receipt.Policy{RequireLog: w.RequireLog, AllowLocal: w.AllowLocal}
}

// TrackEntry is one track of season.json.
type TrackEntry struct {
	Name       string
	CorpusHost string
	Tasks      []track.Task // in publication order
	Freeze     Freeze

	tasks any // as written, for the rules hash
}

// Freeze is what was published before the season (§2, §7).
type Freeze struct {
	ProofID        string
	RulesSHA256    string
	ManifestSHA256 string
	KeyCommitment  string
	Replaced       []ReplacedFreeze // informative
}

// ReplacedFreeze is an earlier freeze of the same track.
type ReplacedFreeze struct{ ProofID, Reason string }

// TrackNames lists the tracks in name order.
func (s *Season) TrackNames() []string { return slices.Sorted(maps.Keys(s.Tracks)) }

// Task finds a task by its id, which is unique across the tracks of a season.
func (s *Season) Task(id string) (*TrackEntry, *track.Task, bool) {
	for _, t := range s.Tracks {
		for i := range t.Tasks {
			if t.Tasks[i].ID == id {
				return t, &t.Tasks[i], true
			}
		}
	}
	return nil, nil, false
}

// ParseSeason reads season.json; the error is an *UnreadableError.
func ParseSeason(data []byte) (*Season, error) {
	d, v := parseDocument(SeasonPath, data)
	if d.Failed() {
		return nil, d.result()
	}
	o := d.Object("", v)
	if f := d.TextOf("", o, "format"); f != Format {
		d.Fail("/format", "must be %q, is %s: this program reads no other format", Format, strict.Quote(f))
	}
	s := &Season{Tracks: map[string]*TrackEntry{}}
	if s.Number = d.IntegerOf("", o, "season"); s.Number < 1 {
		d.Fail("/season", "must be at least 1")
	}
	s.Opens = d.instantOf("", o, "opens")
	s.Closes = d.instantOf("", o, "closes")
	if s.Opens.After(s.Closes) {
		d.Fail("/opens", "must not be later than /closes")
	}
	s.SeasonHost = d.hostOf("", o, "season_host")
	s.readPolicy(d, o)
	practice, _ := o.Get("practice")
	s.Practice = practice == true
	_, tracks := d.ObjectOf("", o, "tracks")
	hosts := map[string]string{}
	tasks := map[string]string{}
	for name, entry := range tracks.All() {
		at := "/tracks/" + strict.Token(name)
		if !ValidTrack(name) {
			d.Fail(at, "is not a track name: a lower-case letter, then up to 31 of a-z, 0-9 and -")
			break
		}
		t := readTrack(d, at, name, entry)
		if d.Failed() {
			break
		}
		if other, taken := hosts[t.CorpusHost]; taken {
			d.Fail(at+"/corpus_host", "is also the corpus host of track %s: two tracks never share one", other)
		}
		hosts[t.CorpusHost] = name
		for _, task := range t.Tasks {
			if other, taken := tasks[task.ID]; taken {
				d.Fail(at+"/tasks", "task_id %s is also a task of track %s: it must be unique in the season", strict.Quote(task.ID), other)
			}
			tasks[task.ID] = name
		}
		s.Tracks[name] = t
	}
	if d.Failed() {
		return nil, d.result()
	}
	return s, nil
}

func (s *Season) readPolicy(d document, o *canonjson.Object) {
	at, v := d.Member("", o, "witness_policy")
	s.policy = v
	policy := d.Object(at, v)
	at2, required := d.ArrayOf(at, policy, "required")
	switch {
	case canonjson.Equal(required, []any{"timestamp", "log"}):
		s.Witnesses.RequireLog = true
	case !canonjson.Equal(required, []any{"timestamp"}):
		d.Fail(at2, `must be ["timestamp","log"] or ["timestamp"]`)
	}
	switch local := d.TextOf(at, policy, "local"); local {
	case "allowed":
		s.Witnesses.AllowLocal = true
	case "refused":
	default:
		d.Fail(at+"/local", `must be "allowed" or "refused", is %s`, strict.Quote(local))
	}
}

func readTrack(d document, at, name string, v any) *TrackEntry {
	o := d.Object(at, v)
	t := &TrackEntry{Name: name, CorpusHost: d.hostOf(at, o, "corpus_host")}
	var tasksAt string
	tasksAt, t.tasks = d.Member(at, o, "tasks")
	if !d.Failed() {
		tasks, err := track.ParseTasks(t.tasks, name)
		if err != nil {
			d.Fail("", "%s%v", tasksAt, err)
		} else if len(tasks) == 0 {
			d.Fail(tasksAt, "must hold at least one task")
		}
		t.Tasks = tasks
	}
	for i, task := range t.Tasks {
		if !ValidTaskID(task.ID) {
			d.Fail(tasksAt, "entry %d: task_id %s must be of a-z, 0-9 and -, at most 64, not starting with -", i, strict.Quote(task.ID))
		}
	}
	freezeAt, freeze := d.ObjectOf(at, o, "freeze")
	t.Freeze = Freeze{
		ProofID:        d.proofIDOf(freezeAt, freeze, "proof_id"),
		RulesSHA256:    d.HashOf(freezeAt, freeze, "rules_sha256"),
		ManifestSHA256: d.HashOf(freezeAt, freeze, "manifest_sha256"),
		KeyCommitment:  d.HashOf(freezeAt, freeze, "key_commitment"),
	}
	if replaced, ok := freeze.Get("replaced"); ok {
		for i, entry := range d.Array(freezeAt+"/replaced", replaced) {
			at := strict.Index(freezeAt+"/replaced", i)
			e := d.Object(at, entry)
			t.Freeze.Replaced = append(t.Freeze.Replaced,
				ReplacedFreeze{ProofID: d.TextOf(at, e, "proof_id"), Reason: d.TextOf(at, e, "reason")})
		}
	}
	return t
}

func (d document) proofIDOf(at string, o *canonjson.Object, name string) string {
	s := d.TextOf(at, o, name)
	if !ValidProofID(s) {
		d.Fail(at+"/"+name, "must be a proof id prf_YYYYMMDD_HHMMSS_xxxxxx, is %s", strict.Quote(s))
	}
	return s
}

// hostOf accepts https:// and a host, optionally with a port, and no slash.
func (d document) hostOf(at string, o *canonjson.Object, name string) string {
	s := d.TextOf(at, o, name)
	host, ok := strings.CutPrefix(s, "https://")
	if !ok || host == "" || !all(host, hostByte) {
		d.Fail(at+"/"+name, "must be https:// and a host without trailing slash, is %s", strict.Quote(s))
	}
	return s
}

func hostByte(c byte) bool { return segmentByte(c) || c == ':' }
