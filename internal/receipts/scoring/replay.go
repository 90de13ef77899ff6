package scoring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Difference is the first place where published results and those computed from
// the bundle part.
type Difference struct {
	// Place says where in words: track, participant, task, assertion, member.
	Place string
	// Pointer is the JSON Pointer of the place; "" for the document or when the
	// published bytes are no JSON.
	Pointer string
	// Published and Computed are what stands there on either side, as compact
	// JSON cut to a readable length, or "absent".
	Published, Computed string
}

// String is one line for a reader.
func (d Difference) String() string {
	return fmt.Sprintf("%s: published %s, computed %s", d.Place, d.Published, d.Computed)
}

// Replay scores a bundle and compares the bytes with its own results.json. A nil
// Difference means that they are identical. Errors are those of [Score]; a
// bundle without results.json is unreadable here, since there is nothing to
// compare. The computed bytes wait in a temporary file, so that memory grows
// with the number of participants only when there is a difference to explain.
func Replay(ctx context.Context, b *bundle.Bundle, trust *receipt.Trust) (*Difference, error) {
	published, ok, err := b.Results()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &bundle.UnreadableError{Path: bundle.ResultsPath, Fault: "is missing: there is nothing to compare"}
	}
	defer published.Close() // read only
	spool, err := os.CreateTemp("", "prova-replay-*")
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	defer func() {
		_ = spool.Close()
		_ = os.Remove(spool.Name()) // a file left in the temporary folder does no harm
	}()
	compared := &comparer{published: published, same: true}
	if err := Run(ctx, b, trust, results.NewWriter(io.MultiWriter(spool, compared))); err != nil {
		return nil, err
	}
	same, err := compared.finish()
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if same {
		return nil, nil
	}
	return explain(b, spool)
}

// comparer compares what is written to it with a reader, byte for byte.
type comparer struct {
	published io.Reader
	buffer    [32 << 10]byte
	same      bool
	err       error
}

func (c *comparer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && c.same && c.err == nil; {
		want := c.buffer[:min(len(rest), len(c.buffer))]
		n, err := io.ReadFull(c.published, want)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			c.err = err
			break
		}
		c.same = n == len(want) && bytes.Equal(want, rest[:n])
		rest = rest[len(want):]
	}
	return len(p), nil
}

// finish also looks for published bytes beyond the computed ones.
func (c *comparer) finish() (bool, error) {
	if !c.same || c.err != nil {
		return false, c.err
	}
	n, err := io.ReadFull(c.published, c.buffer[:1])
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return n == 0, nil
}

// explain reads both documents whole and finds the first difference in them.
func explain(b *bundle.Bundle, spool *os.File) (*Difference, error) {
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	computed, err := io.ReadAll(spool)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	r, ok, err := b.Results()
	if err != nil || !ok {
		return nil, errors.Join(err, errors.New("replay: results.json went away"))
	}
	defer r.Close() // read only
	published, err := io.ReadAll(io.LimitReader(r, bundle.MaxFileSize))
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	d := FirstDifference(published, computed)
	return &d, nil
}

// FirstDifference compares two results.json that differ in their bytes. Members
// are looked at in the order of the computed document, so the first difference
// is the first that a reader of it meets.
func FirstDifference(published, computed []byte) Difference {
	want, err := canonjson.ParseStrict(computed)
	if err != nil {
		return Difference{Place: bundle.ResultsPath, Published: fmt.Sprintf("%d bytes", len(published)), Computed: "not JSON: " + strict.Reason(err)}
	}
	got, err := canonjson.ParseStrict(published)
	if err != nil {
		return Difference{Place: bundle.ResultsPath, Published: "not strict JSON: " + strict.Reason(err), Computed: "a document of " + fmt.Sprint(len(computed)) + " bytes"}
	}
	if d, ok := differ(place{}, got, want); ok {
		return d
	}
	return Difference{
		Place:     bundle.ResultsPath,
		Published: "the same values in other bytes (white space, order of members or escapes)",
		Computed:  "the canonical text and one line feed",
	}
}

// place is where the comparison stands: a pointer, and the words for it. The
// last name is a list of things that have names of their own; it is said only
// when the difference is in the list itself.
type place struct {
	pointer string
	words   []string
	list    string
}

