package holdout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/holdout"
)

// spoil returns the set from id 1 with one record changed.
func spoil(t testing.TB, at int, edit func(*holdout.Plain)) []holdout.Record {
	t.Helper()
	records := synthetic(t, 1)
	p := records[at].Reveal()
	edit(&p)
	records[at] = holdout.Seal(p)
	return records
}

func TestR6_3VerificationTextsInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		records []holdout.Record
		want    string
	}{
		{"an empty set", nil, "holdout set is empty"},
		{"a canary record, whatever else it breaks", spoil(t, 0, func(p *holdout.Plain) { *p = holdout.Plain{ID: 1, Split: holdout.Canary} }), "record 1 is canary_offpath; the canary is off-score and never in the holdout"},
		{"a split of no name", spoil(t, 0, func(p *holdout.Plain) { p.Split = "planted_split" }), "record 1 has an unknown split"},
		{"a blank dataset before a malformed hash", spoil(t, 0, func(p *holdout.Plain) { p.DatasetID, p.ContentSHA256 = " \t", "planted" }), "record 1 has an empty dataset_id"},
		{"a malformed hash before no tokens", spoil(t, 0, func(p *holdout.Plain) { p.ContentSHA256, p.TokenCount = strings.Repeat("g", 64), 0 }), "record 1 has a malformed content_sha256"},
		{"no tokens before the longctx range", spoil(t, 72, func(p *holdout.Plain) { p.TokenCount = 0 }), "record 73 has token_count 0"},
		{"a longctx record one token short", spoil(t, 72, func(p *holdout.Plain) { p.TokenCount = 8191 }), "record 73 is longctx with 8191 tokens (need 8192..=32768)"},
		{"a longctx record one token long", spoil(t, 72, func(p *holdout.Plain) { p.TokenCount = 32769 }), "record 73 is longctx with 32769 tokens (need 8192..=32768)"},
		{"a repeated id before repeated content", spoil(t, 1, func(p *holdout.Plain) { *p = synthetic(t, 1)[0].Reveal() }), "duplicate record id 1"},
		{"repeated content in the other case", spoil(t, 1, func(p *holdout.Plain) {
			p.ContentSHA256 = strings.ToUpper(synthetic(t, 1)[0].Reveal().ContentSHA256)
		}), "duplicate shard content hash on record 2"},
		{"too few records before a thin split", synthetic(t, 1)[:119], "holdout count mismatch (expected 120, got 119)"},
		{"a thin split", spoil(t, 0, func(p *holdout.Plain) { p.Split = holdout.CodeOOD }), "split web_ood has 23 records, expected 24"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set, err := holdout.Verify(c.records, 120, commitment(c.records))
			if err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
			if set != nil {
				t.Error("a set that does not verify was loaded")
			}
		})
	}
}

func TestR6_3EndsOfTheLongContextRangeVerify(t *testing.T) {
	t.Parallel()
	for _, tokens := range []uint32{8192, 32768} {
		records := spoil(t, 72, func(p *holdout.Plain) { p.TokenCount = tokens })
		if err := holdout.Check(records, 120); err != nil {
			t.Errorf("%d tokens: %v", tokens, err)
		}
	}
}

