package api

import (
	"context"
	"encoding/json/v2"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/intake"
)

// submit is POST /v1/submissions (R§11). With Prefer: respond-async it answers 202
// at once; without, it waits until the run has ended (decision 6).
func (s *server) submit(w http.ResponseWriter, r *http.Request) error {
	sent := host.Sent{ContentType: r.Header.Get("Content-Type"), Async: prefersAsync(r.Header)}
	from := s.client(r)
	if from.IsValid() {
		sent.Address = from.String()
	}
	one, err := s.senders.enter(from)
	if err != nil {
		return err
	}
	all, err := enter(s.bodies)
	if err != nil {
		one()
		return err
	}
	leave := func() { all(); one() }
	sent.Body, err = httpx.Body(w, r, intake.MaxBody)
	if fault := new(httpx.StatusError); errors.As(err, &fault) && fault.Status == http.StatusRequestEntityTooLarge {
		sent.Body, err = s.oversize, nil // the gate has rows that come before the size
	}
	if err != nil || sent.Async {
		defer leave()
		if err != nil {
			return err
		}
		return s.take(r.Context(), w, r, sent)
	}
	leave() // whoever waits holds no place
	if leave, err = enter(s.waits); err != nil {
		return &httpx.StatusError{
			Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
			Title: "too many submissions wait for their run; send this one with Prefer: respond-async",
		}
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), s.o.MaxWait)
	defer cancel()
	return s.take(ctx, w, r, sent)
}

func (s *server) take(ctx context.Context, w http.ResponseWriter, r *http.Request, sent host.Sent) error {
	answering := func() {}
	if !sent.Async {
		answering = patient(w, r, time.Now)
	}
	reply, err := s.host.Submit(ctx, sent)
	answering()
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		reply, err = goesOn(sent.Body, err)
	}
	if err != nil {
		return err
	}
	if sent.Async && reply.Status == http.StatusAccepted {
		w.Header().Set("Preference-Applied", "respond-async")
	}
	return answer(w, reply)
}

// goesOn answers a request that waited long enough, as if it had asked for an answer
// at once. A submission whose wait was cut off has passed the gate, so it can be read.
func goesOn(body []byte, cause error) (*host.Reply, error) {
	sent, err := intake.Parse(body)
	if err != nil {
		return nil, cause
	}
	hotkey, ok := intake.Hex64(sent.MinerHotkey)
	artifact, also := intake.Hex64(sent.ArtifactDigest)
	if !ok || !also {
		return nil, cause
	}
	digest := intake.Digest(hotkey, strings.TrimSpace(sent.TopicID), artifact)
	text, err := json.Marshal(struct {
		SubmissionDigest string `json:"submission_digest"`
	}{digest})
	if err != nil {
		return nil, cause
	}
	return &host.Reply{Status: http.StatusAccepted, JSON: text, Location: "/v1/submissions/by-digest/" + digest, Digest: digest}, nil
}

// prefersAsync reads Prefer (RFC 7240): names in any case, with or without values and
// parameters.
func prefersAsync(h http.Header) bool {
	for _, values := range h.Values("Prefer") {
		for preference := range strings.SplitSeq(values, ",") {
			name, _, _ := strings.Cut(preference, ";")
			if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
				return true
			}
		}
	}
	return false
}
