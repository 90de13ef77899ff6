package artefact

import (
	"archive/zip"
	"bytes"
	"encoding/json/jsontext"
	"hash/crc32"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// part is one entry of a zip written by hand; edit changes its header last.
type part struct {
	name string
	data []byte
	edit func(*zip.FileHeader)
}

func zipOf(t testing.TB, parts ...part) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, p := range parts {
		packed := deflate(p.data)
		h := &zip.FileHeader{
			Name: p.name, Method: zip.Deflate, CreatorVersion: unix, ReaderVersion: version20, ExternalAttrs: mode0644, ModifiedDate: date1980, //nolint:staticcheck // As Build writes it.
			CRC32: crc32.ChecksumIEEE(p.data), CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(len(p.data)),
		}
		if p.edit != nil {
			p.edit(h)
		}
		e, err := w.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(packed); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// parts are the entries of the green zip in their order.
func parts(t testing.TB) []part {
	t.Helper()
	entries, err := green().entries()
	if err != nil {
		t.Fatal(err)
	}
	var out []part
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, part{name: name, data: entries[name]})
	}
	return out
}

func TestR20AnUntouchedZipOfTheTestsIsRead(t *testing.T) {
	if !bytes.Equal(zipOf(t, parts(t)...), build(t, green())) {
		t.Fatal("the writer of these tests writes another zip than Build, so they show nothing")
	}
}

