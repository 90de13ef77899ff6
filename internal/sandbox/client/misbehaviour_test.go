package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/client"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestSection21RefusedBeforeAnyRequest(t *testing.T) {
	other := job(wire.Evaluate)
	other.RunRequest.TopicID = "other"
	torn := job(wire.Evaluate)
	torn.RulesVersion = 2
	foreign := job(wire.ProposeRules)
	foreign.Topic = []byte(`{"id":"other"}`)
	for name, c := range map[string]struct {
		call func(context.Context, *client.Client) error
		text string
	}{
		"a job of another topic":       {run(handle, other), `job evaluate is for topic "other", the VM belongs to "dp-opt-01"`},
		"a proposal for another topic": {run(handle, foreign), `job propose_rules is for topic "other"`},
		"a job of no topic":            {run(handle, wire.Job{Kind: wire.Evaluate}), `is for topic ""`},
		"a job whose parts differ":     {run(handle, torn), "rules_version 2, the request names 1"},
		"a VM whose id climbs":         {run(wire.Handle{TopicID: topic, VMID: "../other"}, job(wire.Evaluate)), "is no VM"},
		"a VM of no topic":             {run(wire.Handle{VMID: vmID}, job(wire.Evaluate)), "is no VM"},
		"an attach that climbs":        {func(ctx context.Context, c *client.Client) error { _, err := c.Attach(ctx, "../x"); return err }, "is no topic id"},
		"a teardown that climbs": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Teardown(ctx, wire.Handle{TopicID: topic, VMID: ".."}, wire.Destroy)
			return err
		}, "is no VM"},
		"a spec out of range":            {create(func(s *wire.Spec) { s.Template.VCPUs = 0 }), "topic-vm spec: vcpus is missing or out of range"},
		"a spec of another image":        {create(func(s *wire.Spec) { s.Template.ImageDigest = "sha256:" + strings.Repeat("1", 64) }), "PROOF_RLM_VM_IMAGE_DIGEST pins"},
		"a job that cannot be written":   {run(handle, func() wire.Job { j := job(wire.Evaluate); j.RunRequest.Claim = "\xff"; return j }()), "cannot be written"},
		"a job without its own document": {run(handle, func() wire.Job { j := job(wire.Inspect); j.Rules = nil; return j }()), "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			a, cl := start(t)
			refused(t, c.call(t.Context(), cl), c.text)
			if a.calls.Load() != 0 {
				t.Error("a request was made")
			}
		})
	}
	t.Run("a VM of an image that is not pinned", func(t *testing.T) {
		a, cl := start(t, func(o *client.Options) { o.ImageDigest = "" })
		_, err := cl.Create(t.Context(), spec())
		refused(t, err, "PROOF_RLM_VM_IMAGE_DIGEST")
		if a.calls.Load() != 0 {
			t.Error("a request was made")
		}
	})
}

func run(vm wire.Handle, j wire.Job) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error { _, err := c.Run(ctx, vm, j); return err }
}

func create(change func(*wire.Spec)) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		s := spec()
		change(&s)
		_, err := c.Create(ctx, s)
		return err
	}
}

func TestSection21EchoesOfACreatedVM(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wire.Record)
		text   string
	}{
		"another topic":     {func(r *wire.Record) { r.Handle.TopicID = "other" }, `orchestrator answered for topic "other", asked was "dp-opt-01"`},
		"another image":     {func(r *wire.Record) { r.ImageDigest = "sha256:" + strings.Repeat("1", 64) }, "orchestrator created a VM of image"},
		"no image":          {func(r *wire.Record) { r.ImageDigest = "" }, "orchestrator created a VM of image"},
		"fewer processors":  {func(r *wire.Record) { r.VCPUs = 1 }, "1 vcpus"},
		"less memory":       {func(r *wire.Record) { r.MemMiB = 512 }, "512 MiB"},
		"a weaker sandbox":  {func(r *wire.Record) { r.Sandbox.FirecrackerRequired = false }, "another sandbox"},
		"a longer deadline": {func(r *wire.Record) { r.Sandbox.DeadlineS++ }, "another sandbox"},
		"another policy":    {func(r *wire.Record) { r.Retain = wire.Keep }, "policy retain"},
		"a VM that crashed": {func(r *wire.Record) { r.State = wire.Crashed }, "crashed, not running"},
		"a VM without id":   {func(r *wire.Record) { r.Handle.VMID = "" }, "which is none"},
		"an id that climbs": {func(r *wire.Record) { r.Handle.VMID = "../../health" }, "which is none"},
	} {
		t.Run(name, func(t *testing.T) {
			a, cl := start(t)
			a.record = c.change
			_, err := cl.Create(t.Context(), spec())
			refused(t, err, c.text)
		})
	}
}