// member steps into a member of an object.
func (p place) member(name string) place {
	next := place{pointer: p.pointer + "/" + strict.Token(name), words: p.words}
	switch {
	case p.pointer == "/tracks":
		next.words = p.and("track " + plain(name))
	case slices.Contains(namedLists, name):
		next.list = name
	default:
		next.words = p.and(plain(name))
	}
	return next
}

// element steps into an element of an array; v is the element on one side.
func (p place) element(i int, v any) place {
	return place{pointer: strict.Index(p.pointer, i), words: p.and(elementWords(v, i))}
}

func (p place) and(word string) []string { return append(p.words[:len(p.words):len(p.words)], word) }

func (p place) String() string {
	words := p.words
	if p.list != "" {
		words = p.and(p.list)
	}
	if len(words) == 0 {
		return bundle.ResultsPath
	}
	return strings.Join(words, ", ")
}

// namedLists hold tracks, participants, tasks and assertions. Inside a
// participant and a task they are compared first: the other members follow from
// them.
var namedLists = []string{"tasks", "assertions", "tracks", "participants"}

func differ(at place, got, want any) (Difference, bool) {
	if canonjson.Equal(got, want) {
		return Difference{}, false
	}
	switch want := want.(type) {
	case *canonjson.Object:
		if got, ok := got.(*canonjson.Object); ok {
			return differObjects(at, got, want)
		}
	case []any:
		if got, ok := got.([]any); ok {
			return differArrays(at, got, want)
		}
	}
	return Difference{Place: at.String(), Pointer: at.pointer, Published: brief(got), Computed: brief(want)}, true
}

func differObjects(at place, got, want *canonjson.Object) (Difference, bool) {
	names := want.Names()
	slices.SortStableFunc(names, func(a, b string) int { return listRank(a) - listRank(b) })
	for _, name := range names {
		w, _ := want.Get(name)
		next := at.member(name)
		g, ok := got.Get(name)
		if !ok {
			return Difference{Place: next.String(), Pointer: next.pointer, Published: "absent", Computed: brief(w)}, true
		}
		if d, ok := differ(next, g, w); ok {
			return d, true
		}
	}
	for name, g := range got.All() {
		if !want.Has(name) {
			next := at.member(name)
			return Difference{Place: next.String(), Pointer: next.pointer, Published: brief(g), Computed: "absent"}, true
		}
	}
	return Difference{}, false
}

func listRank(name string) int {
	if i := slices.Index(namedLists, name); i >= 0 {
		return i
	}
	return len(namedLists)
}

func differArrays(at place, got, want []any) (Difference, bool) {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || identity(got[i]) != identity(want[i]) {
			return otherElement(at, i, got, want), true
		}
		if d, ok := differ(at.element(i, want[i]), got[i], want[i]); ok {
			return d, true
		}
	}
	return Difference{}, false
}

// otherElement is the difference of two lists that do not hold the same things
// from element i on.
func otherElement(at place, i int, got, want []any) Difference {
	d := Difference{Published: "absent", Computed: "absent"}
	var named any
	if i < len(got) {
		named, d.Published = got[i], brief(got[i])
	}
	if i < len(want) {
		named, d.Computed = want[i], brief(want[i])
	}
	next := at.element(i, named)
	d.Place, d.Pointer = next.String(), next.pointer
	return d
}

// identity is what names an element among its neighbours: two elements of other
// names are not compared member by member.
func identity(v any) string {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return ""
	}
	for _, name := range []string{"agent_did", "task_id", "id"} {
		if s, ok := o.Get(name); ok && !o.Has("proof_id") {
			return name + " " + string(canonjson.Marshal(s))
		}
	}
	return ""
}

// elementWords names an element of a list. An incident, which names a task or
// an assertion only to say where it happened, is numbered.
func elementWords(v any, i int) string {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return fmt.Sprintf("entry %d", i)
	}
	for _, kind := range []struct{ member, word string }{{"agent_did", "participant"}, {"task_id", "task"}, {"id", "assertion"}} {
		if s, ok := o.Get(kind.member); ok && !o.Has("proof_id") {
			if s, ok := s.(string); ok {
				return kind.word + " " + plain(s)
			}
		}
	}
	return fmt.Sprintf("entry %d", i)
}

// plain shows a name bare when that keeps the line one line.
func plain(s string) string {
	if q := strict.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}

// brief is a value as compact JSON, cut to what fits a line; a thing with a name
// is called by it.
func brief(v any) string {
	const limit = 160
	if name := identity(v); name != "" {
		return "an entry with " + name
	}
	s := string(canonjson.Marshal(v))
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
