package agentd_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestR22EveryRouteAsksForTheBearerFirst(t *testing.T) {
	h := start(t)
	routes := []string{
		"GET /v1/health", "POST /v1/vms", "GET /v1/vms/by-topic/topic-a", "POST /v1/vms/topic-a-0001/jobs", "DELETE /v1/vms/topic-a-0001",
		"GET /", "GET /no/such/route", "PUT /v1/health", "GET //v1/health",
	}
	ask := func(route string, authorization ...string) int {
		t.Helper()
		method, path, _ := strings.Cut(route, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader("not even JSON"))
		require.NoError(t, err)
		r.Header["Authorization"] = authorization
		answer, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		if answer.StatusCode == 401 {
			require.Equal(t, "Bearer", answer.Header.Get("WWW-Authenticate"))
			require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
		}
		return answer.StatusCode
	}
	for _, route := range routes {
		for _, wrong := range [][]string{
			nil, {""}, {"Bearer"}, {"Bearer "}, {"Bearer wrong"}, {"Bearer " + token + "x"}, {"Bearer  " + token}, {"Bearer " + token + " more"},
			{"BEARER " + token}, {"Basic " + token}, {token}, {"Bearer " + token, "Bearer " + token},
		} {
			require.Equal(t, 401, ask(route, wrong...), "%s with %q", route, wrong)
		}
	}
	require.Equal(t, 200, ask("GET /v1/health", "Bearer "+token))
	require.Equal(t, 200, ask("GET /v1/health", "bearer "+token))
	require.NotContains(t, h.log.String(), token)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestR22TheTokenFileIsReadForEachRequest(t *testing.T) {
	h := start(t)
	h.health()
	for name, content := range map[string]string{
		"another token": "other\n", "an empty file": "", "white space": " \n\t", "two words": token + " " + token, "too long": token + strings.Repeat(" ", 5000),
	} {
		require.NoError(t, os.WriteFile(h.token, []byte(content), 0o600))
		status, body := h.call("GET", "/v1/health", "")
		h.refused(wire.CodeUnauthorized, "bearer")(status, body)
		require.NotContains(t, body, h.token, name)
	}
	require.NoError(t, os.Remove(h.token))
	h.refused(wire.CodeUnauthorized, "bearer")(h.call("GET", "/v1/health", ""))
	require.NoError(t, os.WriteFile(h.token, []byte(token), 0o600))
	h.health()
	require.NotContains(t, h.log.String(), token)
}

func TestR22WhatIsNoRequestIsBadSpecOrNotFound(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	at := "/v1/vms/" + record.Handle.VMID
	good := encode(t, wire.CreateRequest{Spec: specOf("topic-b")})
	for name, tc := range map[string]struct{ method, path, body, want string }{
		"no body":                 {"POST", "/v1/vms", "", "invalid JSON"},
		"prose":                   {"POST", "/v1/vms", "please", "invalid JSON"},
		"an unknown member":       {"POST", "/v1/vms", strings.Replace(good, `"vcpus"`, `"cpus"`, 1), "/spec/template/cpus"},
		"a wrong-case member":     {"POST", "/v1/vms", strings.Replace(good, `"vcpus"`, `"VCPUs"`, 1), "did you mean vcpus"},
		"a member twice":          {"POST", "/v1/vms", strings.Replace(good, `"vcpus":2`, `"vcpus":2,"vcpus":2`, 1), "twice"},
		"a number with a point":   {"POST", "/v1/vms", strings.Replace(good, `"vcpus":2`, `"vcpus":2.0`, 1), "integer"},
		"something after it":      {"POST", "/v1/vms", good + "{}", "something follows"},
		"too much":                {"POST", "/v1/vms", strings.Repeat(" ", 4<<20) + good, "larger than 4194304 bytes"},
		"too much in a job":       {"POST", at + "/jobs", strings.Repeat(" ", 5<<20), "larger than 4194304 bytes"},
		"a job without its kind":  {"POST", at + "/jobs", `{"topic_id":"topic-a","job":{}}`, "lacks the member job"},
		"a teardown of no policy": {"DELETE", at, `{"topic_id":"topic-a","policy":"burn"}`, "want destroy or retain"},
	} {
		t.Run(name, func(*testing.T) { h.refused(wire.CodeBadSpec, tc.want)(h.call(tc.method, tc.path, tc.body)) })
	}
	for _, route := range []string{"GET /", "GET /v1", "PUT /v1/health", "GET /v1/vms", "PATCH " + at, "GET " + at + "/jobs", "GET /v1/vms/by-topic/"} {
		method, path, _ := strings.Cut(route, " ")
		h.refused(wire.CodeNotFound, "no such route")(h.call(method, path, ""))
	}
	require.True(t, m.Alive(), "none of this touched the VM")
	require.Equal(t, uint32(1), h.health().VMs)
}

func TestR22CreateAnswersTheRecordAndRefusesInOrder(t *testing.T) {
	h := start(t)
	bad := specOf("topic-a")
	bad.Template.VCPUs = 65
	post := func(spec wire.Spec) (int, string) {
		return h.call("POST", "/v1/vms", encode(t, wire.CreateRequest{Spec: spec}))
	}
	h.driver.ready.Store(&wire.Error{Code: wire.CodeNotReady, Text: "image sha256:… is missing"})
	h.refused(wire.CodeBadSpec, "topic-vm spec: vcpus is missing or out of range")(post(bad)) // Before readiness.
	h.refused(wire.CodeNotReady, "image sha256")(post(specOf("topic-a")))
	health := h.health()
	require.Equal(t, wire.Health{APIVersion: 1, Reason: "image sha256:… is missing", Hypervisor: "scripted"}, health)
	h.driver.ready.Store(nil)

	spec := specOf("topic-a")
	spec.Retain = ""
	_, record := h.create(spec)
	require.Equal(t, wire.Record{
		Handle: wire.Handle{TopicID: "topic-a", VMID: "topic-a-0001"}, ImageDigest: spec.Template.ImageDigest, VCPUs: 2, MemMiB: 4096,
		Sandbox: spec.Sandbox, Retain: wire.Destroy, State: wire.Running,
	}, record)
	h.refused(wire.CodeAlreadyExists, "topic-a-0001")(post(specOf("topic-a")))

	long := strings.Repeat("t", 63)
	_, record = h.create(specOf(long))
	require.Equal(t, strings.Repeat("t", 58)+"-0002", record.Handle.VMID)
	require.Equal(t, wire.Health{APIVersion: 1, Ready: true, Hypervisor: "scripted", VMs: 2}, h.health())
}

func TestR22AFailedBootIsAnsweredByItsCode(t *testing.T) {
	h := start(t)
	for name, tc := range map[string]struct {
		boot func(context.Context, wire.Spec, string) (agentd.VM, error)
		code wire.Code
		text string
	}{
		"a reason without a code": {func(context.Context, wire.Spec, string) (agentd.VM, error) { return nil, errGuest }, wire.CodeBackend, "of a reason"},
		"a driver's own code": {func(context.Context, wire.Spec, string) (agentd.VM, error) {
			return nil, fmt.Errorf("step: %w", &wire.Error{Code: wire.CodeNotReady, Text: "firecracker_required"})
		}, wire.CodeNotReady, "firecracker_required"},
		"nothing": {func(context.Context, wire.Spec, string) (agentd.VM, error) { return nil, nil }, wire.CodeBackend, "booted nothing"},
		"a panic": {func(context.Context, wire.Spec, string) (agentd.VM, error) { panic("planted") }, wire.CodeBackend, "does not handle"},
		"a text that is none": {func(context.Context, wire.Spec, string) (agentd.VM, error) {
			return nil, &wire.Error{Code: "odd", Text: "\xff"}
		}, wire.CodeBackend, "no text"},
	} {
		t.Run(name, func(t *testing.T) {
			h.driver.boot = tc.boot
			status, body := h.call("POST", "/v1/vms", encode(t, wire.CreateRequest{Spec: specOf("topic-a")}))
			h.refused(tc.code, tc.text)(status, body)
			require.NotContains(t, body, "planted")
			require.Zero(t, h.health().VMs, "nothing is left of it")
		})
	}
	require.Contains(t, h.log.String(), "planted", "the operator sees where")
}

func TestR22AttachFindsTheRunningVMOfItsTopicOnly(t *testing.T) {
	h := start(t)
	h.refused(wire.CodeNotFound, "no running VM")(h.call("GET", "/v1/vms/by-topic/topic-a", ""))
	_, record := h.create(specOf("topic-a"))
	status, body := h.call("GET", "/v1/vms/by-topic/topic-a", "")
	require.Equal(t, 200, status)
	require.Equal(t, encode(t, record), body)
	h.refused(wire.CodeNotFound, "no running VM")(h.call("GET", "/v1/vms/by-topic/topic-b", ""))
	h.refused(wire.CodeNotFound, "no running VM")(h.call("GET", "/v1/vms/by-topic/..%2Ftopic-a", ""))
}

// TestR245KilledVMIsNeverAdvertisedAndReleasedOnce is the line "VM killed → next attach 404 and create succeeds".
func TestR245KilledVMIsNeverAdvertisedAndReleasedOnce(t *testing.T) {
	for name, notice := range map[string]func(h *host, vm string){
		"attach": func(h *host, _ string) {
			h.refused(wire.CodeNotFound, "no running VM")(h.call("GET", "/v1/vms/by-topic/topic-a", ""))
		},
		"health": func(h *host, _ string) { h.health() },
		"job": func(h *host, vm string) {
			h.refused(wire.CodeNotFound, "process is gone")(h.run(vm, jobOf(wire.Evaluate, "topic-a")))
		},
		"create": func(h *host, _ string) {
			_, record := h.create(specOf("topic-a"))
			require.Equal(h.t, "topic-a-0002", record.Handle.VMID)
		},
	} {
		t.Run("noticed by "+name, func(t *testing.T) {
			h := start(t)
			spec := specOf("topic-a")
			spec.Retain = wire.Keep
			m, record := h.create(spec)
			m.dead.Store(true)
			notice(h, record.Handle.VMID)
			require.Equal(t, []wire.Retain{wire.Keep}, m.releases(), "by its topic's policy")
			if name != "create" {
				h.refused(wire.CodeNotFound, "no running VM")(h.call("GET", "/v1/vms/by-topic/topic-a", ""))
				require.Equal(t, uint32(1), h.health().VMs, "crashed ones are counted")
				h.create(specOf("topic-a"))
			}
			h.refused(wire.CodeNotFound, "it is crashed")(h.run(record.Handle.VMID, jobOf(wire.Evaluate, "topic-a")))
			status, body := h.teardown(record.Handle.VMID, "topic-a", wire.Destroy)
			require.Equal(t, 200, status)
			require.Equal(t, `{"topic_id":"topic-a","vm_id":"topic-a-0001","state":"crashed","confirmed":true}`, body)
			require.Len(t, m.releases(), 1)
			require.Equal(t, uint32(2), h.health().VMs)
		})
	}
}

func TestR22TeardownByItsPolicy(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	vm := record.Handle.VMID
	h.refused(wire.CodeNotFound, "no such VM")(h.teardown("topic-a-0009", "topic-a", wire.Destroy))
	h.refused(wire.CodeTopicMismatch, "another topic")(h.teardown(vm, "topic-b", wire.Destroy))
	require.True(t, m.Alive())
	status, body := h.teardown(vm, "topic-a", wire.Destroy)
	require.Equal(t, 200, status)
	require.Equal(t, `{"topic_id":"topic-a","vm_id":"topic-a-0001","state":"destroyed","confirmed":true}`, body)
	require.Equal(t, []wire.Retain{wire.Destroy}, m.releases())
	require.Zero(t, h.health().VMs, "destroyed ones are removed")
	h.refused(wire.CodeNotFound, "no such VM")(h.teardown(vm, "topic-a", wire.Destroy))

	m, record = h.create(specOf("topic-a"))
	vm = record.Handle.VMID
	want := `{"topic_id":"topic-a","vm_id":"topic-a-0002","state":"retained","confirmed":true}`
	for range 2 {
		status, body = h.teardown(vm, "topic-a", wire.Keep)
		require.Equal(t, 200, status)
		require.Equal(t, want, body)
	}
	require.Equal(t, []wire.Retain{wire.Keep}, m.releases(), "once")
	require.Equal(t, uint32(1), h.health().VMs, "retained ones are kept in the list")
	h.refused(wire.CodeNotFound, "it is retained")(h.run(vm, jobOf(wire.Archive, "topic-a")))
	h.refused(wire.CodeNotFound, "no running VM")(h.call("GET", "/v1/vms/by-topic/topic-a", ""))
}

func TestATeardownThatFailsIsNotConfirmedAndCanBeRepeated(t *testing.T) {
	h := start(t)
	m, record := h.create(specOf("topic-a"))
	m.release = func(context.Context, wire.Retain) error { return errGuest }
	h.refused(wire.CodeBackend, "could not be released")(h.teardown(record.Handle.VMID, "topic-a", wire.Destroy))
	m.release = func(context.Context, wire.Retain) error { panic("planted") }
	h.refused(wire.CodeBackend, "could not be released")(h.teardown(record.Handle.VMID, "topic-a", wire.Destroy))

	// It died meanwhile, and cannot be released either: crashed, and tried again.
	m.release = func(context.Context, wire.Retain) error { return errGuest }
	m.dead.Store(true)
	require.Equal(t, uint32(1), h.health().VMs)
	h.refused(wire.CodeBackend, "could not be released")(h.teardown(record.Handle.VMID, "topic-a", wire.Keep))
	m.release = nil
	status, body := h.teardown(record.Handle.VMID, "topic-a", wire.Keep)
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `"state":"crashed","confirmed":true`)
	require.Equal(t, []wire.Retain{wire.Destroy}, m.releases(), "as its topic asked for")
}
