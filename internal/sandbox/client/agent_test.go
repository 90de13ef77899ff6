package client_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/client"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

const (
	token = "tok-planted-5c1f"
	topic = "dp-opt-01"
	vmID  = "dp-opt-01-0001"
)

var (
	image      = "sha256:" + strings.Repeat("0", 64)
	submission = strings.Repeat("5", 64)
	artifact   = strings.Repeat("a", 64)
	handle     = wire.Handle{TopicID: topic, VMID: vmID}
)

func ptr[T any](v T) *T { return &v }

// agent is a host agent in this process. It behaves unless a test makes it not.
type agent struct {
	t     *testing.T
	calls atomic.Int32

	// What the good answers are turned into before they are sent.
	record   func(*wire.Record)
	response func(*wire.JobResponse)
	teardown func(*wire.TeardownResponse)
	health   func(*wire.Health)
	// raw answers in the place of everything else when it is set.
	raw http.HandlerFunc

	seen struct{ method, path, bearer, body string }
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.calls.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	a.seen.method, a.seen.path, a.seen.bearer, a.seen.body = r.Method, r.URL.EscapedPath(), r.Header.Get("Authorization"), string(body)
	if a.raw != nil {
		a.raw(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+token {
		refuse(w, wire.CodeUnauthorized, "no")
		return
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == wire.HealthPath:
		h := wire.Health{APIVersion: 1, Ready: true, Hypervisor: "firecracker", VMs: 1}
		change(a.health, &h)
		send(w, http.StatusOK, h)
	case r.Method == http.MethodPost && r.URL.Path == wire.CreatePath:
		var c wire.CreateRequest
		a.decode(body, &c)
		record := wire.Record{Handle: handle, ImageDigest: c.Spec.Template.ImageDigest, VCPUs: c.Spec.Template.VCPUs, MemMiB: c.Spec.Template.MemMiB, Sandbox: c.Spec.Sandbox, Retain: c.Spec.Retain, State: wire.Running}
		change(a.record, &record)
		send(w, http.StatusCreated, record)
	case r.Method == http.MethodGet:
		record := wire.Record{Handle: handle, ImageDigest: image, VCPUs: 4, MemMiB: 8192, Retain: wire.Destroy, State: wire.Running}
		change(a.record, &record)
		send(w, http.StatusOK, record)
	case r.Method == http.MethodPost:
		var j wire.JobRequest
		a.decode(body, &j)
		out := good(&j.Job)
		change(a.response, out)
		send(w, http.StatusOK, out)
	case r.Method == http.MethodDelete:
		var d wire.TeardownRequest
		a.decode(body, &d)
		out := wire.TeardownResponse{TopicID: d.TopicID, VMID: vmID, State: wire.Destroyed, Confirmed: true}
		change(a.teardown, &out)
		send(w, http.StatusOK, out)
	}
}

func change[T any](f func(*T), v *T) {
	if f != nil {
		f(v)
	}
}

func (a *agent) decode(body []byte, v any) {
	if err := wire.Decode(body, v); err != nil {
		a.t.Errorf("the client sent %s: %v", body, err)
	}
}

func send(w http.ResponseWriter, status int, v any) {
	text, err := wire.Encode(v)
	if err != nil {
		panic(err)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func refuse(w http.ResponseWriter, code wire.Code, text string) {
	send(w, code.Status(), wire.Error{Code: code, Text: text})
}

// good is the answer of an agent that did the job.
func good(j *wire.Job) *wire.JobResponse {
	out := &wire.JobResponse{TopicID: topic, VMID: vmID, Output: wire.Output{Kind: wire.ForJob(j.Kind)}}
	switch j.Kind {
	case wire.ProposeRules:
		out.Output.Rules = []wire.Rule{{ID: "same_seed", Text: "The seed is the topic's."}}
	case wire.Inspect:
		out.Output.Checklist = &wire.Checklist{SchemaVersion: 1, TopicID: topic, RulesVersion: 1, SubmissionDigest: submission, ArtifactDigest: artifact, Items: []wire.ChecklistItem{}}
		out.Output.Artifact = []wire.File{{Path: "main.go", Bytes: wire.Bytes("package main")}}
	case wire.Baseline, wire.Evaluate:
		out.Output.Report = &wire.RunReport{SchemaVersion: 1, TopicID: topic, CustomID: "holdout_error", SubmissionDigest: submission, ArtifactDigest: artifact, RulesVersion: 1,
			PrimaryValue: ptr(0.5), Sandboxed: true, FlopsUsed: ptr[uint64](7), Evidence: jsontext.Value(`{}`)}
		out.Sister = &wire.Attestation{SisterVMID: vmID + "-s1", ImageDigest: image, TopicID: topic, SubmissionDigest: submission, ArtifactDigest: artifact, Sandboxed: true, Network: "none", FlopsUsed: ptr[uint64](7), ExitCode: ptr[int32](0)}
	}
	return out
}

func job(kind wire.JobKind) wire.Job {
	j := wire.Job{Kind: kind}
	switch kind {
	case wire.ProposeRules:
		j.Topic = jsontext.Value(`{"id":"` + topic + `"}`)
	case wire.Archive:
		j.TopicID = topic
	default:
		j.RunRequest = &wire.RunRequest{SchemaVersion: 1, TopicID: topic, CustomID: "holdout_error", Direction: "min", SubmissionDigest: submission, ArtifactDigest: artifact,
			Constraints: jsontext.Value(`{}`), RulesVersion: 1, Sandbox: wire.Sandbox{FirecrackerRequired: true, DeadlineS: 600}}
	}
	if kind == wire.Inspect {
		j.Rules = &wire.RuleSet{TopicID: topic, Version: 1, Source: "topic_document", Rules: []wire.Rule{}}
	}
	if kind == wire.Evaluate {
		j.RulesVersion = 1
	}
	return j
}

func spec() wire.Spec {
	return wire.Spec{TopicID: topic, Template: wire.Template{ImageDigest: image, VCPUs: 4, MemMiB: 8192}, Sandbox: wire.Sandbox{FirecrackerRequired: true, DeadlineS: 600}, Retain: wire.Destroy}
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start serves an agent on loopback and returns it with a client of it.
func start(t *testing.T, change ...func(*client.Options)) (*agent, *client.Client) {
	t.Helper()
	a := &agent{t: t}
	server := httptest.NewServer(a)
	o := client.Options{URL: server.URL, TokenFile: file(t, "token", token+"\n"), ImageDigest: image}
	for _, f := range change {
		f(&o)
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); server.Close() })
	return a, c
}

// refused asserts a Fault with a text that gives nothing away.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	var fault *client.Fault
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want a fault with %q", err, want)
		return
	}
	for _, secret := range []string{token, "127.0.0.1", "localhost", os.TempDir(), "http://", "https://"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q is in %q", secret, err)
		}
	}
}

