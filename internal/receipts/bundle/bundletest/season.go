package bundletest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// The window of a made-up season. It opens a day after the issuer's clock starts,
// and the clock stands a day inside it once [New] has frozen the tracks.
const window = 30 * 24 * time.Hour

// Opens is the first instant of the window.
func Opens() time.Time { return receipttest.Epoch().Add(24 * time.Hour) }

// Closes is the last.
func Closes() time.Time { return Opens().Add(window) }

// Season is a bundle in the making. Files may be read and changed freely.
type Season struct {
	Issuer *receipttest.Issuer
	// Files is the bundle, path → bytes.
	Files map[string][]byte
	// Doc is season.json; Freeze and Save write it.
	Doc    *canonjson.Object
	Tracks map[string]*Track

	t          testing.TB
	keys       map[string]*canonjson.Object // opened keys, written by Freeze
	enrolments []any
	requests   map[string]string // track + resource → hashes, as frozen
	responses  map[string]string
}

// New makes a season of these tracks, frozen and open.
func New(t testing.TB, tracks ...Track) *Season {
	t.Helper()
	s := &Season{
		Issuer: receipttest.New(t), Files: map[string][]byte{}, Tracks: map[string]*Track{}, t: t,
		keys: map[string]*canonjson.Object{}, requests: map[string]string{}, responses: map[string]string{},
	}
	entries := canonjson.NewObject()
	s.Doc = canonjson.NewObject("format", bundle.Format, "season", 1, "opens", instant(Opens()), "closes", instant(Closes()),
		"season_host", "https://season.prova.test",
		"witness_policy", canonjson.NewObject("required", []any{"timestamp", "log"}, "local", "refused"), "tracks", entries)
	for i := range tracks {
		tr := &tracks[i]
		s.Tracks[tr.Name] = tr
		s.writeCorpus(tr)
		text := []byte("# " + tr.Name + "\n")
		s.Files[bundle.RulesTextPath(tr.Name)] = text
		tr.Rules.Set("text_sha256", hexSum(text))
		s.put(bundle.RulesPath(tr.Name), tr.Rules)
		s.keys[tr.Name] = canonjson.NewObject("season", 1, "track", tr.Name, "tasks", tr.Key)
		entries.Set(tr.Name, canonjson.NewObject("corpus_host", tr.Host, "tasks", tr.Tasks, "freeze", canonjson.NewObject()))
	}
	for name := range s.Tracks {
		s.Freeze(name)
	}
	s.Files[bundle.TrustPath] = s.Issuer.Trust().JSON()
	s.saveEnrolments()
	s.Issuer.Advance(48 * time.Hour)
	return s
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (s *Season) put(path string, v any) { s.Files[path] = canonjson.Compact(v) }

// writeCorpus writes the files of a track and its manifest.
func (s *Season) writeCorpus(tr *Track) {
	var manifest []any
	for _, resource := range slices.Sorted(maps.Keys(tr.Corpus)) {
		file := strings.TrimPrefix(resource, "/") + ".json"
		body := canonjson.Compact(tr.Corpus[resource])
		s.Files[bundle.CorpusFilePath(tr.Name, file)] = body
		response, err := bundle.ResponseHash(body)
		s.must(err)
		var url, request any
		if !strings.HasPrefix(resource, bundle.SystemPrefix) {
			url, request = tr.Host+resource, bundle.RequestHash(tr.Host+resource)
			s.requests[tr.Name+resource] = bundle.RequestHash(tr.Host + resource)
		}
		s.responses[tr.Name+resource] = response
		manifest = append(manifest, canonjson.NewObject("resource", resource, "url", url, "request_sha256", request,
			"response_sha256", response, "file", file))
	}
	s.put(bundle.ManifestPath(tr.Name), manifest)
}

// Key is the key of a track before it is sealed; [Season.Freeze] seals it anew.
func (s *Season) Key(trackName string) *canonjson.Object { return s.keys[trackName] }

// Freeze commits a track as its files, Doc and Key are now: hashes into Doc, a
// freeze proof of the issuer's present time, the opened key.
func (s *Season) Freeze(trackName string) {
	s.t.Helper()
	key := s.keys[trackName]
	salt := sha256.Sum256([]byte("salt " + trackName))
	s.put(bundle.KeyPath(trackName), canonjson.NewObject("salt", hex.EncodeToString(salt[:]), "key", key))
	refrozen(s.t, s.Issuer, s.Files, s.Doc, trackName, bundle.KeyCommitment(salt, key))
}

// Refreeze commits a track of any bundle anew with an issuer's key: season.json,
// the freeze proof and its log entry are replaced. The bundle's trust must name
// the issuer. The clock of the issuer gives the token's time.
func Refreeze(t testing.TB, is *receipttest.Issuer, files map[string][]byte, trackName string) {
	t.Helper()
	doc := object(t, files[bundle.SeasonPath])
	opened := object(t, files[bundle.KeyPath(trackName)])
	saltText, _ := opened.Get("salt")
	var salt [32]byte
	if _, err := hex.Decode(salt[:], []byte(saltText.(string))); err != nil {
		t.Fatal(err)
	}
	key, _ := opened.Get("key")
	refrozen(t, is, files, doc, trackName, bundle.KeyCommitment(salt, key))
}

func refrozen(t testing.TB, is *receipttest.Issuer, files map[string][]byte, doc *canonjson.Object, trackName, keyCommitment string) {
	t.Helper()
	entry := at(t, doc, "/tracks/"+trackName).(*canonjson.Object)
	rules, err := canonjson.ParseStrict(files[bundle.RulesPath(trackName)])
	if err != nil {
		t.Fatal(err)
	}
	version, _ := canonjson.Resolve(rules, "/version")
	number, _ := at(t, doc, "/season").(canonjson.Int).Int64()
	opens, err := time.Parse(time.RFC3339, at(t, doc, "/opens").(string))
	if err != nil {
		t.Fatal(err)
	}
	closes, err := time.Parse(time.RFC3339, at(t, doc, "/closes").(string))
	if err != nil {
		t.Fatal(err)
	}
	host := at(t, doc, "/season_host").(string)
	freeze := bundle.Freeze{
		RulesSHA256: bundle.RulesHash(bundle.RulesInput{
			Season: number, Opens: opens, Closes: closes, SeasonHost: host, WitnessPolicy: at(t, doc, "/witness_policy"),
			Track: trackName, CorpusHost: at(t, entry, "/corpus_host").(string), Tasks: at(t, entry, "/tasks"), Rules: rules,
		}),
		ManifestSHA256: hexSum(files[bundle.ManifestPath(trackName)]),
		KeyCommitment:  keyCommitment,
	}
	statement := bundle.Statement(number, trackName, version.(string), freeze)
	draft := is.Issue(receipttest.Spec{RequestHash: bundle.FreezeRequestHash(host, number, trackName, statement), Seller: "season.prova.test"})
	is.Batch(draft)
	id, _ := draft.Doc.Get("proof_id")
	entry.Set("freeze", canonjson.NewObject("proof_id", id, "rules_sha256", freeze.RulesSHA256,
		"manifest_sha256", freeze.ManifestSHA256, "key_commitment", freeze.KeyCommitment))
	files[bundle.FreezePath(trackName)] = canonjson.Compact(canonjson.NewObject("proof", draft.Doc,
		"disclosures", draft.Disclosures("request_hash", "response_hash")))
	putEntry(t, is, files, draft)
	files[bundle.SeasonPath] = canonjson.Compact(doc)
}

// putEntry writes the log entry that a draft names.
func putEntry(t testing.TB, is *receipttest.Issuer, files map[string][]byte, d *receipttest.Draft) {
	t.Helper()
	uuid, _ := canonjson.Resolve(d.Doc, "/transparency_log/uuid")
	document, ok := is.Entry(uuid.(string))
	if !ok {
		t.Fatalf("the issuer has no log entry %v", uuid)
	}
	files[bundle.LogEntryPath(uuid.(string))] = document
}

func object(t testing.TB, data []byte) *canonjson.Object {
	t.Helper()
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*canonjson.Object)
}

