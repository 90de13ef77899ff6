package harvest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// fakeLium answers as Lium's API is known to (see doc.go), over pods that are real
// SSH servers in this process. Fields set before a run change how it behaves.
type fakeLium struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	seen      []string // method and path of every request
	templates []map[string]any
	machines  []map[string]any
	pods      map[string]*pod
	next      int

	// instead answers in place of the server; false: let it answer.
	instead func(w http.ResponseWriter, r *http.Request) bool
	// edit changes a pod as it is listed.
	edit func(listed map[string]any)
	// readyAfter is how many lists show a new pod without an address.
	readyAfter int
	// keeps says that terminated pods stay.
	keeps bool
	// unverified says that a new template needs one more look to be verified.
	unverified bool
	// run is what the image's entry does in new pods.
	run func(p *pod) (exit int)
	// pod changes a new pod before it starts.
	pod func(p *pod)
}

func newFakeLium(t *testing.T) *fakeLium {
	l := &fakeLium{t: t, pods: map[string]*pod{}, run: (*pod).evaluate}
	l.machines = []map[string]any{machine("gpu-1", 1, 1.5)}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(func() {
		l.Close()
		for _, p := range l.pods {
			p.stop()
		}
	})
	return l
}

func machine(id string, gpus int, price float64) map[string]any {
	return map[string]any{
		"id": id, "price_per_hour": price, "rented": false, "machine_name": "NVIDIA H100",
		"specs": map[string]any{"gpu": map[string]any{"count": gpus}},
	}
}

func (l *fakeLium) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, r.Method+" "+r.URL.Path)
	if r.Header.Get("X-API-Key") != liumKey {
		http.Error(w, `{"detail":"Invalid API key `+r.Header.Get("X-API-Key")+`"}`, http.StatusUnauthorized)
		return
	}
	if l.instead != nil && l.instead(w, r) {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api")
	var body map[string]any
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, "bad", http.StatusUnprocessableEntity)
			return
		}
	}
	switch {
	case r.Method == http.MethodGet && path == "/templates":
		reply(w, l.templates)
		for _, t := range l.templates {
			if t["status"] == "CREATED" {
				t["status"] = "VERIFY_SUCCESS"
			}
		}
	case r.Method == http.MethodPost && path == "/templates":
		body["id"], body["status"] = l.id("tpl"), "VERIFY_SUCCESS"
		if l.unverified {
			body["status"] = "CREATED"
		}
		l.templates = append(l.templates, body)
		reply(w, body)
	case r.Method == http.MethodGet && path == "/executors":
		reply(w, l.machines)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/rent"):
		l.rent(w, strings.TrimSuffix(strings.TrimPrefix(path, "/executors/"), "/rent"), body)
	case r.Method == http.MethodGet && path == "/pods":
		list := []map[string]any{}
		for _, p := range l.pods {
			listed := p.listed(l.readyAfter)
			if l.edit != nil {
				l.edit(listed)
			}
			list = append(list, listed)
		}
		reply(w, list)
	case r.Method == http.MethodDelete && strings.HasPrefix(path, "/pods/"):
		p := l.pods[strings.TrimPrefix(path, "/pods/")]
		if p == nil {
			http.Error(w, "no such pod", http.StatusNotFound)
			return
		}
		if !l.keeps {
			delete(l.pods, p.id)
			p.stop()
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

func (l *fakeLium) rent(w http.ResponseWriter, machineID string, body map[string]any) {
	var found map[string]any
	for _, m := range l.machines {
		if m["id"] == machineID {
			found = m
		}
	}
	if found == nil {
		http.Error(w, "no such executor", http.StatusNotFound)
		return
	}
	p := newPod(l.t, l.id("pod"), fmt.Sprint(body["pod_name"]), fmt.Sprint(body["template_id"]), body["user_public_key"].([]any)[0].(string))
	p.run, p.machine = l.run, found
	if l.pod != nil {
		l.pod(p)
	}
	l.pods[p.id] = p
	reply(w, map[string]any{"message": "renting"})
}

func (l *fakeLium) id(prefix string) string {
	l.next++
	return fmt.Sprintf("%s-%d", prefix, l.next)
}

// leave adds a pod that an earlier process rented.
func (l *fakeLium) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := newPod(l.t, l.id("old"), name, "tpl", "")
	p.machine = machine("gpu-0", 1, 1)
	l.pods[p.id] = p
}

func (l *fakeLium) live() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pods)
}

// count is how many requests began with a method and path.
func (l *fakeLium) count(prefix string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, s := range l.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