func TestSection21EveryCallOverTLS(t *testing.T) {
	a := &agent{t: t}
	server := httptest.NewTLSServer(a)
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c, err := client.New(client.Options{URL: server.URL + "/", TokenFile: file(t, "token", "  "+token+"\n"), CAFile: file(t, "ca.pem", string(authority)), ImageDigest: image})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	if err := c.Ready(ctx); err != nil || a.calls.Load() != 0 {
		t.Fatalf("ready: %v after %d calls, want none", err, a.calls.Load())
	}
	h, err := c.Probe(ctx)
	if err != nil || !h.Ready || h.Hypervisor != "firecracker" || a.seen.bearer != "Bearer "+token {
		t.Error(h, err)
	}
	r, err := c.Create(ctx, spec())
	if err != nil || r.Handle != handle {
		t.Fatal(r, err)
	}
	if r, err = c.Attach(ctx, topic); err != nil || r.Handle != handle || a.seen.path != "/v1/vms/by-topic/dp-opt-01" {
		t.Error(r, err, a.seen.path)
	}
	for _, kind := range []wire.JobKind{wire.ProposeRules, wire.Baseline, wire.Inspect, wire.Evaluate, wire.Archive} {
		out, err := c.Run(ctx, handle, job(kind))
		if err != nil || out.Output.Kind != wire.ForJob(kind) || a.seen.path != "/v1/vms/dp-opt-01-0001/jobs" {
			t.Errorf("%s: %v, %v", kind, out, err)
		}
	}
	confirmed, err := c.Teardown(ctx, handle, "")
	if err != nil || !confirmed || a.seen.method != "DELETE" || a.seen.path != "/v1/vms/dp-opt-01-0001" || !strings.Contains(a.seen.body, `"policy":"destroy"`) {
		t.Error(confirmed, err, a.seen)
	}
}

func TestSection21ACertificateOfAnotherAuthorityIsNotTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(&agent{t: t})
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, TokenFile: file(t, "token", token), ImageDigest: image})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Probe(t.Context())
	refused(t, err, "orchestrator unreachable: its certificate is not trusted")
}

