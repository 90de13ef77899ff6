package artefact

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json/jsontext"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

var update = flag.Bool("update", false, "write the golden files again")

const (
	row        = "pf_00000000000000a1"
	submission = "5f16f4c7f149ac4f9510d9cf8cf384038ad348b3bcdc01915f95de12df9d1b02"
	artifact   = "a3c762babe0edd39a0671cb4e60cabec2308b2501d96842afc82e3f7eaa2f1af"
)

func ptr[T any](v T) *T { return &v }

// green is what a champion leaves behind.
func green() *Contents {
	return &Contents{
		Manifest: Manifest{
			SchemaVersion: 1, TopicID: "holdout-error", CustomID: "holdout_error", SubmissionID: row, SubmissionDigest: submission,
			ArtifactDigest: artifact, RulesVersion: 2, PrimaryValue: ptr(1.0), ChecklistGreen: true, Promoted: true,
		},
		Checklist: &wire.Checklist{
			SchemaVersion: 1, TopicID: "holdout-error", RulesVersion: 2, RulesDigest: strings.Repeat("cd", 32), SubmissionDigest: submission,
			ArtifactDigest: artifact, Items: []wire.ChecklistItem{{ID: "no_network", Pass: true, Evidence: "src/main.go:3 imports <fmt> & \"os\"\u2028only"}},
		},
		BaselineRef: BaselineRef{TopicID: "holdout-error", ScriptSHA256: strings.Repeat("01", 32), MetricsCommitment: strings.Repeat("02", 32), HoldoutCommitment: strings.Repeat("03", 32), EvalImageDigest: "sha256:" + strings.Repeat("04", 32)},
		Report: &wire.RunReport{
			SchemaVersion: 1, TopicID: "holdout-error", CustomID: "holdout_error", SubmissionDigest: submission, ArtifactDigest: artifact, RulesVersion: 2,
			PrimaryValue: ptr(1.0), ClaimHolds: true, FlopsUsed: ptr(uint64(2e18)), Evidence: jsontext.Value(`{"exit":0,"ratio":1.50,"none":{},"list":[],"big":18446744073709551616}`),
		},
		Files: []wire.File{
			{Path: "recipe.wasm", Bytes: []byte("\x00asm\x01\x00\x00\x00"), Executable: true},
			{Path: "recipe.json", Bytes: []byte(`{"format":"prova-recipe/1","entrypoint":"recipe.wasm"}`)},
			{Path: "src/main.go", Bytes: []byte("package main\n\n" + strings.Repeat("// The same line again.\n", 20))},
			{Path: "empty", Bytes: []byte{}},
		},
		Logs: []wire.Log{{Name: "stdout.log", Bytes: []byte("epoch 1\nepoch 2\n")}, {Name: "rlm.log", Bytes: []byte{0xff, 0}}},
	}
}

// red is what a submission leaves behind that breaks a rule.
func red() *Contents {
	c := green()
	c.Manifest.PrimaryValue, c.Manifest.ChecklistGreen, c.Manifest.Promoted, c.Report, c.Logs = nil, false, false, nil, nil
	c.Checklist.Items[0].Pass = false
	return c
}

