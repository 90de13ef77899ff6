package artefact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const eventLines = `{"event":"scored","submission_id":"pf_0000000000000001","primary_value":null,"checklist_green":false}
{"event":"scored","submission_id":"pf_0000000000000002","primary_value":0.5,"checklist_green":true}
{"event":"promoted","submission_id":"pf_0000000000000002","primary_value":0.5,"bar":1.0,"previous_best":null}
{"event":"promoted","submission_id":"pf_0000000000000003","primary_value":1e-8,"bar":null,"previous_best":"pf_0000000000000002"}
`

func events() []Event {
	return []Event{
		Scored("pf_0000000000000001", nil, false),
		Scored("pf_0000000000000002", ptr(0.5), true),
		Promoted("pf_0000000000000002", 0.5, ptr(1.0), nil),
		Promoted("pf_0000000000000003", 1e-8, nil, ptr("pf_0000000000000002")),
	}
}

func champion() *Best {
	return &Best{TopicID: "holdout-error", SubmissionID: row, SubmissionDigest: submission, PrimaryValue: 1, Bar: ptr(2.5)}
}

func open(t testing.TB, dir string) *Root {
	t.Helper()
	r, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tree lists the files under a folder.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return names
}

func TestR20PublicFilesAreWrittenAsTheReferenceHasThem(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	for _, e := range events() {
		must(t, r.Append("holdout-error", e))
	}
	must(t, r.SetBest(champion()))
	if got := text(t, dir+"/holdout-error/events.jsonl"); got != eventLines {
		t.Errorf("events.jsonl is\n%s", got)
	}
	const best = `{
  "topic_id": "holdout-error",
  "submission_id": "` + row + `",
  "submission_digest": "` + submission + `",
  "primary_value": 1.0,
  "bar": 2.5,
  "artefact": "` + row + `.zip"
}
`
	if got := text(t, dir+"/holdout-error/best.json"); got != best {
		t.Errorf("best.json is\n%s", got)
	}
	parsed, err := ParseEvents([]byte(eventLines))
	if err != nil || len(parsed) != 4 || *parsed[3].PreviousBest != "pf_0000000000000002" || parsed[0].PrimaryValue != nil {
		t.Errorf("read %+v, %v", parsed, err)
	}
	if b, err := ParseBest([]byte(best)); err != nil || *b.Bar != 2.5 || b.SubmissionID != row {
		t.Errorf("read %+v, %v", b, err)
	}
}

func TestR20PublicFilesThatNobodyWouldWriteAreRefused(t *testing.T) {
	line := func(s string) string { return strings.TrimSuffix(s, "\n") + "\n" }
	for name, c := range map[string]struct{ text, why string }{
		"a line that is cut off":    {eventLines[:len(eventLines)-1], "line 4 is cut off"},
		"an empty line":             {"\n", "line 1"},
		"another event":             {line(`{"event":"crowned","submission_id":"pf_0000000000000001","primary_value":null}`), `line 1: event "crowned" is neither scored nor promoted`},
		"another order of members":  {line(`{"submission_id":"pf_0000000000000001","event":"scored","primary_value":null,"checklist_green":true}`), "differs from byte 2"},
		"a promotion without value": {line(`{"event":"promoted","submission_id":"pf_0000000000000001","primary_value":null,"bar":null,"previous_best":null}`), "has a primary value"},
		"a row id that climbs":      {line(`{"event":"scored","submission_id":"../x","primary_value":null,"checklist_green":true}`), "is not pf_"},
		"a previous best that is none": {line(`{"event":"promoted","submission_id":"pf_0000000000000001","primary_value":0.5,"bar":null,"previous_best":"x"}`),
			`previous best "x"`},
		"an unknown member": {line(`{"event":"scored","submission_id":"pf_0000000000000001","primary_value":null,"checklist_green":true,"x":1}`), "x: unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseEvents([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v, want it to contain %q", err, c.why)
			}
		})
	}
	good, err := champion().JSON()
	must(t, err)
	for name, c := range map[string]struct{ old, with, why string }{
		"another zip":             {row + ".zip", "pf_00000000000000a2.zip", "differs from byte"},
		"a value that is null":    {"1.0", "null", "primary_value: is null"},
		"a value that is no text": {"2.5", `"2.5"`, "bar: is a string"},
		"a digest cut off":        {submission, submission[:63], "submission_digest"},
		"no line feed":            {"}\n", "}", "differs from byte"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseBest(bytes.Replace(good, []byte(c.old), []byte(c.with), 1)); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v, want it to contain %q", err, c.why)
			}
		})
	}
}

