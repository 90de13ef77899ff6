package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var spec = wire.Spec{
	TopicID:  "topic-a",
	Template: wire.Template{ImageDigest: "sha256:" + strings.Repeat("ab", 32), VCPUs: 1, MemMiB: 512},
}

func hypervisor(t *testing.T, egress string) *Hypervisor {
	t.Helper()
	e, err := ParseEgress(egress)
	require.NoError(t, err)
	h, err := New(Options{BaselineValue: 0.5, BaselineFlops: 700, Egress: e})
	require.NoError(t, err)
	return h
}

func boot(t *testing.T, h *Hypervisor) agentd.VM {
	t.Helper()
	v, err := h.Boot(t.Context(), spec, "topic-a-0001")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Release(context.Background(), wire.Destroy)) })
	return v
}

// serveFile serves one file and counts who asked.
func serveFile(t *testing.T, data []byte) (uri string, asked *int) {
	t.Helper()
	asked = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*asked++
		w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/artifact.tar", asked
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func request(uri string, archive []byte) *wire.RunRequest {
	return &wire.RunRequest{
		SchemaVersion: 1, TopicID: "topic-a", CustomID: "fit_small", Primary: "holdout_error", Direction: "min",
		SubmissionDigest: strings.Repeat("5", 64), ArtifactDigest: digestOf(archive), ArtifactURI: &uri,
		FlopsBudget: 1000, DeclaredFlops: 900, Constraints: jsontext.Value("{}"), RulesVersion: 2, RulesDigest: strings.Repeat("7", 64),
		Sandbox: wire.Sandbox{DeadlineS: 5},
	}
}

func rules(ids ...string) *wire.RuleSet {
	set := &wire.RuleSet{TopicID: "topic-a", Version: 2, Source: "rlm"}
	for _, id := range ids {
		set.Rules = append(set.Rules, wire.Rule{ID: id, Text: "a rule"})
	}
	return set
}

func TestInspectTicksEachRuleAndSaysThatNothingWasInspected(t *testing.T) {
	archive := archiveOf(t, file("recipe.json", "{}"), file(runFile, `{"red":["no_network"]}`))
	uri, _ := serveFile(t, archive)
	v := boot(t, hypervisor(t, "127.0.0.0/8"))
	r := request(uri, archive)
	output, sister, err := v.Run(t.Context(), wire.Job{Kind: wire.Inspect, RunRequest: r, Rules: rules("archive_safe", "no_network")})
	require.NoError(t, err)
	require.Nil(t, sister)
	require.Equal(t, wire.InspectedOutput, output.Kind)
	require.Equal(t, &wire.Checklist{
		SchemaVersion: 1, TopicID: "topic-a", RulesVersion: 2, RulesDigest: r.RulesDigest,
		SubmissionDigest: r.SubmissionDigest, ArtifactDigest: r.ArtifactDigest,
		Items: []wire.ChecklistItem{
			{ID: "archive_safe", Pass: true, Evidence: "fake agent: nothing was inspected but the archive's digest and safety"},
			{ID: "no_network", Evidence: "fake agent: fake-run.json of the artefact names this rule as red"},
		},
	}, output.Checklist)
	require.Equal(t, []wire.File{{Path: "recipe.json", Bytes: wire.Bytes("{}")}, {Path: runFile, Bytes: wire.Bytes(`{"red":["no_network"]}`)}}, output.Artifact)
}

func TestEvaluateReportsWhatTheRunFileSays(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	flops := func(v uint64) *uint64 { return &v }
	exit := func(v int32) *int32 { return &v }
	for name, tc := range map[string]struct {
		file    string
		primary *float64
		claim   bool
		flops   *uint64
		exit    *int32
		failure string
	}{
		"a run":                           {`{"primary_value":0.25,"flops_used":800,"exit_code":0,"claim_holds":true}`, number(0.25), true, flops(800), exit(0), ""},
		"integers beyond 2^53 stay exact": {`{"primary_value":1,"flops_used":2000000000000000001}`, number(1), false, flops(2000000000000000001), exit(0), ""},
		"a recipe that failed has no value (decision 14)":      {`{"primary_value":0.25,"flops_used":800,"exit_code":3,"claim_holds":true}`, nil, false, flops(800), exit(3), "exit status 3"},
		"a recipe without output has no value (decision 14)":   {`{"flops_used":800}`, nil, false, flops(800), exit(0), "no output: fake-run.json has no primary_value"},
		"what nobody measured stays absent":                    {`{"primary_value":0.25}`, number(0.25), false, nil, exit(0), ""},
		"no run file":                                          {"", nil, false, flops(0), exit(1), "exit status 1: the artefact has no fake-run.json, and a fake agent runs nothing else"},
		"a run cut at its deadline has no usage (decision 14)": {`{"primary_value":0.25,"flops_used":800,"runs_for_s":86400}`, nil, false, nil, nil, "cut at the deadline of 1 s"},
	} {
		t.Run(name, func(t *testing.T) {
			entries := archiveOf(t, file("a", "x"))
			if tc.file != "" {
				entries = archiveOf(t, file("a", "x"), file(runFile, tc.file))
			}
			uri, _ := serveFile(t, entries)
			v := boot(t, hypervisor(t, "127.0.0.0/8"))
			r := request(uri, entries)
			r.Sandbox.DeadlineS = 1
			output, sister, err := v.Run(t.Context(), wire.Job{Kind: wire.Evaluate, RunRequest: r, RulesVersion: 2})
			require.NoError(t, err)
			require.Equal(t, wire.EvaluatedOutput, output.Kind)
			require.Equal(t, tc.primary, output.Report.PrimaryValue)
			require.Equal(t, tc.claim, output.Report.ClaimHolds)
			require.Equal(t, tc.failure, output.Report.Failure)
			require.False(t, output.Report.Sandboxed)
			require.Len(t, output.Logs, 1)
			require.Contains(t, string(output.Logs[0].Bytes), "nothing of the artefact was run")
			wall := sister.WallMS
			sister.WallMS = 0
			require.Equal(t, &wire.Attestation{
				SisterVMID: "topic-a-0001-s1", ImageDigest: spec.Template.ImageDigest, TopicID: "topic-a",
				SubmissionDigest: r.SubmissionDigest, ArtifactDigest: r.ArtifactDigest, Network: "none",
				FlopsUsed: tc.flops, ExitCode: tc.exit, Driver: "fake", Class: "none", FlopsMethod: "fake",
			}, sister)
			require.Less(t, wall, uint64(5000))
			job := wire.Job{Kind: wire.Evaluate, RunRequest: r}
			require.NoError(t, wire.BindEvidence(&job, &output, sister))
		})
	}
}

func TestAnEvaluationUsesTheBytesThatWereInspected(t *testing.T) {
	archive := archiveOf(t, file(runFile, `{"primary_value":1}`))
	uri, asked := serveFile(t, archive)
	v := boot(t, hypervisor(t, "127.0.0.0/8"))
	r := request(uri, archive)
	_, _, err := v.Run(t.Context(), wire.Job{Kind: wire.Inspect, RunRequest: r, Rules: rules("archive_safe")})
	require.NoError(t, err)
	evaluate := wire.Job{Kind: wire.Evaluate, RunRequest: r, RulesVersion: 2}
	_, first, err := v.Run(t.Context(), evaluate)
	require.NoError(t, err)
	require.Equal(t, 1, *asked, "forwarded, not fetched again")
	_, second, err := v.Run(t.Context(), evaluate)
	require.NoError(t, err)
	require.Equal(t, 2, *asked, "a second run fetches, as nothing is kept")
	require.Equal(t, []string{"topic-a-0001-s1", "topic-a-0001-s2"}, []string{first.SisterVMID, second.SisterVMID})

	// Another submission never gets the tree of this one.
	_, _, err = v.Run(t.Context(), wire.Job{Kind: wire.Inspect, RunRequest: r, Rules: rules("archive_safe")})
	require.NoError(t, err)
	other := archiveOf(t, file(runFile, `{"primary_value":2}`))
	uri, _ = serveFile(t, other)
	output, _, err := v.Run(t.Context(), wire.Job{Kind: wire.Evaluate, RunRequest: request(uri, other), RulesVersion: 2})
	require.NoError(t, err)
	require.InDelta(t, 2, *output.Report.PrimaryValue, 0)
}

func TestBaselineGivesTheConfiguredValueWithinTheBudget(t *testing.T) {
	v := boot(t, hypervisor(t, ""))
	r := request("", nil)
	r.ArtifactURI, r.FlopsBudget = nil, 600
	output, sister, err := v.Run(t.Context(), wire.Job{Kind: wire.Baseline, RunRequest: r})
	require.NoError(t, err)
	require.Equal(t, wire.BaselineOutput, output.Kind)
	require.InDelta(t, 0.5, *output.Report.PrimaryValue, 0)
	require.Equal(t, uint64(600), *sister.FlopsUsed)
	require.False(t, sister.Sandboxed)
}

func TestProposedRulesAreTheSignedChecklistOrOneDefault(t *testing.T) {
	v := boot(t, hypervisor(t, ""))
	for document, want := range map[string][]wire.Rule{
		`{"id":"topic-a","checklist":[{"id":"no_network","text":"No network."}],"flops_budget":2000000000000000000}`: {{ID: "no_network", Text: "No network."}},
		`{"id":"topic-a"}`:                {defaultRule},
		`{"id":"topic-a","checklist":[]}`: {defaultRule},
	} {
		output, sister, err := v.Run(t.Context(), wire.Job{Kind: wire.ProposeRules, Topic: jsontext.Value(document)})
		require.NoError(t, err)
		require.Nil(t, sister)
		require.Equal(t, wire.Output{Kind: wire.RulesOutput, Rules: want}, output)
	}
	_, _, err := v.Run(t.Context(), wire.Job{Kind: wire.ProposeRules, Topic: jsontext.Value(`{"id":"topic-a","checklist":["x"]}`)})
	require.ErrorContains(t, err, "no readable checklist")
	output, _, err := v.Run(t.Context(), wire.Job{Kind: wire.Archive, TopicID: "topic-a"})
	require.NoError(t, err)
	require.Equal(t, wire.ArchivedOutput, output.Kind)
}

func TestDecision13FirecrackerIsRefusedAtBootAndAtEachJob(t *testing.T) {
	h := hypervisor(t, "")
	asks := spec
	asks.Sandbox.FirecrackerRequired = true
	_, err := h.Boot(t.Context(), asks, "topic-a-0001")
	var refusal *wire.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, wire.CodeNotReady, refusal.Code)
	require.Contains(t, refusal.Text, "firecracker_required")
	r := request("http://127.0.0.1:1/", nil)
	r.Sandbox.FirecrackerRequired = true
	for _, kind := range []wire.JobKind{wire.Baseline, wire.Inspect, wire.Evaluate} {
		_, _, err = boot(t, h).Run(t.Context(), wire.Job{Kind: kind, RunRequest: r, Rules: rules("a_rule")})
		require.ErrorAs(t, err, &refusal, kind)
		require.Equal(t, wire.CodeNotReady, refusal.Code, kind)
	}
}