func TestSection21Attach(t *testing.T) {
	for name, c := range map[string]struct {
		raw    http.HandlerFunc
		record func(*wire.Record)
		none   bool
		text   string
	}{
		"a running VM":                         {},
		"a running VM of an older image":       {record: func(r *wire.Record) { r.ImageDigest = "sha256:" + strings.Repeat("1", 64) }},
		"none":                                 {raw: answer(404, `{"code":"not_found","error":"no VM"}`), none: true},
		"none, said by a page":                 {raw: answer(404, `<html>not here</html>`), none: true},
		"a VM of another topic":                {record: func(r *wire.Record) { r.Handle.TopicID = "other" }, text: `answered for topic "other"`},
		"a VM that is retained":                {record: func(r *wire.Record) { r.State = wire.Retained }, text: "retained, not running"},
		"an agent that is not ready":           {raw: answer(503, `{"code":"not_ready","error":"kernel missing"}`), text: "orchestrator answered not_ready to attach: kernel missing"},
		"no permission":                        {raw: answer(401, `{"code":"unauthorized","error":"x"}`), text: "orchestrator refused the bearer"},
		"not found under the status of a conf": {raw: answer(409, `{"code":"not_found","error":"x"}`), text: "status 409 to attach without a code"},
	} {
		t.Run(name, func(t *testing.T) {
			a, cl := start(t)
			a.raw, a.record = c.raw, c.record
			r, err := cl.Attach(t.Context(), topic)
			switch {
			case c.text != "":
				refused(t, err, c.text)
			case err != nil || (r == nil) != c.none:
				t.Error(r, err)
			}
		})
	}
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestSection21AnswersToAJobAreNotBelieved(t *testing.T) {
	free := func(j *wire.Job) { j.RunRequest.Sandbox.FirecrackerRequired = false }
	for name, c := range map[string]struct {
		kind   wire.JobKind
		job    func(*wire.Job)
		change func(*wire.JobResponse)
		text   string // empty: the answer is taken
	}{
		"a good evaluation":           {kind: wire.Evaluate},
		"a good baseline":             {kind: wire.Baseline},
		"a run that measured nothing": {kind: wire.Evaluate, change: func(r *wire.JobResponse) { r.Sister.FlopsUsed, r.Output.Report.FlopsUsed = nil, nil }},
		"a run that failed": {kind: wire.Evaluate, change: func(r *wire.JobResponse) {
			r.Output.Report.PrimaryValue, r.Output.Report.Failure = nil, "exit status 1"
		}},
		"a run nobody asked to isolate, not isolated": {wire.Evaluate, free, func(r *wire.JobResponse) {
			r.Sister.Sandboxed, r.Sister.Driver, r.Output.Report.Sandboxed = false, "qemu", false
		}, ""},
		"a run nobody asked to isolate, without evidence": {wire.Evaluate, free, func(r *wire.JobResponse) {
			r.Sister, r.Output.Report.Sandboxed, r.Output.Report.FlopsUsed = nil, false, nil
		}, ""},
		"firecracker by name": {kind: wire.Evaluate, change: func(r *wire.JobResponse) { r.Sister.Driver = "firecracker" }},

		"the topic of another VM":                {wire.Evaluate, nil, func(r *wire.JobResponse) { r.TopicID = "other" }, `orchestrator answered for VM "dp-opt-01-0001" of topic "other"`},
		"another VM of the topic":                {wire.Evaluate, nil, func(r *wire.JobResponse) { r.VMID = "dp-opt-01-0002" }, `orchestrator answered for VM "dp-opt-01-0002"`},
		"the output of a baseline":               {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Output.Kind = wire.BaselineOutput }, "topic-vm returned the wrong output for evaluate"},
		"the output of an archive":               {wire.Inspect, nil, func(r *wire.JobResponse) { r.Output = wire.Output{Kind: wire.ArchivedOutput} }, "topic-vm returned the wrong output for inspect"},
		"a report of another artefact":           {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Output.Report.ArtifactDigest = "bb" }, `report names artifact_digest "bb", the paid job names`},
		"a report of another submission":         {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Output.Report.SubmissionDigest = "66" }, `report names submission_digest "66"`},
		"a report of another topic":              {wire.Baseline, nil, func(r *wire.JobResponse) { r.Output.Report.TopicID = "other" }, `report names topic_id "other"`},
		"evidence of another artefact":           {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.ArtifactDigest = "bb" }, `sister evidence names artifact_digest "bb"`},
		"evidence of another submission":         {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.SubmissionDigest = "66" }, `sister evidence names submission_digest "66"`},
		"evidence of another topic":              {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.TopicID = "other" }, `sister evidence names topic_id "other"`},
		"evidence of a run for an inspection":    {wire.Inspect, nil, func(r *wire.JobResponse) { r.Sister = good(ptr(job(wire.Evaluate))).Sister }, "job inspect runs no miner code"},
		"evidence of a run for a proposal":       {wire.ProposeRules, nil, func(r *wire.JobResponse) { r.Sister = good(ptr(job(wire.Evaluate))).Sister }, "job propose_rules runs no miner code"},
		"no evidence where firecracker is asked": {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister = nil }, "without the host attestation"},
		"no evidence behind a sandbox":           {wire.Evaluate, free, func(r *wire.JobResponse) { r.Sister, r.Output.Report.FlopsUsed = nil, nil }, "run report says sandboxed without a host attestation"},
		"no evidence behind a figure":            {wire.Evaluate, free, func(r *wire.JobResponse) { r.Sister, r.Output.Report.Sandboxed = nil, false }, "run report has flops_used without a host attestation"},
		"a sandbox that is not attested":         {wire.Evaluate, free, func(r *wire.JobResponse) { r.Sister.Sandboxed = false }, "run report says sandboxed true, the host attestation false"},
		"a sandbox that is not reported":         {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Output.Report.Sandboxed = false }, "run report says sandboxed false, the host attestation true"},
		"no sandbox where firecracker is asked":  {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.Sandboxed, r.Output.Report.Sandboxed = false, false }, "run report says miner code ran outside the Firecracker guest"},
		"a figure that was not measured":         {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.FlopsUsed = nil }, "another flops_used than the host attestation"},
		"a figure other than was measured":       {wire.Evaluate, nil, func(r *wire.JobResponse) { *r.Output.Report.FlopsUsed-- }, "another flops_used than the host attestation"},
		"a measurement that is not reported":     {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Output.Report.FlopsUsed = nil }, "another flops_used than the host attestation"},
		"a sandbox of another driver":            {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.Driver = "qemu" }, `says sandboxed of driver "qemu"; only firecracker is`},
		"a sandbox with a network":               {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.Network = "host" }, `says sandboxed with network "host"`},
		"a sister without a name":                {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.SisterVMID = "" }, "names no sister guest"},
		"a stand-in of the sandbox":              {wire.Evaluate, nil, func(r *wire.JobResponse) { r.Sister.Standin = true }, "the host attestation is a stand-in's"},
	} {
		t.Run(name, func(t *testing.T) {
			a, cl := start(t)
			a.response = c.change
			j := job(c.kind)
			change(c.job, &j)
			out, err := cl.Run(t.Context(), handle, j)
			if c.text != "" {
				refused(t, err, c.text)
				if out != nil {
					t.Error("an output came with the refusal")
				}
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a stand-in is taken under its own setting, and only by its own name", func(t *testing.T) {
		a, cl := start(t, func(o *client.Options) { o.AllowStandin = true })
		a.response = func(r *wire.JobResponse) { r.Sister.Driver, r.Sister.Standin = "firecracker", true }
		if _, err := cl.Run(t.Context(), handle, job(wire.Evaluate)); err != nil {
			t.Error(err)
		}
		a.response = func(r *wire.JobResponse) { r.Sister.Driver = "fake" }
		_, err := cl.Run(t.Context(), handle, job(wire.Evaluate))
		refused(t, err, "only firecracker is")
	})
}

func TestSection22CodesOfTheAgentArePassedOn(t *testing.T) {
	for _, code := range []wire.Code{wire.CodeBadSpec, wire.CodeNotFound, wire.CodeTopicMismatch, wire.CodeAlreadyExists, wire.CodeBusy, wire.CodeBackend, wire.CodeWrongOutput, wire.CodeEvidenceMismatch, wire.CodeNotReady} {
		t.Run(string(code), func(t *testing.T) {
			a, c := start(t)
			a.raw = func(w http.ResponseWriter, _ *http.Request) { refuse(w, code, "deadline of 600 s exceeded") }
			for _, call := range []func(context.Context, *client.Client) error{run(handle, job(wire.Evaluate)), create(func(*wire.Spec) {})} {
				err := call(t.Context(), c)
				refused(t, err, "orchestrator answered "+string(code)+" to ")
				refused(t, err, ": deadline of 600 s exceeded")
				if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != code {
					t.Error(err)
				}
			}
		})
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	good := `{"topic_id":"dp-opt-01","vm_id":"dp-opt-01-0001","output":{"output":"archived"},"sister":null}`
	for name, c := range map[string]struct {
		raw  http.HandlerFunc
		text string
	}{
		"a good one":             {answer(200, good), ""},
		"nothing":                {answer(200, ``), "is not what it must be"},
		"prose":                  {answer(200, `I am sorry, but I cannot.`), "is not what it must be"},
		"an unknown member":      {answer(200, strings.Replace(good, `{`, `{"host":1,`, 1)), " host: unknown member"},
		"a member twice":         {answer(200, strings.Replace(good, `{`, `{"topic_id":"dp-opt-01",`, 1)), " topic_id: member is there twice"},
		"half a document":        {answer(200, good[:40]), "ends before its value does"},
		"two documents":          {answer(200, good+good), "something follows"},
		"another status":         {answer(202, good), "orchestrator answered status 202 to job archive without a code"},
		"a page of a proxy":      {answer(502, `<html>http://10.0.0.3:8200 /srv/jailer</html>`), "orchestrator answered status 502 to job archive without a code"},
		"a 404 of a proxy":       {answer(404, `nothing`), "orchestrator answered status 404 to job archive without a code"},
		"a code of other status": {answer(500, `{"code":"busy","error":"x"}`), "status 500 to job archive without a code"},
		"a code that is none":    {answer(418, `{"code":"teapot","error":"x"}`), "status 418 to job archive without a code"},
		"one cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(good[:9]))
		}, "orchestrator's answer to job archive broke off"},
		"one cut off in chunks": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(good[:9]))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "orchestrator's answer to job archive broke off"},
		"a connection closed without a word": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "orchestrator's answer to job archive broke off"},
		"one announced beyond the limit": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "268435457")
			_, _ = w.Write([]byte(" "))
		}, "is larger than 268435456 bytes"},
		"an error beyond the limit": {answer(502, strings.Repeat(" ", 1<<20+1)), "is larger than 1048576 bytes"},
		"a redirect to another host": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://attacker.example/")
			w.WriteHeader(307)
		}, "orchestrator answered job archive with a redirect (status 307), which is not followed"},
		"something that is not HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("220 mail.example ESMTP\r\n"))
				_ = conn.Close()
			}
		}, "orchestrator unreachable: it does not speak HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			a, cl := start(t)
			a.raw = c.raw
			_, err := cl.Run(t.Context(), handle, job(wire.Archive))
			if c.text == "" && err != nil {
				t.Error(err)
			}
			if c.text != "" {
				refused(t, err, c.text)
			}
			if n := a.calls.Load(); n != 1 {
				t.Errorf("%d requests were made; a job is never sent twice", n)
			}
		})
	}
}

