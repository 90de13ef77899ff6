package cli

import (
	"encoding/json/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestDoctorNamesEachThingThatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, "research", "doctor", remotetest.OpenID).out("ready, a submission would run")
	b.plane.Host(func(h *intake.Host) {
		h.JudgeKey = false
		h.Executor = nil
		h.Custom.Runners[remotetest.CustomID] = "PROOF_RLM_VM_IMAGE_DIGEST is not set"
	})
	s := b.expect(1, "research", "doctor", remotetest.OpenID).
		out("row 14", "judge_key", "PROOF_INFERENCE_API_KEY_FILE", "executor_offer", "scorer_ready", "PROOF_RLM_VM_IMAGE_DIGEST is not set", "not ready, ")
	if strings.Count(s.stdout, "  do: ") < 4 {
		t.Errorf("fewer findings than are missing:\n%s", s.stdout)
	}
	if s := b.expect(1, "research", "doctor", remotetest.DraftID).out("row 5", "it is a draft: set it up", "PROOF_RLM_OWNER_INFERENCE_KEY_FILE"); strings.Count(s.stdout, "row 5") != 1 {
		t.Errorf("row 5 is not there once:\n%s", s.stdout)
	}
	b.plane.Change(func() { b.plane.HostRowsOnly = true })
	if s := b.expect(1, "research", "doctor", remotetest.DraftID).out("row 5", "it is a draft: set it up"); strings.Count(s.stdout, "row 5") != 1 {
		t.Errorf("row 5 is not there once where the host leaves it out:\n%s", s.stdout)
	}
	b.expect(1, "research", "doctor", "no-such-topic").err("publish it with 'prova topic publish FILE'")
	var findings struct {
		Scorable bool      `json:"scorable"`
		Missing  []finding `json:"missing"`
	}
	if err := json.Unmarshal([]byte(b.expect(1, "research", "doctor", remotetest.OpenID, "--json").stdout), &findings); err != nil || findings.Scorable || len(findings.Missing) < 4 {
		t.Errorf("%+v, %v", findings, err)
	}
}

func TestDoctorSaysOfACustomTopicWhetherTheAgentWasAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for sandbox, want := range map[string][2]string{
		`{"driver":"fake","ready":true}`:         {"agent      asked by the host, ready (driver fake)\n", "topic open-topic: ready, a submission would run\n"},
		`{"driver":"firecracker","ready":false}`: {"agent      asked by the host, not ready (driver firecracker)", "every row of the gate passes, and a run needs the agent\n"},
		`{"driver":"unknown","ready":false}`:     {"agent      not asked, or it has not answered the host yet\n", "and a run needs the agent\n"},
		`null`:                                   {"agent      not asked, or it has not answered the host yet\n", "every row of the gate passes, and a run needs the agent\n"},
		`"up"`:                                   {"agent      not known: ", "and a run needs the agent\n"},
	} {
		b.plane.Change(func() {
			b.plane.Tamper = func(_ http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
				if strings.HasSuffix(r.URL.Path, "/status") {
					body = []byte(strings.Replace(string(body), `{"driver":"fake","ready":true}`, sandbox, 1))
				}
				return status, body
			}
		})
		b.expect(0, "research", "doctor", remotetest.OpenID).out(want[0], want[1])
		b.expect(0, "research", "doctor", remotetest.OpenID, "--json").out(`"scorable":true`, `"agent":"`+strings.TrimSpace(strings.TrimPrefix(want[0], "agent ")))
	}
	b.plane.Change(func() {
		b.plane.Tamper = func(_ http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
			if strings.HasSuffix(r.URL.Path, "/status") {
				return http.StatusForbidden, []byte(`{"error":"not for you"}`)
			}
			return status, body
		}
	})
	b.expect(0, "research", "doctor", remotetest.OpenID).out("agent      not known: not for you (status 403)")
}

// TestDoctorHasAdviceForEachRowOfTheGate keeps table and advice side by side.
func TestDoctorHasAdviceForEachRowOfTheGate(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, row := range intake.Gate() {
		if !row.Host {
			continue
		}
		rows++
		if advice[row.Name] == "" {
			t.Errorf("row %s %s: no advice", row.Number, row.Name)
		}
	}
	if rows != len(advice) {
		t.Errorf("%d rows look at the host, %d pieces of advice", rows, len(advice))
	}
}