func TestSection21WhatIsWired(t *testing.T) {
	tokenFile := file(t, "token", token)
	for name, c := range map[string]struct {
		o       client.Options
		unwired bool
		text    string // of the error; empty for none
	}{
		"https":                              {client.Options{URL: "https://kvm.example.org:8200", TokenFile: tokenFile}, false, ""},
		"http to 127.0.0.1":                  {client.Options{URL: "http://127.0.0.1:8200", TokenFile: tokenFile}, false, ""},
		"http to another loopback address":   {client.Options{URL: "http://127.9.9.9:8200", TokenFile: tokenFile}, false, ""},
		"http to ::1":                        {client.Options{URL: "http://[::1]:8200", TokenFile: tokenFile}, false, ""},
		"http to localhost":                  {client.Options{URL: "HTTP://LocalHost:8200", TokenFile: tokenFile}, false, ""},
		"a token file that is not there yet": {client.Options{URL: "https://kvm.example.org", TokenFile: "/nowhere/token"}, false, ""},
		"no URL":                             {client.Options{TokenFile: tokenFile}, true, "topic-vm orchestrator not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)"},
		"a blank URL":                        {client.Options{URL: " ", TokenFile: tokenFile}, true, "not wired"},
		"http off loopback":                  {client.Options{URL: "http://kvm.example.org:8200", TokenFile: tokenFile}, true, "PROOF_VM_ORCHESTRATOR_URL is neither https nor http to a loopback host"},
		"http to a name that looks local":    {client.Options{URL: "http://localhost.example.org", TokenFile: tokenFile}, true, "neither https nor http to a loopback host"},
		"http to a private address":          {client.Options{URL: "http://10.0.0.3:8200", TokenFile: tokenFile}, true, "neither https nor http to a loopback host"},
		"http to every address":              {client.Options{URL: "http://0.0.0.0:8200", TokenFile: tokenFile}, true, "neither https nor http to a loopback host"},
		"another scheme":                     {client.Options{URL: "unix://127.0.0.1/sock", TokenFile: tokenFile}, true, "neither https nor http to a loopback host"},
		"no scheme":                          {client.Options{URL: "kvm.example.org:8200", TokenFile: tokenFile}, true, "PROOF_VM_ORCHESTRATOR_URL"},
		"no host":                            {client.Options{URL: "https://", TokenFile: tokenFile}, true, "is no address"},
		"a port alone":                       {client.Options{URL: "https://:8200", TokenFile: tokenFile}, true, "is no address"},
		"a URL that cannot be read":          {client.Options{URL: "https://kvm\x7f.secret.example", TokenFile: tokenFile}, true, "is no address"},
		"a URL with a password":              {client.Options{URL: "https://me:secret@kvm.example.org", TokenFile: tokenFile}, true, "has a user, query or fragment"},
		"a URL with a query":                 {client.Options{URL: "https://kvm.example.org?secret=1", TokenFile: tokenFile}, true, "has a user, query or fragment"},
		"a URL without a token file":         {client.Options{URL: "https://kvm.example.org"}, false, "PROOF_VM_ORCHESTRATOR_URL is set and PROOF_VM_ORCHESTRATOR_TOKEN_FILE is not"},
		"an authority that is not there":     {client.Options{URL: "https://kvm.example.org", TokenFile: tokenFile, CAFile: "/nowhere/secret.pem"}, false, "PROOF_VM_ORCHESTRATOR_CA_FILE: the file does not exist"},
		"an authority that is none":          {client.Options{URL: "https://kvm.example.org", TokenFile: tokenFile, CAFile: tokenFile}, false, "PROOF_VM_ORCHESTRATOR_CA_FILE holds no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := client.New(c.o)
			if c.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				if local := strings.HasPrefix(strings.ToLower(c.o.URL), "http:"); got.Loopback() != local {
					t.Errorf("loopback is %v", got.Loopback())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.text) || errors.Is(err, client.ErrUnwired) != c.unwired {
				t.Errorf("got %v, want %q, unwired %v", err, c.text, c.unwired)
			}
			for _, secret := range []string{"secret", "kvm", "nowhere", token} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q is in %q", secret, err)
				}
			}
		})
	}
}