func TestR232FetchRefusals(t *testing.T) {
	archive := archiveOf(t, file("a", "x"))
	answers := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return strings.Replace(s.URL, "http://", "http://user:planted@", 1) + "/planted?token=planted"
	}
	served := answers(func(w http.ResponseWriter, _ *http.Request) { w.Write(archive) })
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = nil
	t.Cleanup(untrusted.Close)
	for name, tc := range map[string]struct{ uri, egress, want string }{
		"no URL":                 {"http://[::1", "127.0.0.0/8", "no URL with a host"},
		"no host":                {"file:///etc/passwd", "127.0.0.0/8", "no URL with a host"},
		"another scheme":         {"ftp://127.0.0.1/planted", "127.0.0.0/8", `scheme "ftp"`},
		"a private address":      {served, "", "not public and no egress entry"},
		"a name of this machine": {strings.Replace(served, "127.0.0.1", "localhost", 1), "10.0.0.0/8", "not public and no egress entry"},
		"another port":           {served, "127.0.0.1:1", "not public and no egress entry"},
		"nobody there":           {"http://127.0.0.1:1/planted", "127.0.0.0/8", "cannot be reached"},
		"a redirect":             {answers(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, served, http.StatusFound) }), "127.0.0.0/8", "redirects are not followed"},
		"another status":         {answers(http.NotFound), "127.0.0.0/8", "answers 404"},
		"too much announced":     {answers(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "67108865") }), "127.0.0.0/8", "announces 67108865 bytes"},
		"cut off": {answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			w.Write([]byte("x"))
		}), "127.0.0.0/8", "broke before the end"},
		"a certificate of nobody": {untrusted.URL, "127.0.0.0/8", "certificate is not trusted"},
		"too much sent": {answers(func(w http.ResponseWriter, _ *http.Request) {
			chunk := make([]byte, 1<<20)
			for range 65 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}), "127.0.0.0/8", "sends more than"},
		"a re-tarred tree": {answers(func(w http.ResponseWriter, _ *http.Request) { w.Write(archiveOf(t, file("./a", "x"))) }), "127.0.0.0/8", "a re-tarred tree never matches"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(tc.uri, archive)
			for _, job := range []wire.Job{{Kind: wire.Inspect, RunRequest: r, Rules: rules("a_rule")}, {Kind: wire.Evaluate, RunRequest: r, RulesVersion: 2}} {
				_, sister, err := boot(t, hypervisor(t, tc.egress)).Run(t.Context(), job)
				require.ErrorContains(t, err, tc.want)
				require.ErrorContains(t, err, "guest failed: ")
				require.NotContains(t, err.Error(), "planted", "a URI may hold a secret")
				require.Nil(t, sister)
			}
		})
	}
}

