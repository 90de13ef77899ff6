package holdout

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Domains of the hashes of this package (R§2.2).
const (
	commitmentDomain = "base-proof-holdout-v1"
	selectDomain     = "base-proof-holdout-select-v1"
	syntheticDomain  = "proof-synthetic-shard-v1"
)

// Commitment is the hash a topic is signed with (R§6.2). Records are hashed by
// ascending id, so their order does not matter. Dataset ids are hashed as they
// stand, content hashes in lower case; both are length-prefixed, so that no two
// sets of records share their bytes.
func Commitment(records []Record) [32]byte {
	plain := byID(records)
	buf := append([]byte(commitmentDomain), 0xff)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(len(plain)))
	for _, p := range plain {
		buf = binary.LittleEndian.AppendUint32(buf, p.ID)
		buf = binary.LittleEndian.AppendUint32(buf, p.TokenCount)
		buf = prefixed(buf, string(p.Split))
		buf = prefixed(buf, p.DatasetID)
		buf = prefixed(buf, strings.ToLower(p.ContentSHA256))
	}
	return sha256.Sum256(buf)
}

// byID returns the plain records by ascending id. Records of one id, which no
// verified set has, are ordered by their other fields: the result then depends
// on the set alone even there.
func byID(records []Record) []Plain {
	plain := make([]Plain, len(records))
	for i, r := range records {
		plain[i] = r.Reveal()
	}
	slices.SortFunc(plain, func(a, b Plain) int {
		if a.ID != b.ID {
			return cmp.Compare(a.ID, b.ID)
		}
		if a.TokenCount != b.TokenCount {
			return cmp.Compare(a.TokenCount, b.TokenCount)
		}
		if c := strings.Compare(string(a.Split), string(b.Split)); c != 0 {
			return c
		}
		if c := strings.Compare(a.DatasetID, b.DatasetID); c != 0 {
			return c
		}
		return strings.Compare(a.ContentSHA256, b.ContentSHA256)
	})
	return plain
}

func prefixed(dst []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(dst, uint64(len(s))), s...)
}
