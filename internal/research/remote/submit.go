package remote

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
)

// Progress is what became of a submission so far. Exactly one of three holds: it
// is on its way (State is queued or running), it has a row, or it was refused.
type Progress struct {
	SubmissionDigest string
	State            State
	Position         int    // of queued: how many are before it, and itself
	Phase            string // of running
	Age              time.Duration

	Row     *intake.Answer // set when a row was stored
	Refusal *Refusal       // set when the run ended without a row

	JSON []byte // the whole answer
}

// State says where a submission is.
type State string

// The states of decision 6.
const (
	Queued  State = "queued"
	Running State = "running"
	Stored  State = "stored"
	Refused State = "refused"
)

// Done reports whether the submission has come to its end.
func (p *Progress) Done() bool { return p.State == Stored || p.State == Refused }

// Submit sends a submission and asks for an answer at once. Its end may be there
// already: a manifest that overlaps the holdout is rejected without a run, and the
// same nonce and body rejoin a copy that has ended.
//
// A *[Refusal] says that the gate refused it. An error that wraps [ErrUnreachable]
// leaves open whether it was taken: send the same body again.
func (c *Client) Submit(ctx context.Context, body []byte) (*Progress, error) {
	a, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/submissions", body: body,
		header: http.Header{"Prefer": {"respond-async"}},
		// A server that waits for the run all the same may do so for as long as a run takes.
		patient: true,
	})
	if err != nil {
		return nil, err
	}
	return parseProgress(a.body)
}

// Find asks what became of a submission. A *[Refusal] of status 404 says that the
// host knows nothing of it.
func (c *Client) Find(ctx context.Context, digest string) (*Progress, error) {
	if stored, ok := intake.Hex64(digest); !ok || stored != digest {
		return nil, fmt.Errorf("submission digest %q must be 64 lower-case hexadecimal digits", cut(digest, 80))
	}
	a, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/submissions/by-digest/" + digest})
	if refusal := new(Refusal); errors.As(err, &refusal) && refusal.ended {
		return &Progress{SubmissionDigest: digest, State: Refused, Refusal: refusal}, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := parseProgress(a.body)
	if err == nil && p.SubmissionDigest != digest {
		err = fmt.Errorf("asked for the submission %s, the control plane answers with %q", digest, Printable(cut(p.SubmissionDigest, 80)))
	}
	return p, err
}

// parseProgress reads an answer of POST /v1/submissions or of by-digest.
func parseProgress(data []byte) (*Progress, error) {
	var said struct {
		ID               string       `json:"id"`
		SubmissionDigest string       `json:"submission_digest"`
		TopicID          string       `json:"topic_id"`
		State            family.State `json:"state"`
		EvalBackend      string       `json:"eval_backend"`
		Eligible         bool         `json:"eligible"`
		Position         int          `json:"position"`
		Phase            string       `json:"phase"`
		AgeS             float64      `json:"age_s"`
		Status           int          `json:"status"`
		Error            string       `json:"error"`
	}
	if err := decode(data, "answer about a submission", &said); err != nil {
		return nil, err
	}
	p := &Progress{SubmissionDigest: said.SubmissionDigest, State: State(said.State), JSON: data}
	if stored, ok := intake.Hex64(said.SubmissionDigest); !ok || stored != said.SubmissionDigest {
		return nil, errors.New("the control plane's answer about a submission has no submission_digest of 64 lower-case hexadecimal digits")
	}
	const longest = 1 << 31 // seconds; keeps a duration within its range
	switch {
	case said.ID != "":
		if _, err := intake.ParseID(said.ID); err != nil {
			return nil, fmt.Errorf("the control plane's answer about a submission: %w", err)
		}
		p.State = Stored
		p.Row = &intake.Answer{
			ID: said.ID, SubmissionDigest: said.SubmissionDigest, TopicID: said.TopicID, State: said.State,
			EvalBackend: said.EvalBackend, Eligible: said.Eligible,
		}
	case said.Error != "" || said.Status != 0:
		p.State = Refused
		p.Refusal = &Refusal{Status: said.Status, Text: Printable(cut(said.Error, maxText)), ended: true}
		if p.Refusal.Text == "" {
			p.Refusal.Text = "the run ended without a row and without a reason"
		}
	case p.State == "" || p.State == Queued:
		p.State, p.Position = Queued, max(said.Position, 0)
	case p.State == Running:
		p.Phase = Printable(cut(said.Phase, 80))
		p.Age = time.Duration(min(max(said.AgeS, 0), longest) * float64(time.Second))
	default:
		return nil, fmt.Errorf("the control plane says that a submission is %q, which this build does not know", Printable(cut(string(p.State), 80)))
	}
	return p, nil
}

// ended reads whether the body of an error is the kept refusal of a run, which
// names the submission, and not the fault of the moment.
func ended(body []byte) bool {
	var said struct {
		SubmissionDigest string `json:"submission_digest"`
	}
	return json.Unmarshal(body, &said) == nil && said.SubmissionDigest != ""
}

// Wait bounds how a submission is looked at until its end.
type Wait struct {
	Every time.Duration // between two looks: 2 s when zero
	// Patience is how many looks in a row may fail before Wait gives up: 30 when zero.
	Patience int
	Progress func(*Progress) // called after each look; may be nil
	Trouble  func(error)     // called for each look that failed; may be nil
}

// Wait looks at a submission until its end. A fault of the moment (no answer, a
// gateway's 5xx, a limit) is looked over up to w.Patience times in a row; the run
// goes on without its client, so a caller may wait again.
func (c *Client) Wait(ctx context.Context, digest string, w Wait) (*Progress, error) {
	if w.Every <= 0 {
		w.Every = 2 * time.Second
	}
	if w.Patience <= 0 {
		w.Patience = 30
	}
	for failures := 0; ; {
		pause := w.Every
		p, err := c.Find(ctx, digest)
		var refusal *Refusal
		switch {
		case err == nil:
			failures = 0
			if w.Progress != nil {
				w.Progress(p)
			}
			if p.Done() {
				return p, nil
			}
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &refusal) && refusal.Temporary() || errors.Is(err, ErrUnreachable):
			if failures++; failures >= w.Patience {
				return nil, fmt.Errorf("%d looks in a row failed, the last one: %w", failures, err)
			}
			if refusal != nil {
				pause = max(pause, refusal.RetryAfter)
			}
			if w.Trouble != nil {
				w.Trouble(err)
			}
		default:
			return nil, err
		}
		if err := c.sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}
