package issuer

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

const maxBatchRead = 50

// proofID reads the id of the path, strictly (T§1).
func proofID(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if !validProofID(id) {
		return "", badRequest("Invalid proof ID format")
	}
	return id, nil
}

// countRead spends one read of the caller's address (T§3.5).
func (s *Service) countRead(r *http.Request) error {
	if !s.reads.take(s.ip(r), s.now()) {
		refused := rateLimited("Too many proof requests. Try again later.")
		refused.RetryAfter = retryRead
		return refused
	}
	return nil
}

// getProof is GET /v1/proof/{id} (T§3.5).
func (s *Service) getProof(w http.ResponseWriter, r *http.Request) error {
	id, err := proofID(r)
	if err != nil {
		return err
	}
	if err := s.countRead(r); err != nil {
		return err
	}
	d, err := s.proof(r.Context(), id)
	if err != nil {
		return err
	}
	s.countView(r.Context(), d, id)
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Language")
	h.Set("Cache-Control", "no-store") // a pending proof changes, and each read counts
	if wantsPage(r) {
		return s.writePage(w, r, d)
	}
	o, err := s.cfg.publicDocument(d)
	if err != nil {
		return err
	}
	return ok(w, o)
}

// countView adds one to the views of a proof (T§3.5). A node that cannot write,
// its disk full or blocked for writes, goes on showing proofs (T§1) with the count
// as it stands.
func (s *Service) countView(ctx context.Context, d *proofDoc, id string) {
	if s.cfg.ReadOnly {
		return
	}
	views, err := s.store.countView(ctx, id)
	if err != nil {
		s.deps.Logger.WarnContext(ctx, "a view was not counted", "proof", id, "error", err)
		return
	}
	d.row.Views = views
}

// wantsPage: HTML only when it is asked for and JSON is not.
func wantsPage(r *http.Request) bool {
	if r.URL.Query().Get("format") == "json" {
		return false
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "text/html") && !strings.Contains(accept, "application/json")
}

// getFull is GET /v1/proof/{id}/full (T§3.6), with statuses of its own.
func (s *Service) getFull(w http.ResponseWriter, r *http.Request) error {
	if rawKey(r.Header) == "" {
		return refuse(http.StatusUnauthorized, "auth_required", "API key required")
	}
	c, err := s.authenticate(r.Context(), r.Header)
	if refused := (*apiError)(nil); errors.As(err, &refused) {
		return refuse(http.StatusForbidden, "invalid_key", "Invalid API key")
	}
	if err != nil {
		return err
	}
	id, err := proofID(r)
	if err != nil {
		return err
	}
	d, err := s.proof(r.Context(), id)
	if err != nil {
		return err
	}
	if text(child(d.record, "parties"), "buyer_fingerprint") != c.Fingerprint {
		return refuse(http.StatusForbidden, "forbidden", "You are not the owner of this proof")
	}
	o, err := s.cfg.fullDocument(d)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store") // it holds nonces
	return ok(w, o)
}

// getVerify is GET /v1/proof/{id}/verify (T§3.8).
func (s *Service) getVerify(w http.ResponseWriter, r *http.Request) error {
	id, err := proofID(r)
	if err != nil {
		return err
	}
	d, err := s.proof(r.Context(), id)
	if err != nil {
		return err
	}
	o, err := s.cfg.verifySummary(d)
	if err != nil {
		return err
	}
	return ok(w, o)
}

// getToken is GET|HEAD /v1/proof/{id}/tsr (T§3.9): the bytes of tsr_base64.
func (s *Service) getToken(w http.ResponseWriter, r *http.Request) error {
	id, err := proofID(r)
	if err != nil {
		return err
	}
	missing := refuse(http.StatusNotFound, "not_found", "TSR file for '"+id+"' not found")
	d, err := s.proof(r.Context(), id)
	if refused := (*apiError)(nil); errors.As(err, &refused) {
		return missing
	}
	if err != nil {
		return err
	}
	if d.row.Batch == nil || d.row.Batch.State != stateAnchored {
		return missing
	}
	tsr, err := base64.StdEncoding.DecodeString(d.row.Batch.Token)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/timestamp-reply")
	h.Set("Content-Disposition", "attachment; filename="+id+".tsr")
	h.Set("Content-Length", string(number(len(tsr))))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(tsr) // A caller that has gone needs no answer.
	return nil
}

// getShort is GET /v/{id} (T§3.10).
func (s *Service) getShort(w http.ResponseWriter, r *http.Request) error {
	id, err := proofID(r)
	if err != nil {
		return err
	}
	if _, err := s.proof(r.Context(), id); err != nil {
		return err
	}
	w.Header().Set("Location", proofURL(s.cfg.BaseURL, id))
	w.Header().Set("Cache-Control", "public, max-age=86400")
	w.WriteHeader(http.StatusFound)
	return nil
}

// parseBatchRead reads the body of POST /v1/proofs: 1 to limit ids, doubles
// merged, the first position kept (T§3.7).
func parseBatchRead(body []byte, limit int) ([]string, *apiError) {
	v, err := canonjson.Parse(body)
	if err != nil {
		return nil, badRequest("Body must be JSON")
	}
	malformed := badRequest("'proof_ids' must list 1 to " + string(number(limit)) + " valid proof IDs")
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, malformed
	}
	list, _ := o.Get("proof_ids")
	items, ok := list.([]any)
	if !ok || len(items) < 1 || len(items) > limit {
		return nil, malformed
	}
	ids := make([]string, 0, len(items))
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		id, ok := item.(string)
		if !ok || !validProofID(id) {
			return nil, malformed
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// postProofs is POST /v1/proofs (T§3.7). A proof of another seller and one that
// does not exist are both null.
func (s *Service) postProofs(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	ids, refused := parseBatchRead(body, maxBatchRead)
	if refused != nil {
		return refused
	}
	if err := s.countRead(r); err != nil {
		return err
	}
	return s.batchRead(w, r, ids, func(seller string) bool { return slices.Contains(s.cfg.BatchReadSellers, seller) })
}

func (s *Service) batchRead(w http.ResponseWriter, r *http.Request, ids []string, served func(seller string) bool) error {
	proofs := canonjson.NewObject()
	for _, id := range ids {
		proofs.Set(id, nil)
		d, err := s.proof(r.Context(), id)
		if refused := (*apiError)(nil); errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return err
		}
		if !served(text(child(d.record, "parties"), "seller")) {
			continue
		}
		o, err := s.cfg.publicDocument(d)
		if err != nil {
			return err
		}
		proofs.Set(id, o)
	}
	w.Header().Set("Cache-Control", "no-store")
	return ok(w, canonjson.NewObject("proofs", proofs))
}
