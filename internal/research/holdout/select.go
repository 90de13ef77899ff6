package holdout

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// devSalts are published with the development stacks, so whoever has a catalog
// could compute a selection made with one (R§26).
func devSalts() []string {
	return []string{"cortex-t2i-dev-holdout-v0", "cortex-relearn-dev-holdout-v0", "cortex-agent-dev-holdout-v0"}
}

// Rank orders the records of a split in a selection: the lowest are taken
// (R§26). The salt is secret and hashed as it stands.
func Rank(salt string, id uint32) [32]byte {
	message := append([]byte(selectDomain), 0xff)
	message = append(message, salt...)
	message = append(message, 0xff)
	return sha256.Sum256(binary.LittleEndian.AppendUint32(message, id))
}

// Select takes size/5 records of each scored split out of a catalog, by rank, and
// returns them by ascending id (R§26). Excluded ids never enter; canary records
// of the catalog are passed over. Every other record of the catalog must be one
// that a holdout may hold, and no two may share an id or a content hash. No error
// shows the salt or a value of a record.
func Select(catalog []Record, salt string, size int, exclude []uint32) ([]Record, error) {
	if err := CheckSalt(salt); err != nil {
		return nil, err
	}
	if size < len(Splits()) || size%len(Splits()) != 0 {
		return nil, fmt.Errorf("holdout size %d must be a positive multiple of %d", size, len(Splits()))
	}
	candidates, err := eligible(catalog, exclude)
	if err != nil {
		return nil, err
	}
	want := size / len(Splits())
	var chosen []Record
	for _, split := range Splits() {
		ranked := candidates[split]
		if len(ranked) < want {
			return nil, fmt.Errorf("split %s has %d records to select from, need %d", split, len(ranked), want)
		}
		slices.SortFunc(ranked, func(a, b Plain) int {
			ra, rb := Rank(salt, a.ID), Rank(salt, b.ID)
			return bytes.Compare(ra[:], rb[:])
		})
		for _, p := range ranked[:want] {
			chosen = append(chosen, Seal(p))
		}
	}
	slices.SortFunc(chosen, func(a, b Record) int { return cmp.Compare(a.Reveal().ID, b.Reveal().ID) })
	return chosen, nil
}

// CheckSalt refuses salts that hide nothing: blank ones and the published ones of
// the development stacks. The error does not repeat the salt.
func CheckSalt(salt string) error {
	if strings.TrimSpace(salt) == "" {
		return errors.New("the salt is blank; use a secret of your own, such as 'openssl rand -hex 32' prints")
	}
	if slices.Contains(devSalts(), strings.TrimSpace(salt)) {
		return errors.New("the salt is a published development salt; use a secret of your own, such as 'openssl rand -hex 32' prints")
	}
	return nil
}

// eligible groups the records of a catalog that may be selected by split.
func eligible(catalog []Record, exclude []uint32) (map[Split][]Plain, error) {
	excluded := make(map[uint32]struct{}, len(exclude))
	for _, id := range exclude {
		excluded[id] = struct{}{}
	}
	ids := make(map[uint32]struct{}, len(catalog))
	contents := make(map[string]struct{}, len(catalog))
	out := map[Split][]Plain{}
	for _, r := range catalog {
		p := r.Reveal()
		if _, twice := ids[p.ID]; twice {
			return nil, fmt.Errorf("catalog: duplicate record id %d", p.ID)
		}
		ids[p.ID] = struct{}{}
		if p.Split == Canary {
			continue
		}
		if fault := p.fault(); fault != "" {
			return nil, errors.New("catalog: " + fault)
		}
		if _, twice := contents[p.content()]; twice {
			return nil, fmt.Errorf("catalog: duplicate shard content hash on record %d", p.ID)
		}
		contents[p.content()] = struct{}{}
		if _, never := excluded[p.ID]; !never {
			out[p.Split] = append(out[p.Split], p)
		}
	}
	return out, nil
}