func at(t testing.TB, v any, pointer string) any {
	t.Helper()
	found, ok := canonjson.Resolve(v, pointer)
	if !ok {
		t.Fatalf("no %s", pointer)
	}
	return found
}

func (s *Season) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Enrol enrols did:web:<name>.agent.prova.test and returns that DID. change may
// alter the entry before it is written.
func (s *Season) Enrol(name string, change ...func(entry *canonjson.Object)) string {
	did := "did:web:" + name + ".agent.prova.test"
	entry := canonjson.NewObject("agent_did", did, "agent_name", name, "declared_stack", nil,
		"enrolled_at", instant(Opens().Add(time.Duration(len(s.enrolments))*time.Second)), "kind", bundle.KindCommunity, "linked_dids", []any{})
	for _, f := range change {
		f(entry)
	}
	s.enrolments = append(s.enrolments, entry)
	s.saveEnrolments()
	return did
}

func (s *Season) saveEnrolments() { s.put(bundle.EnrolmentsPath, append([]any{}, s.enrolments...)) }

// Spec is the sound proof of one consultation of a resource.
func (s *Season) Spec(did, trackName, resource string) receipttest.Spec {
	return receipttest.Spec{
		DID: did, RequestHash: s.requests[trackName+resource], ResponseHash: s.responses[trackName+resource],
		Seller: strings.TrimPrefix(s.Tracks[trackName].Host, "https://"),
	}
}