func TestR20NoPathIsBuiltFromAnythingButASlugAndARowID(t *testing.T) {
	dir := t.TempDir()
	r := open(t, filepath.Join(dir, "root"))
	for _, ids := range [][2]string{
		{"..", row}, {"", row}, {"a/b", row}, {"Upper", row}, {".", row}, {"topic", ""}, {"topic", "../x"}, {"topic", "pf_"}, {"topic", "pf_00000000000000A1"}, {"topic", row + "0"}, {"topic", row + "/"},
	} {
		if _, err := r.Stage(ids[0], ids[1], []byte("zip")); err == nil {
			t.Errorf("staged %q", ids)
		}
		if _, err := r.Open(ids[0], ids[1]); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("opened %q: %v", ids, err)
		}
		if ids[0] != "topic" {
			if r.Append(ids[0], events()[0]) == nil || r.Project(ids[0], nil, events()) == nil {
				t.Errorf("wrote events of %q", ids[0])
			}
		}
	}
	if got := tree(t, dir); len(got) != 0 {
		t.Errorf("files %q", got)
	}
}

func TestR20LinksInTheRootAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	r := open(t, dir)
	secret := filepath.Join(outside, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.Mkdir(dir+"/topic", 0o755))
	must(t, os.Symlink(secret, dir+"/topic/"+row+".zip"))
	must(t, os.Symlink(secret, dir+"/topic/events.jsonl"))
	must(t, os.Symlink(secret, dir+"/topic/best.json"))
	must(t, os.Symlink(outside, dir+"/linked"))
	if data, err := r.Open("topic", row); err == nil {
		t.Errorf("opened %q", data)
	}
	best := champion()
	best.TopicID = "topic"
	for name, err := range map[string]error{
		"append": r.Append("topic", events()[0]), "best": r.SetBest(best), "project": r.Project("topic", best, events()), "clear": r.Project("topic", nil, nil),
	} {
		if err == nil {
			t.Errorf("%s went through a link", name)
		}
	}
	if _, err := r.Stage("linked", row, []byte("zip")); err == nil {
		t.Error("staged through a link")
	}
	if got := text(t, secret); got != "secret" || len(tree(t, outside)) != 1 {
		t.Errorf("outside: %q %q", got, tree(t, outside))
	}
}

func TestDecision9StageThenPublishIsDurableInThisOrder(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	var steps []string
	data := build(t, green())
	sum := sha256.Sum256(data)
	temp := "topic/." + row + "." + hex.EncodeToString(sum[:]) + ".staged"
	r.step = func(s string) { steps = append(steps, s) }
	s, err := r.Stage("topic", row, data)
	must(t, err)
	if s.Path != "topic/"+row+".zip" || s.SHA256 != hex.EncodeToString(sum[:]) || s.Bytes != int64(len(data)) {
		t.Errorf("staged %+v", s)
	}
	if _, err := r.Open("topic", row); !errors.Is(err, ErrNotFound) {
		t.Errorf("a staged zip is open to all: %v", err)
	}
	must(t, s.Publish())
	want := []string{"mkdir topic", "sync .", "create " + temp, "write " + temp, "sync " + temp, "sync topic", "rename " + s.Path, "sync topic"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps\n%q, want\n%q", steps, want)
	}
	must(t, s.Publish())
	must(t, s.Discard())
	if got, err := r.Open("topic", row); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if rows, err := r.Rows("topic"); err != nil || !slices.Equal(rows, []string{row}) {
		t.Errorf("rows %q, %v", rows, err)
	}
	if rows, err := r.Rows("elsewhere"); err != nil || rows != nil {
		t.Errorf("rows %q, %v", rows, err)
	}
}

