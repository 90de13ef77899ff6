package holdout

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
)

// SyntheticDataset is the dataset id of every synthetic record. Anyone can
// compute such records, so a production host refuses a holdout that has one.
const SyntheticDataset = "synthetic-dev"

// Synthetic makes a set for development and tests: perSplit records of each
// scored split, ids counting upward split by split from firstID (R§6.6). The ids
// must fit 32 bits.
func Synthetic(perSplit int, firstID uint32) ([]Record, error) {
	total := int64(perSplit) * int64(len(Splits()))
	if perSplit < 1 || perSplit > 1_000_000 {
		return nil, fmt.Errorf("synthetic records per split = %d must be 1..=1000000", perSplit)
	}
	if int64(firstID)+total-1 > math.MaxUint32 {
		return nil, fmt.Errorf("synthetic ids from %d do not fit %d records: the last must be at most %d", firstID, total, uint32(math.MaxUint32))
	}
	records := make([]Record, 0, total)
	id := firstID
	for _, split := range Splits() {
		for range perSplit {
			records = append(records, synthetic(split, id))
			id++
		}
	}
	return records, nil
}

func synthetic(split Split, id uint32) Record {
	message := append([]byte(syntheticDomain), split...)
	sum := sha256.Sum256(binary.LittleEndian.AppendUint32(message, id))
	tokens := uint32(2048)
	if split == LongContext {
		tokens = LongContextMin + id%1024
	}
	return Seal(Plain{ID: id, Split: split, DatasetID: SyntheticDataset, ContentSHA256: hex.EncodeToString(sum[:]), TokenCount: tokens})
}

// Synthetic reports whether the set has a record that anyone can compute: one of
// the synthetic dataset, or one with the content of a synthetic record under
// another name. A host in production refuses such a set.
func (s *Set) Synthetic() bool {
	sealed := s.hidden()
	if _, named := sealed.datasets[SyntheticDataset]; named {
		return true
	}
	for _, r := range sealed.records {
		p := r.Reveal()
		if computed := synthetic(p.Split, p.ID).Reveal(); computed.content() == p.content() {
			return true
		}
	}
	return false
}