func TestADigestIsComparedAsTheSubmissionMayWriteIt(t *testing.T) {
	archive := archiveOf(t, file(runFile, `{"primary_value":1}`))
	uri, _ := serveFile(t, archive)
	r := request(" "+uri+" ", archive)
	r.ArtifactDigest = strings.ToUpper(r.ArtifactDigest) + " "
	_, _, err := boot(t, hypervisor(t, "127.0.0.0/8")).Run(t.Context(), wire.Job{Kind: wire.Evaluate, RunRequest: r, RulesVersion: 2})
	require.NoError(t, err)
}

func TestABadRunFileFailsTheInspectionWithItsFault(t *testing.T) {
	for text, want := range map[string]string{
		`{"primary_value":`:             "fake-run.json",
		`{"Primary_Value":1}`:           "unknown",
		`{"primary-value":1}`:           "unknown",
		`{"exit_code":0,"exit_code":1}`: "duplicate",
		`{"flops_used":2e18}`:           "fake-run.json",
		`{"flops_used":-1}`:             "fake-run.json",
		`{"runs_for_s":-1}`:             "runs_for_s is -1",
		`{"runs_for_s":86401}`:          "runs_for_s is 86401",
		`{"red":["no_such_rule"]}`:      `red names "no_such_rule", which is no rule of version 2`,
	} {
		archive := archiveOf(t, file(runFile, text))
		uri, _ := serveFile(t, archive)
		_, _, err := boot(t, hypervisor(t, "127.0.0.0/8")).Run(t.Context(), wire.Job{Kind: wire.Inspect, RunRequest: request(uri, archive), Rules: rules("a_rule")})
		require.ErrorContains(t, err, want, text)
	}
	_, err := parseRun(make([]byte, maxRunFile+1))
	require.ErrorContains(t, err, "at most 1048576")
}