func TestR20AZipThatBuildWouldNotWriteIsRefused(t *testing.T) {
	good := build(t, green())
	at := func(name string, change func(*part)) []byte {
		p := parts(t)
		i := slices.IndexFunc(p, func(p part) bool { return p.name == name })
		change(&p[i])
		return zipOf(t, p...)
	}
	replaced := func(name, old, with string) []byte {
		return at(name, func(p *part) {
			if !bytes.Contains(p.data, []byte(old)) {
				t.Fatalf("%s has no %q", name, old)
			}
			p.data = bytes.Replace(p.data, []byte(old), []byte(with), 1)
		})
	}
	without := func(name string) []byte {
		return zipOf(t, slices.DeleteFunc(parts(t), func(p part) bool { return p.name == name })...)
	}
	more := func(p ...part) []byte { return zipOf(t, append(parts(t), p...)...) }
	header := func(edit func(*zip.FileHeader)) []byte {
		return at("artifact/recipe.json", func(p *part) { p.edit = edit })
	}
	for name, c := range map[string]struct {
		zip []byte
		why string
	}{
		"nothing":                              {nil, "not a zip"},
		"prose":                                {[]byte("no zip at all"), "not a zip"},
		"an empty zip":                         {zipOf(t), "manifest.json is missing"},
		"a zip that is cut off":                {good[:len(good)-1], "not a zip"},
		"bytes before the zip":                 {append([]byte("#!/bin/sh\n"), good...), "differs from byte 0"},
		"bytes after the zip":                  {append(slices.Clone(good), "more"...), ""},
		"a comment":                            {append(slices.Concat(good[:len(good)-2], []byte{4, 0}), "more"...), "differs from byte"},
		"no manifest":                          {without("manifest.json"), "manifest.json is missing"},
		"no checklist":                         {without("checklist.json"), "checklist.json is missing"},
		"no baseline":                          {without("baseline_ref.json"), "baseline_ref.json is missing"},
		"no report behind a green checklist":   {without("report.json"), "the report behind a green checklist is missing"},
		"a file less than the manifest names":  {without("artifact/empty"), "differs from byte"},
		"a file more than the manifest names":  {more(part{name: "artifact/more"}), "differs from byte"},
		"an entry that is no part of it":       {more(part{name: "readme.txt"}), `"readme.txt": no entry of R§20`},
		"a name that climbs":                   {more(part{name: "artifact/../../x"}), `the name has the segment ".."`},
		"an absolute name":                     {more(part{name: "/etc/passwd"}), "no entry"},
		"an absolute name in the artefact":     {more(part{name: "artifact//etc/passwd"}), "the name is absolute"},
		"a backslash":                          {more(part{name: `artifact/..\x`}), "the name has the byte 0x5c"},
		"a folder":                             {bytes.ReplaceAll(more(part{name: "artifact/dir+"}), []byte("artifact/dir+"), []byte("artifact/dir/")), "the name of a file ends in a slash"},
		"a log in a folder":                    {more(part{name: "logs/a/b"}), "one segment"},
		"a log without a name":                 {bytes.ReplaceAll(more(part{name: "logs+"}), []byte("logs+"), []byte("logs/")), "the name is empty"},
		"a name of 257 bytes":                  {more(part{name: "artifact/" + strings.Repeat("a", 248)}), "the name has 257 bytes, at most 256"},
		"an entry twice":                       {more(part{name: "report.json", data: []byte("{}")}), `"report.json" is there twice`},
		"an artefact's file twice":             {more(part{name: "artifact/empty"}), `"artifact/empty" is there twice`},
		"a file below a file":                  {more(part{name: "artifact/empty/x"}), "it is a file, and the folder of"},
		"entries in another order":             {zipOf(t, append(parts(t)[1:], parts(t)[0])...), "differs from byte"},
		"an entry that is stored":              {header(func(h *zip.FileHeader) { h.Method = zip.Store }), "its method is 0, want deflate (8)"},
		"another mode":                         {header(func(h *zip.FileHeader) { h.ExternalAttrs = 0o100755 << 16 }), "differs from byte"},
		"a link":                               {header(func(h *zip.FileHeader) { h.ExternalAttrs = 0o120777 << 16 }), "differs from byte"},
		"another date":                         {header(func(h *zip.FileHeader) { h.ModifiedDate++ }), "differs from byte"}, //nolint:staticcheck // As Build writes it.
		"another system":                       {header(func(h *zip.FileHeader) { h.CreatorVersion = version20 }), "differs from byte"},
		"extra fields":                         {header(func(h *zip.FileHeader) { h.Extra = []byte{1, 0, 0, 0} }), "differs from byte"},
		"a comment of an entry":                {header(func(h *zip.FileHeader) { h.Comment = "x" }), "differs from byte"},
		"a wrong checksum":                     {header(func(h *zip.FileHeader) { h.CRC32++ }), "checksum error"},
		"a size too small":                     {header(func(h *zip.FileHeader) { h.UncompressedSize64-- }), "cannot be unpacked"},
		"a size too large":                     {header(func(h *zip.FileHeader) { h.UncompressedSize64++ }), "cannot be unpacked"},
		"an encrypted entry":                   {header(func(h *zip.FileHeader) { h.Flags |= 1 }), "differs from byte"},
		"JSON that is not pretty":              {at("report.json", func(p *part) { p.data = bytes.ReplaceAll(p.data, []byte("\n  "), nil) }), "differs from byte"},
		"JSON with a line feed at the end":     {at("checklist.json", func(p *part) { p.data = append(p.data, '\n') }), "differs from byte"},
		"an integer for the primary value":     {replaced("report.json", "1.0", "1"), "differs from byte"},
		"an unknown member of the manifest":    {replaced("manifest.json", `"promoted"`, `"crowned"`), "crowned: unknown key"},
		"a member of the manifest twice":       {replaced("manifest.json", `"promoted"`, `"topic_id"`), "topic_id"},
		"a manifest that is no object":         {at("manifest.json", func(p *part) { p.data = []byte("[]") }), "want an object"},
		"a manifest that is no JSON":           {at("manifest.json", func(p *part) { p.data = []byte("{") }), `"manifest.json"`},
		"another schema":                       {replaced("manifest.json", `"schema_version": 1`, `"schema_version": 2`), "manifest.schema_version is 2, this build knows 1"},
		"a row id that climbs":                 {replaced("manifest.json", row, "../../../../../../x"), "is not pf_ and 16 lower-case"},
		"a row id in upper case":               {replaced("manifest.json", row, "pf_00000000000000A1"), "is not pf_ and 16 lower-case"},
		"a topic id that climbs":               {replaced("manifest.json", `"topic_id": "holdout-error"`, `"topic_id": ".."`), `topic_id`},
		"a topic of another manifest":          {replaced("baseline_ref.json", "holdout-error", "other-topic"), `baseline_ref.topic_id "other-topic" is not the manifest's "holdout-error"`},
		"a report of another submission":       {replaced("report.json", submission, artifact), "report.submission_digest"},
		"a report of another artefact":         {replaced("report.json", artifact, submission), "report.artifact_digest"},
		"a report of another topic":            {replaced("report.json", "holdout-error", "other-topic"), "report.topic_id"},
		"a report of another runner":           {replaced("report.json", "holdout_error", "other_runner"), "report.custom_id"},
		"a report of other rules":              {replaced("report.json", `"rules_version": 2`, `"rules_version": 3`), "report.rules_version 3 is not the manifest's 2"},
		"a report of another value":            {replaced("report.json", `"primary_value": 1.0`, `"primary_value": 2.0`), "report.primary_value is not the manifest's"},
		"a report without its value":           {replaced("report.json", `"primary_value": 1.0`, `"primary_value": null`), "report.primary_value is not the manifest's"},
		"a checklist of another submission":    {replaced("checklist.json", submission, artifact), "checklist.submission_digest"},
		"a green manifest of a red checklist":  {replaced("checklist.json", "true", "false"), `the checklist's item "no_network" does not pass`},
		"a promoted row that is not green":     {replaced("manifest.json", `"checklist_green": true`, `"checklist_green": false`), "manifest.promoted is true without a green checklist"},
		"an executable that is not there":      {replaced("manifest.json", "    \"recipe.wasm\"\n  ]\n}", "    \"recipe.wasn\"\n  ]\n}"), "differs from byte"},
		"a digest in upper case":               {replaced("manifest.json", artifact, strings.ToUpper(artifact)), "manifest.artifact_digest"},
		"a runner id of another alphabet":      {replaced("manifest.json", "holdout_error", "holdout error"), "manifest.custom_id"},
		"a checklist with an unknown member":   {replaced("checklist.json", "evidence", "evidense"), `"checklist.json"`},
		"a report nested beyond every reader":  {replaced("report.json", `"none": {}`, `"none": `+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), `report`},
		"a number in evidence beyond a float":  {replaced("report.json", "1.5", "1e999"), "report"},
		"a stream that another program packed": {repacked(t), "differs from byte"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(c.zip)
			if err == nil {
				t.Fatalf("it was read, want an error with %q", c.why)
			}
			if !strings.Contains(err.Error(), c.why) || !strings.HasPrefix(err.Error(), "artefact: ") {
				t.Errorf("error %q, want it to contain %q", err, c.why)
			}
		})
	}
}