func build(t testing.TB, c *Contents) []byte {
	t.Helper()
	data, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestR20ZipIsTheGoldenBytes(t *testing.T) {
	for name, c := range map[string]*Contents{"green.zip": green(), "red.zip": red()} {
		t.Run(name, func(t *testing.T) {
			data := build(t, c)
			golden := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(golden, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, want) {
				t.Errorf("sha256 %x, golden %x: no zip that was stored before can be read any more", sha256.Sum256(data), sha256.Sum256(want))
			}
		})
	}
}

func TestR20EntriesAreNamedSortedAndFixed(t *testing.T) {
	c := green()
	data := build(t, c)
	want := []string{"artifact/empty", "artifact/recipe.json", "artifact/recipe.wasm", "artifact/src/main.go", "baseline_ref.json", "checklist.json", "logs/rlm.log", "logs/stdout.log", "manifest.json", "report.json"}
	if !slices.Equal(c.Manifest.Entries, want) {
		t.Errorf("entries %q, want %q", c.Manifest.Entries, want)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
		if f.Method != zip.Deflate || f.Mode() != 0o644 || !f.Modified.Equal(time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)) || len(f.Extra) != 0 || f.Comment != "" {
			t.Errorf("%s: method %d, mode %v, time %v, %d bytes extra", f.Name, f.Method, f.Mode(), f.Modified, len(f.Extra))
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("zip has %q, want %q", names, want)
	}
	redZip := red()
	build(t, redZip)
	if slices.Contains(redZip.Manifest.Entries, "report.json") {
		t.Error("a red checklist has a report")
	}
}

func TestR20JSONIsPrettyAndNumbersAreThoseOfR3(t *testing.T) {
	entries, err := green().entries()
	if err != nil {
		t.Fatal(err)
	}
	const report = `{
  "schema_version": 1,
  "topic_id": "holdout-error",
  "custom_id": "holdout_error",
  "submission_digest": "` + submission + `",
  "artifact_digest": "` + artifact + `",
  "rules_version": 2,
  "primary_value": 1.0,
  "claim_holds": true,
  "sandboxed": false,
  "flops_used": 2000000000000000000,
  "evidence": {
    "exit": 0,
    "ratio": 1.5,
    "none": {},
    "list": [],
    "big": 18446744073709551616
  }
}`
	if got := string(entries["report.json"]); got != report {
		t.Errorf("report.json is\n%s\nwant\n%s", got, report)
	}
	if got, want := string(entries["checklist.json"]), "\"evidence\": \"src/main.go:3 imports <fmt> & \\\"os\\\"\u2028only\""; !strings.Contains(got, want) {
		t.Errorf("checklist.json is\n%s\nwant it to contain %s", got, want)
	}
	redEntries, err := red().entries()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(redEntries["manifest.json"]); !strings.Contains(got, "\n  \"primary_value\": null,\n") {
		t.Errorf("manifest.json of a red checklist is\n%s", got)
	}
}

func TestR20ReadReturnsWhatWasBuilt(t *testing.T) {
	failed := green()
	failed.Manifest.PrimaryValue, failed.Report.PrimaryValue, failed.Manifest.Promoted, failed.Report.Failure = nil, nil, false, "exit status 1"
	bare := red()
	bare.Files = nil
	for name, c := range map[string]*Contents{"green": green(), "red": red(), "measured and failed": failed, "no file": bare} {
		t.Run(name, func(t *testing.T) {
			data := build(t, c)
			got, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(c.Files, func(a, b wire.File) int { return strings.Compare(a.Path, b.Path) })
			slices.SortFunc(c.Logs, func(a, b wire.Log) int { return strings.Compare(a.Name, b.Name) })
			if c.Report != nil {
				got.Report.Evidence, c.Report.Evidence = nil, nil // spelled otherwise
			}
			if !reflect.DeepEqual(got, c) {
				t.Errorf("read\n%+v\nwant\n%+v", got, c)
			}
			a, err1 := recipe.FromFiles(got.Files)
			b, err2 := recipe.FromFiles(c.Files)
			if err1 != nil || err2 != nil || a.Digest() != b.Digest() {
				t.Errorf("the tree of the zip is not that of the inspection: %v %v", err1, err2)
			}
		})
	}
}

func TestR20OrderOfFilesAndLogsDoesNotMatter(t *testing.T) {
	want := build(t, green())
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		c := green()
		random.Shuffle(len(c.Files), func(i, j int) { c.Files[i], c.Files[j] = c.Files[j], c.Files[i] })
		random.Shuffle(len(c.Logs), func(i, j int) { c.Logs[i], c.Logs[j] = c.Logs[j], c.Logs[i] })
		c.Manifest.Entries, c.Manifest.Executables = []string{"stale"}, []string{"stale"}
		if !bytes.Equal(build(t, c), want) {
			t.Fatal("another order gives other bytes")
		}
	}
}

// TestRFC1951StreamsAreReadByAnotherInflater holds the compressor against the
// library's decompressor.
func TestRFC1951StreamsAreReadByAnotherInflater(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	text := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog, ", 3000))
	far := slices.Concat([]byte("abcdefgh"), noise(window-8), []byte("abcdefgh"), noise(9), []byte("abcdefgh"))
	for name, data := range map[string][]byte{
		"nothing": {}, "one byte": {0}, "three equal bytes": []byte("aaa"), "five equal bytes": []byte("aaaaa"), "zeros": make([]byte, 1<<20),
		"noise": noise(200000), "as much as a stored block": noise(maxStored), "one more": noise(maxStored + 1), "two stored blocks": noise(2 * maxStored),
		"text": text, "a match at the largest distance": far, "text then noise": slices.Concat(text, noise(70000)), "every byte": noise(256),
	} {
		t.Run(name, func(t *testing.T) {
			packed := deflate(data)
			checkDeflate(t, data, packed)
		})
	}
	for n := range 700 { // each length of a match, and each length of input
		data := slices.Concat(noise(300), bytes.Repeat([]byte{'x'}, n))
		checkDeflate(t, data, deflate(data))
	}
	if n := len(deflate(text)); n > len(text)/20 {
		t.Errorf("%d bytes of one sentence are packed into %d", len(text), n)
	}
}

func checkDeflate(t *testing.T, data, packed []byte) {
	t.Helper()
	in := bytes.NewReader(packed)
	got, err := io.ReadAll(flate.NewReader(in))
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes became %d bytes: %v", len(data), len(got), err)
	}
	if in.Len() != 0 {
		t.Fatalf("%d bytes after the stream", in.Len())
	}
	if len(packed) > storedSize(len(data)) || len(data) > maxRatio*len(packed) {
		t.Fatalf("%d bytes became %d", len(data), len(packed))
	}
}