// ResponseHash is the frozen response hash of a resource.
func (s *Season) ResponseHash(trackName, resource string) string {
	return s.responses[trackName+resource]
}

// Publish writes the views of anchored drafts and their log entries.
func (s *Season) Publish(drafts ...*receipttest.Draft) {
	s.t.Helper()
	for _, d := range drafts {
		id, _ := d.Doc.Get("proof_id")
		s.Files[bundle.ProofPath(id.(string))] = d.JSON()
		putEntry(s.t, s.Issuer, s.Files, d)
	}
}

// Assertion is a claim with the proofs it cites.
type Assertion struct {
	Claim
	Proofs []*receipttest.Draft
}

// Claims are the sound claims of a task, the first n of them; none means all.
func (s *Season) Claims(taskID string, n ...int) []Claim {
	for _, tr := range s.Tracks {
		if claims, ok := tr.Sound[taskID]; ok {
			if len(n) > 0 {
				claims = claims[:n[0]]
			}
			return slices.Clone(claims)
		}
	}
	s.t.Fatalf("no task %s", taskID)
	return nil
}

// Cite makes one sound, anchored and published proof for each claim.
func (s *Season) Cite(did, taskID string, claims ...Claim) []Assertion {
	s.t.Helper()
	trackName := s.trackOf(taskID)
	assertions := make([]Assertion, len(claims))
	drafts := make([]*receipttest.Draft, len(claims))
	for i, c := range claims {
		drafts[i] = s.Issuer.Issue(s.Spec(did, trackName, c.Resource))
		assertions[i] = Assertion{Claim: c, Proofs: drafts[i : i+1]}
	}
	if len(drafts) > 0 {
		s.Issuer.Batch(drafts...)
		s.Publish(drafts...)
	}
	return assertions
}

func (s *Season) trackOf(taskID string) string {
	for name, tr := range s.Tracks {
		if tr.Key.Has(taskID) {
			return name
		}
	}
	s.t.Fatalf("no task %s", taskID)
	return ""
}

// Submission is the document that a participant sends.
func (s *Season) Submission(did, taskID, verdict string, assertions ...Assertion) *canonjson.Object {
	list := []any{}
	disclosures := canonjson.NewObject()
	for i, a := range assertions {
		var ids []any
		for _, p := range a.Proofs {
			id, _ := p.Doc.Get("proof_id")
			ids = append(ids, id)
			disclosures.Set(id.(string), p.Disclosures("request_hash", "response_hash"))
		}
		list = append(list, canonjson.NewObject("id", fmt.Sprintf("a%d", i+1), "proof_ids", ids,
			"claim", canonjson.NewObject("resource", a.Resource, "field", a.Field, "value", a.Value)))
	}
	return canonjson.NewObject("season", 1, "track", s.trackOf(taskID), "task_id", taskID, "agent_did", did,
		"verdict", verdict, "assertions", list, "disclosures", disclosures)
}

// Record writes a submission as recorded.
func (s *Season) Record(did, taskID, verdict string, assertions ...Assertion) {
	s.t.Helper()
	s.put(bundle.SubmissionPath(did, taskID), s.Submission(did, taskID, verdict, assertions...))
}

// Submit cites a sound proof for each claim and records the submission.
func (s *Season) Submit(did, taskID, verdict string, claims ...Claim) {
	s.t.Helper()
	s.Record(did, taskID, verdict, s.Cite(did, taskID, claims...)...)
}

// Edit changes one JSON file of a bundle.
func Edit(t testing.TB, files map[string][]byte, path string, change func(o *canonjson.Object)) {
	t.Helper()
	o := object(t, files[path])
	change(o)
	files[path] = canonjson.Compact(o)
}

// FS is the bundle as a file system.
func FS(files map[string][]byte) fstest.MapFS {
	fsys := make(fstest.MapFS, len(files))
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	return fsys
}

// Open opens the bundle as it is now.
func (s *Season) Open() *bundle.Bundle {
	s.t.Helper()
	b, err := bundle.OpenFS(FS(s.Files))
	s.must(err)
	return b
}
