package agent

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("%s is missing: run make deps", p)
		}
	}
}

// example runs an example agent for real through the runner.
func example(t *testing.T, s *standIn, command string) (tally, Outcome, string) {
	t.Helper()
	a, w := s.join(command)
	var log bytes.Buffer
	out, err := RunCommand(t.Context(), a, w, command, RunOptions{Stderr: &log, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}})
	if err != nil || out.ExitStatus != 0 || len(out.Refused) > 0 {
		t.Fatalf("%s: %+v, %v\n%s", command, out, err, &log)
	}
	if strings.Contains(log.String(), a.APIKey) || strings.Contains(log.String(), a.SeasonToken) {
		t.Errorf("%s: a secret is in its log", command)
	}
	return s.tally(a.AgentDID), out, log.String()
}

func exampleFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "examples", "agents", name))
	check(t, err)
	if strings.ContainsAny(path, "'\n") {
		t.Fatalf("the path %q cannot stand in a shell command of this test", path)
	}
	return "'" + path + "'"
}

func TestExampleShellAgentPrintsLinesThatTheRunnerSubmits(t *testing.T) {
	needs(t, "sh", "curl", "jq")
	s := newStandIn(t, practice())
	got, out, log := example(t, s, "sh "+exampleFile(t, "shell/agent.sh"))
	if len(out.Submitted) != 10 || got.submitted != 10 || got.unsupported != 0 || got.grounded < 5 {
		t.Errorf("%+v\n%+v\n%s", out, got, log)
	}
}

func TestExamplePythonAgentSubmitsItselfAndReachesTheKey(t *testing.T) {
	needs(t, "python3")
	for _, seed := range []string{"", "another", "a third", "a fourth", "a fifth"} {
		o := practice()
		if seed != "" {
			o.Seed = sha256.Sum256([]byte(seed))
		}
		s := newStandIn(t, o)
		got, out, log := example(t, s, "python3 "+exampleFile(t, "python/agent.py"))
		if len(out.Submitted) != 0 || out.LogLines != 10 || got.submitted != 10 || got.unsupported != 0 || got.grounded != 10 {
			t.Errorf("seed %q: %+v\n%+v\n%s", seed, out, got, log)
		}
	}
}

func TestExampleAgentsSayWhatFailedAndExitWithAStatus(t *testing.T) {
	needs(t, "sh", "curl", "jq", "python3")
	s := newStandIn(t, practice())
	a, w := s.join("A")
	unknown := *a
	unknown.APIKey = "mcp_free_unknown"
	for _, command := range []string{"sh " + exampleFile(t, "shell/agent.sh"), "python3 " + exampleFile(t, "python/agent.py")} {
		for name, c := range map[string]struct {
			access *Access
			work   *Work
			status int
			want   string
		}{
			"a key that is unknown":      {&unknown, w, 1, "Invalid or missing API key"},
			"an input without the track": {a, &Work{Season: 1, Tracks: map[string]TrackWork{"other": {}}}, 65, "no track conformite"},
		} {
			var log bytes.Buffer
			out, err := RunCommand(t.Context(), c.access, c.work, command, RunOptions{Stderr: &log})
			if err != nil || out.ExitStatus != c.status || len(out.Submitted) != 0 || !strings.Contains(log.String(), c.want) {
				t.Errorf("%s with %s: %+v, %v\n%s", command, name, out, err, &log)
			}
		}
	}
	if n := len(s.submitted(a.AgentDID)); n != 0 {
		t.Errorf("%d submissions were recorded", n)
	}
}
