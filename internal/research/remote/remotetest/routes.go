package remotetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/topic"
)

func (p *Plane) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if strings.Contains(pattern, "/admin/") && r.Header.Get("Authorization") != "Bearer "+Token {
				p.refuse(w, r, http.StatusUnauthorized, "unauthorized")
				return
			}
			h(w, r)
		})
	}
	handle("GET /v1/status", p.status)
	handle("GET /v1/proof/executor", func(w http.ResponseWriter, r *http.Request) {
		var reason any
		err := p.host.Executor.RequireOpen(p.Pin)
		if err != nil {
			reason = err.Error()
		}
		p.value(w, r, http.StatusOK, map[string]any{"eval_executor": p.host.Executor.Public(), "ready": err == nil, "reason": reason})
	})
	handle("GET /v1/proof/topics", p.topics)
	handle("GET /v1/proof/topics/{id}", p.withTopic(func(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
		p.document(w, r, http.StatusOK, t.Document)
	}))
	handle("GET /v1/proof/topics/{id}/readiness", p.withTopic(p.readiness))
	handle("GET /v1/proof/topics/{id}/rules", p.withTopic(func(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
		p.value(w, r, http.StatusOK, p.ruleSet(t.Document.ID))
	}))
	handle("POST /v1/submissions", p.submit)
	handle("GET /v1/submissions", p.list)
	handle("GET /v1/submissions/{id}", p.row)
	handle("GET /v1/submissions/by-digest/{digest}", p.byDigest)
	handle("GET /v1/proof/epochs", p.epochs)
	handle("GET /v1/proof/epochs/{n}/{what}", p.epoch)
	p.admin(handle)
	return mux
}

func (p *Plane) withTopic(h func(http.ResponseWriter, *http.Request, *intake.Topic)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if t := p.host.Topics[r.PathValue("id")]; t != nil {
			h(w, r, t)
			return
		}
		p.refuse(w, r, http.StatusNotFound, "unknown topic")
	}
}

