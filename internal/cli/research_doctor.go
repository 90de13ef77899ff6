package cli

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/topic"
)

func newResearchDoctorCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor TOPIC",
		Short: "Name each thing that a topic lacks before it can be scored, and what to do about it",
		Long: `Walk the rows of the gate that look at the host and the topic, and name each one
that would refuse a submission now, with what to do about it. A miner is told only
the first. For a custom topic the last word of the agent in whose VM it runs is shown
too, as the status of the host has it; nothing asks the agent for this.

Exit status: 0 no row of the gate refuses, 1 something is missing.`,
		Example: "  prova research doctor my-topic --server https://proof.example",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := topicArg(args[0]); err != nil {
				return err
			}
			c, err := f.client(env)
			if err != nil {
				return err
			}
			d, err := c.Topic(cmd.Context(), args[0])
			if remote.IsStatus(err, http.StatusNotFound) {
				if meant := nearTopic(cmd.Context(), c, args[0]); meant != "" {
					return fmt.Errorf("%s has no topic %s; did you mean %s?", c.URL(), args[0], meant)
				}
				return fmt.Errorf("%s has no topic %s: publish it with 'prova topic publish FILE'; 'prova topic list --status all' shows what is there", c.URL(), args[0])
			}
			if err != nil {
				return err
			}
			r, err := c.Readiness(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			findings := diagnose(d, r)
			agent := agentOf(cmd.Context(), c, d)
			if asJSON {
				err = writeFindings(env, d, r, findings, agent)
			} else {
				err = printFindings(env, d, findings, agent)
			}
			if err == nil && len(findings) > 0 {
				return &ExitError{Code: 1}
			}
			return err
		},
	}
	f.add(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as one JSON object")
	return cmd
}

// finding is one thing that is missing.
type finding struct {
	Row   string `json:"row"`
	Name  string `json:"name"`
	Error string `json:"error"`
	Do    string `json:"do"`
}

// diagnose lists what stands between a submission and its run, in the order of the
// gate: the topic's own status first, which no row about the host looks at.
func diagnose(d *topic.Document, r *remote.Readiness) []finding {
	var list []finding
	// A host may count the topic's own status among its rows, or look at the others alone.
	counted := slices.ContainsFunc(r.Missing, func(m remote.Missing) bool { return m.Row == openRow })
	if !counted && (d.Status != topic.Open || len(r.Missing) == 0 && !r.Scorable) {
		list = append(list, finding{openRow, "topic_open", "topic is not open", toOpen(d)})
	}
	for _, m := range r.Missing {
		do, known := advice[m.Name]
		if m.Row == openRow {
			do = toOpen(d)
		} else if !known {
			do = "the server knows more about this than this build; read its log"
		}
		text := m.Error
		if m.Detail != "" {
			text += " (" + m.Detail + ")"
		}
		list = append(list, finding{remote.Printable(m.Row), remote.Printable(m.Name), remote.Printable(text), do})
	}
	return list
}

// openRow is the gate's row of a topic that takes no submissions (R§11.3).
const openRow = "5"

// toOpen says what a topic lacks before it takes submissions.
func toOpen(d *topic.Document) string {
	switch d.Status {
	case topic.Draft:
		if d.Metric.Family != topic.Custom {
			return "it is a draft: seal its baseline ('prova baseline seal'), sign it open, publish it"
		}
		return "it is a draft: set it up ('prova topic setup " + d.ID + "', for which PROOF_RLM_OWNER_INFERENCE_KEY_FILE must name the owner's key), seal its baseline ('prova topic seal'), publish it open"
	case topic.Closed:
		return "it is closed; publish a topic with another id"
	}
	window := fmt.Sprintf("from epoch %d", d.ValidFromEpoch)
	if d.ValidUntilEpoch != nil {
		window += fmt.Sprintf(" to %d", *d.ValidUntilEpoch)
	}
	return "its window is " + window + "; 'prova research status' shows the current epoch"
}

