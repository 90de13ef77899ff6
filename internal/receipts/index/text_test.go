package index

import (
	"strings"
	"testing"
)

func TestSlugsAreSafeNamesAndNeverMeet(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	long := "did:web:" + strings.Repeat("é", 90)
	for _, did := range []string{"did:key:z6Mk", "did_key_z6Mk", "did:web:a%3A80", "did:web:a..b", "did:web:a.b", "did:web:a~2eb", "did:web:..", "did:web:a b", "did:web:<b>", long, long + "x", "did:web:" + strings.Repeat("a", 300)} {
		s := slug(did)
		if other, ok := seen[s]; ok {
			t.Errorf("%q and %q share %q", did, other, s)
		}
		seen[s] = did
		if len(s) > maxSlug || strings.Contains(s, "..") || strings.ContainsFunc(s, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~", r)
		}) {
			t.Errorf("%q is no file name for all systems", s)
		}
	}
	if got := slug("did:key:z6Mk"); got != "did_key_z6Mk" {
		t.Errorf("%q", got)
	}
}

func TestRelativeLinksWorkFromEveryDepth(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"index.html", "fr/index.html", "fr/index.html"}, {"fr/index.html", "en/index.html", "../en/index.html"}, {"fr/index.html", "fr/limits.html", "limits.html"},
		{"en/seasons/2/conformite/reports/a.html", "en/seasons/2.html", "../../../2.html"}, {"en/seasons/2.html", "en/seasons/2/conformite.html", "2/conformite.html"},
		{"en/seasons/2.html", "files/2/trust.json", "../../files/2/trust.json"}, {"en/seasons/2.html", "en/seasons/2.json", "2.json"},
	} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %s to %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func FuzzSlug(f *testing.F) {
	for _, s := range []string{"", "did:key:z6Mk", "a\u202eb", "\xff\xfe", strings.Repeat("x", maxSlug+5)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if slug(s) == slug(s+"x") {
			t.Errorf("%q and one more share a slug", s)
		}
	})
}

func TestRatesAreComparedExactly(t *testing.T) {
	t.Parallel()
	const most = 1 << 40 // the greatest count that results can have
	for _, c := range []struct {
		a, b rate
		want int
	}{
		{rate{Num: 1, Den: 3}, rate{Num: 1, Den: 3}, 0},
		{rate{Num: 1, Den: 3}, rate{Num: 2, Den: 6}, 0},
		{rate{Num: 2, Den: 3}, rate{Num: 1, Den: 3}, 1},
		{rate{Num: most - 1, Den: most}, rate{Num: most - 2, Den: most - 1}, 1},
		{rate{Num: most - 2, Den: most - 1}, rate{Num: most, Den: most}, -1},
	} {
		if got := compareRates(c.a, c.b); got != c.want {
			t.Errorf("%+v against %+v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
