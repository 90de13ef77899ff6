package receipt

import (
	"errors"
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Disclosures are pairs of nonce and value that an owner hands to a third party
// beside a proof.
type Disclosures struct {
	any  *canonjson.Object // for whatever proof they are used with
	byID *canonjson.Object // proof id → pairs
}

// ParseDisclosures reads either form of a disclosure document, strict JSON:
// {"disclosed": {field: {"nonce", "value"}}} for one proof (T§6.2), or the
// {"disclosures": {proof_id: {field: …}}} of a submission.
func ParseDisclosures(data []byte) (*Disclosures, error) {
	value, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, fmt.Errorf("disclosures: %w", err)
	}
	doc, err := asObject("", value)
	if err != nil {
		return nil, fmt.Errorf("disclosures: %w", err)
	}
	d := &Disclosures{}
	switch {
	case doc.Has("disclosed"):
		d.any, err = wantObject(doc, "", "disclosed")
	case doc.Has("disclosures"):
		d.byID, err = wantObject(doc, "", "disclosures")
		for id, pairs := range d.byID.All() {
			if _, ok := pairs.(*canonjson.Object); !ok && err == nil {
				err = fmt.Errorf("/disclosures/%s: is %s, want an object", canonjson.EscapeToken(clip(id)), canonjson.Kind(pairs))
			}
		}
	default:
		err = errors.New("there is neither a member \"disclosed\" nor \"disclosures\"")
	}
	if err != nil {
		return nil, fmt.Errorf("disclosures: %w", err)
	}
	return d, nil
}

// ForOneProof reports that the pairs name no proof, so that they can be meant
// for one only.
func (d *Disclosures) ForOneProof() bool { return d.any != nil }

// For returns the pairs for a proof, nil when there are none.
func (d *Disclosures) For(proofID string) *canonjson.Object {
	if d.any != nil {
		return d.any
	}
	o, _ := object(d.byID, proofID)
	return o
}
