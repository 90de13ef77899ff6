package client_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/client"
	"github.com/prova-dev/prova/internal/sandbox/fake"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// The agent of this repository, over the hypervisor that isolates nothing, is
// understood by the client in every call, and what it cannot do is refused by code.
func TestTheAgentOfThisRepositoryIsUnderstood(t *testing.T) {
	h, err := fake.New(fake.Options{BaselineValue: 0.75, BaselineFlops: 9})
	if err != nil {
		t.Fatal(err)
	}
	path := file(t, "token", token)
	a, err := agentd.New(agentd.Options{Hypervisor: h, TokenFile: path, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Handler())
	c, err := client.New(client.Options{URL: server.URL, TokenFile: path, ImageDigest: image})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); server.Close() })
	ctx := t.Context()

	if r, err := c.Attach(ctx, topic); r != nil || err != nil {
		t.Fatal("attach before any VM: ", r, err)
	}
	coded := func(err error, want wire.Code) {
		t.Helper()
		if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != want {
			t.Errorf("got %v, want code %s", err, want)
		}
	}
	_, err = c.Create(ctx, spec())
	coded(err, wire.CodeNotReady)
	s := spec()
	s.Sandbox.FirecrackerRequired = false
	r, err := c.Create(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Create(ctx, s)
	coded(err, wire.CodeAlreadyExists)
	if again, err := c.Attach(ctx, topic); err != nil || again.Handle != r.Handle {
		t.Error(again, err)
	}
	if health, err := c.Probe(ctx); err != nil || !health.Ready || health.VMs != 1 {
		t.Error(health, err)
	}
	baseline := job(wire.Baseline)
	baseline.RunRequest.Sandbox.FirecrackerRequired, baseline.RunRequest.FlopsBudget = false, 100
	out, err := c.Run(ctx, r.Handle, baseline)
	if err != nil || out.Sister == nil || out.Output.Report.Sandboxed || *out.Output.Report.PrimaryValue != 0.75 || *out.Output.Report.FlopsUsed != 9 {
		t.Errorf("%+v %v", out, err)
	}
	_, err = c.Run(ctx, wire.Handle{TopicID: topic, VMID: "another-0001"}, baseline)
	coded(err, wire.CodeNotFound)
	if confirmed, err := c.Teardown(ctx, r.Handle, wire.Destroy); err != nil || !confirmed {
		t.Error(confirmed, err)
	}
	_, err = c.Teardown(ctx, r.Handle, wire.Destroy)
	coded(err, wire.CodeNotFound)
}
