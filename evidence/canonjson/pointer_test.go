package canonjson

import "testing"

// rfc6901Document is the example of RFC 6901 §5.
const rfc6901Document = `{
      "foo": ["bar", "baz"],
      "": 0,
      "a/b": 1,
      "c%d": 2,
      "e^f": 3,
      "g|h": 4,
      "i\\j": 5,
      "k\"l": 6,
      " ": 7,
      "m~n": 8
   }`

func TestRFC6901Section5Examples(t *testing.T) {
	root, err := ParseStrict([]byte(rfc6901Document))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3",
		"/g|h": "4", `/i\j`: "5", `/k"l`: "6", "/ ": "7", "/m~0n": "8", "": string(Marshal(root)),
	} {
		t.Run("pointer "+pointer, func(t *testing.T) {
			value, ok := Resolve(root, pointer)
			if !ok || string(Marshal(value)) != want {
				t.Errorf("resolves to %s, %v, want %s", Marshal(value), ok, want)
			}
		})
	}
}

func TestRFC6901Section4PointersThatResolveToNothing(t *testing.T) {
	root, err := ParseStrict([]byte(`{"foo":["bar","baz"],"m~n":8,"~1":1,"01":{"-":2},"s":"text","n":null}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, pointer := range map[string]string{
		"member that is not there":       "/bar",
		"no slash in front":              "foo",
		"URI fragment":                   "#/foo",
		"element after the last":         "/foo/-",
		"index out of range":             "/foo/2",
		"index with a leading zero":      "/foo/00",
		"index one with a leading zero":  "/foo/01",
		"index with a sign":              "/foo/+1",
		"negative index":                 "/foo/-1",
		"index with a fraction":          "/foo/1.0",
		"index with an exponent":         "/foo/1e0",
		"index in other digits":          "/foo/١",
		"index beyond 64 bits":           "/foo/18446744073709551617",
		"empty index":                    "/foo/",
		"name in an array":               "/foo/bar",
		"tilde without a digit":          "/m~n",
		"tilde with another digit":       "/m~2n",
		"tilde at the end":               "/m~",
		"into a string":                  "/s/0",
		"into null":                      "/n/x",
		"trailing slash behind a scalar": "/s/",
		"letter case":                    "/FOO",
	} {
		t.Run(name, func(t *testing.T) {
			if value, ok := Resolve(root, pointer); ok {
				t.Errorf("%q resolves to %s", pointer, Marshal(value))
			}
		})
	}
	for pointer, want := range map[string]string{"/n": "null", "/01/-": "2", "/~01": "1"} {
		value, ok := Resolve(root, pointer)
		if !ok || string(Marshal(value)) != want {
			t.Errorf("%q resolves to %s, %v, want %s", pointer, Marshal(value), ok, want)
		}
	}
}

func TestValidPointerFollowsRFC6901Section3(t *testing.T) {
	for pointer, want := range map[string]bool{
		"": true, "/": true, "//": true, "/a": true, "/~0~1": true, "/é": true, "/\x00": true,
		"a": false, "#": false, "~0": false, "/~": false, "/a~": false, "/~2": false, "/~~0": false, " /a": false,
	} {
		if got := ValidPointer(pointer); got != want {
			t.Errorf("%q: %v, want %v", pointer, got, want)
		}
	}
}

func TestTokensAreEscapedSoThatTildeOneIsRead(t *testing.T) {
	for name, token := range map[string]string{"a/b": "a~1b", "m~n": "m~0n", "~1": "~01", "/~": "~1~0", "plain": "plain", "": ""} {
		if got := EscapeToken(name); got != token {
			t.Errorf("token of %q is %q, want %q", name, got, token)
		}
		if got := UnescapeToken(token); got != name {
			t.Errorf("name of %q is %q, want %q", token, got, name)
		}
	}
}
