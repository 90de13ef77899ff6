package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/client"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// sandboxRun starts "prova sandbox" with the arguments, as a process would.
func sandboxRun(ctx context.Context, stdout, stderr io.Writer, environment map[string]string, args ...string) error {
	cmd := newSandboxCmd(&Env{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Getenv: func(name string) string { return environment[name] }})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}

func TestSandboxServeFakeAnswersTheControlPlaneAndSaysWhatItIs(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("planted-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	var stderr strings.Builder // Read after the command has ended.
	ended := make(chan error, 1)
	go func() {
		err := sandboxRun(ctx, in, &stderr, map[string]string{"PROOF_VM_AGENT_BIND": "127.0.0.1:0", "PROOF_VM_AGENT_TOKEN_FILE": token, "PROVA_PRODUCTION": "0"},
			"serve", "--fake", "--baseline-value", "0.42")
		in.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("no first line: %v", <-ended)
	}
	url, ok := strings.CutPrefix(lines.Text(), "agent ")
	if !ok || !lines.Scan() || lines.Text() != "hypervisor fake (nothing is isolated, figures are the artefact's own)" {
		t.Fatalf("it says %q and then %q", url, lines.Text())
	}
	spec := wire.Spec{TopicID: "topic-a", Template: wire.Template{ImageDigest: "sha256:" + strings.Repeat("ab", 32), VCPUs: 1, MemMiB: 512}}
	c, err := client.New(client.Options{URL: url, TokenFile: token, ImageDigest: spec.Template.ImageDigest})
	if err != nil {
		t.Fatal(err)
	}
	vm, err := c.Create(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	request := &wire.RunRequest{SchemaVersion: 1, TopicID: "topic-a", Direction: "min", Constraints: []byte("{}"), FlopsBudget: 10}
	got, err := c.Run(ctx, vm.Handle, wire.Job{Kind: wire.Baseline, RunRequest: request})
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Output.Report; *r.PrimaryValue != 0.42 || *r.FlopsUsed != 1 || r.Sandboxed || got.Sister.Driver != "fake" {
		t.Errorf("the baseline is %+v, its evidence %+v", r, got.Sister)
	}
	answer, err := http.Get(url + "/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the bearer: status %d", answer.StatusCode)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if log := stderr.String(); !strings.HasPrefix(log, "FAKE AGENT: nothing is isolated") || !strings.Contains(log, `action="job baseline"`) || strings.Contains(log, "planted") {
		t.Errorf("it logged %q", log)
	}
}

func TestDecision12SandboxServeFakeIsRefusedInProduction(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"1": "--fake is refused under PROVA_PRODUCTION=1", "yes": "--fake is refused under PROVA_PRODUCTION=1", "on": "PROVA_PRODUCTION: want 1, true, yes, 0, false or no",
	} {
		err := sandboxRun(t.Context(), io.Discard, io.Discard, map[string]string{"PROVA_PRODUCTION": value}, "serve", "--fake", "--token-file", "no-such-file")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("PROVA_PRODUCTION=%s: %v", value, err)
		}
	}
}
