package host

import (
	"context"
	"encoding/json/v2"
	"errors"
	"time"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Sent is a submission as it came in.
type Sent struct {
	Address     string // of the client, behind trusted proxies
	ContentType string
	Body        []byte // at most intake.MaxBody+1 bytes of it
	Async       bool   // Prefer: respond-async (decision 6)
}

// Reply is an answer of the submission routes.
type Reply struct {
	Status     int
	JSON       []byte
	Location   string        // path of what was made or is being made; empty: none
	RetryAfter time.Duration // zero: none
	Digest     string        // submission digest, when it was frozen
}

// queueRetry is what a full queue asks for.
const queueRetry = 30 * time.Second

// Submit takes a submission (R§11, decisions 5 to 7). The reply is the refusal of
// the gate, the answer of a row, or 202 for one that is in the queue. Without Async
// it waits until the run has ended; a run goes on when ctx ends first, which is the
// error then. Other errors are of the store, and nothing was taken.
func (h *Host) Submit(ctx context.Context, sent Sent) (*Reply, error) {
	now := h.o.Now()
	allowed, wait := h.addresses.take(sender(sent.Address), now)
	for again := 0; ; again++ {
		s := h.view()
		facts := &intake.Facts{AddressLimited: !allowed, ContentType: sent.ContentType, Body: sent.Body, Host: s.host}
		submission, refusal, err := h.before(ctx, facts)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			return h.refuse(ctx, refusal, "", wait)
		}
		facts.Host = h.live(ctx, s)
		submission.Topic = h.scored(submission.Topic)
		reply, err := h.admit(ctx, facts, submission, sent, s.seen[submission.TopicID], now)
		if !errors.Is(err, ledger.ErrClosed) || again == attempts {
			return reply, err
		}
		// The epoch ended between the freeze and the store, or another process closed it:
		// freeze it again, in the next epoch if there is one.
		if err := h.closed.load(ctx, h.o.Ledger); err != nil {
			return nil, err
		}
	}
}

// longBody is the length in bytes from which a body waits for its turn to be read.
const longBody = 64 << 10

