package payout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	// ChallengeID is the id of the challenge in its leaves.
	ChallengeID = "proof"
	// LeafDomain is the signature domain of a leaf; the signed message is
	// SCALE(LeafDomain) followed by SCALE(Leaf.Payload()) under sr25519 (R§2).
	LeafDomain = "base-rawweight-v1"
)

// Reason says why a miner has no score (R§28).
type Reason uint8

// The reasons, by their byte in a leaf.
const (
	NotAttempted Reason = iota
	Timeout
	InvalidResponse
	AttestationNotVerified
	MinerError
	RateLimited
	ChallengeInternal
	PolicySkip
)

func (r Reason) String() string {
	names := [...]string{"NotAttempted", "Timeout", "InvalidResponse", "AttestationNotVerified", "MinerError",
		"RateLimited", "ChallengeInternal", "PolicySkip"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Leaf is the weight of one miner in one epoch.
type Leaf struct {
	Hotkey Hotkey
	Epoch  uint64
	Scored bool   // Score is the value; otherwise Reason is
	Score  uint64 // of 1 000 000
	Reason Reason
}

const leafHead = 1 + len(ChallengeID) + len(Hotkey{}) + 8

// Payload returns the bytes that are signed: SCALE of challenge id, hotkey,
// epoch and value.
func (l Leaf) Payload() []byte {
	b := make([]byte, 0, leafHead+9)
	b = append(b, byte(len(ChallengeID)<<2)) // SCALE compact length, one byte below 64
	b = append(b, ChallengeID...)
	b = append(b, l.Hotkey[:]...)
	b = binary.LittleEndian.AppendUint64(b, l.Epoch)
	if l.Scored {
		return binary.LittleEndian.AppendUint64(append(b, 0), l.Score)
	}
	return append(b, 1, byte(l.Reason))
}

// ParseLeaf reads the payload of a leaf of this challenge and nothing after it.
func ParseLeaf(payload []byte) (Leaf, error) {
	var l Leaf
	if len(payload) < leafHead+1 {
		return l, fmt.Errorf("leaf of %d bytes; a leaf has at least %d", len(payload), leafHead+2)
	}
	id := len(ChallengeID)
	if payload[0] != byte(id<<2) || string(payload[1:1+id]) != ChallengeID {
		return l, errors.New("leaf is of another challenge than " + ChallengeID)
	}
	copy(l.Hotkey[:], payload[1+id:])
	l.Epoch = binary.LittleEndian.Uint64(payload[leafHead-8:])
	kind, value := payload[leafHead], payload[leafHead+1:]
	switch {
	case kind == 0 && len(value) == 8:
		l.Scored, l.Score = true, binary.LittleEndian.Uint64(value)
		if l.Score > TotalMass {
			return Leaf{}, fmt.Errorf("leaf with the score %d; the most is %d", l.Score, TotalMass)
		}
	case kind == 1 && len(value) == 1:
		if l.Reason = Reason(value[0]); l.Reason > PolicySkip {
			return Leaf{}, fmt.Errorf("leaf with the unknown reason %d", value[0])
		}
	default:
		return Leaf{}, fmt.Errorf("leaf value of kind %d with %d bytes; a score (0) has 8, no score (1) has 1", kind, len(value))
	}
	return l, nil
}

// Leaves returns one leaf for each expected hotkey, by hotkey: its score when it
// is above zero, else no score because it was not attempted; without an open
// topic no score for everybody, because the challenge itself paid nothing. The
// second value names the miners that earned a score and are not expected; no
// leaf pays them.
func (r *Result) Leaves(expected []Hotkey) (leaves []Leaf, unexpected []Hotkey) {
	keys := slices.Clone(expected)
	slices.SortFunc(keys, compareHotkeys)
	keys = slices.Compact(keys)
	reason := NotAttempted
	if len(r.Topics) == 0 {
		reason = ChallengeInternal
	}
	leaves = make([]Leaf, len(keys))
	next := 0
	for i, key := range keys {
		for next < len(r.Scores) && compareHotkeys(r.Scores[next].Miner, key) < 0 {
			unexpected = append(unexpected, r.Scores[next].Miner)
			next++
		}
		leaves[i] = Leaf{Hotkey: key, Epoch: r.Epoch, Reason: reason}
		if next < len(r.Scores) && r.Scores[next].Miner == key {
			leaves[i] = Leaf{Hotkey: key, Epoch: r.Epoch, Scored: true, Score: r.Scores[next].Score}
			next++
		}
	}
	for ; next < len(r.Scores); next++ {
		unexpected = append(unexpected, r.Scores[next].Miner)
	}
	return leaves, unexpected
}
