package mustreject_test

import (
	"archive/tar"
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// row makes one archive: the sound season, with one thing broken at one of the
// moments of its life.
type row struct {
	name, section, rule, what string
	expect                    expect

	bare       bool                      // without the submission: what is broken is found before any is read
	tasks      int                       // of the compliance track; 0 means 1
	purchasing bool                      // a second track beside it
	spec       func(c *scene)            // before the proof is issued
	pending    bool                      // the proof is never batched
	drafted    func(c *scene)            // issued, not yet in a batch
	anchored   func(c *scene)            // the finished view, before it is published
	files      func(c *scene)            // the files of the bundle
	members    func(m []member) []member // the entries of the archive
	bytes      func(b []byte) []byte     // the archive
}

// scene is a season with one submission of one assertion with one proof.
type scene struct {
	t     *testing.T
	s     *bundletest.Season
	claim bundletest.Claim
	spec  receipttest.Spec
	draft *receipttest.Draft
}

// seed makes the keys, nonces and signatures of every archive; all share the
// same issuer, and a row's bytes depend on nothing but that row.
const seed = 1

// build makes the archive of a row. The proof id of an expected incident is
// filled in.
func (r *row) build(t *testing.T, encoder *zstd.Encoder) []byte {
	t.Helper()
	c := &scene{t: t, s: r.season(t)}
	did := c.s.Enrol("alpha")
	if r.bare {
		c.do(r.files)
		return r.packed(t, encoder, c)
	}
	c.claim = c.s.Claims(taskID)[0]
	c.spec = c.s.Spec(did, trackName, c.claim.Resource)
	c.do(r.spec)
	c.draft = c.s.Issuer.Issue(c.spec)
	for _, field := range []string{"transaction_id", "buyer_fingerprint", "upstream_timestamp"} {
		c.draft.Values.Delete(field) // a smaller proof: no check reads them
	}
	c.draft.Commit()
	c.do(r.drafted)
	if r.pending {
		c.s.Files[bundle.ProofPath(c.id())] = c.draft.JSON()
	} else {
		c.s.Issuer.Batch(c.draft, c.s.Issuer.Issue(receipttest.Spec{}))
		c.s.Publish(c.draft)
		c.do(r.anchored)
		c.s.Files[bundle.ProofPath(c.id())] = c.draft.JSON()
	}
	c.s.Record(did, taskID, "conforme", bundletest.Assertion{Claim: c.claim, Proofs: []*receipttest.Draft{c.draft}})
	c.do(r.files)
	if r.expect.Incident != nil {
		r.expect.Incident.ProofID = c.id()
	}
	return r.packed(t, encoder, c)
}

// packed is the archive of the scene's files.
func (r *row) packed(t *testing.T, encoder *zstd.Encoder, c *scene) []byte {
	t.Helper()
	if r.name != "trust-missing" {
		// Tokens bring their signer's certificate along: trust needs the root only.
		set(bundle.TrustPath, "/timestamp_authorities/0/certificates", []any{})(c)
	}
	members := filesOf(c.s.Files)
	if r.members != nil {
		members = r.members(members)
	}
	packed := pack(t, encoder, members)
	if r.bytes != nil {
		packed = r.bytes(packed)
	}
	return packed
}

// season makes the frozen season of a row.
func (r *row) season(t *testing.T) *bundletest.Season {
	t.Helper()
	for range 64 {
		cryptotest.SetGlobalRandom(t, seed)
		tracks := []bundletest.Track{bundletest.Compliance(max(r.tasks, 1))}
		for _, v := range tracks[0].Tasks {
			v.(*canonjson.Object).Set("minimum", 1)
			v.(*canonjson.Object).Set("cap", 2)
		}
		if r.purchasing {
			tracks = append(tracks, bundletest.Purchasing())
		}
		s := bundletest.New(t, tracks...)
		// Tracks are frozen in no fixed order; one of the two is ours.
		if id := resolve(t, s.Doc, "/tracks/conformite/freeze/proof_id").(string); strings.HasSuffix(id, "_000001") {
			return s
		}
	}
	t.Fatal("the compliance track was never frozen first")
	return nil
}

func (c *scene) do(f func(*scene)) {
	if f != nil {
		f(c)
	}
}

func (c *scene) id() string { return resolve(c.t, c.draft.Doc, "/proof_id").(string) }

func (c *scene) uuid() string { return resolve(c.t, c.draft.Doc, "/transparency_log/uuid").(string) }

func resolve(t *testing.T, v any, pointer string) any {
	t.Helper()
	found, ok := canonjson.Resolve(v, pointer)
	if !ok {
		t.Fatalf("no %s", pointer)
	}
	return found
}

// put sets the value at a pointer whose parent exists.
func put(t *testing.T, v any, pointer string, to any) {
	t.Helper()
	i := strings.LastIndexByte(pointer, '/')
	parent, name := resolve(t, v, pointer[:i]), pointer[i+1:]
	switch p := parent.(type) {
	case *canonjson.Object:
		p.Set(strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~"), to)
	case []any:
		p[int(name[0]-'0')] = to
	default:
		t.Fatalf("%s has no members", pointer[:i])
	}
}

// The changes that rows are made of.

// edit changes a file, whatever its JSON value is.
func edit(path string, change func(t *testing.T, v any)) func(*scene) {
	return func(c *scene) {
		c.t.Helper()
		v, err := canonjson.ParseStrict(c.s.Files[path])
		if err != nil {
			c.t.Fatal(err)
		}
		change(c.t, v)
		c.s.Files[path] = canonjson.Compact(v)
	}
}

// set gives a member of a file a value.
func set(path, pointer string, to any) func(*scene) {
	return edit(path, func(t *testing.T, v any) { put(t, v, pointer, to) })
}

// drop takes a member out of an object.
func drop(path, pointer string) func(*scene) {
	return edit(path, func(t *testing.T, v any) {
		i := strings.LastIndexByte(pointer, '/')
		resolve(t, v, pointer[:i]).(*canonjson.Object).Delete(pointer[i+1:])
	})
}

// text replaces the first occurrence in a file.
func text(path, old, to string) func(*scene) {
	return func(c *scene) {
		c.t.Helper()
		if !bytes.Contains(c.s.Files[path], []byte(old)) {
			c.t.Fatalf("%s does not hold %q", path, old)
		}
		c.s.Files[path] = bytes.Replace(c.s.Files[path], []byte(old), []byte(to), 1)
	}
}

func remove(path string) func(*scene) {
	return func(c *scene) {
		if _, ok := c.s.Files[path]; !ok {
			c.t.Fatalf("%s is not there", path)
		}
		delete(c.s.Files, path)
	}
}

func add(path, content string) func(*scene) {
	return func(c *scene) { c.s.Files[path] = []byte(content) }
}

// view sets a member of the finished proof.
func view(pointer string, to any) func(*scene) {
	return func(c *scene) { put(c.t, c.draft.Doc, pointer, to) }
}

// flipped changes one character of a text of the finished proof.
func flipped(pointer string) func(*scene) {
	return func(c *scene) {
		put(c.t, c.draft.Doc, pointer, flip(resolve(c.t, c.draft.Doc, pointer).(string)))
	}
}

func flip(s string) string {
	i := len(s) / 2
	to := "a"
	if s[i] == 'a' {
		to = "b"
	}
	return s[:i] + to + s[i+1:]
}

// submission changes the recorded submission.
func submission(change func(t *testing.T, v any)) func(*scene) {
	return edit(bundle.SubmissionPath(agent, taskID), change)
}

// refrozen freezes the track anew after a change, before the opening.
func refrozen(change func(*scene)) func(*scene) {
	return func(c *scene) {
		change(c)
		c.s.Issuer.Advance(-48 * time.Hour)
		c.s.Freeze(trackName)
	}
}

// member is one entry of an archive.
type member struct {
	header tar.Header
	body   []byte
}

func regular(name string, body []byte) member {
	return member{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, ModTime: time.Unix(0, 0)}, body}
}

func link(kind byte, name, to string) member {
	return member{tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o644, ModTime: time.Unix(0, 0)}, nil}
}

func filesOf(files map[string][]byte) []member {
	var out []member
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, regular(name, files[name]))
	}
	return out
}

func pack(t *testing.T, encoder *zstd.Encoder, members []member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		m.header.Size = int64(len(m.body))
		if err := w.WriteHeader(&m.header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll(out.Bytes(), nil)
}

// newEncoder compresses with a window that holds a whole season. It is shared:
// its tables take far longer to make than one archive takes to compress.
func newEncoder(t *testing.T) *zstd.Encoder {
	t.Helper()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(1<<17))
	if err != nil {
		t.Fatal(err)
	}
	return encoder
}
