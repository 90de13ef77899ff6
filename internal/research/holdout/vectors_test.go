package holdout_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/holdout"
)

func load(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func synthetic(t testing.TB, firstID uint32) []holdout.Record {
	t.Helper()
	records, err := holdout.Synthetic(24, firstID)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func commitment(records []holdout.Record) string {
	sum := holdout.Commitment(records)
	return hex.EncodeToString(sum[:])
}

func TestR6_6SyntheticHoldoutsAndR6_2TheirCommitmentsAreTheDerivedOnes(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Synthetic []struct {
			PerSplit    int    `json:"per_split"`
			FirstID     uint32 `json:"first_id"`
			Count       int
			First       holdout.Plain `json:"first_record"`
			LongContext holdout.Plain `json:"first_longctx"`
			Last        holdout.Plain `json:"last_record"`
			Commitment  string
		} `json:"synthetic_holdouts"`
	}
	load(t, "derived_digests.json", &vectors)
	if len(vectors.Synthetic) != 3 {
		t.Fatalf("%d vectors", len(vectors.Synthetic))
	}
	for _, v := range vectors.Synthetic {
		t.Run(fmt.Sprintf("from id %d", v.FirstID), func(t *testing.T) {
			t.Parallel()
			records, err := holdout.Synthetic(v.PerSplit, v.FirstID)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) != v.Count {
				t.Errorf("%d records, want %d", len(records), v.Count)
			}
			for i, want := range map[int]holdout.Plain{0: v.First, 3 * v.PerSplit: v.LongContext, v.Count - 1: v.Last} {
				if got := records[i].Reveal(); got != want {
					t.Errorf("record %d is %+v, want %+v", i, got, want)
				}
			}
			if got := commitment(records); got != v.Commitment {
				t.Errorf("commitment %s, want %s", got, v.Commitment)
			}
			if _, err := holdout.Verify(records, v.Count, v.Commitment); err != nil {
				t.Errorf("the set does not verify: %v", err)
			}
		})
	}
}

func TestR26SelectionRanksAreTheDerivedOnes(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Ranks []struct {
			Salt string
			ID   uint32
			Rank string
		} `json:"holdout_select_ranks"`
	}
	load(t, "derived_digests.json", &vectors)
	if len(vectors.Ranks) != 2 {
		t.Fatalf("%d vectors", len(vectors.Ranks))
	}
	for _, v := range vectors.Ranks {
		t.Run(fmt.Sprintf("id %d", v.ID), func(t *testing.T) {
			t.Parallel()
			if got := holdout.Rank(v.Salt, v.ID); hex.EncodeToString(got[:]) != v.Rank {
				t.Errorf("rank %x, want %s", got, v.Rank)
			}
		})
	}
}

// caseRuns plays the literal cases: each text of a case's input is one way to
// spoil, or to reorder, the synthetic set from id 1.
func caseRuns(t *testing.T) map[string]func() string {
	t.Helper()
	records := synthetic(t, 1)
	set, err := holdout.Verify(records, 120, commitment(records))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(edit func([]holdout.Record) []holdout.Record, size int) string {
		edited := edit(slices.Clone(records))
		_, err := holdout.Verify(edited, size, commitment(edited))
		return fmt.Sprint(err)
	}
	change := func(at int, edit func(*holdout.Plain)) func([]holdout.Record) []holdout.Record {
		return func(r []holdout.Record) []holdout.Record {
			p := r[at].Reveal()
			edit(&p)
			r[at] = holdout.Seal(p)
			return r
		}
	}
	return map[string]func() string{
		"one record relabelled canary_offpath": func() string {
			return verify(change(3, func(p *holdout.Plain) { p.Split = holdout.Canary }), 120)
		},
		"longctx record with 512 tokens": func() string {
			return verify(change(72, func(p *holdout.Plain) { p.TokenCount = 512 }), 120)
		},
		"expected_size 121 with 120 records": func() string {
			return verify(func(r []holdout.Record) []holdout.Record { return r }, 121)
		},
		"content_sha256 'nope'": func() string {
			return verify(change(0, func(p *holdout.Plain) { p.ContentSHA256 = "nope" }), 120)
		},
		"reversed order": func() string {
			reversed := slices.Clone(records)
			slices.Reverse(reversed)
			if commitment(reversed) == commitment(records) {
				return "same commitment"
			}
			return "another commitment"
		},
		"uppercase shard hash declared": func() string {
			hash := records[5].Reveal().ContentSHA256
			hits := set.Contamination([]string{strings.ToUpper(hash)}, nil)
			return strings.ReplaceAll(fmt.Sprintf("%q", hits), hash, "<lowercase hash>")
		},
		"dataset id synthetic-dev declared": func() string {
			return fmt.Sprintf("%q", set.Contamination(nil, []string{"synthetic-dev"}))
		},
	}
}

func TestLiteralCases(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct{ Area, Input, Expected string }
	}
	load(t, "cases.json", &file)
	runs := caseRuns(t)
	texts := map[string]string{
		"CanaryInHoldout": "record 4 is canary_offpath; the canary is off-score and never in the holdout",
		"NotLongContext":  "record 73 is longctx with 512 tokens (need 8192..=32768)",
		"SizeMismatch":    "holdout count mismatch (expected 121, got 120)",
		"MalformedHash":   "record 1 has a malformed content_sha256",
	}
	if len(file.Cases) != len(runs) {
		t.Fatalf("%d cases, %d of them played", len(file.Cases), len(runs))
	}
	for _, c := range file.Cases {
		t.Run(c.Area+" "+c.Input, func(t *testing.T) {
			t.Parallel()
			want := c.Expected
			if text, ok := texts[want]; ok {
				want = text
			}
			run, ok := runs[c.Input]
			if !ok {
				t.Fatal("no such case is played")
			}
			if got := run(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