func TestARedirectTakesTheBearerNowhere(t *testing.T) {
	reached := false
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer target.Close()
	a, c := start(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		a.raw = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, status) }
		_, err := c.Probe(t.Context())
		refused(t, err, fmt.Sprintf("redirect (status %d)", status))
	}
	if reached {
		t.Error("the redirect was followed")
	}
}

func TestAnEndlessAnswerIsCut(t *testing.T) {
	a, c := start(t)
	a.raw = func(w http.ResponseWriter, r *http.Request) {
		for block := []byte(strings.Repeat(" ", 64<<10)); r.Context().Err() == nil; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	_, err := c.Probe(t.Context())
	refused(t, err, "orchestrator's answer to health is larger than 1048576 bytes")
}

func TestASlowAnswerIsCut(t *testing.T) {
	a, c := start(t, func(o *client.Options) { o.Timeouts.Other = 50 * time.Millisecond })
	a.raw = func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}
	_, err := c.Probe(t.Context())
	refused(t, err, "orchestrator did not answer health within 50ms")
}

func TestSection21AnAgentThatIsNotThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never shakes hands
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	listener.Close()
	for name, c := range map[string]struct{ url, text string }{
		"nobody listens":       {"https://" + listener.Addr().String(), "orchestrator unreachable: it takes no connection"},
		"it does not speak":    {"https://" + silent.Addr().String(), "orchestrator unreachable: no handshake within 100ms"},
		"it speaks plain HTTP": {"https://" + plain.Listener.Addr().String(), "orchestrator unreachable"},
		"it has no address":    {"https://agent.invalid", "orchestrator unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, cl := start(t, func(o *client.Options) { o.URL, o.Timeouts.Connect = c.url, 100*time.Millisecond })
			_, err := cl.Probe(t.Context())
			refused(t, err, c.text)
			if strings.Contains(err.Error(), "agent.invalid") {
				t.Error("the origin is in", err)
			}
		})
	}
}