func TestStatusAndRowsAreReadByAnyone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env[tokenVariable] = ""
	b.expect(0, "research", "status").out("can score       yes: open-topic", "sandbox         fake", "signatures      required")
	b.expect(0, "research", "status", "--json").out(`"challenge_id":"proof"`)
	b.expect(0, "research", "rows").err("no rows")
	uri := []string{"--uri", "http://127.0.0.1:1/a.tar", "--wait"}
	for range 3 {
		b.expect(0, b.submit(uri...)...)
	}
	b.expect(0, "research", "rows", "--limit", "2").out("pf_0000000000000002  epoch 7  open-topic").err("more: --before pf_0000000000000001")
	if s := b.expect(0, "research", "rows", "--limit", "2", "--all"); strings.Count(s.stdout, "\n") != 3 {
		t.Errorf("all pages:\n%s", s.stdout)
	}
	s := b.expect(0, "research", "rows", "pf_0000000000000001").out("state       awaiting_admin", "it counts for the payout and is not the champion: 0.9 is not better than the bar in force at the time by 5%", "rationale")
	if strings.Contains(s.stdout, "rate 0.9") {
		t.Error("decision 4: the claim is shown before the epoch is closed")
	}
	b.plane.CloseEpoch(t)
	b.expect(0, "research", "rows", "pf_0000000000000001").out("claim       rate 0.9", "address     http://127.0.0.1:1/a.tar")
	b.expect(64, "research", "rows", "pf_1").err("pf_ and 16 lower-case hexadecimal digits")
	b.expect(64, "research", "rows", "--hotkey", "xyz").err("must be 64 hexadecimal digits")
	b.expect(1, "research", "rows", "pf_00000000000000ff").err("not_found")
	b.env[serverVariable] = "http://127.0.0.1:1"
	b.expect(1, "research", "status").err("no answer from the control plane at http://127.0.0.1:1")
}

func TestATextOfTheServerDoesNotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait", "--claim", "red \x1b[31m\u202egreen")...)
	b.plane.CloseEpoch(t)
	for _, args := range [][]string{{"research", "rows", "pf_0000000000000000"}, {"research", "rows"}, {"research", "status"}, {"topic", "show", "open-topic"}} {
		if s := b.expect(0, args...); strings.ContainsAny(s.stdout+s.stderr, "\x1b\u202e") {
			t.Errorf("prova %s: %q", s.command, s.stdout)
		}
	}
}

func TestSection26TheOperatorPathMarksWhatIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.expect(0, "research", "operator-path", "--topic", remotetest.OpenID)
	if strings.Count(s.stdout, "[x] ") != 8 || strings.Contains(s.stdout, "[ ] ") {
		t.Errorf("a topic that is scored:\n%s", s.stdout)
	}
	b.plane.Host(func(h *intake.Host) { h.JudgeKey = false; h.Executor = nil; h.Topics[remotetest.OpenID].Holdout = nil })
	b.expect(0, "research", "operator-path", "--topic", remotetest.OpenID).
		out("[ ] 1. select the holdout", "[x] 4. sign the open topic", "[x] 5. publish it", "[ ] 6. offer an executor", "missing: eval executor offer missing", "[ ] 7.", "missing: inference API key missing", "[ ] 8.")
	b.expect(0, "research", "operator-path", "--topic", remotetest.DraftID).out("[ ] 3. measure and seal", "missing: the topic carries no sealed baseline", "missing: its status is draft")
	b.expect(0, "research", "operator-path", "--topic", "no-such-topic").out("missing: the topic is not published yet")
	b.env[serverVariable] = "http://127.0.0.1:1"
	s = b.expect(1, "research", "operator-path").out("\n8. check the status\n", "PROOF_RLM_OWNER_INFERENCE_KEY_FILE=").
		err("note        which steps are done is not known, none is marked: ", "no answer from the control plane at http://127.0.0.1:1")
	if strings.Contains(s.stdout, "[ ]") || strings.Contains(s.stdout, "[x]") {
		t.Errorf("steps are marked after a server that does not answer:\n%s", s.stdout)
	}
	b.expect(1, "research", "operator-path", "--json").out(`"step":8`, `"done":null`).err("none is marked")
	b.env[serverVariable] = ""
	s = b.expect(0, "research", "operator-path", "--family", "nll").out("1. select the holdout", "8. check the status", "LIUM_API_KEY")
	if strings.Contains(s.stdout, "[ ]") {
		t.Error("steps are marked without a server")
	}
	b.expect(0, "research", "operator-path", "--json").out(`"step":8`, `"done":null`)
}

// TestSection26TheOperatorPathNamesRealCommandsAndFlags looks up every command that
// the path prints.
func TestSection26TheOperatorPathNamesRealCommandsAndFlags(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	env := &Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	root := &cobra.Command{Use: "prova"}
	research := &cobra.Command{Use: "research"}
	research.AddCommand(newResearchReadCmds(env)...)
	root.AddCommand(newSubmitCmd(env), newTopicCmd(env), newBaselineCmd(env), newHoldoutCmd(env), newOfferCmd(env), newRecipeCmd(env), research)
	seen := 0
	for _, family := range topic.Families() {
		steps := operatorPath("my-topic", family, nil)
		if len(steps) != 8 {
			t.Fatalf("%s: %d steps", family, len(steps))
		}
		for _, s := range steps {
			for _, text := range s.Commands {
				words := strings.Fields(text)
				if words[0] != "prova" {
					if words[0] != "export" && words[0] != "sha256sum" {
						t.Errorf("step %d: %q", s.Number, text)
					}
					continue
				}
				if i := strings.Index(text, " <"); i >= 0 {
					words = strings.Fields(text[:i])
				}
				cmd, rest, err := root.Find(words[1:])
				if err != nil || !cmd.Runnable() {
					t.Errorf("step %d: %q: no such command: %v", s.Number, text, err)
					continue
				}
				if err := cmd.ParseFlags(rest); err != nil {
					t.Errorf("step %d: %q: %v", s.Number, text, err)
				} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
					t.Errorf("step %d: %q: %v", s.Number, text, err)
				}
				seen++
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands", seen)
	}
}