// repacked is the green zip with the entries packed by the library.
func repacked(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, p := range parts(t) {
		e, err := w.Create(p.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(p.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestR20AZipBombIsRefusedBeforeItIsUnpacked(t *testing.T) {
	overlapping := slices.Repeat([]part{{}}, 3000) // all of one name, so none is read twice
	for i := range overlapping {
		overlapping[i] = part{name: "artifact/" + strconv.Itoa(i), data: make([]byte, 100000)}
	}
	log := part{name: "logs/a", data: make([]byte, MaxLogs/2+1)}
	second := log
	second.name = "logs/b"
	many := make([]part, maxEntries+1)
	for i := range many {
		many[i] = part{name: "artifact/" + strconv.Itoa(i)}
	}
	for name, c := range map[string]struct {
		zip []byte
		why string
	}{
		"more than deflate can hold":   {zipOf(t, part{"artifact/a", []byte("x"), func(h *zip.FileHeader) { h.UncompressedSize64 = 60 << 20 }}), "more than deflate here can hold"},
		"sizes beyond 64 bits":         {zipOf(t, part{"artifact/a", []byte("x"), func(h *zip.FileHeader) { h.UncompressedSize64 = math.MaxUint64 }}), "more than deflate here can hold"},
		"packed sizes beyond 64 bits":  {zipOf(t, part{"artifact/a", []byte("x"), func(h *zip.FileHeader) { h.UncompressedSize64, h.CompressedSize64 = 1<<60, math.MaxUint64 }}), "artefact: "},
		"an artefact beyond its limit": {zipOf(t, overlapping...), "at most 67108864 are allowed"},
		"logs beyond their limit":      {zipOf(t, log, second), `"logs/b": with it there are 33554434 bytes of its kind, at most 33554432`},
		"a document beyond its limit":  {zipOf(t, part{name: "report.json", data: make([]byte, MaxDocument+1)}), "at most 16777216 are allowed"},
		"an unknown entry of 17 MB":    {zipOf(t, part{name: "x", data: make([]byte, MaxDocument+1)}), "at most 16777216 are allowed"},
		"more entries than allowed":    {zipOf(t, many...), "the zip has 4165 entries, at most 4164 are allowed"},
		"more bytes than any zip":      {make([]byte, MaxZip+1), "bytes, at most"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := Read(c.zip)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v, want it to contain %q", err, c.why)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("%d bytes were allocated within %v", used, time.Since(start))
			}
		})
	}
}

func TestR20BuildWritesNothingThatReadWouldRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Contents)
		why    string
	}{
		"an unsafe name":           {func(c *Contents) { c.Files[0].Path = "../x" }, `the name has the segment ".."`},
		"a name twice":             {func(c *Contents) { c.Files[0].Path = c.Files[1].Path }, "the name is twice"},
		"a name too long":          {func(c *Contents) { c.Files[0].Path = strings.Repeat("a", recipe.MaxPath+1) }, "at most 247"},
		"files too large":          {func(c *Contents) { c.Files[0].Bytes = make([]byte, MaxArtifact+1) }, "more than 67108864 bytes"},
		"too many files":           {func(c *Contents) { c.Files = make([]wire.File, recipe.MaxEntries+1) }, "at most 4096"},
		"logs too large":           {func(c *Contents) { c.Logs[0].Bytes = make([]byte, MaxLogs+1) }, "more than 33554432 bytes"},
		"too many logs":            {func(c *Contents) { c.Logs = make([]wire.Log, MaxLogFiles+1) }, "at most 64"},
		"a log twice":              {func(c *Contents) { c.Logs[0].Name = c.Logs[1].Name }, "is there twice"},
		"a report too large":       {func(c *Contents) { c.Report.Evidence = jsontext.Value(`"` + strings.Repeat("x", MaxDocument) + `"`) }, "report.json has"},
		"evidence that is no JSON": {func(c *Contents) { c.Report.Evidence = jsontext.Value(`{"a":1`) }, "report: "},
		"a text that is not UTF-8": {func(c *Contents) { c.BaselineRef.EvalImageDigest = "\xff" }, "baseline_ref.json: "},
		"no number":                {func(c *Contents) { c.Manifest.PrimaryValue = ptr(math.NaN()) }, "manifest.primary_value is not a finite number"},
		"no checklist":             {func(c *Contents) { c.Checklist = nil }, "the checklist is missing"},
		"an empty checklist":       {func(c *Contents) { c.Checklist.Items = nil }, "the checklist has no item"},
		"a report behind a red":    {func(c *Contents) { c.Manifest.ChecklistGreen, c.Manifest.Promoted = false, false }, "there is a report behind a checklist that is not green"},
		"a value behind a red": {func(c *Contents) { c.Manifest.ChecklistGreen, c.Manifest.Promoted, c.Report = false, false, nil },
			"manifest.primary_value is set behind a checklist that is not green"},
	} {
		t.Run(name, func(t *testing.T) {
			contents := green()
			c.change(contents)
			if data, err := Build(contents); err == nil || data != nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%d bytes and error %v, want it to contain %q", len(data), err, c.why)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(build(f, green()))
	f.Add(build(f, red()))
	p := parts(f)
	f.Add(zipOf(f, p[1:]...))
	f.Add(zipOf(f, append(p, p[0])...))
	f.Add(zipOf(f, part{"artifact/a", []byte("x"), func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 40 }}))
	f.Add(zipOf(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(data)
		if err != nil {
			return
		}
		if again := build(t, c); !bytes.Equal(again, data) {
			t.Errorf("a zip was read that Build does not write: %x", data)
		}
	})
}

func FuzzDeflate(f *testing.F) {
	f.Add([]byte("abcabcabcabc"))
	f.Add(make([]byte, 600))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { checkDeflate(t, data, deflate(data)) })
}

func FuzzPublicFiles(f *testing.F) {
	best, err := (&Best{TopicID: "holdout-error", SubmissionID: row, SubmissionDigest: submission, PrimaryValue: 0.5}).JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(best)
	f.Add([]byte(eventLines))
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := ParseBest(data); err == nil {
			if again, err := b.JSON(); err != nil || !bytes.Equal(again, data) {
				t.Errorf("best.json was read that is not written so: %v", err)
			}
		}
		events, err := ParseEvents(data)
		if err != nil {
			return
		}
		var again []byte
		for i := range events {
			line, err := events[i].Line()
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, line...)
		}
		if !bytes.Equal(again, data) {
			t.Error("events were read that are not written so")
		}
	})
}
