package payout

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
)

// SnapshotFormat names the encoding of a snapshot.
const SnapshotFormat = "prova-payout-snapshot/1"

// MaxSnapshot is the size in bytes of the largest snapshot that is read, that of
// some three million runs.
const MaxSnapshot = 1 << 30

type snapshotDocument struct {
	Format string          `json:"format"`
	Epoch  uint64          `json:"epoch"`
	Topics []TopicSnapshot `json:"topics"`
}

// Encode returns the snapshot as JSON. A snapshot has one encoding only, so that
// stores and mirrors can compare bytes.
func (s *Snapshot) Encode() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(snapshotDocument{SnapshotFormat, s.Epoch, s.Topics}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot of epoch %d: %w", s.Epoch, err)
	}
	return data, nil
}

// ParseSnapshot reads what Encode wrote, byte for byte: anything that Encode
// would write differently is refused, as is a snapshot that [Close] cannot have
// made.
func ParseSnapshot(data []byte) (*Snapshot, error) {
	if len(data) > MaxSnapshot {
		return nil, fmt.Errorf("snapshot of %d bytes, at most %d are read", len(data), MaxSnapshot)
	}
	var d snapshotDocument
	if err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if d.Format != SnapshotFormat {
		return nil, fmt.Errorf("snapshot format %.80q, this build reads %q", d.Format, SnapshotFormat)
	}
	s := &Snapshot{Epoch: d.Epoch, Topics: d.Topics}
	if err := s.checkMarks(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	again, err := s.Encode()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if !bytes.Equal(again, data) {
		return nil, errors.New("snapshot is not in its only encoding; members missing, reordered or spelled differently")
	}
	return s, nil
}

// Encode returns the result as JSON, the same bytes for the same snapshot.
func (r *Result) Encode() ([]byte, error) {
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the payout of epoch %d: %w", r.Epoch, err)
	}
	return data, nil
}
