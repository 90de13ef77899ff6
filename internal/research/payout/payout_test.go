package payout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/family"
)

func TestVectorsOfPayout(t *testing.T) {
	results := map[string]func(t *testing.T) *Result{
		"discovery nll min sealed 3.0: aa 2.5 digest same, bb 2.8 digest other, cc 2.4 digest same": func(t *testing.T) *Result {
			return pay(t, 7, []Topic{discovery("t", family.Min, ptr(3.0))},
				[]Row{pass(1, 0xaa, 2.5, "same"), pass(2, 0xbb, 2.8, "other"), pass(3, 0xcc, 2.4, "same")})
		},
		"no open topics": func(t *testing.T) *Result { return pay(t, 7, nil, []Row{pass(1, 0xaa, 2.5, "same")}) },
		"discovery nll + wta, aa sole passer on both": func(t *testing.T) *Result {
			second := pass(2, 0xaa, 120, "other")
			second.TopicID = "u"
			return pay(t, 7, []Topic{discovery("t", family.Min, ptr(3.0)), wta("u", family.Max)}, []Row{pass(1, 0xaa, 2.5, "same"), second})
		},
	}
	for _, c := range vectors(t, "payout") {
		var name string
		var expected map[string]uint64
		if err := json.Unmarshal(c.Input, &name); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, &expected); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			build, known := results[name]
			if !known {
				t.Fatal("no input for this case")
			}
			r := build(t)
			if len(r.Scores) != len(expected) {
				t.Fatalf("%s, want %v", scores(r), expected)
			}
			for _, s := range r.Scores {
				if want := expected[fmt.Sprintf("%x", s.Miner[:1])]; s.Score != want {
					t.Errorf("%x has %d, want %d", s.Miner[:1], s.Score, want)
				}
			}
		})
	}
}

