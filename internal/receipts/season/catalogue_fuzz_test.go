package season

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// FuzzCatalogue: a catalogue that is taken holds URLs of its host only, sorted and
// each once; any other text is refused with the place of its fault.
func FuzzCatalogue(f *testing.F) {
	const host = "https://corpus.example"
	good := `{"corpus_host":"` + host + `","urls":["` + host + `/a","` + host + `/b/1"]}`
	f.Add([]byte(good))
	for _, c := range [][2]string{
		{host + `/b/1`, host + "/a"}, {host + `/b/1`, host + "/A"}, {host + `/b/1`, host + ".evil/b"}, {host + `/b/1`, host}, {`"` + host + `/b/1"`, "7"},
		{`"urls"`, `"corpus_host"`}, {`["`, `[["`}, {"corpus_host\":\"", "corpus_host\":\"x"}, {"}", ""},
	} {
		f.Add([]byte(strings.Replace(good, c[0], c[1], 1)))
	}
	f.Add([]byte(`{"corpus_host":"` + host + `","urls":{}}`))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		urls, err := readCatalogue(text, host)
		if err != nil {
			if urls != nil || err.Error() == "" {
				t.Fatalf("a refusal gives %v, %q", urls, err)
			}
			return
		}
		list := []any{}
		for _, u := range slices.Sorted(maps.Keys(urls)) {
			if !strings.HasPrefix(u, host+"/") {
				t.Errorf("%q is no URL of the host", u)
			}
			list = append(list, u)
		}
		v, err := canonjson.ParseStrict(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := canonjson.Resolve(v, "/urls"); !canonjson.Equal(got, list) {
			t.Errorf("read %q of %q", list, text)
		}
	})
}
