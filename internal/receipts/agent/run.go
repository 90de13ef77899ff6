package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// RunOptions say how a command is run.
type RunOptions struct {
	// Stderr gets what the agent logs, line by line behind "agent: ", and one line of
	// the runner's behind "prova: " for each submission. Nil discards both.
	Stderr io.Writer
	// Env is the environment to start from, as os.Environ gives it; nil means this
	// process's own. Variables that begin with PROVA_ are left out of it: they
	// configure this program and may hold its secrets.
	Env []string
}

// Outcome is how a command ended.
type Outcome struct {
	// ExitStatus is the command's own; 128 + n when signal n ended it, as a shell
	// reports it.
	ExitStatus int
	// Submitted are the tasks that the runner submitted from printed lines, each
	// once, in the order of their last submission. What an agent submits itself is
	// not seen here.
	Submitted []string
	// Refused are the lines meant as submissions that were not recorded.
	Refused []Refusal
	// LogLines counts the other lines, of both outputs.
	LogLines int
}

// Refusal is a printed submission that was not recorded, and why.
type Refusal struct {
	TaskID string // As printed, made safe to show; empty when it could not be read.
	Err    error
}

// RunCommand runs a user's agent: `sh -c command`, with the variables of design §6
// and the work as JSON on its standard input. Each line it prints that is an
// object with task_id is submitted, with the disclosures added; every other line
// is its log. It returns when the command has ended, and an exit status other than
// 0 is no error: it stands in the outcome.
//
// When ctx ends the whole process group is told to end (SIGTERM) and killed two
// seconds later; the error is then the context's. What the command leaves running
// in its group when it ends is killed as well. Lines longer than 1 MiB are cut and
// never submitted, so memory is bounded whatever is printed.
func RunCommand(ctx context.Context, a *Access, w *Work, command string, o RunOptions) (Outcome, error) {
	input, err := w.JSON()
	if err != nil {
		return Outcome{}, err
	}
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	r := &runner{client: NewClient(a), work: w, secrets: []string{a.APIKey, a.SeasonToken}, show: o.Stderr}
	if r.show == nil {
		r.show = io.Discard
	}
	p := &process{
		command: command, env: environment(env, a), input: input,
		stdout: func(l line) { r.printed(ctx, l) }, stderr: r.logged,
	}
	state, err := p.run(ctx)
	if err != nil {
		return r.outcome, fmt.Errorf("running the agent: %w", err)
	}
	r.outcome.ExitStatus = exitStatus(state)
	if err := ctx.Err(); err != nil {
		return r.outcome, fmt.Errorf("running the agent: it was ended before it was done: %w", err)
	}
	return r.outcome, nil
}

// environment is the agent's: the base without our own configuration, and the six
// variables.
func environment(base []string, a *Access) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool { return strings.HasPrefix(v, "PROVA_") })
	return append(env,
		"PROVA_ISSUER_URL="+a.IssuerURL,
		"PROVA_SEASON_URL="+a.SeasonURL,
		"PROVA_SEASON="+strconv.Itoa(a.Season),
		"PROVA_API_KEY="+a.APIKey,
		"PROVA_SEASON_TOKEN="+a.SeasonToken,
		"PROVA_AGENT_DID="+a.AgentDID)
}

// runner takes the lines of one command.
type runner struct {
	client  *Client
	work    *Work
	secrets []string // never shown, wherever an agent prints them

	mu      sync.Mutex // guards show and outcome: both outputs are read at once
	show    io.Writer
	outcome Outcome
}

// say writes one line for the user; a broken output is no reason to stop the run.
func (r *runner) say(who, text string) {
	for _, s := range r.secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	_, _ = fmt.Fprintf(r.show, "%s: %s\n", who, text)
}

// shownText is how much of a line is shown.
const shownText = 4096

func (r *runner) logged(l line) {
	text := printable(string(l.text), shownText)
	if l.left > 0 {
		text = printable(string(l.text), 200) + fmt.Sprintf(" (a line of %d bytes; longer than %d are not read)", int64(len(l.text))+l.left, maxLine)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.LogLines++
	r.say("agent", text)
}

// printed handles a line of the standard output. Lines are handled one after the
// other, so that the last submission of a task is the one that stands.
func (r *runner) printed(ctx context.Context, l line) {
	if l.left > 0 {
		r.logged(l)
		return
	}
	s, meant, err := ParseLine(l.text)
	if !meant {
		r.logged(l)
		return
	}
	if err == nil {
		err = r.known(s)
	}
	if err == nil {
		err = r.client.Submit(ctx, s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := oneLine(s.TaskID)
	if err != nil {
		r.outcome.Refused = append(r.outcome.Refused, Refusal{id, err})
		if id == "" {
			id = "a task"
		}
		r.say("prova", id+" is not submitted: "+err.Error())
		return
	}
	r.outcome.Submitted = append(slices.DeleteFunc(r.outcome.Submitted, func(t string) bool { return t == s.TaskID }), s.TaskID)
	r.say("prova", fmt.Sprintf("%s submitted: %s, %d assertions", id, oneLine(s.Verdict), len(s.Assertions)))
}

// known says whether a submission is for a task of this work.
func (r *runner) known(s Submission) error {
	t, ok := r.work.Tracks[s.Track]
	if !ok {
		return lineFaults{{"/track", "is not a track of this season: use one of " + strings.Join(sortedTracks(r.work), ", ")}}
	}
	if !slices.ContainsFunc(t.Tasks, func(task Task) bool { return task.TaskID == s.TaskID }) {
		return lineFaults{{"/task_id", "is not a task of track " + s.Track + ": use an id from the input"}}
	}
	return nil
}

// exitStatus is the status as a shell reports it.
func exitStatus(state *os.ProcessState) int {
	if n := signalOf(state); n > 0 {
		return 128 + n
	}
	return state.ExitCode()
}

// notStarted tells an agent that could not be started from one that failed.
func notStarted(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("no shell: the command needs sh in PATH: %w", err)
	}
	return err
}
