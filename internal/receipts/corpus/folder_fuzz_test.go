package corpus

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzMarker: what a folder's marker says is read whole or refused; what was read
// survives being written again.
func FuzzMarker(f *testing.F) {
	good := (&Corpus{Track: "conformite", Season: 1, Host: "https://conformite.corpus.prova.test", Practice: true}).marker()
	f.Add(good)
	for _, c := range [][2]string{
		{markerFormat, "prova-corpus/2"}, {`"season":1`, `"season":0`}, {`"season":1`, `"season":2147483648`}, {`"season":1`, `"season":1.0`},
		{`"practice":true`, `"practice":null`}, {`"track":"conformite"`, `"track":7`}, {`"track"`, `"season"`}, {"}", ""},
	} {
		f.Add([]byte(strings.Replace(string(good), c[0], c[1], 1)))
	}
	f.Add([]byte("[]"))
	f.Add([]byte(strings.Repeat("[", 5000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseMarker(data)
		if err != nil {
			if c != nil || err.Error() == "" {
				t.Fatalf("a refusal gives %+v, %q", c, err)
			}
			return
		}
		if c.Season < 1 {
			t.Errorf("season %d accepted", c.Season)
		}
		again, err := parseMarker(c.marker())
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%+v does not survive being written: %+v, %v", c, again, err)
		}
	})
}