func (p *Plane) document(w http.ResponseWriter, r *http.Request, status int, d *topic.Document) {
	body, err := d.JSON()
	if err != nil {
		p.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	p.answer(w, r, status, body)
}

func (p *Plane) status(w http.ResponseWriter, r *http.Request) {
	h := p.host
	p.value(w, r, http.StatusOK, map[string]any{
		"challenge_id": "proof", "scoring_version": 1, "score_max": 1000000, "eval_image": p.Pin.EvalImage, "eval_image_digest": p.Pin.EvalImageDigest,
		"inference_offer": h.Inference.Public(), "eval_executor": h.Executor.Public(), "eval_backend": h.Backend(), "force_sim": h.Sim, "sim_stub_win": h.Sim,
		"can_score": len(h.ScorableTopics()) > 0, "live_harvest_wired": h.Harvest != nil, "custom_family_wired": len(h.RegisteredCustom()) > 0,
		"baseline_sealed": h.BaselineSealed(), "open_topics": h.OpenTopics(), "scorable_topics": h.ScorableTopics(),
		"registered_custom": h.RegisteredCustom(), "custom_ready": h.CustomReady(), "epoch": h.Epoch,
		"epoch_closes_at": "2026-12-01T00:00:00Z", "store": "sqlite", "production": false, "signature_required": h.SignatureRequired,
		"sandbox": map[string]any{"driver": "fake", "ready": true},
	})
}

func (p *Plane) topics(w http.ResponseWriter, r *http.Request) {
	want := r.URL.Query().Get("status")
	if want == "" {
		want = "open"
	}
	items := []jsontext.Value{}
	for _, t := range p.host.Topics {
		if want == "all" || want == string(t.Document.Status) {
			if body, err := t.Document.JSON(); err == nil {
				items = append(items, body)
			}
		}
	}
	slices.SortFunc(items, func(a, b jsontext.Value) int { return strings.Compare(string(a), string(b)) })
	p.value(w, r, http.StatusOK, map[string]any{"items": items})
}

func (p *Plane) readiness(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
	missing := []map[string]string{}
	if !t.Document.OpenAt(p.host.Epoch) && !p.HostRowsOnly {
		missing = append(missing, map[string]string{"row": "5", "name": "not_open", "error": "topic is not open"})
	}
	for _, refusal := range p.host.Unready(t) {
		missing = append(missing, map[string]string{"row": refusal.Row, "name": refusal.Name, "error": refusal.Text})
	}
	p.value(w, r, http.StatusOK, map[string]any{
		"topic_id": t.Document.ID, "scorable": len(missing) == 0 && t.Document.OpenAt(p.host.Epoch), "missing": missing,
	})
}

// submit walks the real gate and keeps what decision 6 keeps of a flight.
func (p *Plane) submit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, intake.MaxBody+1))
	if err != nil {
		p.refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	p.posts = append(p.posts, body)
	facts := &intake.Facts{ContentType: r.Header.Get("Content-Type"), Body: body, Host: p.host}
	s, refusal := intake.Before(facts)
	var outcome *intake.Outcome
	if refusal == nil {
		nonce := s.Hotkey + "/" + *s.Request.SubmitNonce
		if known, used := p.nonces[nonce]; used {
			facts.Miner.Nonce = intake.NonceOtherBody
			if known == s.Body {
				facts.Miner.Nonce = intake.NonceSameBody
			}
		}
		f := p.flights[s.Digest]
		facts.Miner.InFlight = f != nil && f.refusal == nil
		if outcome, refusal = intake.After(facts, s); refusal == nil {
			p.nonces[nonce] = s.Body
		}
	}
	switch {
	case refusal != nil:
		p.refuse(w, r, refusal.Status, refusal.Text)
	case outcome.Kind == intake.Rejoin:
		p.became(w, r, s.Digest)
	case outcome.Kind == intake.Reject:
		p.persist(w, r, http.StatusCreated, outcome, intake.Result{})
	default:
		p.flights[s.Digest] = &flight{outcome: outcome, looks: p.Looks}
		if r.Header.Get("Prefer") == "respond-async" {
			p.value(w, r, http.StatusAccepted, map[string]string{"submission_digest": s.Digest})
			return
		}
		p.flights[s.Digest].looks = 0
		p.became(w, r, s.Digest)
	}
}

func (p *Plane) byDigest(w http.ResponseWriter, r *http.Request) {
	p.became(w, r, r.PathValue("digest"))
}

// became answers what a submission is now, and lets its run go on by one look.
func (p *Plane) became(w http.ResponseWriter, r *http.Request, digest string) {
	f := p.flights[digest]
	if f == nil {
		for _, row := range slices.Backward(p.rows) {
			if row.SubmissionDigest == digest {
				p.value(w, r, http.StatusOK, row.Answer(p.host.Backend()))
				return
			}
		}
		p.refuse(w, r, http.StatusNotFound, "not_found")
		return
	}
	if f.refusal == nil && f.looks > 0 {
		f.looks--
		state := map[string]any{"submission_digest": digest, "state": "queued", "position": f.looks}
		if f.looks == 0 {
			state = map[string]any{"submission_digest": digest, "state": "running", "phase": "inspecting", "age_s": 12}
		}
		p.value(w, r, http.StatusOK, state)
		return
	}
	if f.refusal == nil {
		p.finish(w, r, digest, f)
		return
	}
	p.value(w, r, http.StatusOK, map[string]any{"submission_digest": digest, "state": "refused", "status": f.refusal.Status, "error": f.refusal.Text})
}

