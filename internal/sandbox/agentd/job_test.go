package agentd_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func response(t *testing.T, body string) *wire.JobResponse {
	t.Helper()
	var r wire.JobResponse
	require.NoError(t, wire.Decode([]byte(body), &r), body)
	return &r
}

func TestR22EachJobIsAnsweredWithItsOutputAndItsEvidence(t *testing.T) {
	h := start(t)
	_, record := h.create(specOf("topic-a"))
	for _, kind := range []wire.JobKind{wire.ProposeRules, wire.Baseline, wire.Inspect, wire.Evaluate, wire.Archive} {
		job := jobOf(kind, "topic-a")
		status, body := h.run(record.Handle.VMID, job)
		require.Equal(t, 200, status, body)
		got := response(t, body)
		require.Equal(t, "topic-a", got.TopicID)
		require.Equal(t, record.Handle.VMID, got.VMID)
		require.Equal(t, wire.ForJob(kind), got.Output.Kind)
		require.Equal(t, job.Paid(), got.Sister != nil)
		if job.Paid() {
			require.Equal(t, uint64(2000000000000000001), *got.Output.Report.FlopsUsed, "the attestation's, exactly")
			require.False(t, got.Output.Report.Sandboxed)
		}
	}
	require.NotContains(t, h.log.String(), "planted", "no content of a job is logged")
	require.Contains(t, h.log.String(), `action="job evaluate" topic=topic-a vm=topic-a-0001 code=ok`)
}

// TestR22RunRefusesInOrder breaks one thing at a time and then each pair: the
// earlier refusal wins.
func TestR22RunRefusesInOrder(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	_, gone := h.create(specOf("topic-b"))
	status, body := h.teardown(gone.Handle.VMID, "topic-b", wire.Keep)
	require.Equal(t, 200, status, body)
	held, hold := make(chan struct{}), make(chan struct{})
	m.run = func(context.Context, wire.Job) (wire.Output, *wire.Attestation, error) {
		close(held)
		<-hold
		output, sister := outcome(jobOf(wire.Evaluate, "topic-a"))
		return output, sister, nil
	}
	var holder sync.WaitGroup
	holder.Go(func() { h.run(record.Handle.VMID, jobOf(wire.Evaluate, "topic-a")) })
	<-held

	type request struct {
		vm, topic string
		job       wire.Job
	}
	steps := []struct {
		name  string
		spoil func(*request)
		code  wire.Code
		text  string
	}{
		{"no such VM", func(r *request) { r.vm = "topic-a-0009" }, wire.CodeNotFound, "no such VM"},
		{"a VM that does not run", func(r *request) { r.vm = gone.Handle.VMID }, wire.CodeNotFound, "it is retained"},
		{"the envelope's topic", func(r *request) { r.topic = "topic-c" }, wire.CodeTopicMismatch, "the request names"},
		{"the job's topic", func(r *request) { r.job = jobOf(wire.Evaluate, "topic-c") }, wire.CodeTopicMismatch, "the job names"},
		{"a job at odds with itself", func(r *request) { r.job.RulesVersion = 3 }, wire.CodeBadSpec, "the request names 2"},
		{"a VM that works", func(*request) {}, wire.CodeBusy, "another job"},
	}
	post := func(r request) (int, string) {
		return h.call("POST", "/v1/vms/"+r.vm+"/jobs", encode(t, wire.JobRequest{TopicID: r.topic, Job: r.job}))
	}
	for i, first := range steps {
		for _, second := range steps[i:] {
			if first.name == "no such VM" && second.name == "a VM that does not run" {
				continue // A request names one VM.
			}
			t.Run(first.name+" before "+second.name, func(*testing.T) {
				r := request{record.Handle.VMID, "topic-a", jobOf(wire.Evaluate, "topic-a")}
				second.spoil(&r)
				first.spoil(&r)
				h.refused(first.code, first.text)(post(r))
			})
		}
	}
	// A teardown is refused while the job holds the VM, and a VM that dies under it
	// is nobody's to find.
	h.refused(wire.CodeBusy, "a job")(h.teardown(record.Handle.VMID, "topic-a", wire.Destroy))
	m.dead.Store(true)
	h.refused(wire.CodeNotFound, "no running VM")(h.call("GET", "/v1/vms/by-topic/topic-a", ""))
	require.Empty(t, m.releases(), "the job's end releases it")
	close(hold)
	holder.Wait()
	require.Equal(t, []wire.Retain{wire.Destroy}, m.releases())
}

