package holdout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/holdout"
)

const salt = "a salt that only the operator knows"

func catalog(t testing.TB) []holdout.Record {
	t.Helper()
	records, err := holdout.Synthetic(40, 1)
	if err != nil {
		t.Fatal(err)
	}
	return append(records, holdout.Seal(holdout.Plain{ID: 9000, Split: holdout.Canary}))
}

func ids(records []holdout.Record) (out []uint32) {
	for _, r := range records {
		out = append(out, r.Reveal().ID)
	}
	return out
}

func TestR26SelectTakesTheLowestRanksOfEachSplit(t *testing.T) {
	t.Parallel()
	all := catalog(t)
	chosen, err := holdout.Select(all, salt, 120, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := holdout.Check(chosen, 120); err != nil {
		t.Errorf("the selection is no holdout: %v", err)
	}
	if !slices.IsSorted(ids(chosen)) {
		t.Error("the selection is not sorted by id")
	}
	taken := ids(chosen)
	for _, split := range holdout.Splits() {
		highest, lowest := "", "~"
		for _, r := range all {
			p := r.Reveal()
			rank := fmt.Sprintf("%x", holdout.Rank(salt, p.ID))
			switch {
			case p.Split != split:
			case slices.Contains(taken, p.ID):
				highest = max(highest, rank)
			default:
				lowest = min(lowest, rank)
			}
		}
		if highest >= lowest {
			t.Errorf("%s: a record of rank %s was left, one of %s taken", split, lowest, highest)
		}
	}
}

func TestR26ExcludedIDsNeverEnter(t *testing.T) {
	t.Parallel()
	first, err := holdout.Select(catalog(t), salt, 60, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := holdout.Select(catalog(t), salt, 120, ids(first))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids(second) {
		if slices.Contains(ids(first), id) {
			t.Errorf("record %d was excluded and entered", id)
		}
	}
	_, err = holdout.Select(catalog(t), salt, 150, ids(first))
	if want := "split web_ood has 28 records to select from, need 30"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestR26TheSelectionDependsOnTheSaltAndNotOnTheOrderOfTheCatalog(t *testing.T) {
	t.Parallel()
	want, err := holdout.Select(catalog(t), salt, 120, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := holdout.Select(catalog(t), salt+"!", 120, nil)
	if err != nil {
		t.Fatal(err)
	}
	if commitment(other) == commitment(want) {
		t.Error("another salt selects the same records")
	}
	rapid.Check(t, func(rt *rapid.T) {
		got, err := holdout.Select(rapid.Permutation(catalog(t)).Draw(rt, "order"), salt, 120, nil)
		if err != nil || commitment(got) != commitment(want) {
			rt.Fatalf("another order selects other records (%v)", err)
		}
	})
}

func TestR26WhatCannotBeSelectedFromIsRefused(t *testing.T) {
	t.Parallel()
	all := catalog(t)
	with := func(p holdout.Plain) []holdout.Record { return append(slices.Clone(all), holdout.Seal(p)) }
	content := all[0].Reveal().ContentSHA256
	for _, c := range []struct {
		name    string
		records []holdout.Record
		salt    string
		size    int
		want    string
	}{
		{"a size that is no multiple of five", all, salt, 121, "holdout size 121 must be a positive multiple of 5"},
		{"no size", all, salt, 0, "holdout size 0 must be a positive multiple of 5"},
		{"a negative size", all, salt, -5, "holdout size -5 must be a positive multiple of 5"},
		{"a blank salt", all, " \n", 120, "the salt is blank"},
		{"the dev salt of t2i", all, "cortex-t2i-dev-holdout-v0", 120, "the salt is a published development salt"},
		{"the dev salt of relearn", all, "cortex-relearn-dev-holdout-v0", 120, "the salt is a published development salt"},
		{"the dev salt of agent", all, " cortex-agent-dev-holdout-v0\n", 120, "the salt is a published development salt"},
		{"an empty catalog", nil, salt, 120, "split web_ood has 0 records to select from, need 24"},
		{"an id twice, even of a canary", with(holdout.Plain{ID: 9000, Split: holdout.Canary}), salt, 120, "catalog: duplicate record id 9000"},
		{"content twice", with(holdout.Plain{ID: 5000, Split: holdout.WebOOD, DatasetID: "d", ContentSHA256: strings.ToUpper(content), TokenCount: 1}), salt, 120, "catalog: duplicate shard content hash on record 5000"},
		{"a record that no holdout may hold", with(holdout.Plain{ID: 5000, Split: holdout.WebOOD, DatasetID: "d", ContentSHA256: "x", TokenCount: 1}), salt, 120, "catalog: record 5000 has a malformed content_sha256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			chosen, err := holdout.Select(c.records, c.salt, c.size, nil)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || chosen != nil {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestR26ASelectionMayTakeAllThereIs(t *testing.T) {
	t.Parallel()
	chosen, err := holdout.Select(catalog(t), salt, 200, nil)
	if err != nil || len(chosen) != 200 {
		t.Errorf("%d records, %v", len(chosen), err)
	}
}

func TestR1SliceID(t *testing.T) {
	t.Parallel()
	if got := holdout.SliceID("dt-no-ib-v0"); got != "proof-holdout-dt-no-ib-v0" {
		t.Error(got)
	}
}
