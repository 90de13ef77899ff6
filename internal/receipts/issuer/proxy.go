package issuer

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/httpx"
)

const (
	answerLife    = 24 * time.Hour
	maxKeptAnswer = 512 << 10
	usualText     = 4 << 10 // what a record or its private part fits into, if not more
	pricingLink   = "https://arkforge.tech/en/pricing.html?utm_source=proxy_api&utm_medium=json_response#trust"
)

// proxy is POST /v1/proxy from step 7 of T§4.2 on: authentication and the checks
// of the request alone are done. It returns an answer with a proof, or a
// refusal without one.
func (s *Service) proxy(ctx context.Context, c *caller, req *proxyRequest, idempotencyKey string) (*answer, error) {
	ctx, err := s.resolveTarget(ctx, req.dest)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Signer.Ready(s.now()); err != nil {
		return nil, signerDown()
	}
	refused, err := s.meter.spend(ctx, c.CounterKey, c.plan.quota, s.now())
	if err != nil {
		return nil, fmt.Errorf("issuer: count usage: %w", err)
	}
	if refused != nil {
		return nil, refused
	}
	name := ""
	if idempotencyKey != "" {
		name = sha256Hex([]byte(c.Fingerprint + ":" + idempotencyKey))[:16]
		done, err := s.flights.enter(ctx, name)
		if err != nil {
			return nil, err
		}
		defer done()
		kept, err := s.store.answer(ctx, name, s.now())
		if err == nil {
			return kept, nil
		}
		if !errors.Is(err, errNoRow) {
			return nil, fmt.Errorf("issuer: look for a kept answer: %w", err)
		}
	}
	extra, fault := checkExtraHeaders(req.ExtraHeaders)
	if fault != nil {
		return nil, fault
	}
	// From here on the call is made: it gets its proof even if the caller goes.
	ctx = context.WithoutCancel(ctx)
	out := s.fetch(ctx, req, extra, s.cfg.secretHeaders(req.dest.Host, c.Fingerprint))
	return s.issue(ctx, c, req, out, name)
}

// resolveTarget is step 8 of T§4.2: the context returned carries the address that
// was checked, and the transport dials no other.
func (s *Service) resolveTarget(ctx context.Context, t *target) (context.Context, error) {
	pinned, _, err := s.deps.Guard.CheckURL(ctx, "https://"+t.authority+"/")
	switch {
	case err == nil:
		return pinned, nil
	case errors.Is(err, httpx.ErrResolve):
		return nil, badTarget("Could not resolve hostname '" + t.Host + "'")
	default:
		return nil, badTarget("Target host is private, local or reserved")
	}
}

func signerDown() *apiError {
	return refuse(http.StatusServiceUnavailable, "signing_unavailable", "Proof signing is unavailable; nothing was counted. Try again later.")
}

// issue turns an outcome into a stored proof and the answer of T§4.10.
func (s *Service) issue(ctx context.Context, c *caller, req *proxyRequest, out *outcome, keepAs string) (*answer, error) {
	var hashed, returned any
	if out.Fault != "" {
		hashed = canonjson.NewObject("error", out.Fault)
	} else {
		hashed, returned = responseData(out.Body, out.Type)
	}
	now := s.now()
	id, err := s.ids.next(now)
	if err != nil {
		return nil, err
	}
	fee, err := s.chargeFor(c.plan, req.Currency, now)
	if err != nil {
		return nil, err
	}
	in := &issue{
		ID: id, At: now,
		RequestHash: req.hash(), ResponseHash: hashOf(hashed),
		Charge: fee, Fingerprint: c.Fingerprint, Seller: req.dest.Host,
		UpstreamDate: out.Date, StatusCode: out.Status,
		Success:      out.Fault == "" && out.Status >= 200 && out.Status < 400,
		Identity:     identityOf(c.DID, req, c.Declared, c.Mismatched),
		AgentVersion: req.AgentVersion,
	}
	p, err := seal(in, s.deps.Signer, s.deps.Rand, s.cfg.BaseURL)
	if err != nil {
		s.deps.Logger.Error("a proof could not be signed", "error", err)
		return nil, signerDown()
	}
	st := &storing{svc: s, caller: c, issue: in, proof: p, out: out, returned: returned, keepAs: keepAs}
	if err := st.store(ctx); err != nil {
		return nil, err
	}
	s.metrics.proofs.Add(1)
	if s.queued.Add(1) >= int64(s.cfg.BatchSize) {
		signal(s.wake)
	}
	return st.answer, nil
}

// storing puts one proof on disk together with what belongs to it: the usage
// units of its key, a kept answer, a declared identity.
type storing struct {
	svc      *Service
	caller   *caller
	issue    *issue
	proof    *sealed
	out      *outcome
	returned any
	keepAs   string

	answer *answer
}

