package mustreject_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/cli"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

var write = flag.Bool("write", false, "write the archives and index.json anew")

// allRows are the rows in the order of their numbers.
func allRows() []row {
	bare := slices.Concat([]row{{name: "valid-without-submission", section: "1", rule: "every rule holds",
		what: "nothing: the frozen season, in which nobody has submitted yet"}},
		archiveRows(), strictRows(), seasonRows(), trustRows(), definitionRows(), enrolmentRows(), freezeRows())
	for i := range bare {
		bare[i].bare = true
	}
	return slices.Concat([]row{{name: "valid", section: "1", rule: "every rule holds",
		what: "nothing: the season that the other archives break in one place", expect: assertion("supported", "", "")}},
		bare, correctionRows(), submissionRows(), stateRows(), proofRows(), tokenRows(), logRows(), identityRows(), valueRows())
}

// TestTheFilesAreThoseThatTheRowsMake makes every archive again: the folder holds
// these bytes and no others.
func TestTheFilesAreThoseThatTheRowsMake(t *testing.T) {
	rows := allRows()
	index := make([]indexRow, len(rows))
	names := map[string]bool{}
	total, partly := 0, false
	encoder := newEncoder(t)
	for i := range rows {
		r := &rows[i]
		name := fmt.Sprintf("%03d-%s.tar.zst", i, r.name)
		if names[r.name] {
			t.Errorf("two rows are called %s", r.name)
		}
		names[r.name] = true
		var packed []byte
		if !t.Run(r.name, func(t *testing.T) { packed = r.build(t, encoder) }) {
			continue
		}
		if packed == nil { // left out by -run
			partly = true
			continue
		}
		if u := r.expect.Unreadable; u != nil && *u == "" { // the archive itself
			r.expect.Unreadable = &name
		}
		index[i] = indexRow{name, r.section, r.rule, r.what, r.expect}
		total += len(packed)
		same(t, name, packed)
	}
	if t.Failed() || partly {
		return
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	lines.SetIndent("", "  ")
	if err := lines.Encode(index); err != nil {
		t.Fatal(err)
	}
	same(t, "index.json", text.Bytes())
	if total >= 2_000_000 {
		t.Errorf("the archives have %d bytes, want less than two million", total)
	}
	found, err := filepath.Glob("*.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if slices.ContainsFunc(index, func(r indexRow) bool { return r.File == name }) {
			continue
		}
		if !*write {
			t.Errorf("%s belongs to no row", name)
		} else if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// same compares a file with the bytes that it must hold, or writes it.
func same(t *testing.T, name string, want []byte) {
	t.Helper()
	if *write {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from what its row makes (%v): go test ./conformance/must-reject -run TestTheFilesAreThoseThatTheRowsMake -write", name, err)
	}
}

// score is what an implementation answers for one archive.
func score(path string) (r *results.Results, err error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	defer b.Close() // read only
	var out bytes.Buffer
	if err := scoring.Score(b, nil, &out); err != nil {
		if out.Len() > 0 {
			return nil, fmt.Errorf("%d bytes were written before %w", out.Len(), err)
		}
		return nil, err
	}
	return results.Parse(out.Bytes())
}

// TestEveryArchiveEndsAsTheIndexSays runs the corpus against this implementation.
func TestEveryArchiveEndsAsTheIndexSays(t *testing.T) {
	rows := readIndex(t)
	if len(rows) < 60 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.File, func(t *testing.T) {
			t.Parallel()
			r, err := score(row.File)
			if got := observed(t, row.Expect, r, err); !reflect.DeepEqual(got, row.Expect) {
				t.Errorf("%s (section %s, %s)\ngot  %s (%v)\nwant %s", row.What, row.Section, row.Rule, printed(got), err, printed(row.Expect))
			}
		})
	}
}