func TestR6_3TheCommitmentIsComparedTrimmedAndWithoutCase(t *testing.T) {
	t.Parallel()
	records := synthetic(t, 1)
	set, err := holdout.Verify(records, 120, "  "+strings.ToUpper(commitment(records))+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if set.Commitment() != commitment(records) || set.Len() != 120 || !set.Synthetic() {
		t.Errorf("%s, %d records", set.Commitment(), set.Len())
	}
	other := strings.Repeat("0", 64)
	_, err = holdout.Verify(records, 120, other)
	if want := "holdout commitment mismatch (expected " + other + ", got " + commitment(records) + ")"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err = holdout.Verify(records, 120, strings.Repeat("\n", 5)+strings.Repeat("z", 5000)); err == nil || len(err.Error()) > 300 {
		t.Errorf("an absurd commitment: %v", err)
	}
}

func TestR6_5Contamination(t *testing.T) {
	t.Parallel()
	records := spoil(t, 0, func(p *holdout.Plain) { p.DatasetID = " Web-Corpus " })
	set, err := holdout.Verify(records, 120, commitment(records))
	if err != nil {
		t.Fatal(err)
	}
	hash := func(i int) string { return records[i].Reveal().ContentSHA256 }
	for _, c := range []struct {
		name             string
		hashes, datasets []string
		declared         bool
		want             []string
	}{
		{"nothing declared", nil, nil, false, nil},
		{"only blank entries are no declaration", []string{"", " "}, []string{"\t"}, false, nil},
		{"declared and clean", []string{strings.Repeat("a", 64)}, []string{"my-own"}, true, nil},
		{"a dataset alone is a declaration", nil, []string{" my-own"}, true, nil},
		{"hits are sorted and named once", []string{hash(3), " " + strings.ToUpper(hash(3)) + " "}, []string{"web-corpus", "WEB-CORPUS ", "synthetic-dev"}, true,
			[]string{"dataset:synthetic-dev", "dataset:web-corpus", "shard:" + hash(3)}},
		{"a hash among the datasets is no hit", nil, []string{hash(3)}, true, nil},
		{"part of a hash is no hit", []string{hash(3)[:63]}, nil, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := holdout.Declared(c.hashes, c.datasets); got != c.declared {
				t.Errorf("declared is %v", got)
			}
			if got := set.Contamination(c.hashes, c.datasets); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestR6_5AHashWithWhiteSpaceAroundItStillHits(t *testing.T) {
	t.Parallel()
	hash := synthetic(t, 1)[0].Reveal().ContentSHA256
	records := spoil(t, 0, func(p *holdout.Plain) { p.ContentSHA256 = hash + " " })
	set, err := holdout.Verify(records, 120, commitment(records))
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Contamination([]string{hash}, nil); !slices.Equal(got, []string{"shard:" + hash}) {
		t.Errorf("%q", got)
	}
}

func TestR6_4RecordsAreReadableOnlyAfterADigestIsFrozen(t *testing.T) {
	t.Parallel()
	records := synthetic(t, 1)
	slices.Reverse(records)
	set, err := holdout.Verify(records, 120, commitment(records))
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{"", "pending", strings.Repeat("a", 63)} {
		if plain, err := set.Reveal(digest); err == nil || plain != nil {
			t.Errorf("records were readable with the digest %q", digest)
		}
	}
	plain, err := set.Reveal(strings.Repeat("a", 64))
	if err != nil || len(plain) != 120 || plain[0].ID != 1 || plain[119].ID != 120 {
		t.Errorf("%d records, %v", len(plain), err)
	}
	plain[0].DatasetID = "changed"
	if again, _ := set.Reveal(strings.Repeat("a", 64)); again[0].DatasetID != "synthetic-dev" {
		t.Error("a caller changed the set")
	}
}

var plainRecord = rapid.Custom(func(t *rapid.T) holdout.Plain {
	return holdout.Plain{
		ID:            rapid.Uint32().Draw(t, "id"),
		Split:         rapid.SampledFrom(holdout.Splits()).Draw(t, "split"),
		DatasetID:     rapid.String().Draw(t, "dataset"),
		ContentSHA256: rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "content"),
		TokenCount:    rapid.Uint32().Draw(t, "tokens"),
	}
})

func TestR6_2TheCommitmentIsIndependentOfTheOrderOfTheRecords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOfN(plainRecord, 1, 12).Draw(t, "records")
		var records []holdout.Record
		for _, p := range plain {
			records = append(records, holdout.Seal(p))
		}
		shuffled := rapid.Permutation(records).Draw(t, "order")
		if commitment(records) != commitment(shuffled) {
			t.Fatal("another order has another commitment")
		}
	})
}

func TestR6_2EveryChangedByteChangesTheCommitment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOfN(plainRecord, 1, 6).Draw(t, "records")
		at := rapid.IntRange(0, len(plain)-1).Draw(t, "at")
		seal := func() (records []holdout.Record) {
			for _, p := range plain {
				records = append(records, holdout.Seal(p))
			}
			return records
		}
		before := commitment(seal())
		flip := func(s string) string {
			b := []byte(s)
			i := rapid.IntRange(0, len(b)-1).Draw(t, "byte")
			b[i] ^= 1
			return string(b)
		}
		p := &plain[at]
		switch rapid.IntRange(0, 5).Draw(t, "field") {
		case 0:
			p.ID ^= 1 << rapid.IntRange(0, 31).Draw(t, "bit")
		case 1:
			p.TokenCount ^= 1 << rapid.IntRange(0, 31).Draw(t, "bit")
		case 2:
			p.Split = holdout.Split(flip(string(p.Split)))
		case 3:
			p.ContentSHA256 = flip(p.ContentSHA256)
		case 4:
			p.DatasetID += "x"
		case 5:
			plain = append(plain, plain[at])
		}
		if commitment(seal()) == before {
			t.Fatal("a changed set has the same commitment")
		}
	})
}