// before walks the first half of the gate. A long body takes up to thirty times its
// length while it is read, so only as many are read at a time as there are
// processors; short ones pass them by.
func (h *Host) before(ctx context.Context, facts *intake.Facts) (*intake.Submission, *intake.Refusal, error) {
	if len(facts.Body) >= longBody && !facts.AddressLimited {
		select {
		case h.long <- struct{}{}:
			defer func() { <-h.long }()
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	s, refusal := intake.Before(facts)
	return s, refusal, nil
}

// admit walks the rest of the gate inside the transaction that records its outcome.
func (h *Host) admit(ctx context.Context, facts *intake.Facts, s *intake.Submission, sent Sent, version uint32, now time.Time) (*Reply, error) {
	limited, wait := false, time.Duration(0)
	if s.Signed { // without a signature anyone could use up a miner's allowance
		allowed, left := h.hotkeys.take(s.Hotkey, now)
		limited, wait = !allowed, left
	}
	var kept *intake.Outcome
	ends := h.runs.join(s.Digest)
	defer h.runs.leave(s.Digest, ends)
	admission, err := h.o.Ledger.Admit(ctx, s, ledger.AdmitOptions{
		ContentType: sent.ContentType, Body: sent.Body, QueueCap: h.o.Limits.QueueCap, Limited: limited,
		Serial: s.Topic.Document.Metric.Family == topic.Custom, TopicVersion: version,
	}, func(miner intake.Miner) (*intake.Outcome, *intake.Refusal) {
		known := *facts
		known.Miner = miner
		outcome, refusal := intake.After(&known, s)
		if outcome != nil && outcome.Kind == intake.Run {
			h.runs.keep(outcome, now) // before the commit: a worker may claim it at once
			kept = outcome
		}
		return outcome, refusal
	})
	taken := err == nil && admission.Refusal == nil && admission.Outcome.Kind != intake.Rejoin
	if !taken {
		h.runs.drop(kept)
		if s.Signed && !limited {
			h.hotkeys.back(s.Hotkey, now)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case admission.Refusal != nil:
		if admission.Refusal.Name == "queue" {
			wait = queueRetry
		}
		return h.refuse(ctx, admission.Refusal, s.Digest, wait)
	case admission.Row != nil:
		status := created
		if !taken {
			status = ok // a retry of what was stored before
		}
		return h.answer(status, admission.Row)
	}
	h.runs.knock()
	if sent.Async {
		return h.taken(s.Digest)
	}
	return h.wait(ctx, s.Digest, admission.Flight, ends)
}

// wait returns what a flight came to. In another process it is heard of by asking
// the ledger.
func (h *Host) wait(ctx context.Context, digest string, flight ledger.FlightID, ends <-chan ending) (*Reply, error) {
	poll := time.NewTicker(h.o.Poll)
	defer poll.Stop()
	for {
		select {
		case end := <-ends:
			if end.flight == flight {
				return h.ended(ctx, digest, end)
			}
			continue
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-h.runs.stop:
			return h.taken(digest) // the next start goes on with it
		case <-poll.C:
		}
		end, err := h.look(ctx, digest, flight)
		if err != nil || end != nil {
			if err != nil {
				return nil, err
			}
			return h.ended(ctx, digest, *end)
		}
	}
}

// look asks the ledger what became of a flight; nil while it goes on.
func (h *Host) look(ctx context.Context, digest string, flight ledger.FlightID) (*ending, error) {
	f, err := h.o.Ledger.FlightByDigest(ctx, digest)
	if err != nil {
		return nil, err
	}
	if f != nil && f.ID == flight {
		if f.State != ledger.Refused {
			return nil, nil
		}
		return &ending{flight: flight, refusal: &intake.Refusal{Name: "run", Status: f.Status, Text: f.Text}}, nil
	}
	row, err := h.o.Ledger.RowByDigest(ctx, digest)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return &ending{flight: flight, refusal: &intake.Refusal{Name: "run", Status: unavailable, Text: "the run ended without a row; submit again"}}, nil
	}
	return &ending{flight: flight, row: row}, nil
}

func (h *Host) ended(ctx context.Context, digest string, e ending) (*Reply, error) {
	if e.refusal != nil {
		return h.refuse(ctx, e.refusal, digest, 0)
	}
	return h.answer(created, e.row)
}

// refuse answers with a refusal. Only statuses that ask for it carry a time to wait.
func (h *Host) refuse(ctx context.Context, r *intake.Refusal, digest string, wait time.Duration) (*Reply, error) {
	h.o.Log.DebugContext(ctx, "submission refused", "row", r.Row, "name", r.Name, "status", r.Status, "submission", digest)
	text, err := r.JSON()
	if err != nil {
		return nil, err
	}
	reply := &Reply{Status: r.Status, JSON: text, Digest: digest}
	if r.Status == tooMany || r.Status == unavailable {
		reply.RetryAfter = wait
	}
	return reply, nil
}

func (h *Host) answer(status int, row *intake.StoredRow) (*Reply, error) {
	text, err := json.Marshal(row.Answer(h.backend()))
	if err != nil {
		return nil, err
	}
	return &Reply{Status: status, JSON: text, Location: "/v1/submissions/" + row.ID, Digest: row.SubmissionDigest}, nil
}

func (h *Host) taken(digest string) (*Reply, error) {
	text, err := json.Marshal(struct {
		SubmissionDigest string `json:"submission_digest"`
	}{digest})
	if err != nil {
		return nil, err
	}
	return &Reply{Status: accepted, JSON: text, Location: "/v1/submissions/by-digest/" + digest, Digest: digest}, nil
}

func (h *Host) backend() string { return h.known.Load().host.Backend() }

// Progress is how far a submission is that has no row yet.
type Progress struct {
	SubmissionDigest string `json:"submission_digest"`
	State            string `json:"state"`              // queued, running or refused
	Position         *int   `json:"position,omitempty"` // in the queue, from 1
	Phase            string `json:"phase,omitempty"`
	AgeS             *int64 `json:"age_s,omitempty"` // seconds since the run began
	Status           int    `json:"status,omitzero"`
	Error            string `json:"error,omitempty"`
}

// ByDigest says what became of a submission (decision 6): its place in the queue,
// the phase of its run, its refusal, or the answer of its newest row. The reply's
// status is 200, also for a refusal, whose own status is in the body; it is 404 for
// a digest that is not known.
func (h *Host) ByDigest(ctx context.Context, digest string) (*Reply, error) {
	f, err := h.o.Ledger.FlightByDigest(ctx, digest)
	if err != nil {
		return nil, err
	}
	if f == nil {
		row, err := h.o.Ledger.RowByDigest(ctx, digest)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return nil, refusef(notFound, "not_found")
		}
		return h.answer(ok, row)
	}
	p := Progress{SubmissionDigest: digest, State: string(f.State)}
	switch f.State {
	case ledger.Refused:
		p.Status, p.Error = f.Status, f.Text
	case ledger.Running:
		age := max(0, int64(h.o.Now().Sub(f.StartedAt)/time.Second))
		p.Phase, p.AgeS = or(f.Phase, firstPhase), &age
	default:
		place, err := h.o.Ledger.Position(ctx, f.ID)
		if err != nil {
			return nil, err
		}
		p.Position = &place
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &Reply{Status: ok, JSON: text, Digest: digest}, nil
}