func TestR29APublishedZipIsNeverOverwritten(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	first, err := r.Stage("topic", row, []byte("first"))
	must(t, err)
	second, err := r.Stage("topic", row, []byte("second")) // built again: the crown was lost
	must(t, err)
	must(t, first.Publish())
	if err := second.Publish(); err == nil || !strings.Contains(err.Error(), "never replaced") {
		t.Errorf("published over another: %v", err)
	}
	if _, err := r.Stage("topic", row, []byte("third")); err == nil || !strings.Contains(err.Error(), "never replaced") {
		t.Errorf("staged for a name that is taken: %v", err)
	}
	must(t, second.Discard())
	must(t, second.Discard())
	if err := second.Publish(); err == nil {
		t.Error("published what was discarded")
	}
	again, err := r.Stage("topic", row, []byte("first")) // the same bytes are the same zip
	must(t, err)
	must(t, again.Publish())
	if got := tree(t, dir); !slices.Equal(got, []string{"topic/" + row + ".zip"}) || text(t, dir+"/"+got[0]) != "first" {
		t.Errorf("files %q", got)
	}
}

// crash is what a step throws; nothing that runs after it may repair anything.
type crash struct{ step string }

// stopAfter runs f on a root whose process ends after the n-th step, and says
// whether f ended before.
func stopAfter(t *testing.T, dir string, n int, f func(*Root)) (finished bool, step string) {
	t.Helper()
	r := open(t, dir)
	r.step = func(s string) {
		if n--; n < 0 {
			panic(crash{s})
		}
	}
	defer func() {
		if c, ok := recover().(crash); ok {
			step = c.step
		}
	}()
	f(r)
	return true, ""
}

// TestDecision9AnEndAfterAnyStepLeavesNoZipOrAWholeOne plays a submission and its
// recovery: the row is written between Stage and Publish, and the process ends
// after each step in turn.
func TestDecision9AnEndAfterAnyStepLeavesNoZipOrAWholeOne(t *testing.T) {
	data := build(t, green())
	stops := 0
	for n := 0; ; n++ {
		dir := t.TempDir()
		committed := "" // what the store says of the row
		finished, step := stopAfter(t, dir, n, func(r *Root) {
			s, err := r.Stage("holdout-error", row, data)
			must(t, err)
			committed = s.SHA256
			must(t, s.Publish())
			must(t, r.Append("holdout-error", Scored(row, ptr(1.0), true)))
			must(t, r.Append("holdout-error", Promoted(row, 1, ptr(2.5), nil)))
			must(t, r.SetBest(champion()))
		})
		stops++
		name := fmt.Sprintf("after %q", step)
		// The recovery may be stopped as well, and is then run again.
		repair := func(r *Root) {
			left, err := r.Leftovers()
			must(t, err)
			for _, s := range left {
				if s.TopicID != "holdout-error" || s.RowID != row {
					t.Errorf("%s: leftover %+v", name, s)
				}
				if s.SHA256 == committed {
					must(t, s.Publish())
				} else {
					must(t, s.Discard())
				}
			}
			if committed == "" {
				must(t, r.Project("holdout-error", nil, nil))
				return
			}
			must(t, r.Project("holdout-error", champion(), []Event{Scored(row, ptr(1.0), true), Promoted(row, 1, ptr(2.5), nil)}))
		}
		for m := 0; ; m++ {
			done, _ := stopAfter(t, dir, m, repair)
			if done {
				break
			}
		}
		r := open(t, dir)
		got, err := r.Open("holdout-error", row)
		files := tree(t, dir)
		if committed == "" {
			if !errors.Is(err, ErrNotFound) || len(files) != 0 {
				t.Errorf("%s: no row, and files %q, %v", name, files, err)
			}
		} else {
			want := []string{"holdout-error/best.json", "holdout-error/events.jsonl", "holdout-error/" + row + ".zip"}
			if err != nil || !bytes.Equal(got, data) || !slices.Equal(files, want) {
				t.Errorf("%s: a row, %d of %d bytes, files %q, %v", name, len(got), len(data), files, err)
			}
			if got := text(t, dir+"/holdout-error/events.jsonl"); strings.Count(got, "\n") != 2 {
				t.Errorf("%s: events\n%s", name, got)
			}
		}
		steps := 0
		r.step = func(string) { steps++ }
		repair(r)
		if steps != 0 {
			t.Errorf("%s: %d steps for files that are right already", name, steps)
		}
		if finished {
			break
		}
	}
	if stops < 15 {
		t.Errorf("only %d places to stop at", stops)
	}
}