func (p *Plane) finish(w http.ResponseWriter, r *http.Request, digest string, f *flight) {
	s := f.outcome.Submission
	run := p.Run(s)
	if run.Fault != "" {
		f.refusal = &intake.Refusal{Status: http.StatusServiceUnavailable, Text: run.Fault}
		delete(p.nonces, s.Hotkey+"/"+*s.Request.SubmitNonce) // a refusal burns no nonce (decision 5)
		p.became(w, r, digest)
		return
	}
	verdict, err := family.JudgeRun(intake.Scored(s.Topic.Document), family.Metrics{CustomValue: &p.sealed}, family.Run{
		DeclaredFlops: s.Request.DeclaredFLOPs, FlopsUsed: &run.Used, PrimaryValue: run.Primary, RulesVersion: 1, Failure: "exit code 1",
	})
	if err != nil {
		p.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	delete(p.flights, digest)
	p.persist(w, r, http.StatusOK, f.outcome, intake.Result{Verdict: verdict, Crowned: run.Crowned && verdict.Pass})
}

func (p *Plane) persist(w http.ResponseWriter, r *http.Request, status int, o *intake.Outcome, res intake.Result) {
	row, _, err := o.Persist(intake.ID(len(p.rows)), res)
	if err != nil {
		p.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	p.rows = append(p.rows, row)
	p.value(w, r, status, row.Answer(p.host.Backend()))
}

func (p *Plane) public(row *intake.StoredRow) *intake.StoredRow {
	_, closed := p.closed[row.Epoch]
	return row.Public(closed)
}

func (p *Plane) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil {
		limit = 100
	}
	items, next := []*intake.StoredRow{}, any(nil)
	for _, row := range slices.Backward(p.rows) {
		if q.Get("topic") != "" && q.Get("topic") != row.TopicID || q.Get("hotkey") != "" && q.Get("hotkey") != row.MinerHotkey ||
			q.Get("before") != "" && row.ID >= q.Get("before") {
			continue
		}
		if len(items) == limit {
			next = items[limit-1].ID
			break
		}
		items = append(items, p.public(row))
	}
	p.value(w, r, http.StatusOK, map[string]any{"items": items, "next": next})
}

func (p *Plane) row(w http.ResponseWriter, r *http.Request) {
	for _, row := range p.rows {
		if row.ID == r.PathValue("id") {
			p.value(w, r, http.StatusOK, p.public(row))
			return
		}
	}
	p.refuse(w, r, http.StatusNotFound, "not_found")
}

func (p *Plane) epochs(w http.ResponseWriter, r *http.Request) {
	closed := []map[string]any{}
	for n, snapshot := range p.closed {
		sum := sha256.Sum256(snapshot)
		closed = append(closed, map[string]any{"epoch": n, "sha256": hex.EncodeToString(sum[:]), "closed_at": "2026-11-30T00:00:00Z"})
	}
	p.value(w, r, http.StatusOK, map[string]any{"current": p.host.Epoch, "closes_at": nil, "closed": closed})
}

func (p *Plane) epoch(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseUint(r.PathValue("n"), 10, 64)
	data, closed := p.closed[n]
	if err != nil || !closed {
		p.refuse(w, r, http.StatusNotFound, fmt.Sprintf("epoch %d is not closed", n))
		return
	}
	switch r.PathValue("what") {
	case "snapshot":
		p.answer(w, r, http.StatusOK, data)
	case "payout":
		s, err := payout.ParseSnapshot(data)
		if err != nil {
			p.refuse(w, r, http.StatusInternalServerError, err.Error())
			return
		}
		result, err := payout.Payout(s)
		if err != nil {
			p.refuse(w, r, http.StatusInternalServerError, err.Error())
			return
		}
		p.value(w, r, http.StatusOK, result)
	default:
		p.refuse(w, r, http.StatusNotFound, "not_found")
	}
}

func (p *Plane) ruleSet(id string) map[string]any {
	sets := p.rules[id]
	newest := sets[len(sets)-1]
	rules := []map[string]string{}
	for _, rule := range newest.Rules {
		rules = append(rules, map[string]string{"id": rule.ID, "text": rule.Text})
	}
	return map[string]any{"topic_id": id, "version": newest.Version, "source": newest.Source, "rules": rules}
}

func body[T any](r *http.Request) (v T, err error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, intake.MaxBody))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	return v, err
}
