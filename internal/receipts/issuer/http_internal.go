package issuer

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/did"
)

const maxTrustedRead = 1000

// InternalHandler serves the routes between services, below /internal/v1/. They
// ask for no key and no limit: its listener must not be reachable from outside.
//
//	GET  /internal/v1/linked-dids?did=   {"did","linked_dids":[…]}
//	POST /internal/v1/proofs             up to 1000 public views of any seller, no read counted
//	GET  /internal/v1/log-entries/{uuid} the log entry as verified when the batch closed
//	GET  /internal/v1/pending            what is not anchored yet
//	GET  /internal/v1/counters           what this process has done
//	POST /internal/v1/batch/close        close and anchor now
func (s *Service) InternalHandler() http.Handler {
	return s.mux([]route{
		{"GET", "/internal/v1/linked-dids", s.getLinked},
		{"POST", "/internal/v1/proofs", s.postTrustedRead},
		{"GET", "/internal/v1/log-entries/{uuid}", s.getLogEntry},
		{"GET", "/internal/v1/pending", s.getPending},
		{"GET", "/internal/v1/counters", s.getCounters},
		{"POST", "/internal/v1/batch/close", s.closeNow},
	})
}

func (s *Service) getLinked(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("did")
	if !did.IsDID(name) {
		return badRequest("'did' must be a DID, such as did:key:z6Mk…")
	}
	linked, err := s.store.linkedDIDs(r.Context(), name)
	if err != nil {
		return fmt.Errorf("issuer: read linked DIDs: %w", err)
	}
	return ok(w, canonjson.NewObject("did", name, "linked_dids", linked))
}

func (s *Service) postTrustedRead(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	ids, refused := parseBatchRead(body, maxTrustedRead)
	if refused != nil {
		return refused
	}
	return s.batchRead(w, r, ids, func(string) bool { return true })
}

func (s *Service) getLogEntry(w http.ResponseWriter, r *http.Request) error {
	uuid := r.PathValue("uuid")
	doc, err := s.store.entry(r.Context(), uuid)
	if errors.Is(err, errNoRow) || uuid == "" {
		return refuse(http.StatusNotFound, "not_found", "No batch has this log entry")
	}
	if err != nil {
		return fmt.Errorf("issuer: read a log entry: %w", err)
	}
	writeJSON(w, http.StatusOK, []byte(doc))
	return nil
}

func (s *Service) getPending(w http.ResponseWriter, r *http.Request) error {
	p, err := s.Pending(r.Context())
	if err != nil {
		return err
	}
	closing, err := s.store.countClosing(r.Context())
	if err != nil {
		return fmt.Errorf("issuer: count closing batches: %w", err)
	}
	batches := make([]any, len(p.Closing))
	for i, b := range p.Closing {
		batches[i] = canonjson.NewObject(
			"batch_id", b.ID, "reason", b.Reason, "closed_at", b.ClosedAt, "tree_size", number(b.Size),
			"token", b.Provider != "", "log_entry", b.LogUUID != "",
			"attempts", number(b.Attempts), "last_error", orNull(b.LastError))
	}
	o := canonjson.NewObject("pending_proofs", number(p.Proofs), "oldest", nil, "closing_batches", number(closing), "batches", batches)
	if !p.Oldest.IsZero() {
		o.Set("oldest", isoFormat(p.Oldest))
	}
	return ok(w, o)
}

func (s *Service) getCounters(w http.ResponseWriter, _ *http.Request) error {
	c := s.Counters()
	return ok(w, canonjson.NewObject(
		"proofs", number(c.Proofs), "refusals", number(c.Refusals), "upstream_faults", number(c.UpstreamFaults),
		"anchored", number(c.Anchored), "anchor_faults", number(c.AnchorFaults)))
}