func TestVectorsOfTopicShare(t *testing.T) {
	for _, c := range vectors(t, "topic_share_bps") {
		var n int
		var want uint64
		if err := json.Unmarshal(c.Input, &n); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, &want); err != nil {
			t.Fatal(err)
		}
		t.Run(string(c.Input), func(t *testing.T) {
			if got := ShareBps(n); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
	for n, want := range map[int]uint64{1: 8000, 2: 4000, 3: 2666, -1: 0} {
		if got := ShareBps(n); got != want {
			t.Errorf("%d topics: %d, want %d", n, got, want)
		}
	}
}

func TestSection13_1TheFirstTopicsByIdTakeTheUnitsThatDoNotDivide(t *testing.T) {
	r := pay(t, 7, []Topic{wta("c", family.Max), wta("a", family.Max), wta("b", family.Max)}, nil)
	for i, want := range []struct {
		id   string
		mass uint64
	}{{"a", 333_334}, {"b", 333_333}, {"c", 333_333}} {
		if got := r.Topics[i]; got.ID != want.id || got.Mass != want.mass || got.ShareBps != 2666 || got.Unpaid != want.mass {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestSection13Masses(t *testing.T) {
	min3 := []Topic{discovery("t", family.Min, ptr(3.0))}
	noPrimary := pass(9, 0xbb, 0, "none")
	noPrimary.Primary = nil
	for _, c := range []struct {
		name       string
		topics     []Topic
		rows       []Row
		promotions []Promotion
		want       string
	}{
		{"2: nobody passed: the mass goes nowhere", []Topic{discovery("s", family.Min, ptr(3.0)), discovery("t", family.Min, ptr(3.0))},
			[]Row{pass(1, 0xaa, 2.5, "a")}, nil, "aa=500000"},
		{"4: the best takes all", []Topic{wta("t", family.Max)}, []Row{pass(1, 0xaa, 110, "a"), pass(2, 0xbb, 120, "b")}, nil, "bb=1000000"},
		{"4: the best is the smallest for min", []Topic{wta("t", family.Min)}, []Row{pass(1, 0xaa, 1, "a"), pass(2, 0xbb, 2, "b")}, nil, "aa=1000000"},
		{"4: exact ties share equally, left-over units by hotkey", []Topic{wta("t", family.Max)},
			[]Row{pass(1, 0xcc, 120, "a"), pass(2, 0xbb, 120, "b"), pass(3, 0xaa, 120, "c"), pass(4, 0xdd, 119, "d")}, nil,
			"aa=333334 bb=333333 cc=333333"},
		{"4: an identical copy ties and splits", []Topic{wta("t", family.Max)},
			[]Row{pass(1, 0xbb, 120, "a"), pass(2, 0xaa, 120, "a")}, nil, "aa=500000 bb=500000"},
		{"4: the two zeros are equal", []Topic{wta("t", family.Max)},
			[]Row{pass(1, 0xaa, 0, "a"), pass(2, 0xbb, math.Copysign(0, -1), "b")}, nil, "aa=500000 bb=500000"},
		{"4: a pass without primary cannot win", []Topic{wta("t", family.Max)}, []Row{noPrimary}, nil, ""},
		{"5: nobody improved: the novelty goes nowhere", min3, []Row{pass(1, 0xaa, 3, "a"), pass(2, 0xbb, 3.5, "b")}, nil, "aa=150000 bb=150000"},
		{"5: a pass without primary keeps its floor", min3, []Row{pass(1, 0xaa, 2.5, "a"), noPrimary}, nil, "aa=850000 bb=150000"},
		{"5: without any bar there is no novelty", []Topic{discovery("t", family.Min, nil)}, []Row{pass(1, 0xaa, 2.5, "a")}, nil, "aa=300000"},
		{"5: an improvement below half of 1e-9 weighs nothing", min3, []Row{pass(1, 0xaa, 3-4e-10, "a")}, nil, "aa=300000"},
		{"5: both pools truncate and lose a unit", []Topic{{ID: "s", Mode: WTA, Direction: family.Max}, {ID: "t", Mode: Discovery, Direction: family.Min,
			PassFloorBps: 3333, NoveltyBps: 6667, Sealed: ptr(3.0)}}, []Row{pass(1, 0xaa, 2.5, "a")}, nil, "aa=500000"},
		{"5: a huge improvement saturates", min3, []Row{pass(1, 0xaa, -1e300, "a"), pass(2, 0xbb, -1e12, "b")}, nil, "aa=500000 bb=500000"},
		{"5: what saturates still is the most", min3, []Row{pass(1, 0xaa, -1e300, "a"), pass(2, 0xbb, 3-1.5e10, "b")}, nil, "aa=536068 bb=463932"},
		{"5: weights are rounded, not cut", min3, []Row{pass(1, 0xaa, 3-1.6e-9, "a"), pass(2, 0xbb, 3-1.1e-9, "b")}, nil, "aa=616667 bb=383333"},
		{"6: a champion of an earlier epoch raises the bar", min3, []Row{pass(8, 0xaa, 2.5, "a"), pass(9, 0xbb, 2.2, "b")},
			[]Promotion{{"t", 1, 6, 2.4}}, "aa=150000 bb=850000"},
		{"6: a champion worse than the seal does not lower it", min3, []Row{pass(8, 0xaa, 3.2, "a")}, []Promotion{{"t", 1, 6, 4}}, "aa=300000"},
		{"6: the newest promotion counts, not the best one", min3, []Row{pass(8, 0xaa, 2.5, "a")},
			[]Promotion{{"t", 1, 5, 2.0}, {"t", 3, 6, 2.8}}, "aa=1000000"},
		{"decision 3: a champion of the epoch itself is no bar", min3, []Row{pass(8, 0xaa, 2.5, "a")}, []Promotion{{"t", 8, 7, 2.5}}, "aa=1000000"},
		{"decision 3: only runs of the epoch count", min3, []Row{{ID: 1, Epoch: 6, TopicID: "t", Miner: key(0xbb), Pass: true, Primary: ptr(1.0)},
			pass(2, 0xaa, 2.5, "a"), {ID: 3, Epoch: 8, TopicID: "t", Miner: key(0xcc), Pass: true, Primary: ptr(1.0)}}, nil, "aa=1000000"},
		{"decision 3: the best passing run counts, not the latest", min3, []Row{pass(1, 0xaa, 2.5, "a"), pass(2, 0xaa, 2.9, "b"),
			{ID: 3, Epoch: 7, TopicID: "t", Miner: key(0xaa), Primary: ptr(1.0)}, pass(4, 0xbb, 2.5, "c")}, nil, "aa=500000 bb=500000"},
		{"decision 4: the earlier row is the original, whatever the hotkey", min3,
			[]Row{pass(5, 0xbb, 2.5, "x"), pass(6, 0xaa, 2.5, "X ")}, nil, "aa=150000 bb=850000"},
		{"decision 4: an artefact of an earlier epoch has no novelty", min3, []Row{{ID: 1, Epoch: 6, TopicID: "t", Miner: key(0xbb), Pass: true,
			ArtifactDigest: "x"}, pass(5, 0xaa, 2.5, "x")}, nil, "aa=300000"},
		{"decision 4: one's own of an earlier epoch neither", min3, []Row{{ID: 1, Epoch: 6, TopicID: "t", Miner: key(0xaa), Pass: true,
			ArtifactDigest: "x"}, pass(5, 0xaa, 2.5, "x")}, nil, "aa=300000"},
		{"decision 4: one's own of this epoch has it", min3, []Row{pass(1, 0xaa, 2.9, "x"), pass(2, 0xbb, 2.9, "x"), pass(5, 0xaa, 2.5, "x")}, nil,
			"aa=850000 bb=150000"},
		{"decision 4: what an earlier epoch accepted is earlier, also when its row came late", min3, []Row{{ID: 9, Epoch: 6, TopicID: "t",
			Miner: key(0xbb), Pass: true, ArtifactDigest: "x"}, pass(5, 0xaa, 2.5, "x")}, nil, "aa=300000"},
		{"decision 4: what failed is no original", min3, []Row{{ID: 1, Epoch: 7, TopicID: "t", Miner: key(0xbb), ArtifactDigest: "x"},
			pass(5, 0xaa, 2.5, "x")}, nil, "aa=1000000"},
		{"decision 4: the artefact of another topic is none either", min3, []Row{{ID: 1, Epoch: 7, TopicID: "u", Miner: key(0xbb), Pass: true, ArtifactDigest: "x"},
			pass(5, 0xaa, 2.5, "x")}, nil, "aa=1000000"},
		{"decision 4: a tree packed anew is a copy", min3, []Row{tree(pass(1, 0xbb, 2.5, "x"), "T"), tree(pass(2, 0xaa, 2.5, "y"), "t")}, nil, "aa=150000 bb=850000"},
		{"decision 4: empty digests never match", min3, []Row{tree(pass(1, 0xbb, 2.5, " "), ""), tree(pass(2, 0xaa, 2.5, ""), " ")}, nil, "aa=500000 bb=500000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := scores(pay(t, 7, c.topics, c.rows, c.promotions...)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func tree(r Row, digest string) Row {
	r.TreeDigest = digest
	return r
}

func TestDecision4TheEarliestOfTwoOriginalsIsNamed(t *testing.T) {
	for _, rows := range [][]Row{
		{tree(pass(1, 0xbb, 2.5, "x"), "s"), tree(pass(2, 0xcc, 2.5, "y"), "t"), tree(pass(3, 0xaa, 2.5, "y"), "s")},
		{tree(pass(1, 0xbb, 2.5, "y"), "t"), tree(pass(2, 0xcc, 2.5, "x"), "s"), tree(pass(3, 0xaa, 2.5, "y"), "s")},
	} {
		e := pay(t, 7, []Topic{discovery("t", family.Min, ptr(3.0))}, rows).Topics[0].Entries[0]
		if e.DuplicateOf == nil || *e.DuplicateOf != 1 {
			t.Errorf("row %d repeats %v, want row 1", e.Row, e.DuplicateOf)
		}
	}
}

func TestSection13_5TheUnitThatBothPoolsTruncateIsLost(t *testing.T) {
	topics := []Topic{{ID: "t", Mode: Discovery, Direction: family.Min, PassFloorBps: 3333, NoveltyBps: 6667, Sealed: ptr(3.0)}}
	for _, id := range []string{"a", "b"} {
		topics = append(topics, wta(id, family.Max))
	}
	r := pay(t, 7, topics, []Row{pass(1, 0xaa, 2.5, "a")})
	got := r.Topics[2]
	if got.Mass != 333_333 || got.FloorMass != 111_099 || got.NoveltyMass != 222_233 || got.Unpaid != 1 {
		t.Errorf("%+v", got)
	}
}

func TestSection13EntriesSayWhyAPartIsZero(t *testing.T) {
	noPrimary := pass(4, 0xdd, 0, "d")
	noPrimary.Primary = nil
	rows := []Row{pass(1, 0xaa, 2.5, "a"), pass(2, 0xbb, 2.5, "a"), pass(3, 0xcc, 3.5, "c"), noPrimary}
	for _, c := range []struct {
		topic Topic
		want  string
	}{
		{discovery("t", family.Min, ptr(3.0)), "[ near_duplicate no_improvement no_primary]"},
		{discovery("t", family.Min, nil), "[no_bar near_duplicate no_bar no_primary]"},
		{wta("t", family.Min), "[  not_best no_primary]"},
	} {
		var causes []Cause
		for _, e := range pay(t, 7, []Topic{c.topic}, rows).Topics[0].Entries {
			causes = append(causes, e.Cause)
		}
		if got := fmt.Sprint(causes); got != c.want {
			t.Errorf("%s: %s, want %s", c.topic.Mode, got, c.want)
		}
	}
}

func TestCloseRefusesWhatCannotBe(t *testing.T) {
	topic := discovery("t", family.Min, ptr(3.0))
	change := func(edit func(*Topic)) []Topic {
		changed := topic
		edit(&changed)
		return []Topic{changed}
	}
	for _, c := range []struct {
		name   string
		topics []Topic
		rows   []Row
		want   string
	}{
		{"a topic twice", []Topic{topic, topic}, nil, "each once"},
		{"a topic without id", change(func(t *Topic) { t.ID = "" }), nil, "id is empty"},
		{"an unknown mode", change(func(t *Topic) { t.Mode = "all" }), nil, `payout mode "all"`},
		{"an unknown direction", change(func(t *Topic) { t.Direction = "up" }), nil, `direction "up"`},
		{"shares that do not sum", change(func(t *Topic) { t.PassFloorBps = 2000 }), nil, "must sum to 10000, got 9000"},
		{"a seal that is not finite", change(func(t *Topic) { t.Sealed = ptr(math.NaN()) }), nil, "not finite"},
		{"a row twice", []Topic{topic}, []Row{pass(1, 0xaa, 2, "a"), pass(1, 0xbb, 2, "b")}, "row 1 is there twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Close(7, c.topics, c.rows, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := Close(7, []Topic{topic}, nil, []Promotion{{"t", 1, 6, math.Inf(1)}}); err == nil {
		t.Error("a champion without a finite primary sets a bar")
	}
}

func TestASnapshotReplaysFromItsBytes(t *testing.T) {
	s, err := Close(7, []Topic{discovery("t", family.Min, ptr(3.0)), wta("s", family.Max)},
		[]Row{pass(1, 0xaa, 2.5, "same"), pass(2, 0xbb, 2.8, "other"), pass(3, 0xcc, 2.4, "same")}, []Promotion{{"t", 0, 6, 2.9}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseSnapshot(data)
	if err != nil {
		t.Fatal(err)
	}
	var encoded [2][]byte
	for i, s := range []*Snapshot{s, back} {
		r, err := Payout(s)
		if err != nil {
			t.Fatal(err)
		}
		if encoded[i], err = r.Encode(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(encoded[0], encoded[1]) {
		t.Errorf("%s\n%s", encoded[0], encoded[1])
	}
	text := string(data)
	for _, c := range []struct{ name, old, new, want string }{
		{"another format", "snapshot/1", "snapshot/2", "this build reads"},
		{"white space", `{"format"`, `{ "format"`, "only encoding"},
		{"an unknown member", `"epoch":7`, `"epoch":7,"x":1`, "snapshot: "},
		{"a member twice", `"epoch":7`, `"epoch":7,"epoch":7`, "snapshot: "},
		{"a member of another case", `"epoch":7`, `"Epoch":7`, "snapshot: "},
		{"a missing member", `"epoch":7,`, ``, "snapshot: "},
		{"a float for an integer", `"epoch":7`, `"epoch":7.0`, "snapshot: "},
		{"a bar of its own", `"bar":2.9`, `"bar":2.8`, "bar is 2.8, sealed value and champion make it 2.9"},
		{"a champion of the epoch", `"epoch":6`, `"epoch":7`, "an epoch before 7"},
		{"topics in another order", `"id":"s"`, `"id":"z"`, "topics ascend by id"},
		{"a miner twice", strings.Repeat("bb", 32), strings.Repeat("aa", 32), "one each"},
		{"a hotkey in upper case", strings.Repeat("bb", 32), strings.Repeat("BB", 32), "lower-case hex"},
		{"a row that copies itself", `"duplicate_of":1`, `"duplicate_of":3`, "duplicate of itself"},
		{"a number beyond floats", `"primary":2.5`, `"primary":1e999`, "snapshot: "},
		{"text behind", text, text + " x", "snapshot: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(text, c.old, c.new, 1)
			if changed == text {
				t.Fatal("the case changes nothing")
			}
			if _, err := ParseSnapshot([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A snapshot comes from a server or a mirror. What its marks of duplicates
// contradict is refused, or an exact copy would earn novelty in a payout that
// anyone recomputes.
func TestDecision4MarksOfDuplicatesThatContradictEachOtherAreRefused(t *testing.T) {
	tree := func(r Row, digest string) Row { r.TreeDigest = digest; return r }
	closed := func() *Snapshot {
		s, err := Close(7, []Topic{discovery("t", family.Min, ptr(3.0)), wta("u", family.Min)}, []Row{
			pass(1, 0xaa, 2.5, "a"), pass(2, 0xbb, 2.4, "a"),
			tree(pass(3, 0xcc, 2.3, "c"), "x"), tree(pass(4, 0xdd, 2.2, "d"), "x"),
			pass(5, 0xee, 2.1, "e"), pass(6, 0xf0, 2.0, ""), pass(7, 0xf1, 1.9, ""),
			{ID: 8, Epoch: 7, TopicID: "u", Miner: key(0xaa), Pass: true, Primary: ptr(2.0), ArtifactDigest: "a"},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		name string
		edit func(runs []Run)
		want string
	}{
		{"both runs of an artefact are originals", func(r []Run) { r[1].DuplicateOf = nil }, "rows 1 and 2 have one artefact and neither is a duplicate"},
		{"both runs of a tree are originals", func(r []Run) { r[3].DuplicateOf = nil }, "rows 3 and 4 have one tree and neither is a duplicate"},
		{"a duplicate of a run that it shares nothing with", func(r []Run) { r[4].DuplicateOf = ptr(uint64(1)) }, "row 5 is a duplicate of row 1 and shares neither artefact nor tree"},
		{"a duplicate by two empty digests", func(r []Run) { r[6].DuplicateOf = ptr(uint64(6)) }, "row 7 is a duplicate of row 6 and shares neither"},
		{"a digest in upper case", func(r []Run) { r[1].ArtifactDigest, r[1].DuplicateOf = "A", nil }, "row 2: a digest is not in its stored form"},
		{"white space around a tree", func(r []Run) { r[3].TreeDigest, r[3].DuplicateOf = " x", nil }, "row 4: a digest is not in its stored form"},
		{"a row of two miners", func(r []Run) { r[1].Row = 1 }, "row 1 is there twice"},
		{"a row of two miners, both originals", func(r []Run) { r[4].Row = 1 }, "row 1 is there twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := closed()
			data, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			c.edit(s.Topics[0].Runs)
			edited, err := json.Marshal(snapshotDocument{SnapshotFormat, s.Epoch, s.Topics})
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(edited, data) {
				t.Fatal("the case changes nothing")
			}
			if _, err := ParseSnapshot(edited); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func FuzzParseSnapshot(f *testing.F) {
	s, err := Close(7, []Topic{discovery("t", family.Min, ptr(3.0)), wta("s", family.Max)},
		[]Row{pass(1, 0xaa, 2.5, "same"), pass(3, 0xcc, 2.4, "same")}, []Promotion{{"t", 0, 6, 2.9}})
	if err != nil {
		f.Fatal(err)
	}
	data, err := s.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"format":"prova-payout-snapshot/1","epoch":0,"topics":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSnapshot(data)
		if err != nil {
			return
		}
		r, err := Payout(s)
		if err != nil {
			t.Fatal(err)
		}
		checkMasses(t, r)
		again, err := s.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%s, %v", again, err)
		}
	})
}
