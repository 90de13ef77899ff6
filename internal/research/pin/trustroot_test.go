package pin_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/pin"
)

const committedKey = "3e7f70f09165e265ab89ab04a4fc91dc0531d54a100c538fb14c6f008421c375"

func TestR23TheTopicKeyIsThatOfTheTrustRoot(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("ab", 32)
	for name, c := range map[string]struct{ root, want string }{
		"an array of tables":   {"[[challenges]]\nid = 'bounty'\npublic_key = '" + other + "'\n[[challenges]]\nid = 'proof'\npublic_key = '" + committedKey + "'", ""},
		"rows by challenge_id": {"[[challenge]]\nchallenge_id = 'proof'\nemission_bps = 8000\nkey = '" + strings.ToUpper(committedKey) + "'", ""},
		"a table":              {"[proof]\npubkey = '" + committedKey + "'", ""},
		"a table below":        {"[challenges.proof]\npubkey = '" + committedKey + "'\n[challenges.bounty]\npubkey = '" + other + "'", ""},
		"another key":          {"[proof]\nkey = '" + other + "'", "topic_pubkey " + committedKey + " is not the key of the trust root's row proof, which is " + other},
		"no row":               {"[bounty]\nkey = '" + committedKey + "'", "trust root has 0 rows for proof, want one"},
		"two rows":             {"[[c]]\nid = 'proof'\n[[c]]\nid = 'proof'", "trust root has 2 rows for proof, want one"},
		"no key":               {"[proof]\nemission_bps = 8000", "trust root: the row proof has none of public_key, pubkey, key"},
		"two keys":             {"[proof]\nkey = '" + committedKey + "'\npubkey = '" + committedKey + "'", "trust root: the row proof has more than one key"},
		"a key that is none":   {"[proof]\nkey = 7", "trust root: key of the row proof must be 64 hex chars"},
		"no TOML":              {"=", "parse trust root: invalid TOML: "},
	} {
		err := committed(t).CheckTrustRoot([]byte(c.root))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// FuzzTrustRootKey: no text panics, and a key that is found is one.
func FuzzTrustRootKey(f *testing.F) {
	f.Add([]byte("[challenges.proof]\npubkey = '" + committedKey + "'"))
	f.Add([]byte("[[c]]\nid = 'proof'\nkey = 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if key, err := pin.TrustRootKey(data); err == nil && (len(key) != 64 || key != strings.ToLower(key)) {
			t.Fatal(key)
		}
	})
}