// advice says what to do about each row of the gate that looks at the host.
var advice = map[string]string{
	"epoch":            "before the genesis of epochs wait until it has come (PROOF_EPOCH_GENESIS); a fixed epoch that is closed takes nothing more: set PROOF_EPOCH to the next one and restart",
	"sealed_topic":     "no open topic has seal, holdout and baseline on this host; put its records into PROOF_HOLDOUT_FILE and its measurement into PROOF_BASELINE_FILE, then reload the host (SIGHUP)",
	"inference_offer":  "make the judge's offer with 'prova offer inference', name it in PROOF_INFERENCE_OFFER_FILE, reload the host",
	"pinned_digest":    "set eval_image_digest in the pin (PROOF_PIN_FILE) to the digest of the published image, and restart; never make one up",
	"live_scorer":      "wire a scorer: PROOF_VM_ORCHESTRATOR_URL, PROOF_VM_ORCHESTRATOR_TOKEN_FILE and PROOF_VM_RUNNER_CUSTOM_IDS for custom topics, the LIUM_ variables for nll and throughput",
	"harvest_weights":  "put the weights of the proxy model into the folder of PROOF_PROXY_MODEL_DIR",
	"harvest_shards":   "put each shard of the holdout into PROOF_HOLDOUT_STORE, as a file named by its content_sha256",
	"harvest_ssh_key":  "name the ssh public key in LIUM_SSH_PUBLIC_KEY_FILE",
	"judge_key":        "put the judge's API key into a file of mode 0600 and name it in PROOF_INFERENCE_API_KEY_FILE",
	"executor_offer":   "make the executor's offer with 'prova offer executor', name it in PROOF_EVAL_EXECUTOR_OFFER_FILE or post it to /v1/admin/proof/executor",
	"scorer_ready":     "custom: register the topic's custom_id in PROOF_VM_RUNNER_CUSTOM_IDS and see that the orchestrator's token file and PROOF_RLM_VM_IMAGE_DIGEST are set; nll and throughput: wire the harvest",
	"inference_serves": "the topic asks for another judge than the live offer: make an offer that fits its inference{…}, or sign the topic again",
	"executor_serves":  "the topic requires another executor offer (eval_executor.require_offer_commitment): offer that one, or sign the topic again",
	"judge_config":     "no model, token cap or origin comes out of topic, pin and offer: name the model in the topic or the pin, the origin in the offer",
	"baseline":         "put the topic's measurement ('prova topic seal' or 'prova baseline seal' writes it) into PROOF_BASELINE_FILE and reload the host; it must be the one that the topic was signed with",
	"holdout":          "put the topic's records into PROOF_HOLDOUT_FILE and reload the host; 'prova holdout verify FILE --topic TOPIC' says whether they match",
	"plan":             "the rent of a run cannot be planned: check PROOF_HARVEST_TEMPLATE_ID, PROOF_HARVEST_GPU_COUNT and PROOF_HARVEST_DEADLINE_SECS against the pin and the topic's eval_executor",
}

// agentReport is whether the agent that runs custom topics was asked, and what it said.
type agentReport struct {
	ready bool
	text  string
}

// agentOf reads the host's last word of its agent; nil for a topic that needs none.
// The gate's rows look at what is wired: an agent that is away fails the run alone.
func agentOf(ctx context.Context, c *remote.Client, d *topic.Document) *agentReport {
	if d.Metric.Family != topic.Custom {
		return nil
	}
	s, err := c.Status(ctx)
	if err != nil {
		return &agentReport{text: "not known: " + oneLine(err.Error())}
	}
	var said *struct {
		Driver string `json:"driver"`
		Ready  bool   `json:"ready"`
	}
	if len(s.Sandbox) > 0 {
		if err := json.Unmarshal(s.Sandbox, &said); err != nil {
			return &agentReport{text: "not known: the host's status does not say it in a form that this build reads"}
		}
	}
	switch {
	case said == nil, !said.Ready && said.Driver == "unknown": // what a production host says before any answer
		return &agentReport{text: "not asked, or it has not answered the host yet"}
	case said.Ready:
		return &agentReport{ready: true, text: "asked by the host, ready (driver " + remote.Printable(said.Driver) + ")"}
	}
	return &agentReport{text: "asked by the host, not ready (driver " + remote.Printable(said.Driver) + "): see that it runs and that the host reaches it under PROOF_VM_ORCHESTRATOR_URL"}
}

func printFindings(env *Env, d *topic.Document, findings []finding, agent *agentReport) error {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "row %-4s %s: %s\n  do: %s\n", f.Row, f.Name, f.Error, f.Do)
	}
	if agent != nil {
		fmt.Fprintf(&b, "agent      %s\n", agent.text)
	}
	end := "ready, a submission would run"
	switch {
	case len(findings) > 0:
		end = fmt.Sprintf("not ready, %d missing", len(findings))
	case agent != nil && !agent.ready:
		end = "every row of the gate passes, and a run needs the agent"
	}
	fmt.Fprintf(&b, "topic %s: %s\n", d.ID, end)
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}

func writeFindings(env *Env, d *topic.Document, r *remote.Readiness, findings []finding, agent *agentReport) error {
	if findings == nil {
		findings = []finding{}
	}
	said := ""
	if agent != nil {
		said = agent.text
	}
	data, err := json.Marshal(struct {
		TopicID  string    `json:"topic_id"`
		Status   string    `json:"status"`
		Scorable bool      `json:"scorable"`
		Missing  []finding `json:"missing"`
		Agent    string    `json:"agent,omitzero"` // custom topics only
	}{d.ID, string(d.Status), r.Scorable && len(findings) == 0, findings, said})
	if err != nil {
		return err
	}
	return writeJSON(env, data)
}
