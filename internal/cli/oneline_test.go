package cli

import "testing"

func TestAnErrorOfSeveralLinesIsPrintedAsOne(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"one":                                  "one",
		"enrolling: 422\n  /agent_name: taken": "enrolling: 422; /agent_name: taken",
		"a\r\n\n  b \n":                        "a; b",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
