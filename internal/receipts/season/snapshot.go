package season

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
)

// Replaced is an earlier freeze of a track: its proof, and why another took its
// place.
type Replaced struct{ ProofID, Reason string }

// FreezeRecord is one track as it goes into the bundle.
type FreezeRecord struct {
	Freeze
	RulesVersion string
	RulesSHA256  string
	ProofID      string
	Disclosures  []byte // {"request_hash":{…},"response_hash":{…}} of the freeze proof.
	Replaced     []Replaced
}

// Snapshot is everything the service holds of a season that has closed, but for
// the submissions, which Submissions reads one by one.
type Snapshot struct {
	Season
	Freezes    []FreezeRecord // By track.
	Enrolments []Enrolment    // By DID, in code point order.
}

// Snapshot reads a closed season for its bundle. Before the close it is refused:
// what can still change must not be scored.
func (s *Service) Snapshot(ctx context.Context, number int64) (*Snapshot, error) {
	season, err := s.closed(ctx, number)
	if err != nil {
		return nil, err
	}
	out := &Snapshot{Season: season}
	tracks, err := s.tracks(ctx, season.Definition)
	if err != nil {
		return nil, err
	}
	for _, name := range season.Tracks {
		record, err := s.freezeRecord(ctx, number, tracks[name])
		if err != nil {
			return nil, err
		}
		out.Freezes = append(out.Freezes, record)
	}
	out.Enrolments, err = enrolments(ctx, s.db.Reader(), number)
	return out, err
}

func (s *Service) freezeRecord(ctx context.Context, number int64, f *frozen) (FreezeRecord, error) {
	replaced, err := replacedFreezes(ctx, s.db.Reader(), number, f.Track)
	return FreezeRecord{
		Freeze: f.Freeze, RulesVersion: f.version, RulesSHA256: f.rulesSHA256,
		ProofID: f.proofID, Disclosures: f.disclosures, Replaced: replaced,
	}, err
}

// Announced is what may be known of a season at any time: its state and, by
// track, the freezes in force. Before the whole season is frozen there are none.
func (s *Service) Announced(ctx context.Context, number int64) (Season, []FreezeRecord, error) {
	season, err := s.Season(ctx, number)
	if err != nil || !season.State.Reached(Frozen) {
		return season, nil, err
	}
	tracks, err := s.tracks(ctx, season.Definition)
	if err != nil {
		return season, nil, err
	}
	records := make([]FreezeRecord, 0, len(season.Tracks))
	for _, name := range season.Tracks {
		record, err := s.freezeRecord(ctx, number, tracks[name])
		if err != nil {
			return season, nil, err
		}
		records = append(records, record)
	}
	return season, records, nil
}

// Submissions iterates over the submissions of a closed season, by DID and task,
// each as the bytes that were acknowledged. Memory does not grow with their
// number. The iteration ends with the first error.
func (s *Service) Submissions(ctx context.Context, number int64) iter.Seq2[Submission, error] {
	return func(yield func(Submission, error) bool) {
		if _, err := s.closed(ctx, number); err != nil {
			yield(Submission{}, err)
			return
		}
		for x, err := range submissions(ctx, s.db.Reader(), number) {
			if !yield(x, err) {
				return
			}
		}
	}
}

// closed reads a season that has closed, and writes that state down first: from
// here on no clock opens it again.
func (s *Service) closed(ctx context.Context, number int64) (Season, error) {
	if _, err := s.Advance(ctx, number); err != nil {
		return Season{}, err
	}
	season, err := readSeason(ctx, s.db.Reader(), number)
	if err == nil && !season.State.Reached(Closed) {
		err = fmt.Errorf("season %d: %w: it is %s, not closed", number, ErrState, season.State)
	}
	return season, err
}

// RefreshLinks asks the issuer again, at the close, which DIDs belong together
// (§9.1). Links only ever gather: what was seen at an enrolment stays.
func (s *Service) RefreshLinks(ctx context.Context, number int64) error {
	season, err := s.closed(ctx, number)
	if err != nil {
		return err
	}
	if season.State.Reached(Scored) {
		return fmt.Errorf("season %d: %w: it is scored", number, ErrState)
	}
	list, err := enrolments(ctx, s.db.Reader(), number)
	if err != nil {
		return err
	}
	for _, e := range list {
		linked, err := s.issuer.LinkedDIDs(ctx, e.AgentDID)
		if err != nil {
			return fmt.Errorf("linked DIDs of %s: %w", e.AgentDID, err)
		}
		all := links(e.AgentDID, e.LinkedDIDs, linked)
		if len(all) == len(e.LinkedDIDs) {
			continue
		}
		if err := s.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error { return updateLinks(ctx, tx, number, e.AgentDID, all) }); err != nil {
			return err
		}
	}
	return nil
}
