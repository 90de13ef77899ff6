package api

import (
	"context"
	"encoding/json/v2"
	"net/http"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/strict"
	"github.com/prova-dev/prova/internal/research/topic"
)

// change is an admin route that changes something: it gets the body and says what it
// was about, for the audit, and what is answered.
type change func(ctx context.Context, r *http.Request, body []byte) (subject string, status int, answer any, err error)

// admin are the routes of the operator (decision 18).
func (s *server) admin() []route {
	get := func(path string, serve handle) route {
		return route{http.MethodGet, "/v1/admin/proof" + path, s.placed(func(w http.ResponseWriter, r *http.Request) error {
			if _, err := s.bearer(r); err != nil {
				return unauthorized(w, err)
			}
			return serve(w, r)
		})}
	}
	post := func(path, action string, limit int64, do change) route {
		return route{http.MethodPost, "/v1/admin/proof" + path, s.placed(s.audited(action, limit, do))}
	}
	return []route{
		post("/topics", "topic.publish", topic.MaxSize, s.publish),
		post("/executor", "executor.set", strict.MaxSize, s.setExecutor),
		get("/topics/{id}/presend", s.presend),
		post("/topics/{id}/setup", "topic.setup", maxSmall, s.setup),
		post("/topics/{id}/rules", "rules.edit", strict.MaxSize, s.editRules),
		get("/topics/{id}/lifecycle", s.lifecycle),
		get("/topics/{id}/measurement", s.measurement),
		get("/vm-orchestrator", s.probe),
		post("/reload", "host.reload", maxSmall, s.reload),
		get("/audit", s.audit),
	}
}

// maxSmall is the size of a body that holds a word or two.
const maxSmall = 16 << 10

func unauthorized(w http.ResponseWriter, err error) error {
	if isRefusedBearer(err) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="proof"`)
	}
	return err
}

// audited serves a change: bearer, then body, then the change, then its entry in the
// audit, which is written also for one that was refused or whose client has gone.
func (s *server) audited(action string, limit int64, do change) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		label, err := s.bearer(r)
		if err != nil {
			return unauthorized(w, err)
		}
		var subject string
		var status int
		var out any
		body, err := httpx.Body(w, r, limit)
		if err == nil && len(body) > 0 {
			err = httpx.RequireJSON(r)
		}
		if err == nil {
			subject, status, out, err = do(r.Context(), r, body)
		}
		if err != nil {
			status, _, _ = meaning(err)
		}
		if subject == "" {
			subject = r.PathValue("id")
		}
		entry := ledger.AuditEntry{At: s.o.Now(), TokenLabel: label, Action: action, Subject: subject, Status: status}
		s.o.Log.InfoContext(r.Context(), "admin", "token", label, "action", action, "subject", subject, "status", status)
		if fault := s.host.Audit(context.WithoutCancel(r.Context()), entry); fault != nil {
			// What was done is done; a second answer would only have it done twice.
			s.o.Log.ErrorContext(r.Context(), "the audit was not written", "token", label, "action", action, "subject", subject, "error", fault)
		}
		if err != nil {
			return err
		}
		if raw, is := out.([]byte); is {
			return text(w, status, raw)
		}
		return value(w, status, out)
	}
}

func (s *server) publish(ctx context.Context, _ *http.Request, body []byte) (string, int, any, error) {
	subject := named(body, "id")
	document, err := s.host.Publish(ctx, body)
	return subject, http.StatusCreated, document, err
}

func (s *server) setExecutor(ctx context.Context, _ *http.Request, body []byte) (string, int, any, error) {
	subject := named(body, "offer_id")
	set, err := s.host.SetExecutor(ctx, body)
	return subject, http.StatusCreated, set, err
}

// named reads what a document calls itself, for the audit; empty when that is no id.
func named(body []byte, member string) string {
	var all map[string]any
	if json.Unmarshal(body, &all) != nil {
		return ""
	}
	if id, ok := all[member].(string); ok && shape.Slug(id) {
		return id
	}
	return ""
}

func (s *server) presend(w http.ResponseWriter, r *http.Request) error {
	shown, err := s.host.Presend(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return value(w, http.StatusOK, shown)
}

// read takes a small document apart (decision 8).
func read(body []byte, reader strict.Reader) error {
	v, err := strict.JSON(body)
	if err == nil {
		err = reader(v, "")
	}
	return unread(err)
}

func (s *server) setup(ctx context.Context, r *http.Request, body []byte) (string, int, any, error) {
	var approve *bool
	var reason string
	err := read(body, strict.Object(
		strict.Key("approve", strict.Optional(&approve, strict.Bool)),
		strict.Key("reason", strict.String(&reason)),
	))
	if err == nil && approve == nil {
		err = bad(http.StatusUnprocessableEntity, "approve is required: true or false, the owner's word")
	}
	if err != nil {
		return "", 0, nil, err
	}
	started, err := s.host.Setup(ctx, r.PathValue("id"), host.Approval{Approve: *approve, Reason: reason})
	return "", http.StatusAccepted, started, err
}

func (s *server) editRules(ctx context.Context, r *http.Request, body []byte) (string, int, any, error) {
	var items []topic.ChecklistItem
	one := func(dst *topic.ChecklistItem) strict.Reader {
		return strict.Object(strict.Key("id", strict.String(&dst.ID)), strict.Key("text", strict.String(&dst.Text)))
	}
	if err := read(body, strict.Object(strict.Key("rules", strict.List(&items, one)))); err != nil {
		return "", 0, nil, err
	}
	set, err := s.host.EditRules(ctx, r.PathValue("id"), items)
	if err != nil {
		return "", 0, nil, err
	}
	out, err := wireRules(set)
	return "", http.StatusCreated, out, err
}

func (s *server) lifecycle(w http.ResponseWriter, r *http.Request) error {
	life, err := s.host.Lifecycle(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return value(w, http.StatusOK, life)
}

func (s *server) measurement(w http.ResponseWriter, r *http.Request) error {
	m, err := s.host.Measurement(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return value(w, http.StatusOK, m)
}

func (s *server) probe(w http.ResponseWriter, r *http.Request) error {
	return value(w, http.StatusOK, s.host.Probe(r.Context()))
}

func (s *server) reload(ctx context.Context, _ *http.Request, _ []byte) (string, int, any, error) {
	return "", http.StatusOK, struct {
		Reloaded bool `json:"reloaded"`
	}{true}, s.host.Reload(ctx)
}

// audit lists what admins did, the newest first.
func (s *server) audit(w http.ResponseWriter, r *http.Request) error {
	const most, usual = 1000, "100"
	q, err := parameters(r.URL.RawQuery, "limit")
	if err != nil {
		return err
	}
	sent := q.Get("limit")
	if sent == "" {
		sent = usual
	}
	n, err := limit(sent, most)
	if err != nil {
		return err
	}
	entries, err := s.host.AuditLog(r.Context(), n)
	if err != nil {
		return err
	}
	type entry struct {
		At      time.Time `json:"at"`
		Token   string    `json:"token"` // its label
		Action  string    `json:"action"`
		Subject string    `json:"subject"`
		Status  int       `json:"status"`
	}
	list := items[entry]{[]entry{}}
	for _, e := range entries {
		list.Items = append(list.Items, entry{e.At.UTC(), e.TokenLabel, e.Action, e.Subject, e.Status})
	}
	return value(w, http.StatusOK, list)
}
