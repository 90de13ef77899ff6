package pin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/strict"
)

// keyNames are the keys under which a row of the trust root may have its public
// key.
var keyNames = []string{"public_key", "pubkey", "key"}

// TrustRootKey returns the public key of the "proof" row of a trust root
// (challenges.toml), in lower case. The reference names the row and not its
// layout, so both usual ones are read: an array of tables whose id or
// challenge_id is proof, at the top or one level below, and a table named proof.
func TrustRootKey(data []byte) (string, error) {
	v, err := strict.TOML(data)
	if err != nil {
		return "", fmt.Errorf("parse trust root: %w", err)
	}
	root, ok := v.(*canonjson.Object)
	if !ok {
		return "", errors.New("parse trust root: no table")
	}
	rows := proofRows(root, 1)
	if len(rows) != 1 {
		return "", fmt.Errorf("trust root has %d rows for %s, want one", len(rows), ChallengeID)
	}
	found := ""
	for _, name := range keyNames {
		value, ok := rows[0].Get(name)
		if !ok {
			continue
		}
		key, ok := value.(string)
		if !ok || !shape.Hex64(key) {
			return "", fmt.Errorf("trust root: %s of the row %s must be 64 hex chars", name, ChallengeID)
		}
		if found != "" {
			return "", fmt.Errorf("trust root: the row %s has more than one key", ChallengeID)
		}
		found = strings.ToLower(strings.TrimSpace(key))
	}
	if found == "" {
		return "", fmt.Errorf("trust root: the row %s has none of %s", ChallengeID, strings.Join(keyNames, ", "))
	}
	return found, nil
}

func proofRows(o *canonjson.Object, below int) []*canonjson.Object {
	var rows []*canonjson.Object
	for name, v := range o.All() {
		switch v := v.(type) {
		case *canonjson.Object:
			if name == ChallengeID {
				rows = append(rows, v)
			} else if below > 0 {
				rows = append(rows, proofRows(v, below-1)...)
			}
		case []any:
			for _, item := range v {
				if row, ok := item.(*canonjson.Object); ok && named(row) {
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

func named(row *canonjson.Object) bool {
	for _, key := range []string{"id", "challenge_id"} {
		if id, ok := row.Get(key); ok && id == ChallengeID {
			return true
		}
	}
	return false
}

// CheckTrustRoot refuses a pin whose topic key is not the key of the trust root's
// proof row (reference §2.3).
func (p *Pin) CheckTrustRoot(data []byte) error {
	key, err := TrustRootKey(data)
	if err != nil {
		return err
	}
	if !shape.SameHex(p.TopicPubkey, key) {
		return fmt.Errorf("topic_pubkey %s is not the key of the trust root's row %s, which is %s", strings.TrimSpace(p.TopicPubkey), ChallengeID, key)
	}
	return nil
}
