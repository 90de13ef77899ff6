package harvest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// at returns a client of a server that answers everything with one handler, and how
// often it did.
func at(t *testing.T, handler http.HandlerFunc) (*Lium, *atomic.Int32) {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		// A server notices that its client left only once it has read the body.
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	l, err := NewLium(LiumOptions{URL: s.URL, Key: liumKey, Timeout: 200 * time.Millisecond, Wait: noWait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, &n
}

func jsonBody(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}
}

func TestTheProvidersMisbehaviourIsNamedAndNotQuoted(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		text    string
		asked   int32
	}{
		"a refused key": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "bad key "+liumKey, http.StatusUnauthorized)
		}, "lium: list pods: answered 401", 1},
		"an error":          {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, liumKey, http.StatusInternalServerError) }, "lium: list pods: answered 500", liumTries},
		"too many requests": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, liumKey, http.StatusTooManyRequests) }, "lium: list pods: answered 429", liumTries},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://planted.example/", http.StatusFound)
		}, "lium: list pods: answered 302, which is not followed", 1},
		"a page":              {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>"+liumKey) }, "lium: list pods: the answer is not application/json", 1},
		"no list":             {jsonBody(`{"detail":"planted"}`), "lium: list pods: the answer is not of the expected form", 1},
		"a member twice":      {jsonBody(`[{"id":"a","id":"b"}]`), "lium: list pods: the answer is not of the expected form", 1},
		"a pod without an id": {jsonBody(`[{"pod_name":"proof-0123abcd"}]`), "lium: list pods: a pod has no usable id", 1},
		"a pod with a path":   {jsonBody(`[{"id":"../executors"}]`), "lium: list pods: a pod has no usable id", 1},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "[")
		}, "lium: list pods: the answer was cut off", liumTries},
		"too slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "lium: list pods: no answer", liumTries},
		"a flood": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for range liumMaxBody>>20 + 1 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "lium: list pods: the answer is too long", 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, n := at(t, tt.handler)
			if name == "a flood" {
				l.timeout = 10 * time.Second
			}
			pods, err := l.Pods(context.Background())
			if err == nil || pods != nil || err.Error() != tt.text {
				t.Errorf("got %v, %v, want %s", pods, err, tt.text)
			}
			if n.Load() != tt.asked {
				t.Errorf("asked %d times, want %d", n.Load(), tt.asked)
			}
		})
	}
}

func TestARentIsSentOnceAndSaysWhetherItMayHaveHadAnEffect(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		nothing bool
	}{
		"refused":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) }, true},
		"too many requests": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, true},
		"an error":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, false},
		"a redirect":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(307) }, false},
		"no answer":         {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l, n := at(t, tt.handler)
			err := l.Rent(context.Background(), Order{MachineID: "m", TemplateID: "t", PodName: "p"})
			fault := new(Fault)
			if !errors.As(err, &fault) || fault.Nothing != tt.nothing || n.Load() != 1 {
				t.Errorf("got %v (%+v) after %d requests", err, fault, n.Load())
			}
		})
	}
	l, n := at(t, jsonBody("{}"))
	for _, o := range []Order{{MachineID: "a/b", TemplateID: "t"}, {MachineID: "m", TemplateID: ""}} {
		if err := l.Rent(context.Background(), o); err == nil {
			t.Errorf("%+v was rented", o)
		}
	}
	if err := l.Terminate(context.Background(), "../templates/x"); err == nil || n.Load() != 0 {
		t.Errorf("an id with a path was sent (%v)", err)
	}
}

func TestAProviderThatIsNotThereHasDoneNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	l, err := NewLium(LiumOptions{URL: "http://" + address, Key: liumKey, Wait: noWait})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Rent(context.Background(), Order{MachineID: "m", TemplateID: "t"})
	fault := new(Fault)
	if !errors.As(err, &fault) || !fault.Nothing || err.Error() != "lium: rent a pod: cannot be reached" {
		t.Errorf("got %v", err)
	}
}