func TestR22WhatAGuestAnswersIsHeldToTheJob(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	type change func(o *wire.Output, s *wire.Attestation) *wire.Attestation
	for name, tc := range map[string]struct {
		kind   wire.JobKind
		change change
		code   wire.Code
		text   string
	}{
		"another output": {wire.Evaluate, func(o *wire.Output, s *wire.Attestation) *wire.Attestation {
			o.Kind = wire.BaselineOutput
			return s
		}, wire.CodeWrongOutput, "topic-vm returned the wrong output for evaluate"},
		"no report": {wire.Evaluate, func(o *wire.Output, s *wire.Attestation) *wire.Attestation {
			o.Report = nil
			return s
		}, wire.CodeEvidenceMismatch, "wrong output"},
		"a report of another topic": {wire.Baseline, func(o *wire.Output, s *wire.Attestation) *wire.Attestation {
			o.Report.TopicID = "topic-b"
			return s
		}, wire.CodeEvidenceMismatch, `report names topic_id "topic-b", the paid job names "topic-a"`},
		"a report of another submission": {wire.Evaluate, func(o *wire.Output, s *wire.Attestation) *wire.Attestation {
			o.Report.SubmissionDigest = "b"
			return s
		}, wire.CodeEvidenceMismatch, `report names submission_digest "b"`},
		"evidence of another artefact": {wire.Evaluate, func(_ *wire.Output, s *wire.Attestation) *wire.Attestation {
			s.ArtifactDigest = "b"
			return s
		}, wire.CodeEvidenceMismatch, `sister evidence names artifact_digest "b"`},
		"evidence for a job that runs nothing": {wire.Inspect, func(*wire.Output, *wire.Attestation) *wire.Attestation {
			return &wire.Attestation{Driver: "scripted", Class: "none"}
		}, wire.CodeEvidenceMismatch, "runs no miner code"},
		"evidence that is sandboxed by another driver (decision 13)": {wire.Evaluate, func(_ *wire.Output, s *wire.Attestation) *wire.Attestation {
			s.Sandboxed = true
			return s
		}, wire.CodeEvidenceMismatch, `driver "scripted" says sandboxed`},
		"evidence of a run with a network": {wire.Evaluate, func(_ *wire.Output, s *wire.Attestation) *wire.Attestation {
			s.Network = "eth0"
			return s
		}, wire.CodeEvidenceMismatch, `network "eth0"`},
		"evidence without a driver (decision 13)": {wire.Evaluate, func(_ *wire.Output, s *wire.Attestation) *wire.Attestation {
			s.Driver = ""
			return s
		}, wire.CodeEvidenceMismatch, "no driver"},
	} {
		t.Run(name, func(t *testing.T) {
			m.run = func(_ context.Context, job wire.Job) (wire.Output, *wire.Attestation, error) {
				output, sister := outcome(job)
				sister = tc.change(&output, sister)
				return output, sister, nil
			}
			status, body := h.run(record.Handle.VMID, jobOf(tc.kind, "topic-a"))
			h.refused(tc.code, tc.text)(status, body)
		})
	}
}

