package agentd_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a hypervisor that does what a test says.
type scripted struct {
	ready atomic.Pointer[wire.Error]
	boot  func(ctx context.Context, spec wire.Spec, id string) (agentd.VM, error)

	mu  sync.Mutex
	vms []*machine
}

func (*scripted) Name() string { return "scripted" }

func (s *scripted) Ready(context.Context) error {
	if err := s.ready.Load(); err != nil {
		return err
	}
	return nil
}

func (s *scripted) Boot(ctx context.Context, spec wire.Spec, id string) (agentd.VM, error) {
	if s.boot != nil {
		return s.boot(ctx, spec, id)
	}
	m := &machine{id: id}
	s.mu.Lock()
	s.vms = append(s.vms, m)
	s.mu.Unlock()
	return m, nil
}

// machine is its VM.
type machine struct {
	id      string
	dead    atomic.Bool
	run     func(ctx context.Context, job wire.Job) (wire.Output, *wire.Attestation, error)
	release func(ctx context.Context, policy wire.Retain) error

	mu       sync.Mutex
	released []wire.Retain
}

func (m *machine) Alive() bool { return !m.dead.Load() }

func (m *machine) Run(ctx context.Context, job wire.Job) (wire.Output, *wire.Attestation, error) {
	if m.run != nil {
		return m.run(ctx, job)
	}
	output, sister := outcome(job)
	return output, sister, nil
}

func (m *machine) Release(ctx context.Context, policy wire.Retain) error {
	if m.release != nil {
		if err := m.release(ctx, policy); err != nil {
			return err
		}
	}
	m.dead.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.released = append(m.released, policy)
	return nil
}

func (m *machine) releases() []wire.Retain {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]wire.Retain{}, m.released...)
}

// outcome is what a well-behaved guest makes of a job.
func outcome(job wire.Job) (wire.Output, *wire.Attestation) {
	o := wire.Output{Kind: wire.ForJob(job.Kind)}
	r := job.Request()
	switch job.Kind {
	case wire.ProposeRules:
		o.Rules = []wire.Rule{{ID: "a_rule", Text: "A rule."}}
	case wire.Inspect:
		o.Checklist = &wire.Checklist{SchemaVersion: 1, TopicID: r.TopicID, Items: []wire.ChecklistItem{}}
	}
	if !job.Paid() {
		return o, nil
	}
	value, flops, exit := 0.5, uint64(2000000000000000001), int32(0)
	o.Report = &wire.RunReport{
		SchemaVersion: 1, TopicID: r.TopicID, CustomID: r.CustomID, SubmissionDigest: r.SubmissionDigest, ArtifactDigest: r.ArtifactDigest,
		PrimaryValue: &value, Evidence: jsontext.Value("{}"),
	}
	return o, &wire.Attestation{
		SisterVMID: "s1", TopicID: r.TopicID, SubmissionDigest: r.SubmissionDigest, ArtifactDigest: r.ArtifactDigest,
		Network: "none", FlopsUsed: &flops, ExitCode: &exit, Driver: "scripted", Class: "none",
	}
}

const token = "planted-token"

// host is an agent behind a real HTTP server.
type host struct {
	t      *testing.T
	driver *scripted
	agent  *agentd.Agent
	url    string
	token  string // file
	log    *logged
}

// logged keeps the log for questions about it.
type logged struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

func start(t *testing.T, change ...func(*agentd.Options)) *host {
	t.Helper()
	h := &host{t: t, driver: &scripted{}, token: filepath.Join(t.TempDir(), "token"), log: &logged{}}
	require.NoError(t, os.WriteFile(h.token, []byte(token+"\n"), 0o600))
	o := agentd.Options{Hypervisor: h.driver, TokenFile: h.token, Log: slog.New(slog.NewTextHandler(h.log, nil)), StopWait: 5 * time.Second}
	for _, c := range change {
		c(&o)
	}
	var err error
	h.agent, err = agentd.New(o)
	require.NoError(t, err)
	s := httptest.NewServer(h.agent.Handler())
	h.url = s.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, h.agent.Close(ctx))
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return h
}