func TestARunEndsWithItsJobAndWithItsVM(t *testing.T) {
	archive := archiveOf(t, file(runFile, `{"runs_for_s":60}`))
	uri, _ := serveFile(t, archive)
	r := request(uri, archive)
	r.Sandbox.DeadlineS = 100
	job := wire.Job{Kind: wire.Evaluate, RunRequest: r, RulesVersion: 2}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, sister, err := boot(t, hypervisor(t, "127.0.0.0/8")).Run(ctx, job)
	require.ErrorContains(t, err, "cancelled")
	require.Nil(t, sister)

	v := boot(t, hypervisor(t, "127.0.0.0/8"))
	time.AfterFunc(50*time.Millisecond, func() { _ = v.Release(context.Background(), wire.Destroy) })
	_, _, err = v.Run(t.Context(), job)
	require.ErrorContains(t, err, "the VM was released")
	require.False(t, v.Alive())

	// The fetch is cancelled as well, and the URI stays out of the words.
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer s.Close()
	defer close(hang)
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = boot(t, hypervisor(t, "127.0.0.0/8")).Run(ctx, wire.Job{Kind: wire.Evaluate, RunRequest: request(s.URL+"/planted", archive), RulesVersion: 2})
	require.ErrorContains(t, err, at.Host+": context deadline exceeded")
	require.NotContains(t, err.Error(), "planted")
}

func TestTheNameIsLoudAndTheBaselineFinite(t *testing.T) {
	h := hypervisor(t, "")
	require.Equal(t, "fake (nothing is isolated, figures are the artefact's own)", h.Name())
	require.NoError(t, h.Ready(t.Context()))
	_, err := New(Options{BaselineValue: math.NaN()})
	require.ErrorContains(t, err, "finite")
}

func FuzzParseRun(f *testing.F) {
	for _, s := range []string{`{}`, `{"primary_value":1e308,"flops_used":18446744073709551615,"exit_code":-2147483648}`, `{"red":["a"],"runs_for_s":0.5}`, `[]`, `{"red":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRun(data)
		if err != nil {
			return
		}
		if r.takes() < 0 || (r.failure() == "") != (r.ExitCode == 0 && r.PrimaryValue != nil) {
			t.Fatalf("%q gave %+v", data, r)
		}
	})
}
