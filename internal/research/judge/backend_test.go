package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
)

const (
	key      = `sk-planted"secret-5f2c`
	model    = "vendor/judge-1:q8"
	topicID  = "dt-no-ib-v0"
	fileName = "planted-key-file"
)

// request is what a backend received.
type request struct {
	Path, Authorization string
	Body                map[string]any
}

// backend is an OpenAI-compatible server that behaves, until a test gives it turns:
// the n-th request is answered by the n-th turn, the last turn stays.
type backend struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []request
	turns []http.HandlerFunc
}

func newBackend(t *testing.T, turns ...http.HandlerFunc) *backend {
	t.Helper()
	b := &backend{turns: turns}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.Close)
	return b
}

func (b *backend) serve(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	data, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(data, &body); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	n := len(b.seen)
	b.seen = append(b.seen, request{r.URL.Path, r.Header.Get("Authorization"), body})
	b.mu.Unlock()
	if len(b.turns) == 0 {
		chat(`{"topic_id":"`+topicID+`","verdict":"clean"}`)(w, r)
		return
	}
	b.turns[min(n, len(b.turns)-1)](w, r)
}

func (b *backend) requests() []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]request(nil), b.seen...)
}

// answer writes a body as JSON.
func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, body)
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		// Backends quote the key when they refuse it.
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, key)
	}
}

// completion is a whole answer with one member replaced.
func completion(text, name, value string) string {
	quoted, _ := json.Marshal(text)
	members := map[string]string{
		"id": `"chatcmpl-1"`, "object": `"chat.completion"`, "model": `"` + model + `"`,
		"choices": `[{"index":0,"message":{"role":"assistant","content":` + string(quoted) + `},"text":` + string(quoted) + `,"finish_reason":"stop"}]`,
		"usage":   `{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19}`,
	}
	if name != "" {
		members[name] = value
	}
	var list []string
	for k, v := range members {
		if v != "" {
			list = append(list, `"`+k+`":`+v)
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

func chat(text string) http.HandlerFunc { return answer(completion(text, "", "")) }

func keyFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fileName)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// client is a client of the backend, without waits between attempts.
func client(t *testing.T, origin string, edits ...func(*Options)) *Client {
	t.Helper()
	o := For(offer.Judge{
		Provider: pin.OpenAICompatible, Origin: offer.Origin(origin + "/v1"), Model: model, Mode: pin.Chat,
		MaxInputTokens: 200, MaxOutputTokens: 50,
	}, nil, keyFile(t, key+"\n"))
	o.Timeout = 5 * time.Second
	o.Wait = func(context.Context, time.Duration) error { return nil }
	for _, edit := range edits {
		edit(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func ask(c *Client) (*Reply, error) {
	return c.Chat(context.Background(), Prompt{Messages: []Message{{"system", "answer in JSON"}, {"user", "is it clean?"}}})
}

// fails checks the kind of an error, and that it shows nothing that was planted.
func fails(t *testing.T, err error, kind Kind, planted ...string) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("got %v (%T), want an Error of kind %s", err, err, kind)
	}
	if e.Kind != kind {
		t.Fatalf("got kind %s (%v), want %s", e.Kind, err, kind)
	}
	silent(t, fmt.Sprintf("%v %+v %#v %s", err, err, err, err), planted...)
}

func silent(t *testing.T, text string, planted ...string) {
	t.Helper()
	for _, secret := range append(planted, "planted", "127.0.0.1", "sk-", fileName) {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("%q shows %q", text, secret)
		}
	}
}