func TestR6_2ContentHashesAreCommittedInLowerCaseAndDatasetIDsAsTheyStand(t *testing.T) {
	t.Parallel()
	want := commitment(synthetic(t, 1))
	upper := spoil(t, 0, func(p *holdout.Plain) { p.ContentSHA256 = strings.ToUpper(p.ContentSHA256) })
	if got := commitment(upper); got != want {
		t.Errorf("a hash in upper case: %s, want %s", got, want)
	}
	for _, dataset := range []string{"Synthetic-Dev", "synthetic-dev "} {
		if commitment(spoil(t, 0, func(p *holdout.Plain) { p.DatasetID = dataset })) == want {
			t.Errorf("%q has the commitment of another dataset id", dataset)
		}
	}
}

func TestR6_2NamesThatRunTogetherDoNotShareACommitment(t *testing.T) {
	t.Parallel()
	one := commitment([]holdout.Record{holdout.Seal(holdout.Plain{Split: "web_ood", DatasetID: "ab", ContentSHA256: "c"})})
	two := commitment([]holdout.Record{holdout.Seal(holdout.Plain{Split: "web_ood", DatasetID: "a", ContentSHA256: "bc"})})
	if one == two {
		t.Error("lengths are not part of the commitment")
	}
}

func TestR6_6SyntheticIDsMustFit32Bits(t *testing.T) {
	t.Parallel()
	const most = 1<<32 - 1
	if _, err := holdout.Synthetic(1, most-4); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		per   int
		first uint32
		want  string
	}{
		{0, 1, "synthetic records per split = 0 must be 1..=1000000"},
		{1_000_001, 1, "synthetic records per split = 1000001 must be 1..=1000000"},
		{1, most - 3, "synthetic ids from 4294967292 do not fit 5 records: the last must be at most 4294967295"},
	} {
		if _, err := holdout.Synthetic(c.per, c.first); fmt.Sprint(err) != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestDecision12ASyntheticHoldoutIsToldByNameAndByContent(t *testing.T) {
	t.Parallel()
	var renamed, own []holdout.Record
	for _, r := range synthetic(t, 1) {
		p := r.Reveal()
		p.DatasetID = "operator-corpus"
		renamed = append(renamed, holdout.Seal(p))
		p.ContentSHA256 = fmt.Sprintf("%064x", p.ID)
		own = append(own, holdout.Seal(p))
	}
	oneLeft := slices.Clone(own)
	oneLeft[60] = renamed[60]
	for _, c := range []struct {
		name    string
		records []holdout.Record
		want    bool
	}{
		{"as they are made", synthetic(t, 1000), true}, {"under another dataset", renamed, true},
		{"one among an operator's own", oneLeft, true}, {"an operator's own", own, false},
	} {
		set, err := holdout.Verify(c.records, 120, commitment(c.records))
		if err != nil {
			t.Fatal(err)
		}
		if set.Synthetic() != c.want {
			t.Errorf("%s: %v", c.name, !c.want)
		}
	}
}

func TestSpecificationTheHoldoutIs120RecordsStratified24EachAndTheCanaryIsNeverInIt(t *testing.T) {
	t.Parallel()
	perSplit := map[holdout.Split]int{}
	for _, r := range synthetic(t, 1) {
		perSplit[r.Reveal().Split]++
	}
	want := map[holdout.Split]int{"web_ood": 24, "code_ood": 24, "math_ood": 24, "longctx": 24, "multilingual_ood": 24}
	if fmt.Sprint(perSplit) != fmt.Sprint(want) {
		t.Errorf("%v", perSplit)
	}
	canary := holdout.Seal(holdout.Plain{ID: 121, Split: "canary_offpath", DatasetID: "d", ContentSHA256: strings.Repeat("a", 64), TokenCount: 1})
	for _, size := range []int{120, 121} {
		if err := holdout.Check(append(synthetic(t, 1), canary), size); err == nil || !strings.Contains(err.Error(), "never in the holdout") {
			t.Errorf("with a canary beside %d: %v", size, err)
		}
	}
}
