package agentd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

const (
	// maxBody is the size in bytes of the largest request: a job carries a topic
	// document or a rule set, never an artefact.
	maxBody = 4 << 20
	// answerTime is how long an answer may take to be read by its caller; the tree
	// of an inspected artefact is up to a frame of 256 MiB.
	answerTime = 10 * time.Minute
)

// Handler is the API of R§22. Every route, unknown ones included, asks for the
// bearer first; every answer that is not 2xx is a wire.Error.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(wire.RouteHealth, func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, r, http.StatusOK, a.Health(r.Context()), nil)
	})
	mux.HandleFunc(wire.RouteCreate, func(w http.ResponseWriter, r *http.Request) {
		var request wire.CreateRequest
		if !a.read(w, r, &request) {
			return
		}
		began := a.o.Now()
		record, err := a.Create(r.Context(), request.Spec)
		vm := ""
		if record != nil {
			vm = record.Handle.VMID
		}
		a.audit(r.Context(), "create", request.Spec.TopicID, vm, began, err)
		a.answer(w, r, http.StatusCreated, record, err)
	})
	mux.HandleFunc(wire.RouteAttach, func(w http.ResponseWriter, r *http.Request) {
		record, err := a.Attach(r.Context(), r.PathValue("topic_id"))
		a.answer(w, r, http.StatusOK, record, err)
	})
	mux.HandleFunc(wire.RouteRun, func(w http.ResponseWriter, r *http.Request) {
		var request wire.JobRequest
		if !a.read(w, r, &request) {
			return
		}
		began := a.o.Now()
		response, err := a.Run(r.Context(), r.PathValue("vm_id"), &request)
		a.audit(r.Context(), "job "+string(request.Job.Kind), request.TopicID, r.PathValue("vm_id"), began, err)
		a.answer(w, r, http.StatusOK, response, err)
	})
	mux.HandleFunc(wire.RouteTeardown, func(w http.ResponseWriter, r *http.Request) {
		var request wire.TeardownRequest
		if !a.read(w, r, &request) {
			return
		}
		began := a.o.Now()
		response, err := a.Teardown(r.Context(), r.PathValue("vm_id"), &request)
		a.audit(r.Context(), "teardown "+string(request.Policy), request.TopicID, r.PathValue("vm_id"), began, err)
		a.answer(w, r, http.StatusOK, response, err)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, r, 0, nil, fault(wire.CodeNotFound, errors.New("no such route for this method")))
	})
	return httpx.Drain(a.recovered(a.bearer(mux)))
}

// bearer lets through who has the token.
func (a *Agent) bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.authorized(r); err != nil {
			a.o.Log.WarnContext(r.Context(), "bearer refused", "remote", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", "Bearer")
			a.answer(w, r, 0, nil, fault(wire.CodeUnauthorized, err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// recovered turns a panic of a handler into an answer of the API's own form.
func (a *Agent) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := guarded(func() outcome {
			next.ServeHTTP(w, r)
			return outcome{}
		})
		if got.err != nil {
			a.answer(w, r, 0, nil, fault(wire.CodeBackend, a.logged(got.err)))
		}
	})
}

// read takes the body as one document of the type v points at. What it refuses,
// it has answered. Afterwards the connection has no deadline but the caller's
// own: a job may take hours, and its caller's leaving must still be noticed.
func (a *Agent) read(w http.ResponseWriter, r *http.Request, v any) bool {
	body, err := httpx.Body(w, r, maxBody)
	if err == nil {
		control := http.NewResponseController(w)
		// A writer without a network, a test's, has no deadlines to lift.
		if err := errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})); err != nil && !errors.Is(err, http.ErrNotSupported) {
			a.o.Log.WarnContext(r.Context(), "the connection keeps its deadlines", "error", err)
		}
		err = wire.Decode(body, v)
	}
	if err != nil {
		a.answer(w, r, 0, nil, fault(wire.CodeBadSpec, fmt.Errorf("request body: %w", err)))
		return false
	}
	return true
}

// answer writes a document, or an error with the status of its code.
func (a *Agent) answer(w http.ResponseWriter, r *http.Request, status int, document any, err error) {
	var body []byte
	if err == nil {
		if body, err = wire.Encode(document); err == nil && len(body) > wire.MaxFrame {
			err = fmt.Errorf("the answer has %d bytes; at most %d are sent", len(body), wire.MaxFrame)
		}
	}
	if err != nil {
		refusal := fault(wire.CodeBackend, err)
		if status = refusal.Code.Status(); status == 0 {
			status = http.StatusBadGateway
		}
		// A driver's text may be anything; what is no UTF-8 is not sent.
		if body, err = wire.Encode(refusal); err != nil {
			body = []byte(`{"code":"backend","error":"the hypervisor gave a reason that is no text"}`)
		}
	}
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(answerTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		a.o.Log.WarnContext(r.Context(), "the answer has no deadline", "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body)
}

// audit writes what was asked for and what came of it: names and codes, nothing
// of a job's content.
func (a *Agent) audit(ctx context.Context, action, topic, vm string, began time.Time, err error) {
	code := wire.Code("ok")
	if err != nil {
		code = fault(wire.CodeBackend, err).Code
	}
	a.o.Log.InfoContext(ctx, "audit", "action", action, "topic", topic, "vm", vm, "code", string(code), "ms", a.o.Now().Sub(began).Milliseconds())
}
