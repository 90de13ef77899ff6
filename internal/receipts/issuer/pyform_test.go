package issuer

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// pythonForm encodes payloads as the source's HTTP client does: urlencode over
// primitive values, lists repeated.
const pythonForm = `
import json, sys
from urllib.parse import urlencode
def text(v):
    return "true" if v is True else "false" if v is False else "" if v is None else str(v)
for line in sys.stdin.buffer.read().split(b"\n"):
    if line:
        pairs = []
        for k, v in json.loads(line).items():
            pairs += [(k, text(e)) for e in v] if isinstance(v, list) else [(k, text(v))]
        print(urlencode(pairs))
`

func TestT44GETQueriesAreThoseOfPython(t *testing.T) {
	in := []string{
		`{}`, `{"a":"b c"}`, `{"a":[1,2.0,true,null,"x"]}`, `{"é":"ü€😀"}`, `{"a":{"b":[1,{"c":null}],"d":"it's","e":"say \"hi\"","f":"both ' and \""}}`,
		`{"a":1e400,"b":-1e400,"c":1e16,"d":1e-5,"e":-0.0,"f":123456789012345678901234567890}`, `{"a":[[1,2],[],{}]}`,
		`{"a":{"t":"tab\tline\nreturn\rback\\slash\u0000\u001f\u007f\u0080\u00a0\u00ad\u200b\u2028\ue000\ufeff\uffff😀"}}`,
		`{"a":{"k e y":true,"":false}}`, `{"safe":"-._~!*'()/?:@&=+$,;%"}`, `{"x":{"é":"ü\u0301\u0600\u3000"}}`, `{"a":NaN,"b":{"c":Infinity}}`,
	}
	cmd := exec.Command("python3", "-c", pythonForm)
	cmd.Stdin = strings.NewReader(strings.Join(in, "\n"))
	out, err := cmd.Output()
	require.NoError(t, err, "python3 is the oracle of this test: apt-get install python3")
	want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, want, len(in))
	for i, p := range in {
		v, err := canonjson.Parse([]byte(p))
		require.NoError(t, err, p)
		require.Equal(t, want[i], formEncode(v.(*canonjson.Object)), p)
	}
}
