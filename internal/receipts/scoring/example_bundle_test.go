package scoring_test

import (
	"archive/tar"
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

const exampleArchive = "testdata/example/bundle.tar.zst"

// exampleFiles unpacks the independent example bundle (ORIGIN.md).
func exampleFiles(t testing.TB) map[string][]byte {
	t.Helper()
	f, err := os.Open(exampleArchive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	decoder, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(decoder); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func openFiles(t testing.TB, files map[string][]byte) *bundle.Bundle {
	t.Helper()
	b, err := bundle.OpenFS(bundletest.FS(files))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// score scores with the bundle's own trust and fails the test on an error.
func score(t testing.TB, b *bundle.Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := scoring.Score(b, nil, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// scored is the parsed result of a bundle.
func scored(t testing.TB, files map[string][]byte) *results.Results {
	t.Helper()
	r, err := results.Parse(score(t, openFiles(t, files)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func row(t testing.TB, r *results.Results, trackName, did string) *results.Participant {
	t.Helper()
	for i, p := range r.Tracks[trackName].Participants {
		if p.AgentDID == did {
			return &r.Tracks[trackName].Participants[i]
		}
	}
	t.Fatalf("%s has no row in %s", did, trackName)
	return nil
}

func taskOf(t testing.TB, p *results.Participant, id string) results.Task {
	t.Helper()
	i := slices.IndexFunc(p.Tasks, func(t results.Task) bool { return t.TaskID == id })
	if i < 0 {
		t.Fatalf("no task %s", id)
	}
	return p.Tasks[i]
}

func TestSection11TheExampleBundleScoresByteForByteFromFolderArchiveAndMemory(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	want := files[bundle.ResultsPath]
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{exampleArchive, dir} {
		b, err := bundle.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := score(t, b); !bytes.Equal(got, want) {
			t.Errorf("%s: %s", path, scoring.FirstDifference(want, got))
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := score(t, openFiles(t, files)); !bytes.Equal(got, want) {
		t.Errorf("in memory: %s", scoring.FirstDifference(want, got))
	}
}

// exampleCase is a row of cases.json. Expectations that name no member are not
// compared.
type exampleCase struct {
	Level       string         `json:"level"`
	Participant string         `json:"participant"`
	AgentDID    string         `json:"agent_did"`
	Track       string         `json:"track"`
	TaskID      string         `json:"task_id"`
	AssertionID string         `json:"assertion_id"`
	Rule        string         `json:"rule"`
	Expected    map[string]any `json:"expected"`
}

// TestSections8To11EveryCaseOfTheExampleBundle holds each row of cases.json
// against the computed results, under the name of the rule it exercises.
func TestSections8To11EveryCaseOfTheExampleBundle(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/example/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []exampleCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	var results struct {
		Tracks map[string]struct {
			Best         map[string]any   `json:"best_constant_answer"`
			Participants []map[string]any `json:"participants"`
		} `json:"tracks"`
	}
	if err := json.Unmarshal(score(t, openFiles(t, exampleFiles(t))), &results); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 783 {
		t.Fatalf("%d cases, want 783", len(cases))
	}
	find := func(list any, member, value string) map[string]any {
		switch list := list.(type) {
		case []any:
			for _, v := range list {
				if o, ok := v.(map[string]any); ok && o[member] == value {
					return o
				}
			}
		case []map[string]any:
			for _, o := range list {
				if o[member] == value {
					return o
				}
			}
		}
		return nil
	}
	for i, c := range cases {
		t.Run(fmt.Sprintf("%03d %s %s %s %s: %s", i, c.Level, c.Participant, c.TaskID, c.AssertionID, c.Rule), func(t *testing.T) {
			if c.Level == "season" {
				for track, want := range c.Expected {
					var got any = results.Tracks[track].Best
					if c.Rule == "rows" {
						var rows []any
						for _, p := range results.Tracks[track].Participants {
							rows = append(rows, p["agent_did"])
						}
						got = rows
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s: got %v, want %v", track, got, want)
					}
				}
				return
			}
			got := find(results.Tracks[c.Track].Participants, "agent_did", c.AgentDID)
			if c.Level != "participant" {
				got = find(got["tasks"], "task_id", c.TaskID)
			}
			if c.Level == "assertion" {
				got = find(got["assertions"], "id", c.AssertionID)
			}
			if got == nil {
				t.Fatal("no such entry in the results")
			}
			for member, want := range c.Expected {
				value, ok := got[member]
				if list, isList := value.([]any); member == "assertions" && isList {
					value = float64(len(list))
				}
				if !ok || !reflect.DeepEqual(value, want) {
					t.Errorf("%s is %v, want %v", member, value, want)
				}
			}
		})
	}
}

// TestSection11ResultsDoNotDependOnTheOrderOfFilesAndEnrolments scores the same
// files in other orders on disk and in enrolments.json.
func TestSection11ResultsDoNotDependOnTheOrderOfFilesAndEnrolments(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	want := files[bundle.ResultsPath]
	order := slices.Sorted(maps.Keys(files))
	var enrolments []jsontext.Value
	if err := json.Unmarshal(files[bundle.EnrolmentsPath], &enrolments); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		random.Shuffle(len(enrolments), func(i, j int) { enrolments[i], enrolments[j] = enrolments[j], enrolments[i] })
		shuffled := maps.Clone(files)
		var err error
		if shuffled[bundle.EnrolmentsPath], err = json.Marshal(enrolments); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "bundle.tar.zst")
		if err := os.WriteFile(path, packInOrder(t, shuffled, order), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := bundle.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := score(t, b); !bytes.Equal(got, want) {
			t.Errorf("order %d: %s", seed, scoring.FirstDifference(want, got))
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func packInOrder(t testing.TB, files map[string][]byte, order []string) []byte {
	var out bytes.Buffer
	encoder, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(encoder)
	for _, name := range order {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o600}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), encoder.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
