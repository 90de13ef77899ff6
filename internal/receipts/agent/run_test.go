package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// agentRun is one command run against a stand-in by a participant of its own.
type agentRun struct {
	out    Outcome
	err    error
	log    string
	access *Access
	work   *Work
}

func runCommand(t *testing.T, s *standIn, ctx context.Context, command string, env ...string) agentRun {
	t.Helper()
	a, w := s.join(fmt.Sprintf("%.40s %d", t.Name(), len(s.names)))
	var log bytes.Buffer
	out, err := RunCommand(ctx, a, w, command, RunOptions{Stderr: &log, Env: append([]string{"PATH=" + os.Getenv("PATH")}, env...)})
	return agentRun{out, err, log.String(), a, w}
}

func TestRunCommandGivesTheEnvironmentAndTheWorkOfTheDesign(t *testing.T) {
	s := newStandIn(t, practice())
	dir := t.TempDir()
	r := runCommand(t, s, t.Context(), `cat >"$OUT/stdin"; env >"$OUT/env"; echo ready`, "OUT="+dir, "PROVA_CHALLENGE__SECRET=operator", "PROVA_API_KEY=other")
	check(t, r.err)
	if r.out.ExitStatus != 0 || r.out.LogLines != 1 || !strings.Contains(r.log, "agent: ready\n") {
		t.Errorf("%+v\n%s", r.out, r.log)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	check(t, err)
	for _, want := range []string{
		"PROVA_ISSUER_URL=" + s.server.URL, "PROVA_SEASON_URL=" + s.server.URL, "PROVA_SEASON=1",
		"PROVA_API_KEY=" + r.access.APIKey, "PROVA_SEASON_TOKEN=" + r.access.SeasonToken, "PROVA_AGENT_DID=" + r.access.AgentDID,
	} {
		if !strings.Contains("\n"+string(env), "\n"+want+"\n") {
			t.Errorf("%s is not in the environment", want)
		}
	}
	if bytes.Contains(env, []byte("operator")) {
		t.Error("the operator's own configuration reached the agent")
	}
	stdin, err := os.ReadFile(filepath.Join(dir, "stdin"))
	check(t, err)
	want, err := r.work.JSON()
	check(t, err)
	if !bytes.Equal(stdin, want) {
		t.Errorf("standard input is %.100s", stdin)
	}
}

// proofOf makes one consultation and leaves its proof id to a shell command.
func proofOf(t *testing.T, s *standIn, a *Access) Receipt {
	t.Helper()
	r, err := NewClient(a).Consult(t.Context(), record(s))
	check(t, err)
	return r
}

func TestRunCommandSubmitsPrintedLinesAndShowsTheOthers(t *testing.T) {
	s := newStandIn(t, practice())
	a, w := s.join("A")
	p := proofOf(t, s, a)
	task := s.tasks[0].ID
	line := func(verdict, more string) string {
		return `{"track":"conformite","task_id":"` + task + `","verdict":"` + verdict + `","assertions":[` +
			`{"resource":"` + p.Resource + `","field":"/existe","value":true,"proof_ids":["` + p.ProofID + `"]},` +
			`{"id":"mine","claim":{"resource":"` + p.Resource + `","field":"/statut","value":"é\u00e9 & <b>"},"proof_ids":["` + p.ProofID + `"]}]` + more + `}`
	}
	file := filepath.Join(t.TempDir(), "lines")
	check(t, os.WriteFile(file, []byte(strings.Join([]string{
		"starting", line("non_conforme", ""), "", `{"level":"info","msg":"a log in JSON"}`, "{ not JSON", "[1,2]", "\x1b[31mred\x1b[0m\ttab",
		"\xff\xfe", "key " + a.APIKey + " token " + a.SeasonToken,
		"  " + line("conforme", `,"narrative":"why"`) + " \r", "the last line has no end",
	}, "\n")), 0o600))
	var log bytes.Buffer
	out, err := RunCommand(t.Context(), a, w, "cat '"+file+"'; echo on stderr >&2", RunOptions{Stderr: &log})
	check(t, err)
	if out.ExitStatus != 0 || len(out.Refused) != 0 || fmt.Sprint(out.Submitted) != "["+task+"]" || out.LogLines != 10 {
		t.Errorf("%+v\n%s", out, &log)
	}
	got := s.submitted(a.AgentDID)[task]
	if got == nil || got.Verdict != "conforme" || got.Narrative == nil || len(got.Assertions) != 2 || got.Assertions[1].ID != "mine" || got.Assertions[1].Value != "éé & <b>" {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"agent: starting\n", "agent: on stderr\n", "agent: the last line has no end\n", "agent: { not JSON\n", "[secret] token [secret]", "prova: " + task + " submitted: conforme, 2 assertions\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "\x1b") || !utf8.ValidString(log.String()) || strings.Contains(log.String(), a.APIKey) {
		t.Errorf("the log holds what a terminal must not get:\n%q", log.String())
	}
}

func TestRunCommandReportsTheExitStatusAndIsNoError(t *testing.T) {
	s := newStandIn(t, practice())
	for command, want := range map[string]int{"exit 1": 1, "exit 0": 0, "kill -9 $$": 137, "no-such-program-of-prova": 127, "exit 77": 77} {
		r := runCommand(t, s, t.Context(), command)
		if r.err != nil || r.out.ExitStatus != want {
			t.Errorf("%s: %+v, %v", command, r.out, r.err)
		}
	}
}

func TestRunCommandDoesNotNeedTheAgentToReadItsInput(t *testing.T) {
	s := newStandIn(t, practice())
	a, w := s.join("A")
	track := w.Tracks["conformite"]
	for len(track.Catalogue) < 50000 { // Far more than a pipe holds.
		track.Catalogue = append(track.Catalogue, track.Catalogue...)
	}
	w.Tracks["conformite"] = track
	out, err := RunCommand(t.Context(), a, w, "exec true", RunOptions{})
	if err != nil || out.ExitStatus != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestRunCommandBoundsAHugeLineAndGoesOn(t *testing.T) {
	s := newStandIn(t, practice())
	r := runCommand(t, s, t.Context(), `head -c 10000000 /dev/zero | tr '\0' x; echo; printf '{"task_id":"'; head -c 3000000 /dev/zero | tr '\0' y; echo '"}'; echo after`)
	if r.err != nil || r.out.LogLines != 3 || len(r.out.Refused) != 0 || len(r.log) > 4096 {
		t.Errorf("%+v, %v, log of %d bytes", r.out, r.err, len(r.log))
	}
	for _, want := range []string{"a line of 10000000 bytes", "agent: after\n"} {
		if !strings.Contains(r.log, want) {
			t.Errorf("%q is not in the log: %s", want, r.log)
		}
	}
}

func TestRunCommandRefusesLinesThatAreMeantAndWrong(t *testing.T) {
	s := newStandIn(t, practice())
	const proof = "prf_20260921_101233_abcdef"
	claim := `{"resource":"/entites/ENT-0001","field":"/statut","value":1,"proof_ids":["` + proof + `"]}`
	for name, c := range map[string]struct{ line, want string }{
		"no JSON":                 {`{"task_id":"conf-01",}`, "not strict JSON"},
		"a member twice":          {`{"task_id":"conf-01","task_id":"conf-02"}`, "not strict JSON"},
		"NaN":                     {`{"task_id":"conf-01","verdict":NaN}`, "not strict JSON"},
		"no track":                {`{"task_id":"conf-01","verdict":"conforme","assertions":[]}`, "/track: is missing"},
		"another track":           {`{"track":"other","task_id":"conf-01","verdict":"conforme","assertions":[]}`, "not a track of this season: use one of conformite"},
		"an unknown task":         {`{"track":"conformite","task_id":"conf-77","verdict":"conforme","assertions":[]}`, "use an id from the input"},
		"a task id that is null":  {`{"track":"conformite","task_id":null,"verdict":"conforme","assertions":[]}`, "/task_id: must be a string"},
		"a verdict of a number":   {`{"track":"conformite","task_id":"conf-01","verdict":1,"assertions":[]}`, "/verdict: must be a string"},
		"an unknown verdict":      {`{"track":"conformite","task_id":"conf-01","verdict":"yes","assertions":[]}`, "/verdict: "},
		"assertions of an object": {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":{}}`, "/assertions: must be an array"},
		"an assertion of null":    {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[null]}`, "/assertions/0: must be an object"},
		"no value":                {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[{"resource":"/a","field":"/b","proof_ids":["` + proof + `"]}]}`, "/assertions/0/value: is missing"},
		"no proof":                {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[{"resource":"/a","field":"/b","value":null,"proof_ids":[]}]}`, "at least one proof id"},
		"a proof id in no form":   {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[{"resource":"/a","field":"/b","value":null,"proof_ids":["prf_1"]}]}`, "/assertions/0/proof_ids/0: must be a proof id"},
		"a proof that is unknown": {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[` + claim + `]}`, proof + "' not found"},
		"disclosures":             {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[],"disclosures":{}}`, "leave it out"},
		"a claim in two places":   {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[{"claim":{},"field":"/a","proof_ids":["` + proof + `"]}]}`, "/assertions/0/field: is not a member here"},
		"a claim of text":         {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[{"claim":"x","proof_ids":["` + proof + `"]}]}`, "/assertions/0/claim: must be an object"},
		"an empty id":             {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[{"id":"","resource":"/a","field":"/b","value":1,"proof_ids":["` + proof + `"]}]}`, "/assertions/0/id: must not be empty"},
		"the same proof twice":    {`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[{"resource":"/a","field":"/b","value":1,"proof_ids":["` + proof + `","` + proof + `"]}]}`, "a second time"},
		"a nest of 10 000":        {`{"task_id":"conf-01","verdict":` + strings.Repeat("[", 10000) + `}`, "not strict JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "line")
			check(t, os.WriteFile(file, []byte(c.line+"\n"), 0o600))
			r := runCommand(t, s, t.Context(), "cat '"+file+"'")
			if r.err != nil || len(r.out.Refused) != 1 || len(r.out.Submitted) != 0 || !strings.Contains(r.out.Refused[0].Err.Error(), c.want) {
				t.Fatalf("%+v, %v", r.out, r.err)
			}
			if !strings.Contains(r.log, "is not submitted: ") || len(s.submitted(r.access.AgentDID)) != 0 {
				t.Errorf("log %s", r.log)
			}
		})
	}
}

// alive reports whether the process whose id a file holds still runs. A killed
// process may wait for a parent that reaps it, so its state counts as well.
func alive(t *testing.T, file string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	check(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	check(t, err)
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func gone(t *testing.T, file string) {
	t.Helper()
	for range 100 {
		if !alive(t, file) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("a process of the agent still runs")
}

// whenWritten ends a context as soon as a file is there.
func whenWritten(t *testing.T, file string) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if info, err := os.Stat(file); err == nil && info.Size() > 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return ctx
}

func TestRunCommandKillsTheProcessGroupWhenItsContextEnds(t *testing.T) {
	for name, command := range map[string]string{
		"that hangs":             `sleep 600 & echo $! >"$OUT/tmp"; mv "$OUT/tmp" "$OUT/pid"; wait`,
		"that heeds no signal":   `trap '' TERM; sh -c 'trap "" TERM; echo $$ >"$OUT/tmp"; mv "$OUT/tmp" "$OUT/pid"; while :; do sleep 1; done'; sleep 600`,
		"that prints for ever":   `sh -c 'echo $$ >"$OUT/tmp"; mv "$OUT/tmp" "$OUT/pid"; while :; do echo on and on; done'`,
		"that never ends a line": `sh -c 'echo $$ >"$OUT/tmp"; mv "$OUT/tmp" "$OUT/pid"; exec cat /dev/zero'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStandIn(t, practice())
			dir := t.TempDir()
			a, w := s.join("A")
			begun := time.Now()
			out, err := RunCommand(whenWritten(t, filepath.Join(dir, "pid")), a, w, command, RunOptions{Stderr: io.Discard, Env: []string{"PATH=" + os.Getenv("PATH"), "OUT=" + dir}})
			if !errors.Is(err, context.Canceled) || out.ExitStatus == 0 {
				t.Errorf("%+v, %v", out, err)
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			gone(t, filepath.Join(dir, "pid"))
		})
	}
}

