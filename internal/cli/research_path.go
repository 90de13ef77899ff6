package cli

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

func newResearchOperatorPathCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var topicID, family string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "operator-path",
		Short: "Print the eight steps from nothing to a topic that is scored",
		Long: `Print the eight steps of an operator, from the holdout to a topic that is scored,
each with its command. Nothing is run. With --server, or ` + serverVariable + `, the
steps that the control plane shows to be done are marked; when it cannot be asked they
are printed without marks, and the exit status is 1.

The order is that of the specification: control plane, then image and digest in the
pin, then holdout and baseline on the host, then open topics. After a fix in the
image publish it again and pin the new digest before the next rent; never make up a
digest.`,
		Example: `  prova research operator-path --topic my-topic
  prova research operator-path --topic my-topic --server https://proof.example`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !shape.Slug(topicID) {
				return usageError("--topic %q must match [a-z0-9][a-z0-9-]{1,62}", topicID)
			}
			if !slices.Contains(topic.Families(), topic.Family(family)) {
				return usageError("--family %q: want nll, throughput or custom", family)
			}
			var host *hostView
			var unasked error
			if f.url(env) != "" {
				c, err := f.client(env)
				if err != nil {
					return err
				}
				host, unasked = viewHost(cmd.Context(), c, topicID)
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				if host != nil && host.topic != nil {
					family = string(host.topic.Metric.Family)
				}
			}
			steps := operatorPath(topicID, topic.Family(family), host)
			if asJSON {
				data, err := json.Marshal(map[string]any{"steps": steps})
				if err != nil {
					return err
				}
				if err := writeJSON(env, data); err != nil {
					return err
				}
			} else if err := printSteps(env, steps, host != nil); err != nil {
				return err
			}
			if unasked != nil {
				fmt.Fprintf(env.Stderr, "note        which steps are done is not known, none is marked: %s\n", oneLine(unasked.Error()))
				return &ExitError{Code: 1}
			}
			return nil
		},
	}
	f.add(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&topicID, "topic", "my-topic", "id of the topic")
	flags.StringVar(&family, "family", string(topic.Custom), "metric family: `nll|throughput|custom`; with --server that of the topic there")
	flags.BoolVar(&asJSON, "json", false, "print the steps as one JSON object")
	completes(cmd, "family", "nll", "throughput", "custom")
	return cmd
}

// hostView is what a control plane shows of the way of one topic.
type hostView struct {
	status   *remote.Status
	executor *remote.Executor
	topic    *topic.Document // nil: not published
	missing  map[string]string
}

