package agentd_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/client"
	"github.com/prova-dev/prova/internal/sandbox/fake"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// overTLS starts the agent over the fake hypervisor and returns the control
// plane's client of it, and the token file that both read.
func overTLS(t *testing.T) (c *client.Client, tokenFile string, spec wire.Spec) {
	t.Helper()
	egress, err := fake.ParseEgress("127.0.0.0/8")
	require.NoError(t, err)
	hypervisor, err := fake.New(fake.Options{BaselineValue: 0.5, BaselineFlops: 700, Egress: egress})
	require.NoError(t, err)
	tokenFile = filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte(token+"\n"), 0o600))
	agent, err := agentd.New(agentd.Options{Hypervisor: hypervisor, TokenFile: tokenFile, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	cert, key, _ := certificate(t)
	listener, err := agentd.Listen(t.Context(), "127.0.0.1:0", cert, key)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- agent.Serve(ctx, listener) }()
	spec = specOf("topic-a")
	c, err = client.New(client.Options{URL: "https://" + listener.Addr().String(), TokenFile: tokenFile, CAFile: cert, ImageDigest: spec.Template.ImageDigest})
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return c, tokenFile, spec
}

// serveRun serves an artefact whose fake-run.json is text.
func serveRun(t *testing.T, text string) (uri, digest string) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "fake-run.json", Mode: 0o644, Size: int64(len(text))}))
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(archive.Bytes()) }))
	t.Cleanup(s.Close)
	sum := sha256.Sum256(archive.Bytes())
	return s.URL + "/artifact.tar", hex.EncodeToString(sum[:])
}

func TestTheControlPlanesClientWalksATopicOverTLS(t *testing.T) {
	c, _, spec := overTLS(t)
	require.NoError(t, c.Ready(t.Context()))
	health, err := c.Probe(t.Context())
	require.NoError(t, err)
	require.True(t, health.Ready)
	require.Equal(t, fake.Label, health.Hypervisor)

	none, err := c.Attach(t.Context(), "topic-a")
	require.NoError(t, err)
	require.Nil(t, none)
	record, err := c.Create(t.Context(), spec)
	require.NoError(t, err)
	_, err = c.Create(t.Context(), spec)
	require.ErrorContains(t, err, "live VM topic-a-0001")
	attached, err := c.Attach(t.Context(), "topic-a")
	require.NoError(t, err)
	require.Equal(t, record, attached)
	vm := record.Handle

	got, err := c.Run(t.Context(), vm, jobOf(wire.ProposeRules, "topic-a"))
	require.NoError(t, err)
	require.Equal(t, "archive_safe", got.Output.Rules[0].ID)
	baseline := jobOf(wire.Baseline, "topic-a")
	baseline.RunRequest.ArtifactURI, baseline.RunRequest.FlopsBudget = nil, 1000
	got, err = c.Run(t.Context(), vm, baseline)
	require.NoError(t, err)
	require.InDelta(t, 0.5, *got.Output.Report.PrimaryValue, 0)
	require.Equal(t, uint64(700), *got.Output.Report.FlopsUsed)

	inspect, evaluate := jobOf(wire.Inspect, "topic-a"), jobOf(wire.Evaluate, "topic-a")
	uri, digest := serveRun(t, `{"primary_value":0.25,"flops_used":2000000000000000001,"claim_holds":true}`)
	for _, r := range []*wire.RunRequest{inspect.RunRequest, evaluate.RunRequest} {
		r.ArtifactURI, r.ArtifactDigest = &uri, digest
	}
	got, err = c.Run(t.Context(), vm, inspect)
	require.NoError(t, err)
	require.Nil(t, got.Sister)
	require.True(t, got.Output.Checklist.Items[0].Pass)
	require.Equal(t, "fake-run.json", got.Output.Artifact[0].Path)
	got, err = c.Run(t.Context(), vm, evaluate)
	require.NoError(t, err)
	require.InDelta(t, 0.25, *got.Output.Report.PrimaryValue, 0)
	require.Equal(t, uint64(2000000000000000001), *got.Output.Report.FlopsUsed)
	require.False(t, got.Output.Report.Sandboxed)
	require.Equal(t, "fake", got.Sister.Driver)

	confirmed, err := c.Teardown(t.Context(), vm, wire.Destroy)
	require.NoError(t, err)
	require.True(t, confirmed)
	none, err = c.Attach(t.Context(), "topic-a")
	require.NoError(t, err)
	require.Nil(t, none)
}

func TestTheControlPlanesClientReadsTheReasonOfARefusal(t *testing.T) {
	c, tokenFile, spec := overTLS(t)
	required := specOf("topic-b")
	required.Sandbox.FirecrackerRequired = true
	_, err := c.Create(t.Context(), required)
	require.ErrorContains(t, err, "firecracker_required: this agent is fake")
	record, err := c.Create(t.Context(), spec)
	require.NoError(t, err)

	// Another file than was submitted.
	evaluate := jobOf(wire.Evaluate, "topic-a")
	uri, _ := serveRun(t, `{}`)
	evaluate.RunRequest.ArtifactURI = &uri
	_, err = c.Run(t.Context(), record.Handle, evaluate)
	require.ErrorContains(t, err, "a re-tarred tree never matches")

	// Firecracker asked for by the job of a VM that was not asked for it.
	evaluate.RunRequest.Sandbox.FirecrackerRequired = true
	_, err = c.Run(t.Context(), record.Handle, evaluate)
	require.ErrorContains(t, err, "firecracker_required: this agent is fake")

	// A run whose caller gives up is cancelled, and the VM is free for the next one.
	evaluate = jobOf(wire.Evaluate, "topic-a")
	uri, digest := serveRun(t, `{"primary_value":1,"runs_for_s":600}`)
	evaluate.RunRequest.ArtifactURI, evaluate.RunRequest.ArtifactDigest, evaluate.RunRequest.Sandbox.DeadlineS = &uri, digest, 3600
	ctx, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer leave()
	held := make(chan error, 1)
	go func() {
		_, err := c.Run(ctx, record.Handle, evaluate)
		held <- err
	}()
	require.Eventually(t, func() bool {
		_, err := c.Run(t.Context(), record.Handle, jobOf(wire.Archive, "topic-a"))
		return err != nil && bytes.Contains([]byte(err.Error()), []byte("another job or a teardown holds the VM"))
	}, 5*time.Second, 10*time.Millisecond)
	require.Error(t, <-held)
	require.Eventually(t, func() bool {
		_, err := c.Run(t.Context(), record.Handle, jobOf(wire.Archive, "topic-a"))
		return err == nil
	}, 5*time.Second, 10*time.Millisecond)

	// The agent's token was rotated under it.
	require.NoError(t, os.WriteFile(tokenFile, nil, 0o600))
	require.Error(t, c.Ready(t.Context()))
	_, err = c.Probe(t.Context())
	require.Error(t, err)
}