func TestR22StampOverwritesWhatTheGuestWrote(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	own := uint64(1)
	var sister func(s *wire.Attestation) *wire.Attestation
	m.run = func(_ context.Context, job wire.Job) (wire.Output, *wire.Attestation, error) {
		output, s := outcome(job)
		output.Report.Sandboxed, output.Report.FlopsUsed = true, &own
		return output, sister(s), nil
	}
	for name, tc := range map[string]struct {
		sister    func(s *wire.Attestation) *wire.Attestation
		sandboxed bool
		flops     *uint64
	}{
		"no sister":                {func(*wire.Attestation) *wire.Attestation { return nil }, false, nil},
		"a sister without measure": {func(s *wire.Attestation) *wire.Attestation { s.FlopsUsed = nil; return s }, false, nil},
		"firecracker": {func(s *wire.Attestation) *wire.Attestation {
			s.Driver, s.Class, s.Sandboxed = "firecracker", "vm-hardware", true
			return s
		}, true, new(uint64(2000000000000000001))},
		"a stand-in that says so": {func(s *wire.Attestation) *wire.Attestation {
			s.Sandboxed, s.Standin = true, true
			return s
		}, true, new(uint64(2000000000000000001))},
	} {
		t.Run(name, func(t *testing.T) {
			sister = tc.sister
			status, body := h.run(record.Handle.VMID, jobOf(wire.Evaluate, "topic-a"))
			require.Equal(t, 200, status, body)
			report := response(t, body).Output.Report
			require.Equal(t, tc.sandboxed, report.Sandboxed)
			require.Equal(t, tc.flops, report.FlopsUsed)
		})
	}
}

func TestAJobThatFailsKeepsItsVMUnlessItDied(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	vm := record.Handle.VMID
	m.run = func(context.Context, wire.Job) (wire.Output, *wire.Attestation, error) {
		return wire.Output{}, nil, errGuest
	}
	h.refused(wire.CodeBackend, "of a reason")(h.run(vm, jobOf(wire.Inspect, "topic-a")))
	m.run = func(context.Context, wire.Job) (wire.Output, *wire.Attestation, error) { panic("planted") }
	status, body := h.run(vm, jobOf(wire.Inspect, "topic-a"))
	h.refused(wire.CodeBackend, "does not handle")(status, body)
	require.NotContains(t, body, "planted")
	m.run = nil
	status, _ = h.run(vm, jobOf(wire.Inspect, "topic-a"))
	require.Equal(t, 200, status)
	m.run = func(context.Context, wire.Job) (wire.Output, *wire.Attestation, error) {
		m.dead.Store(true)
		return wire.Output{}, nil, errGuest
	}
	h.refused(wire.CodeBackend, "of a reason")(h.run(vm, jobOf(wire.Inspect, "topic-a")))
	require.Equal(t, []wire.Retain{wire.Destroy}, m.releases(), "before the answer")
	h.refused(wire.CodeNotFound, "it is crashed")(h.run(vm, jobOf(wire.Inspect, "topic-a")))
}

// waits is a job that ends with its context, as a driver's must.
func waits(began chan<- struct{}, ended chan<- error) func(context.Context, wire.Job) (wire.Output, *wire.Attestation, error) {
	return func(ctx context.Context, _ wire.Job) (wire.Output, *wire.Attestation, error) {
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return wire.Output{}, nil, ctx.Err()
	}
}

func TestAJobEndsWithItsCaller(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	began, ended := make(chan struct{}), make(chan error, 1)
	m.run = waits(began, ended)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan string, 1)
	go func() {
		_, body := h.callContext(ctx, "POST", "/v1/vms/"+record.Handle.VMID+"/jobs", encode(t, wire.JobRequest{TopicID: "topic-a", Job: jobOf(wire.Evaluate, "topic-a")}))
		done <- body
	}()
	<-began
	leave()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Contains(t, <-done, "canceled")
	m.run = nil
	require.Eventually(t, func() bool {
		status, _ := h.run(record.Handle.VMID, jobOf(wire.Inspect, "topic-a"))
		return status == 200
	}, 5*time.Second, 10*time.Millisecond, "the VM is free again")
}