func TestSection15ReadyNamesEachMissingThing(t *testing.T) {
	for name, c := range map[string]struct {
		tokenFile string
		digest    string
		text      []string
	}{
		"nothing is missing":         {file(t, "token", token), image, nil},
		"no token file":              {"/nowhere/secret-token", image, []string{"PROOF_VM_ORCHESTRATOR_TOKEN_FILE: the file does not exist"}},
		"a directory for a file":     {t.TempDir(), image, []string{"PROOF_VM_ORCHESTRATOR_TOKEN_FILE: the file cannot be read"}},
		"an empty token file":        {file(t, "token", " \n\t"), image, []string{"PROOF_VM_ORCHESTRATOR_TOKEN_FILE: the file is empty"}},
		"two lines of token":         {file(t, "token", token+"\nX-Header: 1"), image, []string{"PROOF_VM_ORCHESTRATOR_TOKEN_FILE: the file holds more than one line"}},
		"a token that is not ASCII":  {file(t, "token", token+"é"), image, []string{"PROOF_VM_ORCHESTRATOR_TOKEN_FILE: the file holds more than"}},
		"a token file beyond bounds": {file(t, "token", strings.Repeat(token, 1000)), image, []string{"PROOF_VM_ORCHESTRATOR_TOKEN_FILE: the file is larger than"}},
		"no image pinned":            {file(t, "token", token), "", []string{"PROOF_RLM_VM_IMAGE_DIGEST"}},
		"a tag for a digest":         {file(t, "token", token), "latest", []string{"PROOF_RLM_VM_IMAGE_DIGEST"}},
		"both":                       {"/nowhere/secret-token", "", []string{"PROOF_VM_ORCHESTRATOR_TOKEN_FILE", "PROOF_RLM_VM_IMAGE_DIGEST"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, cl := start(t, func(o *client.Options) { o.TokenFile, o.ImageDigest = c.tokenFile, c.digest })
			err := cl.Ready(t.Context())
			if (err == nil) != (c.text == nil) {
				t.Fatal(err)
			}
			for _, text := range c.text {
				refused(t, err, text)
				if strings.Contains(err.Error(), "nowhere") {
					t.Error("the path is in ", err)
				}
			}
			if a.calls.Load() != 0 {
				t.Error("it asked over the network")
			}
		})
	}
}

func TestSection21TheTokenFileIsReadForEveryRequest(t *testing.T) {
	path := file(t, "token", "old")
	_, c := start(t, func(o *client.Options) { o.TokenFile = path })
	_, err := c.Probe(t.Context())
	refused(t, err, "orchestrator refused the bearer")
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != wire.CodeUnauthorized {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Probe(t.Context()); err != nil {
		t.Error("the new token is not used:", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = c.Probe(t.Context())
	refused(t, err, "PROOF_VM_ORCHESTRATOR_TOKEN_FILE")
	refused(t, c.Ready(t.Context()), "PROOF_VM_ORCHESTRATOR_TOKEN_FILE")
}

func TestSection21Timeouts(t *testing.T) {
	hang := func(o *client.Options) {
		o.Timeouts = client.Timeouts{Create: 30 * time.Millisecond, Job: 40 * time.Millisecond, Other: 20 * time.Millisecond, Grace: 50 * time.Millisecond}
	}
	a, c := start(t, hang)
	a.raw = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	_, err := c.Probe(t.Context())
	refused(t, err, "orchestrator did not answer health within 20ms")
	_, err = c.Create(t.Context(), spec())
	refused(t, err, "orchestrator did not answer create within 30ms")
	_, err = c.Run(t.Context(), handle, job(wire.Inspect))
	refused(t, err, "orchestrator did not answer job inspect within 40ms")
	short := job(wire.Evaluate)
	short.RunRequest.Sandbox.DeadlineS = 1
	began := time.Now()
	_, err = c.Run(t.Context(), handle, short)
	refused(t, err, "orchestrator did not answer job evaluate within 1.05s")
	if took := time.Since(began); took < time.Second {
		t.Errorf("it was given up after %s, before its own deadline", took)
	}
	endless := job(wire.Baseline)
	endless.RunRequest.Sandbox.DeadlineS = 1<<64 - 1
	ctx, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer done()
	_, err = c.Run(ctx, handle, endless)
	refused(t, err, "job baseline: the caller's time ended")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestACallEndsWithItsContextAndTheAgentLearnsOfIt(t *testing.T) {
	a, c := start(t)
	left := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	a.raw = func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		close(left)
	}
	_, err := c.Run(ctx, handle, job(wire.Evaluate))
	refused(t, err, "the caller's time ended")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-left:
	case <-time.After(5 * time.Second):
		t.Error("the agent still waits")
	}
}