func TestRunCommandEndsWhatTheCommandLeavesRunning(t *testing.T) {
	s := newStandIn(t, practice())
	dir := t.TempDir()
	begun := time.Now()
	r := runCommand(t, s, t.Context(), `sleep 600 & echo $! >"$OUT/pid"; echo done`, "OUT="+dir)
	if r.err != nil || r.out.ExitStatus != 0 || !strings.Contains(r.log, "agent: done\n") {
		t.Errorf("%+v, %v", r.out, r.err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	gone(t, filepath.Join(dir, "pid"))
}

func TestRunCommandDoesNotWaitForAProcessThatLeftTheGroup(t *testing.T) {
	needs(t, "setsid")
	s := newStandIn(t, practice())
	dir := t.TempDir()
	begun := time.Now()
	r := runCommand(t, s, t.Context(), `setsid sh -c 'echo $$ >"$OUT/tmp"; mv "$OUT/tmp" "$OUT/pid"; exec sleep 60' & while [ ! -s "$OUT/pid" ]; do sleep 0.05; done; echo done`, "OUT="+dir)
	if r.err != nil || r.out.ExitStatus != 0 || !strings.Contains(r.log, "agent: done\n") {
		t.Errorf("%+v, %v", r.out, r.err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	// The test ends what it started: the runner cannot know a process that left.
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	check(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	check(t, err)
	check(t, syscall.Kill(pid, syscall.SIGKILL))
}

func TestRunCommandTakesALastLineThatComesWhileTheCommandEnds(t *testing.T) {
	s := newStandIn(t, practice())
	r := runCommand(t, s, t.Context(), `(sleep 0.2; echo late) & exit 3`)
	if r.err != nil || r.out.ExitStatus != 3 || !strings.Contains(r.log, "agent: late\n") {
		t.Errorf("%+v, %v\n%s", r.out, r.err, r.log)
	}
}

func TestRunCommandWithoutAShellSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := RunCommand(t.Context(), &Access{}, &Work{}, "true", RunOptions{})
	if err == nil || !strings.Contains(err.Error(), "sh in PATH") {
		t.Errorf("%v", err)
	}
}

func TestReadLineKeepsABoundedPart(t *testing.T) {
	long := strings.Repeat("z", maxLine+7)
	r := newReader("a\r\n\n" + long + "\nend")
	for i, want := range []struct {
		length int
		left   int64
		last   bool
	}{{1, 0, false}, {0, 0, false}, {maxLine, 7, false}, {3, 0, true}} {
		l, err := readLine(r)
		if len(l.text) != want.length || l.left != want.left || (err != nil) != want.last {
			t.Errorf("line %d: %d bytes, %d left, %v", i, len(l.text), l.left, err)
		}
	}
}