func TestR23AJobIsCutAtItsDeadline(t *testing.T) {
	h := start(t, func(o *agentd.Options) { o.JobTimeout, o.Grace = 50*time.Millisecond, 100*time.Millisecond })
	m, record := h.create(specOf("topic-a"))
	paid := jobOf(wire.Evaluate, "topic-a")
	paid.RunRequest.Sandbox.DeadlineS = 1
	for want, job := range map[string]wire.Job{
		"job evaluate was cut at its deadline: deadline_s 1 and 100ms of grace": paid,
		"job inspect was cut at its deadline: 50ms":                             jobOf(wire.Inspect, "topic-a"), // Its deadline_s is the run's, not its own.
	} {
		began, ended := make(chan struct{}), make(chan error, 1)
		m.run = waits(began, ended)
		at := time.Now()
		h.refused(wire.CodeBackend, want)(h.run(record.Handle.VMID, job))
		require.Error(t, <-ended)
		require.Equal(t, job.Kind == wire.Evaluate, time.Since(at) > time.Second)
	}
}

func TestAJobThatDoesNotStopCostsItsVM(t *testing.T) {
	h := start(t, func(o *agentd.Options) { o.JobTimeout, o.StopWait = 20*time.Millisecond, 50*time.Millisecond })
	m, record := h.create(specOf("topic-a"))
	hold := make(chan struct{})
	m.run = func(context.Context, wire.Job) (wire.Output, *wire.Attestation, error) {
		<-hold
		return wire.Output{}, nil, errGuest
	}
	h.refused(wire.CodeBackend, "did not stop")(h.run(record.Handle.VMID, jobOf(wire.Inspect, "topic-a")))
	require.Equal(t, []wire.Retain{wire.Destroy}, m.releases())
	h.create(specOf("topic-a")) // The topic is not stuck with it.
	close(hold)
}

func TestACallerThatLeavesEndsTheBootAndNothingIsLeft(t *testing.T) {
	h := start(t)
	began, ended := make(chan struct{}), make(chan error, 1)
	h.driver.boot = func(ctx context.Context, _ wire.Spec, _ string) (agentd.VM, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	ctx, leave := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() { h.callContext(ctx, "POST", "/v1/vms", encode(t, wire.CreateRequest{Spec: specOf("topic-a")})) })
	<-began
	leave()
	require.ErrorIs(t, <-ended, context.Canceled)
	first.Wait()
	h.driver.boot = nil
	h.create(specOf("topic-a")) // The create lock is free.
	require.Equal(t, uint32(1), h.health().VMs)
}

func TestR22OneCreateLockGivesATopicOneVM(t *testing.T) {
	h := start(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for range 20 {
		all.Go(func() {
			status, _ := h.call("POST", "/v1/vms", encode(t, wire.CreateRequest{Spec: specOf("topic-a")}))
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	all.Wait()
	require.Equal(t, map[int]int{http.StatusCreated: 1, http.StatusConflict: 19}, got)
	require.Len(t, h.driver.vms, 1)
}

// TestManyAtOnceNeverShareAVMAndReleaseEachOnce mixes every route with VMs that die.
func TestManyAtOnceNeverShareAVMAndReleaseEachOnce(t *testing.T) {
	h := start(t)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for step := range 30 {
				switch (worker + step) % 5 {
				case 0:
					h.call("POST", "/v1/vms", encode(t, wire.CreateRequest{Spec: specOf("topic-a")}))
				case 1, 2:
					_, body := h.call("GET", "/v1/vms/by-topic/topic-a", "")
					if _, rest, ok := strings.Cut(body, `"vm_id":"`); ok {
						vm, _, _ := strings.Cut(rest, `"`)
						h.run(vm, jobOf(wire.Evaluate, "topic-a"))
					}
				case 3:
					h.driver.mu.Lock()
					if n := len(h.driver.vms); n > 0 {
						h.driver.vms[n-1].dead.Store(true)
					}
					h.driver.mu.Unlock()
				case 4:
					h.call("DELETE", fmt.Sprintf("/v1/vms/topic-a-%04d", step), encode(t, wire.TeardownRequest{TopicID: "topic-a", Policy: wire.Destroy}))
				}
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, h.agent.Close(ctx))
	require.NotEmpty(t, h.driver.vms)
	for _, m := range h.driver.vms {
		require.Len(t, m.releases(), 1, m.id)
	}
}
