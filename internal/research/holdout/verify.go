package holdout

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/prova-dev/prova/internal/research/shape"
)

// Set is a verified holdout of one topic. It cannot be changed and may be read
// by several goroutines at once; like its records it shows nothing of itself.
type Set struct{ hidden func() *sealed } // see Record

type sealed struct {
	records    []Record
	commitment [32]byte
	shards     map[string]struct{}
	datasets   map[string]struct{}
}

// ErrNotFrozen is returned when records are asked for before the digest of the
// submission that needs them is fixed.
var ErrNotFrozen = errors.New("no submission digest is frozen yet; the holdout stays sealed")

// Check applies every rule of R§6.3 but the commitment, in order; the first that
// is broken is the error. expected is the number of records the pin wants. An
// error shows no value of a record but its number and, for longctx, its length.
func Check(records []Record, expected int) error {
	if len(records) == 0 {
		return errors.New("holdout set is empty")
	}
	ids := make(map[uint32]struct{}, len(records))
	contents := make(map[string]struct{}, len(records))
	perSplit := map[Split]int{}
	for _, r := range records {
		p := r.Reveal()
		if fault := p.fault(); fault != "" {
			return errors.New(fault)
		}
		if _, twice := ids[p.ID]; twice {
			return fmt.Errorf("duplicate record id %d", p.ID)
		}
		ids[p.ID] = struct{}{}
		if _, twice := contents[p.content()]; twice {
			return fmt.Errorf("duplicate shard content hash on record %d", p.ID)
		}
		contents[p.content()] = struct{}{}
		perSplit[p.Split]++
	}
	if len(records) != expected {
		return fmt.Errorf("holdout count mismatch (expected %d, got %d)", expected, len(records))
	}
	want := expected / len(Splits())
	for _, split := range Splits() {
		if got := perSplit[split]; got != want {
			return fmt.Errorf("split %s has %d records, expected %d", split, got, want)
		}
	}
	return nil
}

// Verify applies R§6.3: Check, then the commitment, which is compared without
// regard to case and surrounding white space. Any failure loads nothing.
func Verify(records []Record, expected int, commitment string) (*Set, error) {
	if err := Check(records, expected); err != nil {
		return nil, err
	}
	got := Commitment(records)
	if want := strings.ToLower(strings.TrimSpace(commitment)); want != hex.EncodeToString(got[:]) {
		return nil, fmt.Errorf("holdout commitment mismatch (expected %s, got %x)", shown(want), got)
	}
	s := &sealed{
		commitment: got,
		shards:     make(map[string]struct{}, len(records)),
		datasets:   map[string]struct{}{},
	}
	for _, p := range byID(records) {
		s.records = append(s.records, Seal(p))
		s.shards[p.content()] = struct{}{}
		s.datasets[p.dataset()] = struct{}{}
	}
	return &Set{hidden: func() *sealed { return s }}, nil
}

// shown prints an expected commitment. It comes from a topic, not from a record;
// only its length is kept in bounds.
func shown(commitment string) string {
	if shape.Hex64(commitment) {
		return commitment
	}
	const limit = 80
	if len(commitment) > limit {
		return fmt.Sprintf("%+q…", commitment[:limit])
	}
	return fmt.Sprintf("%+q", commitment)
}

// Commitment is the commitment the set was verified against: 64 lower-case hex.
func (s *Set) Commitment() string { return hex.EncodeToString(s.hidden().commitment[:]) }

// Len is the number of records.
func (s *Set) Len() int { return len(s.hidden().records) }

// Reveal returns the records by ascending id for the run of one submission. The
// digest of that submission must be frozen, 64 hex characters: a submission that
// could still change must not meet the records (R§6.4).
func (s *Set) Reveal(frozenDigest string) ([]Plain, error) {
	if !shape.Hex64(frozenDigest) {
		return nil, ErrNotFrozen
	}
	return byID(s.hidden().records), nil
}

func (s Set) describe() string {
	if s.hidden == nil {
		return "[no holdout]"
	}
	return fmt.Sprintf("[holdout of %d records withheld]", len(s.hidden().records))
}

// Format writes the same words for every verb (fmt.Formatter).
func (s Set) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.describe()) }

// String says how many records there are.
func (s Set) String() string { return s.describe() }

// LogValue keeps the records out of every log (slog.LogValuer).
func (s Set) LogValue() slog.Value { return slog.StringValue(s.describe()) }

// MarshalText makes every encoder write the words of String (R§6.4).
func (s Set) MarshalText() ([]byte, error) { return []byte(s.describe()), nil }