// viewHost asks a control plane for all of it; the view is nil with an error.
func viewHost(ctx context.Context, c *remote.Client, id string) (*hostView, error) {
	h := &hostView{missing: map[string]string{}}
	var err error
	if h.status, err = c.Status(ctx); err != nil {
		return nil, err
	}
	if h.executor, err = c.Executor(ctx); err != nil {
		return nil, err
	}
	const notFound = 404
	if h.topic, err = c.Topic(ctx, id); remote.IsStatus(err, notFound) {
		return h, nil
	} else if err != nil {
		return nil, err
	}
	r, err := c.Readiness(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, m := range r.Missing {
		h.missing[m.Name] = m.Error
	}
	return h, nil
}

// lacks returns why a step is not done: the first of the gate's rows that refuses.
func (h *hostView) lacks(rows ...string) string {
	if h.topic == nil {
		return "the topic is not published yet"
	}
	for _, row := range rows {
		if text, missing := h.missing[row]; missing {
			return remote.Printable(text)
		}
	}
	return ""
}

// step is one of the eight. Done is nil without a server.
type step struct {
	Number   int      `json:"step"`
	Title    string   `json:"title"`
	Commands []string `json:"commands"`
	Note     string   `json:"note,omitzero"`
	Done     *bool    `json:"done"`
	Missing  string   `json:"missing,omitzero"`
}

// operatorPath adapts the eight steps of R§26. Every command starting with prova is
// one of this program with flags that it has.
func operatorPath(id string, family topic.Family, h *hostView) []step {
	custom := family == topic.Custom
	shards := step{
		Title:    "stage the shards",
		Commands: []string{"export PROOF_HOLDOUT_STORE=/var/lib/proof/holdout", "export PROOF_PROXY_MODEL_DIR=/var/lib/proof/model"},
		Note:     "one file per record, named by its content_sha256, and the weights of the proxy model; the image holds neither",
	}
	if custom {
		shards.Commands = []string{"export PROOF_HOLDOUT_FILE=~/proof/holdout.json"}
		shards.Note = "a custom topic reads its data inside its VM: the host only needs the records of step 1"
	}
	base := step{
		Title: "measure and seal the baseline on the pinned image",
		Commands: []string{
			"prova baseline seal --measurement measured.json --script adamw.py --topic " + id + ".yaml --pin proof-pin.toml --out ~/proof/baseline.json",
		},
		Note: "measured.json holds the figures of a run of the baseline script inside the pinned image; put both printed hashes under baseline: of " + id + ".yaml, with status: open",
	}
	sign := []string{
		"prova topic sign " + id + ".yaml --secret ~/proof/topic.key --holdout ~/proof/holdout.json --pin proof-pin.toml --out ~/proof/" + id + ".signed.json",
		"prova topic verify ~/proof/" + id + ".signed.json --pin proof-pin.toml",
	}
	if custom {
		base.Commands = []string{
			"prova topic new --family custom --id " + id + " --out " + id + ".yaml",
			"prova recipe pack ./baseline --out baseline.tar",
			"sha256sum baseline.tar",
			"prova topic sign " + id + ".yaml --secret ~/proof/topic.key --holdout ~/proof/holdout.json --pin proof-pin.toml --out ~/proof/" + id + ".draft.json",
			"prova topic publish ~/proof/" + id + ".draft.json --token-file ~/proof/admin.token",
			"prova topic setup " + id + " --approve --wait --token-file ~/proof/admin.token",
			"prova baseline measure " + id + " --token-file ~/proof/admin.token --out ~/proof/measured.json",
		}
		base.Note = "the printed hash goes under baseline: of " + id + ".yaml as script_sha256 before it is signed; the topic's RLM then writes the rules and measures the baseline in the topic's VM"
		sign = []string{
			"prova topic seal ~/proof/" + id + ".draft.json --measurement ~/proof/measured.json --script baseline.tar --secret ~/proof/topic.key --pin proof-pin.toml --baseline-out ~/proof/baseline.json --out ~/proof/" + id + ".signed.json",
			"prova topic verify ~/proof/" + id + ".signed.json --pin proof-pin.toml",
		}
	}
	pointed := "then start the host with 'prova research serve'; after a change of a file send it SIGHUP"
	if custom {
		pointed += "; the set-up of step 3 runs on this host already, and needs the owner's key"
	}
	steps := []step{
		{Title: "select the holdout", Commands: []string{"prova holdout select --topic-id " + id + " --catalog catalog.json --salt - --out ~/proof/holdout.json < salt"}, Note: "the salt stays secret and is read from standard input; --synthetic is for development"},
		shards,
		base,
		{Title: "sign the open topic", Commands: sign, Note: "the secret is that of the pin's topic_pubkey and never in git"},
		{Title: "publish it", Commands: []string{"prova topic publish ~/proof/" + id + ".signed.json --token-file ~/proof/admin.token"}, Note: "the host reads PROOF_HOLDOUT_FILE and PROOF_BASELINE_FILE of the topic again as it does"},
		{Title: "offer an executor", Commands: []string{"prova offer executor --offer-id exec-a --max-proof-deadline-s 7200 --bind-digest --pin proof-pin.toml --out ~/proof/executor.json"}, Note: "custom topics record it as provenance and rent nothing"},
		{Title: "point the environment", Commands: pointing(custom), Note: pointed},
		{Title: "check the status", Commands: []string{"prova research status", "prova research doctor " + id}, Note: "doctor names each thing that is missing"},
	}
	for i := range steps {
		steps[i].Number = i + 1
	}
	if h != nil {
		h.mark(steps, id, custom)
	}
	return steps
}

func pointing(custom bool) []string {
	lines := []string{
		"export PROOF_PIN_FILE=~/proof/proof-pin.toml", "export PROOF_HOLDOUT_FILE=~/proof/holdout.json", "export PROOF_BASELINE_FILE=~/proof/baseline.json",
		"export PROOF_INFERENCE_OFFER_FILE=~/proof/judge.json", "export PROOF_INFERENCE_API_KEY_FILE=~/proof/judge.key",
		"export PROOF_EVAL_EXECUTOR_OFFER_FILE=~/proof/executor.json", "export PROOF_ADMIN_TOKENS_FILE=~/proof/admin.token",
		"prova offer inference --offer-id judge-a --base-url - --model vendor/model --pin proof-pin.toml --out ~/proof/judge.json < origin",
	}
	if custom {
		return append(lines, "export PROOF_VM_ORCHESTRATOR_URL=https://kvm.example:8200", "export PROOF_VM_ORCHESTRATOR_TOKEN_FILE=~/proof/vm.token",
			"export PROOF_RLM_OWNER_INFERENCE_KEY_FILE=~/proof/owner.key", "export PROOF_RLM_VM_IMAGE_DIGEST=sha256:…", "export PROOF_VM_RUNNER_CUSTOM_IDS=the_custom_id_of_the_topic")
	}
	return append(lines, "export LIUM_API_KEY=…", "export LIUM_SSH_PUBLIC_KEY_FILE=~/.ssh/id_ed25519.pub")
}

// mark says of each step whether the host shows it to be done.
func (h *hostView) mark(steps []step, id string, custom bool) {
	// Without rows lacks says no more than that the topic is not published.
	sealed, open := h.lacks(), h.lacks()
	if h.topic != nil && !h.topic.Baseline.Sealed() {
		sealed = "the topic carries no sealed baseline"
	}
	if h.topic != nil && h.topic.Status != topic.Open {
		open = "its status is " + string(h.topic.Status)
	}
	executor := ""
	if !h.executor.Ready {
		if executor = "no executor offer is ready"; h.executor.Reason != nil {
			executor = remote.Printable(*h.executor.Reason)
		}
	}
	staged := h.lacks("harvest_weights", "harvest_shards")
	if custom {
		staged = h.lacks("holdout")
	}
	status := ""
	if !h.status.Scorable(id) {
		status = "the host does not list the topic as scorable"
	}
	for i, missing := range []string{
		h.lacks("holdout"), staged, firstOf(sealed, h.lacks("baseline")), open, open, executor,
		h.lacks("inference_offer", "pinned_digest", "live_scorer", "harvest_ssh_key", "judge_key", "executor_offer", "scorer_ready", "inference_serves", "executor_serves", "judge_config", "plan"),
		status,
	} {
		done := missing == ""
		steps[i].Done, steps[i].Missing = &done, missing
	}
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func printSteps(env *Env, steps []step, marked bool) error {
	var b strings.Builder
	for _, s := range steps {
		mark := ""
		if marked {
			mark = "[ ] "
			if *s.Done {
				mark = "[x] "
			}
		}
		fmt.Fprintf(&b, "%s%d. %s\n", mark, s.Number, s.Title)
		if s.Missing != "" {
			fmt.Fprintf(&b, "     missing: %s\n", s.Missing)
		}
		for _, c := range s.Commands {
			fmt.Fprintf(&b, "     %s\n", c)
		}
		if s.Note != "" {
			fmt.Fprintf(&b, "     # %s\n", s.Note)
		}
	}
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}