func TestTheRentNamesPodTemplateAndKey(t *testing.T) {
	var got string
	l, _ := at(t, func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 1000)
		n, _ := r.Body.Read(body)
		got = r.Method + " " + r.URL.Path + " " + r.Header.Get("X-API-Key") + " " + string(body[:n])
	})
	if err := l.Rent(context.Background(), Order{MachineID: "m-1", TemplateID: "t-1", PodName: "proof-0123abcd", SSHKey: "ssh-ed25519 AAAA"}); err != nil {
		t.Fatal(err)
	}
	want := "POST /executors/m-1/rent " + liumKey + ` {"pod_name":"proof-0123abcd","template_id":"t-1","user_public_key":["ssh-ed25519 AAAA"]}`
	if got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

func TestAPodThatIsGoneIsTerminated(t *testing.T) {
	l, n := at(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
	if err := l.Terminate(context.Background(), "pod-1"); err != nil || n.Load() != 1 {
		t.Errorf("got %v after %d requests", err, n.Load())
	}
}

func TestTheProvidersAddressAndKeyAreChecked(t *testing.T) {
	for name, o := range map[string]LiumOptions{
		"LIUM_API_BASE_URL no address":     {URL: "planted", Key: "k"},
		"LIUM_API_BASE_URL plain http":     {URL: "http://planted.example/api", Key: "k"},
		"LIUM_API_BASE_URL with a user":    {URL: "https://planted:pw@lium.io", Key: "k"},
		"LIUM_API_BASE_URL with a query":   {URL: "https://lium.io/?planted", Key: "k"},
		"LIUM_API_BASE_URL not parseable":  {URL: "https://planted%zz", Key: "k"},
		"LIUM_API_BASE_URL another scheme": {URL: "ftp://lium.io", Key: "k"},
		"LIUM_API_KEY missing":             {Key: " \n"},
		"LIUM_API_KEY of two lines":        {Key: "planted\nplanted"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewLium(o)
			if variable, _, _ := strings.Cut(name, " "); err == nil || !strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "planted") {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, u := range []string{"", "https://lium.io/api/", "http://localhost:1", "http://[::1]:1/api", "http://127.0.0.1"} {
		l, err := NewLium(LiumOptions{URL: u, Key: liumKey})
		if err != nil {
			t.Errorf("%q: %v", u, err)
			continue
		}
		if text := fmt.Sprintf("%v %+v %#v", l, l, l); strings.Contains(text, liumKey) || strings.Contains(text, "lium.io") {
			t.Errorf("%q shows itself", text)
		}
	}
}

func TestAnAddressOfAPodIsReadExactly(t *testing.T) {
	for command, want := range map[string]Endpoint{
		"ssh root@203.0.113.7 -p 20022":   {"root", "203.0.113.7", 20022},
		" ssh root@gpu-1.example -p 22\n": {"root", "gpu-1.example", 22},
		"ssh root@203.0.113.7":            {},
		"ssh root@203.0.113.7 -p 0":       {},
		"ssh root@203.0.113.7 -p 65536":   {},
		"ssh -oX=1 root@203.0.113.7 -p 1": {},
		"ssh root@-oProxyCommand=x -p 1":  {},
		"ssh root@a b -p 1":               {},
		"ssh root@a -p 1 rm":              {},
		"":                                {},
	} {
		got, ok := parseConnect(command)
		if got != want || ok != (want != Endpoint{}) {
			t.Errorf("%q: %+v, %v", command, got, ok)
		}
	}
}

// FuzzConnect looks for commands that are read as something else than they say.
func FuzzConnect(f *testing.F) {
	f.Add("ssh root@203.0.113.7 -p 20022")
	f.Add("ssh root@-x -p 1")
	f.Fuzz(func(t *testing.T, command string) {
		e, ok := parseConnect(command)
		if ok && fmt.Sprintf("ssh %s@%s -p %d", e.User, e.Host, e.Port) != strings.TrimSpace(command) && !strings.Contains(command, "-p 0") {
			t.Errorf("%q was read as %+v", command, e)
		}
	})
}