// store returns only after the proof is durable (group commit, one fsync for
// many). The pending batch is what comes after the last closed one in the same
// table, so this one insert also queues the proof. ctx is one that nobody cancels:
// a cancelled statement would cost the other members of the commit a second run.
func (st *storing) store(ctx context.Context) error {
	s := st.svc
	for range 8 {
		record := canonjson.AppendCompact(make([]byte, 0, usualText), st.proof.Record)
		private := canonjson.AppendCompact(make([]byte, 0, usualText), st.proof.Private)
		st.answer = st.build(record)
		units := s.meter.debit(st.caller.CounterKey)
		recordText, privateText := string(record), string(private)
		err := s.deps.DB.Batch(ctx, func(tx *sql.Tx) error {
			if err := s.store.addProof(ctx, tx, st.proof, recordText, privateText, st.issue.At); err != nil {
				return err
			}
			if err := units.write(ctx, tx, s.store); err != nil {
				return err
			}
			return st.extras(ctx, tx)
		})
		if err == nil {
			if st.declares() {
				s.keys.forget(st.caller.Fingerprint)
			}
			return nil
		}
		units.undo()
		if !errors.Is(err, errProofIDTaken) {
			return fmt.Errorf("issuer: store a proof: %w", err)
		}
		// Another process drew the same six digits in this second.
		id, err := s.ids.next(st.issue.At)
		if err != nil {
			return err
		}
		st.issue.ID = id
		st.proof.rename(id, s.cfg.BaseURL)
	}
	return errors.New("issuer: no free proof id after 8 attempts")
}

func (st *storing) extras(ctx context.Context, tx *sql.Tx) error {
	s, c := st.svc, st.caller
	if st.keepAs != "" && len(st.answer.Body) <= maxKeptAnswer {
		if err := s.store.keepAnswer(ctx, tx, st.keepAs, st.answer, st.issue.At.Add(answerLife)); err != nil {
			return err
		}
	}
	if st.declares() {
		return s.store.noteIdentity(ctx, tx, c.Fingerprint, st.issue.Identity.Agent.(string))
	}
	return nil
}

// declares reports whether the call names an identity other than the key's last.
func (st *storing) declares() bool {
	declared, _ := st.issue.Identity.Agent.(string)
	return st.caller.DID == "" && declared != "" && declared != st.caller.Declared
}

// build writes the body of T§4.10. Stamp and scrubbing come after hashing.
func (st *storing) build(record []byte) *answer {
	s, out := st.svc, st.out
	a := &answer{Status: http.StatusOK, ProofID: st.proof.ID, Verified: st.issue.Success}
	var b bytes.Buffer
	b.Grow(len(record) + len(out.Body) + 768)
	switch out.Fault {
	case "":
		body := s.secret.value(st.returned)
		if st.issue.Success {
			body = stampBody(body, st.proof.ID, proofURL(s.cfg.BaseURL, st.proof.ID))
		}
		b.WriteString(`{"proof":`)
		b.Write(record)
		b.WriteString(`,"service_response":{"status_code":`)
		b.WriteString(strconv.Itoa(out.Status))
		b.WriteString(`,"body":`)
		b.Write(canonjson.AppendCompact(b.AvailableBuffer(), body))
		b.WriteString(`}`)
	default:
		fault := refuse(http.StatusBadGateway, faultNetwork, "Target service is unreachable")
		if out.Fault == faultTimeout {
			fault = refuse(http.StatusGatewayTimeout, faultTimeout, "Target service timed out")
		}
		a.Status = fault.Status
		envelope := canonjson.Compact(fault.object())
		b.Write(envelope[:len(envelope)-1])
		b.WriteString(`,"proof":`)
		b.Write(record)
	}
	b.WriteString(`,"_links":{"pricing":"` + pricingLink + `"}}`)
	a.Body = b.Bytes()
	return a
}

// chargeFor is certification_fee of T§4.9; nothing is ever charged here.
func (s *Service) chargeFor(p planRow, currency string, now time.Time) (charge, error) {
	if p.charge != "" {
		return charge{Method: p.charge, TransactionID: p.charge, Currency: currency, Status: p.charge}, nil
	}
	tail, err := randomHex(s.deps.Rand, 3)
	if err != nil {
		return charge{}, fmt.Errorf("issuer: make a credit id: %w", err)
	}
	return charge{
		Method: "prepaid_credit", TransactionID: "crd_" + now.UTC().Format("20060102150405") + "_" + tail,
		Currency: "eur", Status: "succeeded",
	}, nil
}

// flights makes calls of one idempotency key wait for each other, so that the
// second finds the first one's answer instead of calling the target again.
type flights struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

func (f *flights) enter(ctx context.Context, name string) (leave func(), err error) {
	for {
		f.mu.Lock()
		if f.busy == nil {
			f.busy = map[string]chan struct{}{}
		}
		running, ok := f.busy[name]
		if !ok {
			done := make(chan struct{})
			f.busy[name] = done
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.busy, name)
				f.mu.Unlock()
				close(done)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