// TestDecision9ABestThatIsReplacedIsReadWhole reads best.json while it changes.
func TestDecision9ABestThatIsReplacedIsReadWhole(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, r.SetBest(champion()))
	var writers sync.WaitGroup
	done := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			for i := range 50 {
				b := champion()
				b.PrimaryValue = float64(w*1000 + i)
				if err := r.SetBest(b); err != nil {
					t.Error(err)
				}
				if err := r.Append("holdout-error", Scored(row, &b.PrimaryValue, true)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { writers.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if _, err := ParseBest([]byte(text(t, dir+"/holdout-error/best.json"))); err != nil {
			t.Fatal(err)
		}
	}
	if parsed, err := ParseEvents([]byte(text(t, dir+"/holdout-error/events.jsonl"))); err != nil || len(parsed) != 100 {
		t.Errorf("%d events, %v", len(parsed), err)
	}
}

func TestDecision9ProjectRepairsWhatACrashOrAHandLeft(t *testing.T) {
	for name, c := range map[string]struct{ events, best string }{
		"nothing there":         {},
		"a line that is cut":    {events: eventLines[:len(eventLines)-3]},
		"an event too many":     {events: eventLines + eventLines},
		"an event of same size": {events: strings.Replace(eventLines, "0.5", "0.6", 1)},
		"an old best":           {events: eventLines, best: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := open(t, dir)
			must(t, os.Mkdir(dir+"/holdout-error", 0o755))
			for file, content := range map[string]string{"events.jsonl": c.events, "best.json": c.best, ".best.json.new": "torn", ".events.jsonl.new": "torn"} {
				if content != "" {
					must(t, os.WriteFile(dir+"/holdout-error/"+file, []byte(content), 0o644))
				}
			}
			if strings.HasSuffix(c.events, "\n") == (r.Append("holdout-error", events()[0]) != nil) && c.events != "" {
				t.Error("a line was added behind one that is cut off, or could not be added behind a whole one")
			}
			must(t, r.Project("holdout-error", champion(), events()))
			want, err := champion().JSON()
			must(t, err)
			if text(t, dir+"/holdout-error/events.jsonl") != eventLines || text(t, dir+"/holdout-error/best.json") != string(want) {
				t.Error("the files are not those of the store")
			}
			if got := tree(t, dir); len(got) != 2 {
				t.Errorf("files %q", got)
			}
			must(t, r.Project("holdout-error", nil, nil))
			if got := tree(t, dir); len(got) != 0 {
				t.Errorf("files %q of a topic without a row", got)
			}
		})
	}
	if err := open(t, t.TempDir()).Project("other-topic", champion(), nil); err == nil {
		t.Error("the champion of one topic became another's")
	}
}

func TestDecision9LeftoversAreOnlyWhatStageWrote(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, os.MkdirAll(dir+"/topic", 0o755))
	must(t, os.MkdirAll(dir+"/lost+found", 0o755))
	zero := strings.Repeat("0", 64)
	for _, name := range []string{
		"best.json", row + ".zip", "." + row + ".staged", "." + row + ".0.staged", "x." + row + "." + zero + ".staged", "." + row + "." + zero + ".zip", ".pf_x." + zero + ".staged",
	} {
		must(t, os.WriteFile(dir+"/topic/"+name, []byte(name), 0o644))
	}
	must(t, os.WriteFile(dir+"/topic/."+row+"."+zero+".staged", []byte("cut o"), 0o644))
	must(t, os.Symlink("/etc/passwd", dir+"/topic/."+row+"."+strings.Repeat("1", 64)+".staged"))
	left, err := r.Leftovers()
	must(t, err)
	sum := sha256.Sum256([]byte("cut o"))
	if len(left) != 1 || left[0].SHA256 != hex.EncodeToString(sum[:]) || left[0].Bytes != 5 || left[0].Path != "topic/"+row+".zip" {
		t.Fatalf("leftovers %+v", left)
	}
	must(t, left[0].Discard())
	if left, err = r.Leftovers(); err != nil || len(left) != 0 {
		t.Errorf("leftovers %+v, %v", left, err)
	}
}