func printed(e expect) string {
	text, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// observed puts an answer in the index's words: the task and the assertion that
// the row asks about, and every incident of its participant.
func observed(t *testing.T, want expect, r *results.Results, err error) (got expect) {
	t.Helper()
	var fault *bundle.UnreadableError
	var refusal *bundle.Refusal
	switch {
	case errors.As(err, &fault):
		return expect{Exit: 2, Unreadable: &fault.Path}
	case errors.As(err, &refusal):
		return expect{Exit: 4, Refused: &expectedRefusal{refusal.Track, refusal.Reason}}
	case err != nil:
		t.Fatal(err)
	}
	for trackName, track := range r.Tracks {
		for _, p := range track.Participants {
			for _, i := range p.Incidents {
				if got.Incident != nil {
					t.Errorf("a second incident: %+v", i)
				}
				got.Incident = &expectedIncident{p.AgentDID, trackName, i.Kind, i.TaskID, i.AssertionID, i.ProofID, i.Detail}
			}
			for _, k := range p.Tasks {
				if w := want.Task; w != nil && *w == (expectedTask{p.AgentDID, trackName, k.TaskID, w.State, w.Reason}) {
					got.Task = &expectedTask{p.AgentDID, trackName, k.TaskID, k.State, k.Reason}
				}
				for _, a := range k.Assertions {
					w := want.Assertion
					if w == nil || *w != (expectedAssertion{p.AgentDID, trackName, k.TaskID, a.ID, w.Status, w.Cause, w.Detail}) {
						continue
					}
					got.Assertion = &expectedAssertion{p.AgentDID, trackName, k.TaskID, a.ID, a.Status, a.Cause, a.Detail}
				}
				if want.Assertion == nil && len(k.Assertions) > 0 {
					t.Errorf("task %s has verified assertions", k.TaskID)
				}
			}
		}
	}
	return got
}

// TestTheCommandEndsAsTheIndexSays runs the first row of every kind of ending
// through `prova score --json`.
func TestTheCommandEndsAsTheIndexSays(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range readIndex(t) {
		kind := fmt.Sprint(row.Expect.Exit)
		if a := row.Expect.Assertion; a != nil {
			kind += a.Status
		}
		if row.Expect.Refused != nil {
			kind += row.Expect.Refused.Reason
		}
		if u := row.Expect.Unreadable; u != nil {
			kind += *u
		}
		if row.Expect.Task != nil {
			kind += row.Expect.Task.State
		}
		if seen[kind] {
			continue
		}
		seen[kind] = true
		var out, errs bytes.Buffer
		env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Program: "prova"}
		if code := cli.Main(context.Background(), []string{"score", "--json", row.File}, env); code != row.Expect.Exit {
			t.Errorf("%s: exit %d, want %d: %s", row.File, code, row.Expect.Exit, errs.String())
			continue
		}
		switch e := row.Expect; {
		case e.Unreadable != nil:
			if out.Len() > 0 || !strings.Contains(errs.String(), *e.Unreadable) || strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("%s: printed %q and said %q, want one line that names %s", row.File, out.String(), errs.String(), *e.Unreadable)
			}
		case e.Refused != nil:
			want := string(canonjson.Marshal(canonjson.NewObject("refused", canonjson.NewObject("reason", e.Refused.Reason, "track", e.Refused.Track)))) + "\n"
			if out.String() != want {
				t.Errorf("%s: printed %q, want %q", row.File, out.String(), want)
			}
		default:
			r, err := results.Parse(out.Bytes())
			if got := observed(t, e, r, err); !reflect.DeepEqual(got, e) {
				t.Errorf("%s: got %s, want %s", row.File, printed(got), printed(e))
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d endings were tried: %v", len(seen), seen)
	}
}

// TestEveryWordOfTheFormatHasARow reads the words of the tables of sections 7,
// 9.2 and 10 from the page itself.
func TestEveryWordOfTheFormatHasARow(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "bundle-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	between := func(from, to string) string {
		t.Helper()
		_, rest, ok := strings.Cut(page, from)
		part, _, ended := strings.Cut(rest, to)
		if !ok || !ended {
			t.Fatalf("the page has no part from %q to %q", from, to)
		}
		return part
	}
	covered := map[string]bool{}
	for _, row := range readIndex(t) {
		e := row.Expect
		if e.Refused != nil {
			covered[e.Refused.Reason] = true
		}
		if e.Task != nil {
			covered[e.Task.State] = true
			if e.Task.Reason != nil {
				covered[*e.Task.Reason] = true
			}
		}
		if a := e.Assertion; a != nil {
			covered[a.Status] = true
			for _, word := range []*string{a.Cause, a.Detail} {
				if word != nil {
					covered[*word] = true
				}
			}
		}
		if e.Incident != nil {
			covered[e.Incident.Kind] = true
		}
	}
	code := regexp.MustCompile("`([a-z/_0-9]+)`")
	last := func(part string, cells int) (words []string) {
		for _, line := range strings.Split(part, "\n") {
			fields := strings.Split(strings.Trim(line, "|"), "|")
			if !strings.HasPrefix(line, "|") || len(fields) < cells {
				continue
			}
			for _, field := range fields[len(fields)-cells:] {
				for _, m := range code.FindAllStringSubmatch(field, -1) {
					words = append(words, m[1])
				}
			}
		}
		return words
	}
	named := func(part string, word *regexp.Regexp) (words []string) {
		for _, m := range word.FindAllStringSubmatch(part, -1) {
			words = append(words, m[1])
		}
		return words
	}
	steps := between("**Step 3", "**Flat fields**")
	for _, part := range []struct {
		name  string
		words []string
		least int
	}{
		{"section 7", last(between("## 7. ", "## 8. "), 1), 9},
		{"section 9.2", last(between("### 9.2 ", "## 10. "), 2), 17},
		{"section 10, step 1", last(between("**Step 1,", "**Token.**"), 1), 19},
		{"section 10, step 2", last(between("**Step 2,", "**Step 3"), 1), 4},
		{"section 10, steps 3 and 4", named(steps, regexp.MustCompile("(?:detail|else) `([a-z_]+)`")), 4},
		{"section 10, causes", named(page, regexp.MustCompile(`→ (?:cause )?`+"`([a-z_]+)`")), 4},
		{"section 10, faults", named(steps, regexp.MustCompile("`(/_systeme/[0-9]+)`")), 3},
		{"section 11, incidents", named(page, regexp.MustCompile(`"(instrument_fault|flat_field_diverges)"`)), 2},
	} {
		if len(part.words) < part.least {
			t.Errorf("%s: only %d words were found: %v", part.name, len(part.words), part.words)
		}
		for _, word := range part.words {
			if !covered[word] {
				t.Errorf("%s: no row ends with %s", part.name, word)
			}
		}
	}
}