func TestSection21Teardown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wire.TeardownResponse)
		raw    http.HandlerFunc
		ok     bool
		text   string
	}{
		"confirmed":                      {ok: true},
		"not confirmed":                  {change: func(r *wire.TeardownResponse) { r.Confirmed, r.State = false, wire.Crashed }},
		"confirmed of another VM":        {change: func(r *wire.TeardownResponse) { r.VMID = "dp-opt-01-0002" }, text: `answered for VM "dp-opt-01-0002"`},
		"confirmed of another topic":     {change: func(r *wire.TeardownResponse) { r.TopicID = "other" }, text: `of topic "other"`},
		"confirmed while it runs":        {change: func(r *wire.TeardownResponse) { r.State = wire.Running }, text: "says is running"},
		"busy":                           {raw: answer(409, `{"code":"busy","error":"a job holds the VM"}`), text: "orchestrator answered busy to teardown: a job holds the VM"},
		"a 404 that is not the agent's":  {raw: answer(404, `nothing here`), text: "status 404 to teardown without a code"},
		"confirmed with a member misled": {raw: answer(200, `{"topic_id":"dp-opt-01","vm_id":"dp-opt-01-0001","state":"destroyed","Confirmed":true}`), text: "did you mean confirmed?"},
	} {
		t.Run(name, func(t *testing.T) {
			a, cl := start(t)
			a.teardown, a.raw = c.change, c.raw
			ok, err := cl.Teardown(t.Context(), handle, wire.Keep)
			if c.text != "" {
				refused(t, err, c.text)
			} else if err != nil {
				t.Error(err)
			}
			if ok != c.ok {
				t.Errorf("confirmed is %v", ok)
			}
			if _, coded := errors.AsType[*wire.Error](err); coded != (name == "busy") {
				t.Error("a code that the agent did not give:", err)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	a, c := start(t)
	a.health = func(h *wire.Health) {
		h.Ready, h.Reason, h.Hypervisor = false, "kernel /var/lib/proof-vm/vmlinux missing; token "+token, "fake (at http://10.1.2.3:99/x), held"
	}
	h, err := c.Probe(t.Context())
	if err != nil || h.Ready || h.Reason != "kernel (path) missing; token (withheld)" || h.Hypervisor != "fake (at (address) held" {
		t.Errorf("%+v %v", h, err)
	}
	a.health = func(h *wire.Health) { h.APIVersion = 2 }
	_, err = c.Probe(t.Context())
	refused(t, err, "peer api_version 2, this build speaks 1")
}

func TestWordsOfTheAgentAreShownWithoutSecrets(t *testing.T) {
	for said, shown := range map[string]string{
		"guest failed: exit status 3":                                    "guest failed: exit status 3",
		"deadline of 600 s exceeded":                                     "deadline of 600 s exceeded",
		"your bearer was " + token:                                       "your bearer was (withheld)",
		"open /srv/jailer/firecracker/x/root: no such file":              "open (path): no such file",
		`open "/etc/proof-vm/token"`:                                     `open "(path)"`,
		"fetch https://me:pw@host.example/a.tar?sig=1 failed":            "fetch (address) failed",
		"dial tcp 10.0.0.3:443: connect: refused":                        "dial tcp (host): connect: refused",
		"dial tcp [fe80::1%eth0]:443: refused":                           "dial tcp (host): refused",
		"dial tcp: lookup judge.internal on 10.0.0.53:53: no such host":  "dial tcp: lookup (host) on (host): no such host",
		"judge.internal.example:8443 is down":                            "(host) is down",
		"used 3/4 of 1.5 GiB at 12:30 with version 1.2.3":                "used 3/4 of 1.5 GiB at 12:30 with version 1.2.3",
		"two\nlines\x1b[31m and a \u202etrick":                           "two lines [31m and a  trick",
		strings.Repeat("é", 400):                                         strings.Repeat("é", 256) + "…",
		"~/.config/secret and file:///etc/passwd and key=/root/.ssh/rsa": "(path) and (address) and key=(path)",
	} {
		a, c := start(t)
		a.raw = func(w http.ResponseWriter, _ *http.Request) { refuse(w, wire.CodeBackend, said) }
		_, err := c.Probe(t.Context())
		if want := "orchestrator answered backend to health: " + shown; err == nil || !strings.HasPrefix(want, strings.TrimSuffix(err.Error(), "…")) || len(err.Error()) > 520 || len(want) < 400 && err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestAnswersThatRepeatTheTokenAreShownWithoutIt(t *testing.T) {
	for name, body := range map[string]string{
		"as a member":  `{"` + token + `":1}`,
		"as a version": `{"api_version":"` + token + `"}`,
		"as a path":    `{"topic_id":"` + token + `"}`,
	} {
		a, c := start(t)
		a.raw = answer(200, body)
		_, err := c.Probe(t.Context())
		refused(t, err, "is not what it must be")
		if strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, c := start(t)
	a.response = func(r *wire.JobResponse) { r.VMID = token }
	_, err := c.Run(t.Context(), handle, job(wire.Archive))
	refused(t, err, `orchestrator answered for VM "(withheld)"`)
	a.record = func(r *wire.Record) { r.Handle.TopicID = token }
	_, err = c.Attach(t.Context(), topic)
	refused(t, err, `orchestrator answered for topic "(withheld)"`)
}
