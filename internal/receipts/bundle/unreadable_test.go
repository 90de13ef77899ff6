package bundle_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// unreadable requires an UnreadableError of one line at a path.
func unreadable(t *testing.T, err error, path, fault string) {
	t.Helper()
	var u *bundle.UnreadableError
	switch {
	case !errors.As(err, &u):
		t.Errorf("got %v, want an UnreadableError of %s", err, path)
	case u.Path != path || !strings.Contains(u.Fault, fault) || strings.ContainsAny(err.Error(), "\n\r"):
		t.Errorf("got %q, want %s and %q on one line", err.Error(), path, fault)
	}
}

// TestSections2To8FaultsThatMakeABundleUnreadable changes one place of one file.
func TestSections2To8FaultsThatMakeABundleUnreadable(t *testing.T) {
	t.Parallel()
	sound := bundletest.New(t, bundletest.Compliance(2), bundletest.Purchasing())
	did := sound.Enrol("alpha", func(o *canonjson.Object) { o.Set("declared_stack", "pile") })
	sound.Enrol("beta")
	sound.Submit(did, "conf-01", "conforme", sound.Claims("conf-01")...)
	seasonTask := func(name string, v any) func(o *canonjson.Object) {
		return func(o *canonjson.Object) {
			tasks, _ := canonjson.Resolve(o, "/tracks/conformite/tasks")
			tasks.([]any)[0].(*canonjson.Object).Set(name, v)
		}
	}
	member := func(v any, path ...string) func(o *canonjson.Object) {
		return func(o *canonjson.Object) { set(o, v, path...) }
	}
	manifest, key, rules := bundle.ManifestPath(track), bundle.KeyPath(track), bundle.RulesPath(track)
	for _, c := range []struct {
		name, path, fault string
		edit              func(o *canonjson.Object)             // the JSON object of the file
		text              func(s string) string                 // or its text
		files             func(map[string][]byte)               // or the files
		element           func(first, second *canonjson.Object) // or the first elements of its array
	}{
		{name: "season.json missing", path: "season.json", fault: "is missing", files: func(f map[string][]byte) { delete(f, "season.json") }},
		{name: "season.json with a byte order mark", path: "season.json", fault: "byte order mark", text: func(s string) string { return "\ufeff" + s }},
		{name: "season.json with a member twice", path: "season.json", fault: "not strict JSON", text: func(s string) string { return `{"season":1,` + s[1:] }},
		{name: "season.json that is an array", path: "season.json", fault: "must be an object, is an array", text: func(s string) string { return "[" + s + "]" }},
		{name: "another format", path: "season.json", fault: "/format must be", edit: member("prova-season-bundle/2", "format")},
		{name: "season 0", path: "season.json", fault: "/season must be at least 1", edit: member(0, "season")},
		{name: "a season as a float", path: "season.json", fault: "/season must be an integer", edit: member(1.0, "season")},
		{name: "a season beyond 64 bits", path: "season.json", fault: "/season must lie", edit: member(canonjson.Int("9223372036854775808"), "season")},
		{name: "an instant without seconds", path: "season.json", fault: "/opens must be an instant", edit: member("2026-09-22T10:00Z", "opens")},
		{name: "an instant with an offset", path: "season.json", fault: "/closes must be an instant", edit: member("2026-10-22T10:00:00+00:00", "closes")},
		{name: "a day that does not exist", path: "season.json", fault: "/closes must be an instant", edit: member("2027-02-29T10:00:00Z", "closes")},
		{name: "opens after closes", path: "season.json", fault: "/opens must not be later", edit: member("2027-10-22T10:00:00Z", "opens")},
		{name: "a host with a trailing slash", path: "season.json", fault: "/season_host must be https://", edit: member("https://season.prova.test/", "season_host")},
		{name: "a host without https", path: "season.json", fault: "/tracks/conformite/corpus_host must be https://", edit: member("http://conformite.corpus.prova.test", "tracks", track, "corpus_host")},
		{name: "a policy that requires only the log", path: "season.json", fault: "/witness_policy/required must be", edit: member([]any{"log"}, "witness_policy", "required")},
		{name: "a local policy of another word", path: "season.json", fault: "/witness_policy/local must be", edit: member(true, "witness_policy", "local")},
		{name: "tracks that are an array", path: "season.json", fault: "/tracks must be an object", edit: member([]any{}, "tracks")},
		{name: "a track with a capital", path: "season.json", fault: "is not a track name", edit: member(canonjson.NewObject(), "tracks", "Conformite")},
		{name: "a track this program has no graph for", path: "season.json", fault: "unknown", edit: func(o *canonjson.Object) {
			entry, _ := canonjson.Resolve(o, "/tracks/conformite")
			clone := entry.(*canonjson.Object).Clone()
			clone.Set("corpus_host", "https://autre.test")
			set(o, clone, "tracks", "autre")
		}},
		{name: "two tracks on one corpus host", path: "season.json", fault: "two tracks never share one", edit: member("https://conformite.corpus.prova.test", "tracks", "generique", "corpus_host")},
		{name: "a task id of another track", path: "season.json", fault: "unique in the season", edit: seasonTask("task_id", "gen-01")},
		{name: "a task id twice", path: "season.json", fault: "conf-02", edit: seasonTask("task_id", "conf-02")},
		{name: "a task id with a capital", path: "season.json", fault: "task_id", edit: seasonTask("task_id", "Conf-01")},
		{name: "a cap below the minimum", path: "season.json", fault: "cap", edit: seasonTask("cap", 1)},
		{name: "a minimum of 0", path: "season.json", fault: "minimum", edit: seasonTask("minimum", 0)},
		{name: "no tasks", path: "season.json", fault: "at least one task", edit: member([]any{}, "tracks", track, "tasks")},
		{name: "a freeze without proof id", path: "season.json", fault: "/freeze/proof_id must be a proof id", edit: member("prf_1", "tracks", track, "freeze", "proof_id")},
		{name: "a frozen hash in capitals", path: "season.json", fault: "/freeze/rules_sha256 must be 64", edit: member(strings.Repeat("A", 64), "tracks", track, "freeze", "rules_sha256")},
		{name: "a replaced freeze without reason", path: "season.json", fault: "/freeze/replaced/0/reason is missing", edit: member([]any{canonjson.NewObject("proof_id", "prf_20260101_000000_abcdef")}, "tracks", track, "freeze", "replaced")},
		{name: "trust.json missing", path: "trust.json", fault: "is missing", files: func(f map[string][]byte) { delete(f, "trust.json") }},
		{name: "trust.json without logs", path: "trust.json", fault: "logs", edit: func(o *canonjson.Object) { o.Delete("logs") }},
		{name: "rules missing", path: rules, fault: "is missing", files: func(f map[string][]byte) { delete(f, rules) }},
		{name: "the text of the rules missing", path: bundle.RulesTextPath(track), fault: "is missing", files: func(f map[string][]byte) { delete(f, bundle.RulesTextPath(track)) }},
		{name: "rules with verdicts of another type", path: rules, fault: "verdicts", edit: member("conforme", "verdicts")},
		{name: "rules that are not strict JSON", path: rules, fault: "not strict JSON", text: func(s string) string { return s + "x" }},
		{name: "manifest missing", path: manifest, fault: "is missing", files: func(f map[string][]byte) { delete(f, manifest) }},
		{name: "a manifest that is an object", path: manifest, fault: "must be an array", text: func(string) string { return "{}" }},
		{name: "a resource without slash", path: manifest, fault: "/0/resource must start with /", element: func(a, _ *canonjson.Object) { a.Set("resource", "x") }},
		{name: "a resource twice", path: manifest, fault: "/1/resource", element: func(a, b *canonjson.Object) { b.Set("resource", get(t, a, "/resource")) }},
		{name: "a file outside", path: manifest, fault: "/0/file must be a relative path", element: func(a, _ *canonjson.Object) { a.Set("file", "../../season.json") }},
		{name: "a file with an empty segment", path: manifest, fault: "/0/file must be a relative path", element: func(a, _ *canonjson.Object) { a.Set("file", "a//b.json") }},
		{name: "a url that is a number", path: manifest, fault: "/0/url must be a string or null", element: func(a, _ *canonjson.Object) { a.Set("url", 1) }},
		{name: "a request hash that is none", path: manifest, fault: "/0/request_sha256 must be 64", element: func(a, _ *canonjson.Object) { a.Set("request_sha256", "x") }},
		{name: "no response hash", path: manifest, fault: "/0/response_sha256 is missing", element: func(a, _ *canonjson.Object) { a.Delete("response_sha256") }},
		{name: "key missing", path: key, fault: "is missing", files: func(f map[string][]byte) { delete(f, key) }},
		{name: "a salt of 63 characters", path: key, fault: "/salt must be 64", edit: member(strings.Repeat("0", 63), "salt")},
		{name: "a key that lacks a task", path: key, fault: "/key/tasks/conf-02 is missing", edit: func(o *canonjson.Object) {
			tasks, _ := canonjson.Resolve(o, "/key/tasks")
			tasks.(*canonjson.Object).Delete("conf-02")
		}},
		{name: "a key with another task", path: key, fault: "exactly the track's tasks", edit: member(canonjson.NewObject("verdict", "x", "families", []any{}, "control", true, "facts", []any{}), "key", "tasks", "conf-99")},
		{name: "a control that is a string", path: key, fault: "/control must be true or false", edit: member("no", "key", "tasks", "conf-01", "control")},
		{name: "families that hold a number", path: key, fault: "/families/0 must be a string", edit: member([]any{1}, "key", "tasks", "conf-01", "families")},
		{name: "a fact without value", path: key, fault: "/facts/0/value is missing", edit: member([]any{canonjson.NewObject("resource", "/r", "field", "/f", "equivalents", []any{})}, "key", "tasks", "conf-01", "facts")},
		{name: "an equivalent that is a string", path: key, fault: "/facts/0/equivalents/0 must be an object", edit: member([]any{canonjson.NewObject("resource", "/r", "field", "/f", "value", 1, "equivalents", []any{"x"})}, "key", "tasks", "conf-01", "facts")},
		{name: "enrolments missing", path: "enrolments.json", fault: "is missing", files: func(f map[string][]byte) { delete(f, "enrolments.json") }},
		{name: "a DID that is none", path: "enrolments.json", fault: "/0/agent_did must be a DID", element: func(a, _ *canonjson.Object) { a.Set("agent_did", "alpha") }},
		{name: "a DID with a slash", path: "enrolments.json", fault: "/0/agent_did must be a DID without a slash", element: func(a, _ *canonjson.Object) { a.Set("agent_did", "did:web:a/b") }},
		{name: "a DID twice", path: "enrolments.json", fault: "/1/agent_did", element: func(a, b *canonjson.Object) { b.Set("agent_did", get(t, a, "/agent_did")) }},
		{name: "seven digits of a second", path: "enrolments.json", fault: "/0/enrolled_at must be an instant", element: func(a, _ *canonjson.Object) { a.Set("enrolled_at", "2026-09-23T10:00:00.1234567Z") }},
		{name: "a kind of another word", path: "enrolments.json", fault: "/0/kind must be", element: func(a, _ *canonjson.Object) { a.Set("kind", "guest") }},
		{name: "a stack that is a number", path: "enrolments.json", fault: "/0/declared_stack must be a string or null", element: func(a, _ *canonjson.Object) { a.Set("declared_stack", 3) }},
		{name: "links that hold null", path: "enrolments.json", fault: "/0/linked_dids/0 must be a string", element: func(a, _ *canonjson.Object) { a.Set("linked_dids", []any{nil}) }},
		{name: "no name", path: "enrolments.json", fault: "/0/agent_name is missing", element: func(a, _ *canonjson.Object) { a.Delete("agent_name") }},
		{name: "a folder of a DID that is not enrolled", path: "submissions/did:web:ghost.prova.test", fault: "no enrolled DID", files: func(f map[string][]byte) {
			f["submissions/did:web:ghost.prova.test/conf-01.json"] = []byte("{}")
		}},
		{name: "a file of a task that the season does not have", path: "submissions/" + did + "/conf-77.json", fault: "a task that the season does not have", files: func(f map[string][]byte) {
			f["submissions/"+did+"/conf-77.json"] = []byte("{}")
		}},
		{name: "corrections of a first publication", path: "corrections.json", fault: "/version must be at least 2", files: func(f map[string][]byte) {
			f["corrections.json"] = []byte(`{"version":1,"previous_sha256":"` + zeros + `","corrections":[]}`)
		}},
		{name: "corrections without the hash before", path: "corrections.json", fault: "/previous_sha256 is missing", files: func(f map[string][]byte) {
			f["corrections.json"] = []byte(`{"version":2,"corrections":[]}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := make(map[string][]byte, len(sound.Files))
			for name, data := range sound.Files {
				files[name] = data
			}
			switch {
			case c.edit != nil:
				bundletest.Edit(t, files, c.path, c.edit)
			case c.text != nil:
				files[c.path] = []byte(c.text(string(files[c.path])))
			case c.files != nil:
				c.files(files)
			case c.element != nil:
				v, err := canonjson.ParseStrict(files[c.path])
				if err != nil {
					t.Fatal(err)
				}
				list := v.([]any)
				c.element(list[0].(*canonjson.Object), list[1].(*canonjson.Object))
				files[c.path] = canonjson.Compact(v)
			}
			_, err := bundle.OpenFS(bundletest.FS(files))
			unreadable(t, err, c.path, c.fault)
		})
	}
	if _, err := bundle.OpenFS(bundletest.FS(sound.Files)); err != nil {
		t.Errorf("the sound bundle: %v", err)
	}
}

// TestSection9OnlyFoldersAndJSONFilesOfSubmissionsAreLookedAt adds what a person
// or a file system leaves behind.
func TestSection9OnlyFoldersAndJSONFilesOfSubmissionsAreLookedAt(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1))
	did := s.Enrol("alpha")
	s.Enrol("beta")
	s.Submit(did, "conf-01", "conforme", s.Claims("conf-01")...)
	fsys := bundletest.FS(s.Files)
	for _, name := range []string{"README.md", "submissions/notes.txt", "submissions/" + did + "/.DS_Store", "submissions/" + did + "/conf-99.json.bak", "proofs/x", "extra/y.json"} {
		fsys[name] = &fstest.MapFile{Data: []byte("x")}
	}
	fsys["submissions/did:web:link.test"] = &fstest.MapFile{Data: []byte("."), Mode: fs.ModeSymlink}
	fsys["submissions/did:web:beta.agent.prova.test"] = &fstest.MapFile{Mode: fs.ModeDir}
	fsys["submissions/"+did+"/conf-98.json"] = &fstest.MapFile{Mode: fs.ModeDir}
	b, err := bundle.OpenFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Submitted(did); err != nil || len(got) != 1 || got[0] != "conf-01" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := b.Submitted("did:web:beta.agent.prova.test"); err != nil || got != nil {
		t.Errorf("an empty folder: %v, %v", got, err)
	}
}

func TestSection8TheFirstEnrolmentOfAParticipantIsRanked(t *testing.T) {
	t.Parallel()
	enrol := func(did, at string, linked ...string) string {
		links := `"` + strings.Join(linked, `","`) + `"`
		if len(linked) == 0 {
			links = ""
		}
		return `{"agent_did":"did:x:` + did + `","agent_name":"n","declared_stack":null,"enrolled_at":"` + at + `","kind":"community","linked_dids":[` + links + `]}`
	}
	for _, c := range []struct {
		name    string
		entries []string
		ranked  string // the DIDs ranked, in order
	}{
		{"nobody linked", []string{enrol("b", "2026-01-02T00:00:00Z"), enrol("a", "2026-01-01T00:00:00Z")}, "a b"},
		{"linked in one direction", []string{enrol("a", "2026-01-02T00:00:00Z"), enrol("b", "2026-01-01T00:00:00Z", "did:x:a")}, "b"},
		{"through a DID that is not enrolled", []string{enrol("a", "2026-01-02T00:00:00Z", "did:x:ghost"), enrol("b", "2026-01-01T00:00:00Z", "did:x:ghost")}, "b"},
		{"a chain of three", []string{enrol("a", "2026-01-03T00:00:00Z", "did:x:b"), enrol("b", "2026-01-02T00:00:00Z"), enrol("c", "2026-01-01T00:00:00Z", "did:x:b"), enrol("d", "2026-01-09T00:00:00Z")}, "c d"},
		{"the same instant: the smaller DID", []string{enrol("b", "2026-01-01T00:00:00Z", "did:x:a"), enrol("a", "2026-01-01T00:00:00.000Z")}, "a"},
		{"instants, not texts", []string{enrol("a", "2026-01-01T00:00:00.25Z", "did:x:b"), enrol("b", "2026-01-01T00:00:00Z")}, "b"},
		{"linked to itself", []string{enrol("a", "2026-01-01T00:00:00Z", "did:x:a")}, "a"},
	} {
		list, err := bundle.ParseEnrolments([]byte("[" + strings.Join(c.entries, ",") + "]"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, e := range list {
			if e.Ranked {
				got = append(got, strings.TrimPrefix(e.AgentDID, "did:x:"))
			}
		}
		if strings.Join(got, " ") != c.ranked {
			t.Errorf("%s: ranked %v, want %s", c.name, got, c.ranked)
		}
	}
}

func TestSection2PracticeIsReadAndAnyOtherValueOfItLetStand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		value any
		want  bool
	}{{"true", true, true}, {"false", false, false}, {"a string", "true", false}, {"null", nil, false}, {"an object", canonjson.NewObject(), false}} {
		s := bundletest.New(t, bundletest.Compliance(1))
		bundletest.Edit(t, s.Files, bundle.SeasonPath, func(o *canonjson.Object) { o.Set("practice", c.value) })
		season, err := bundle.ParseSeason(s.Files[bundle.SeasonPath])
		if err != nil || season.Practice != c.want {
			t.Errorf("%s: %v, want practice %v", c.name, err, c.want)
		}
	}
	season, err := bundle.ParseSeason(bundletest.New(t, bundletest.Compliance(1)).Files[bundle.SeasonPath])
	if err != nil || season.Practice {
		t.Errorf("without the member: practice, %v", err)
	}
}

func TestSection8ARunIsReadAndAMalformedOneMakesNoBundleUnreadable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, member, fault string
		want                *bundle.Run
	}{
		{"none", "", "", nil},
		{"whole", `,"run":{"model":"m","version":"1","framework":"f","prompt":""}`, "", &bundle.Run{Model: "m", Version: "1", Framework: "f"}},
		{"a model that is a number", `,"run":{"model":7,"version":"1","framework":"f","prompt":""}`, "/0/run/model must be a string, is an integer", nil},
		{"without a prompt", `,"run":{"model":"m","version":"1","framework":"f"}`, "/0/run/prompt is missing", nil},
		{"null", `,"run":null`, "/0/run must be an object, is null", nil},
	} {
		list, err := bundle.ParseEnrolments([]byte(`[{"agent_did":"did:x:a","agent_name":"n","declared_stack":null,"enrolled_at":"2026-01-01T00:00:00Z","kind":"reference","linked_dids":[]` + c.member + `}]`))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		e := list[0]
		if e.RunFault != c.fault || (e.Run == nil) != (c.want == nil) || e.Run != nil && *e.Run != *c.want {
			t.Errorf("%s: run %+v, fault %q, want %+v, %q", c.name, e.Run, e.RunFault, c.want, c.fault)
		}
	}
}

func FuzzSeason(f *testing.F) {
	s := bundletest.New(f, bundletest.Compliance(1), bundletest.Purchasing())
	f.Add(s.Files[bundle.SeasonPath])
	f.Add([]byte(`{"format":"prova-season-bundle/1","season":1,"tracks":{"a":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := bundle.ParseSeason(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%q is not one line", err.Error())
			}
			return
		}
		for name, entry := range s.Tracks {
			if !bundle.ValidTrack(name) || len(entry.Tasks) == 0 {
				t.Fatalf("track %q with %d tasks", name, len(entry.Tasks))
			}
		}
	})
}

// FuzzDocuments reads the other files of a bundle from one input.
func FuzzDocuments(f *testing.F) {
	s := bundletest.New(f, bundletest.Compliance(1))
	s.Enrol("alpha")
	for _, path := range []string{bundle.ManifestPath(track), bundle.KeyPath(track), bundle.EnrolmentsPath} {
		f.Add(s.Files[path])
	}
	f.Add([]byte(`{"version":2,"previous_sha256":"` + zeros + `","corrections":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, manifest := bundle.ParseManifest("m", data)
		_, key := bundle.ParseKey("k", data, []string{"conf-01"})
		_, enrolments := bundle.ParseEnrolments(data)
		_, corrections := bundle.ParseCorrections(data)
		for _, err := range []error{manifest, key, enrolments, corrections} {
			if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%q is not one line", err.Error())
			}
		}
	})
}
