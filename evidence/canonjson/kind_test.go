package canonjson

import "testing"

func TestKindTellsIntegersFromOtherNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "null", `true`: "a boolean", `"x"`: "a string", `3`: "an integer", `3.0`: "a number with a fraction or exponent",
		`1e2`: "a number with a fraction or exponent", `[]`: "an array", `{}`: "an object",
	} {
		v, err := ParseStrict([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := Kind(v); got != want {
			t.Errorf("Kind(%s) is %q, want %q", text, got, want)
		}
	}
	if got := Kind(7); got != "a int" {
		t.Errorf("what is not of the model is named by its Go type: %q", got)
	}
}