// call sends a request with the bearer and returns status and body.
func (h *host) call(method, path, body string) (int, string) {
	h.t.Helper()
	return h.callContext(h.t.Context(), method, path, body)
}

func (h *host) callContext(ctx context.Context, method, path, body string) (int, string) {
	r, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// refused requires an error of the API: status and code by R§22's table.
func (h *host) refused(code wire.Code, text string) func(status int, body string) {
	return func(status int, body string) {
		h.t.Helper()
		var e wire.Error
		require.NoError(h.t, wire.Decode([]byte(body), &e), body)
		require.Equal(h.t, code, e.Code, body)
		require.Equal(h.t, code.Status(), status)
		require.Contains(h.t, e.Text, text)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := wire.Encode(v)
	require.NoError(t, err)
	return string(text)
}

func specOf(topic string) wire.Spec {
	return wire.Spec{TopicID: topic, Template: wire.Template{ImageDigest: "sha256:" + strings.Repeat("ab", 32), VCPUs: 2, MemMiB: 4096}, Sandbox: wire.Sandbox{DeadlineS: 60}, Retain: wire.Destroy}
}

// create boots the VM of a topic and returns it with its record.
func (h *host) create(spec wire.Spec) (*machine, wire.Record) {
	h.t.Helper()
	status, body := h.call("POST", "/v1/vms", encode(h.t, wire.CreateRequest{Spec: spec}))
	require.Equal(h.t, 201, status, body)
	var record wire.Record
	require.NoError(h.t, wire.Decode([]byte(body), &record))
	h.driver.mu.Lock()
	defer h.driver.mu.Unlock()
	return h.driver.vms[len(h.driver.vms)-1], record
}

func jobOf(kind wire.JobKind, topic string) wire.Job {
	uri := "https://planted-user@example.test/planted"
	r := &wire.RunRequest{
		SchemaVersion: 1, TopicID: topic, CustomID: "fit_small", Primary: "holdout_error", Direction: "min",
		SubmissionDigest: strings.Repeat("5", 64), ArtifactDigest: strings.Repeat("a", 64), ArtifactURI: &uri,
		Constraints: jsontext.Value("{}"), RulesVersion: 2, RulesDigest: strings.Repeat("7", 64), Sandbox: wire.Sandbox{DeadlineS: 60},
	}
	j := wire.Job{Kind: kind}
	switch kind {
	case wire.ProposeRules:
		j.Topic = jsontext.Value(`{"id":"` + topic + `"}`)
	case wire.Archive:
		j.TopicID = topic
	case wire.Inspect:
		j.RunRequest, j.Rules = r, &wire.RuleSet{TopicID: topic, Version: 2, Source: "rlm", Rules: []wire.Rule{{ID: "a_rule", Text: "A rule."}}}
	case wire.Evaluate:
		j.RunRequest, j.RulesVersion, j.ChecklistDigest = r, 2, strings.Repeat("c", 64)
	case wire.Baseline:
		j.RunRequest = r
	}
	return j
}

func (h *host) run(vm string, job wire.Job) (int, string) {
	h.t.Helper()
	return h.call("POST", "/v1/vms/"+vm+"/jobs", encode(h.t, wire.JobRequest{TopicID: "topic-a", Job: job}))
}

func (h *host) teardown(vm, topic string, policy wire.Retain) (int, string) {
	h.t.Helper()
	return h.call("DELETE", "/v1/vms/"+vm, encode(h.t, wire.TeardownRequest{TopicID: topic, Policy: policy}))
}

func (h *host) health() wire.Health {
	h.t.Helper()
	status, body := h.call("GET", "/v1/health", "")
	require.Equal(h.t, 200, status, body)
	var health wire.Health
	require.NoError(h.t, wire.Decode([]byte(body), &health))
	return health
}

var errGuest = errors.New("guest failed: of a reason")
