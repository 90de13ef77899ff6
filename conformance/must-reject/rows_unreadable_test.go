package mustreject_test

import (
	"archive/tar"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

const (
	proofForm = "prf_20260101_000000_abcdef"
	track0    = "/tracks/conformite"
	task0     = track0 + "/tasks/0"
)

var zeros = strings.Repeat("0", 64)

// archiveRows break the form of the archive. The path "" stands for the archive.
func archiveRows() []row {
	const section, rule = "1", "regular files and folders only, by paths relative to the bundle's root"
	with := func(name, what string, extra ...member) row {
		return row{name: "archive-" + name, section: section, rule: rule, what: what, expect: unreadable(""),
			members: func(m []member) []member { return append(m, extra...) }}
	}
	return []row{
		with("symbolic-link", "a symbolic link results.json that leads out of the bundle", link(tar.TypeSymlink, "results.json", "/etc/hostname")),
		with("hard-link", "results.json is a hard link to season.json", link(tar.TypeLink, "results.json", "season.json")),
		with("named-pipe", "results.json is a named pipe", link(tar.TypeFifo, "results.json", "")),
		with("absolute-name", "a further file named /results.json", regular("/results.json", []byte("{}"))),
		{name: "archive-leading-dot", section: section, rule: rule, what: "season.json is stored as ./season.json", expect: unreadable(""),
			members: func(m []member) []member {
				for i := range m {
					if m[i].header.Name == bundle.SeasonPath {
						m[i].header.Name = "./" + bundle.SeasonPath
					}
				}
				return m
			}},
		with("climbing-name", "a further file named ../results.json", regular("../results.json", []byte("{}"))),
		with("climbing-inside", "a further file named proofs/../results.json", regular("proofs/../results.json", []byte("{}"))),
		with("name-twice", "a second file named trust.json, with other bytes", regular("trust.json", []byte("{}"))),
		with("file-and-folder", "a folder named season.json beside the file", link(tar.TypeDir, "season.json/", "")),
		{name: "archive-no-zstd", section: section, rule: "a bundle is a folder or a tar.zst of it", what: "bytes that are no zstd frame",
			expect: unreadable(""), bytes: func([]byte) []byte { return []byte("PK\x03\x04") }},
		{name: "archive-cut-off", section: section, rule: "a bundle is a folder or a tar.zst of it", what: "the archive ends in the middle",
			expect: unreadable(""), bytes: func(b []byte) []byte { return b[:len(b)/2] }},
	}
}

// strictRows break strict JSON in season.json, in a member that nobody reads
// where the rule is about a value.
func strictRows() []row {
	extra := func(value string) func(*scene) { return text(bundle.SeasonPath, `{`, `{"extra":`+value+`,`) }
	var rows []row
	for _, r := range []struct {
		name, what string
		files      func(*scene)
	}{
		{"byte-order-mark", "season.json starts with a byte order mark", text(bundle.SeasonPath, "{", "\ufeff{")},
		{"not-utf8", "a string of season.json holds the byte FF", extra("\"\xff\"")},
		{"second-value", "a second value after the object of season.json", func(c *scene) {
			c.s.Files[bundle.SeasonPath] = append(c.s.Files[bundle.SeasonPath], "{}"...)
		}},
		{"name-twice", "season.json has the member season twice, with equal values", text(bundle.SeasonPath, `"season":1`, `"season":1,"season":1`)},
		{"name-twice-escaped", "season.json has the member season twice, once escaped", text(bundle.SeasonPath, `"season":1`, `"season":1,"s\u0065ason":1`)},
		{"nan", "season.json holds NaN", extra("NaN")},
		{"lone-surrogate", "season.json holds a lone surrogate, escaped", extra(`"\ud800"`)},
		{"101-levels", "season.json has 101 levels of arrays and objects", extra(strings.Repeat("[", 100) + strings.Repeat("]", 100))},
		{"4301-digits", "season.json holds an integer literal of 4301 digits", extra(strings.Repeat("1", 4301))},
	} {
		rows = append(rows, row{name: "json-" + r.name, section: "1", rule: "strict JSON", what: r.what, expect: unreadable(bundle.SeasonPath), files: r.files})
	}
	return rows
}

// fault is a row of a file that makes the bundle unreadable.
type fault struct {
	name, rule, what string
	files            func(*scene)
}

func unreadableRows(prefix, section, path string, faults []fault) []row {
	var rows []row
	for _, f := range faults {
		rows = append(rows, row{name: prefix + f.name, section: section, rule: f.rule, what: f.what, expect: unreadable(path), files: f.files})
	}
	return rows
}

func seasonRows() []row {
	const p = bundle.SeasonPath
	rows := unreadableRows("season-", "2", p, []fault{
		{"missing", "season.json is there", "no season.json", remove(p)},
		{"other-format", "format is prova-season-bundle/1", "format prova-season-bundle/2", set(p, "/format", "prova-season-bundle/2")},
		{"zero", "season is an integer from 1", "season 0", set(p, "/season", 0)},
		{"float", "season is an integer", "season 1.0", text(p, `"season":1`, `"season":1.0`)},
		{"beyond-64-bits", "integers lie from -2^63 to 2^63-1", "season 2^63", set(p, "/season", canonjson.Int("9223372036854775808"))},
		{"instant-without-seconds", "an instant is YYYY-MM-DDTHH:MM:SSZ", "opens without seconds", set(p, "/opens", "2026-09-22T10:00Z")},
		{"instant-with-offset", "an instant is YYYY-MM-DDTHH:MM:SSZ", "closes with +00:00 in place of Z", set(p, "/closes", "2026-10-22T10:00:00+00:00")},
		{"no-such-day", "an instant is a time of the calendar", "closes on the 29th of February 2027", set(p, "/closes", "2027-02-29T10:00:00Z")},
		{"opens-after-closes", "opens is not later than closes", "opens in 2027", set(p, "/opens", "2027-10-22T10:00:00Z")},
		{"host-trailing-slash", "a host is https:// and a host, no trailing slash", "season_host with a trailing slash", set(p, "/season_host", "https://season.prova.test/")},
		{"host-without-https", "a host is https:// and a host", "corpus_host with http://", set(p, track0+"/corpus_host", "http://conformite.corpus.prova.test")},
		{"requires-log-only", "required is one of two arrays", `required ["log"]`, set(p, "/witness_policy/required", []any{"log"})},
		{"local-policy", "local is allowed or refused", "local true", set(p, "/witness_policy/local", true)},
		{"track-name", "a track's name has the form of section 1", "a second track named Conformite", set(p, "/tracks/Conformite", canonjson.NewObject())},
		{"task-id", "a task id has the form of section 1", "task_id Conf-01", set(p, task0+"/task_id", "Conf-01")},
		{"task-twice", "a task id is unique in the season", "conf-01 is listed twice", edit(p, func(t *testing.T, v any) {
			put(t, v, track0+"/tasks", append(resolve(t, v, track0+"/tasks").([]any), resolve(t, v, task0)))
		})},
		{"minimum-zero", "minimum is an integer from 1", "minimum 0", set(p, task0+"/minimum", 0)},
		{"cap-below-minimum", "cap is not below minimum", "minimum 3 and cap 2", set(p, task0+"/minimum", 3)},
		{"freeze-proof-id", "freeze.proof_id is a proof id", "proof_id prf_1", set(p, track0+"/freeze/proof_id", "prf_1")},
		{"freeze-hash", "a hash is 64 lower-case hex", "rules_sha256 in capitals", set(p, track0+"/freeze/rules_sha256", strings.Repeat("A", 64))},
		{"freeze-replaced", "an entry of replaced has proof_id and reason", "an entry without reason",
			set(p, track0+"/freeze/replaced", []any{canonjson.NewObject("proof_id", proofForm)})},
	})
	shared := unreadableRows("season-", "2", p, []fault{
		{"shared-host", "two tracks never share a corpus host (D2)", "generique has the host of conformite", set(p, "/tracks/generique/corpus_host", "https://conformite.corpus.prova.test")},
		{"task-of-two-tracks", "a task id is unique in the season", "a task of generique is named conf-01", set(p, "/tracks/generique/tasks/0/task_id", "conf-01")},
	})
	for i := range shared {
		shared[i].purchasing = true
	}
	return append(rows, shared...)
}

func trustRows() []row {
	const p = bundle.TrustPath
	again := func(list string, change func(o *canonjson.Object)) func(*scene) {
		return edit(p, func(t *testing.T, v any) {
			old := resolve(t, v, list).([]any)
			second := old[0].(*canonjson.Object).Clone()
			change(second)
			put(t, v, list, append(old, second))
		})
	}
	return unreadableRows("trust-", "3", p, []fault{
		{"missing", "trust.json is there", "no trust.json", remove(p)},
		{"kid-twice", "kid is unique", "two keys named key-1", again("/issuer/keys", func(*canonjson.Object) {})},
		{"provider-twice", "provider is unique", "two authorities named tsa.prova.test", again("/timestamp_authorities", func(*canonjson.Object) {})},
		{"key-type", "an issuer key is Ed25519", "type RSA", set(p, "/issuer/keys/0/type", "RSA")},
		{"key-bytes", "public is ed25519: and a key", "a public key of 31 bytes", set(p, "/issuer/keys/0/public", "ed25519:"+strings.Repeat("A", 42))},
		{"retired-at", "retired_at is an instant or null", "retired_at is a day", set(p, "/issuer/keys/0/retired_at", "2026-12-01")},
		{"two-pem-blocks", "a PEM value holds exactly one block", "the log's key twice in one value", edit(p, func(t *testing.T, v any) {
			pem := resolve(t, v, "/logs/0/public_pem").(string)
			put(t, v, "/logs/0/public_pem", pem+pem)
		})},
		{"independent", "independent is true or false", `independent "yes"`, set(p, "/logs/0/independent", "yes")},
	})
}

// definitionRows break rules, manifest and key.
func definitionRows() []row {
	rules, manifest, key := bundle.RulesPath(trackName), bundle.ManifestPath(trackName), bundle.KeyPath(trackName)
	const k = "/key/tasks/conf-01"
	aFact := func(change func(o *canonjson.Object)) func(*scene) {
		return edit(key, func(t *testing.T, v any) { change(resolve(t, v, k+"/facts/0").(*canonjson.Object)) })
	}
	rows := unreadableRows("rules-", "4", rules, []fault{
		{"missing", "rules/<track>.json is there", "no rules", remove(rules)},
		{"text-hash", "a hash is 64 lower-case hex", "text_sha256 in capitals", set(rules, "/text_sha256", strings.Repeat("A", 64))},
		{"verdicts", "verdicts is an array of strings", "verdicts is a string", set(rules, "/verdicts", "conforme")},
		{"collection", "a collection has slashes at both ends", "the collection /entites", edit(rules, func(t *testing.T, v any) {
			resolve(t, v, "/probative_fields").(*canonjson.Object).Set("/entites", []any{"/statut"})
		})},
		{"pattern", "a pattern is a JSON Pointer", "the pattern statut", edit(rules, func(t *testing.T, v any) {
			resolve(t, v, "/probative_fields").(*canonjson.Object).Set("/entites/", []any{"statut"})
		})},
	})
	rows = append(rows, unreadableRows("rules-", "4", bundle.RulesTextPath(trackName), []fault{
		{"text-missing", "rules/<track>.md is there", "no text of the rules", remove(bundle.RulesTextPath(trackName))},
	})...)
	rows = append(rows, unreadableRows("manifest-", "5", manifest, []fault{
		{"missing", "manifest.json is there", "no manifest", remove(manifest)},
		{"object", "the manifest is an array", "the manifest is an object", add(manifest, "{}")},
		{"resource-form", "a resource starts with /", "the resource referentiel", edit(manifest, func(t *testing.T, v any) {
			put(t, v, "/0/resource", strings.TrimPrefix(resolve(t, v, "/0/resource").(string), "/"))
		})},
		{"resource-twice", "each resource is there once", "the first entry twice", edit(manifest, func(t *testing.T, v any) {
			list := v.([]any)
			list[1] = list[0]
		})},
		{"unsorted", "entries are sorted by resource", "the first two entries change places", edit(manifest, func(_ *testing.T, v any) {
			list := v.([]any)
			list[0], list[1] = list[1], list[0]
		})},
		{"file-climbs", "file has no segment ..", "a file outside of the corpus", set(manifest, "/0/file", "../manifest.json")},
	})...)
	return append(rows, unreadableRows("key-", "6", key, []fault{
		{"missing", "keys/<track>.json is there", "no key", remove(key)},
		{"salt", "the salt is 64 lower-case hex", "a salt of 63 characters", set(key, "/salt", zeros[1:])},
		{"lacks-task", "the key names exactly the track's tasks", "no entry for conf-01", drop(key, k)},
		{"other-task", "the key names exactly the track's tasks", "an entry for conf-99", edit(key, func(t *testing.T, v any) {
			put(t, v, "/key/tasks/conf-99", resolve(t, v, k))
		})},
		{"control", "control is true or false", `control "no"`, set(key, k+"/control", "no")},
		{"fact-without-value", "a fact has resource, field and value", "a fact without value", aFact(func(o *canonjson.Object) { o.Delete("value") })},
	})...)
}

func enrolmentRows() []row {
	const p = bundle.EnrolmentsPath
	rows := unreadableRows("enrolments-", "8", p, []fault{
		{"missing", "enrolments.json is there", "no enrolments", remove(p)},
		{"no-did", "agent_did is a DID", "agent_did alpha", set(p, "/0/agent_did", "alpha")},
		{"did-with-slash", "agent_did holds no /", "agent_did did:web:a/b", set(p, "/0/agent_did", "did:web:a/b")},
		{"did-twice", "agent_did is unique", "alpha enrolled twice", func(c *scene) { c.s.Enrol("alpha") }},
		{"seven-digits", "enrolled_at has at most six digits of a second", "seven digits", set(p, "/0/enrolled_at", "2026-09-22T10:00:00.1234567Z")},
		{"kind", "kind is reference or community", "kind guest", set(p, "/0/kind", "guest")},
		{"links", "linked_dids is an array of strings", "linked_dids [null]", set(p, "/0/linked_dids", []any{nil})},
	})
	ghost, other := "submissions/did:web:ghost.prova.test", "submissions/"+agent+"/conf-77.json"
	return append(rows,
		row{name: "submissions-unknown-did", section: "9", rule: "a folder is of an enrolled DID", what: "a folder of a DID that nobody enrolled",
			expect: unreadable(ghost), files: add(ghost+"/conf-01.json", "{}")},
		row{name: "submissions-unknown-task", section: "9", rule: "a file is of a task of the season", what: "a file for the task conf-77",
			expect: unreadable(other), files: add(other, "{}")})
}

func correctionRows() []row {
	const p = bundle.CorrectionsPath
	correction := func(change func(entry, file *canonjson.Object)) func(*scene) {
		return func(c *scene) {
			entry := canonjson.NewObject("agent_did", agent, "track", trackName, "task_id", taskID, "assertion_id", "a1", "status", "unsupported",
				"cause", "value_mismatch", "reason", "text", "dispute_id", "disp_00000001", "decided_at", "2026-11-20T10:00:00Z")
			file := canonjson.NewObject("version", 2, "previous_sha256", zeros, "corrections", []any{entry})
			change(entry, file)
			c.s.Files[p] = canonjson.Compact(file)
		}
	}
	member := func(name string, v any) func(*scene) {
		return correction(func(entry, _ *canonjson.Object) { entry.Set(name, v) })
	}
	const names = "an entry names an assertion of a submitted task"
	return unreadableRows("corrections-", "13", p, []fault{
		{"version", "version is an integer from 2", "version 1", correction(func(_, file *canonjson.Object) { file.Set("version", 1) })},
		{"no-previous", "previous_sha256 is a hash", "no previous_sha256", correction(func(_, file *canonjson.Object) { file.Delete("previous_sha256") })},
		{"status", "status is one of section 10", "status refuted", member("status", "refuted")},
		{"no-did", names, "a DID that nobody enrolled", member("agent_did", "did:web:nobody.prova.test")},
		{"no-track", names, "the task of another track", member("track", "generique")},
		{"no-task", names, "the task conf-09", member("task_id", "conf-09")},
		{"no-assertion", names, "the assertion a9", member("assertion_id", "a9")},
		{"not-submitted", names, "a task without submission", func(c *scene) {
			member("status", "unsupported")(c)
			remove(bundle.SubmissionPath(agent, taskID))(c)
		}},
	})
}
