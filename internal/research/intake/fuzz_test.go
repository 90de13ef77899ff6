package intake

import "testing"

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"pf_0000000000000003", "pf_ffffffffffffffff", "pf_FFFFFFFFFFFFFFFF", "pf_3", "pf_00000000000000003", "0000000000000003", "pf_+000000000000003", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		switch {
		case err == nil && id.String() != s:
			t.Fatalf("%q is read as %s", s, id)
		case err != nil && id != 0:
			t.Fatalf("%q gives %s beside an error", s, id)
		}
		if again, err := ParseID(id.String()); err != nil || again != id {
			t.Fatalf("%s comes back as %s, %v", id, again, err)
		}
	})
}
