package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/shape"
)

// What names the control plane when no flag does.
const (
	serverVariable = "PROVA_RESEARCH_URL"
	tokenVariable  = "PROVA_RESEARCH_TOKEN_FILE"
)

// remoteFlags say which control plane a command talks to.
type remoteFlags struct{ server, ca, token string }

func (f *remoteFlags) add(cmd *cobra.Command, admin bool) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "`URL` of the control plane; without it "+serverVariable+", else "+remote.DefaultURL)
	flags.StringVar(&f.ca, "ca", "", "PEM file of the authorities that the server's certificate is checked under")
	if admin {
		flags.StringVar(&f.token, "token-file", "", "file with the operator's bearer; without it the one of "+tokenVariable)
	}
}

// url is the control plane that is meant, "" when neither flag nor variable names one.
func (f *remoteFlags) url(env *Env) string {
	if f.server != "" {
		return f.server
	}
	return env.Getenv(serverVariable)
}

func (f *remoteFlags) client(env *Env) (*remote.Client, error) {
	token := f.token
	if token == "" {
		token = env.Getenv(tokenVariable)
	}
	c, err := remote.New(remote.Options{URL: f.url(env), TokenFile: token, CAFile: f.ca})
	if err != nil {
		return nil, usageError("--server: %w", err)
	}
	return c, nil
}

// admin is client for a command that cannot do without the bearer.
func (f *remoteFlags) admin(env *Env) (*remote.Client, error) {
	if f.token == "" && env.Getenv(tokenVariable) == "" {
		return nil, usageError("--token-file is missing: name the file with the operator's bearer, or set %s", tokenVariable)
	}
	return f.client(env)
}

// newResearchReadCmds are the commands that read a control plane: what anyone may
// know, and what an operator still has to do.
func newResearchReadCmds(env *Env) []*cobra.Command {
	return []*cobra.Command{
		newResearchStatusCmd(env), newResearchRowsCmd(env), newResearchPayoutCmd(env), newResearchDoctorCmd(env), newResearchOperatorPathCmd(env),
	}
}

func newResearchStatusCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show what a control plane can score now",
		Long:    `Show what a control plane says about itself: what is open, what it can score, under which offers, and the current epoch.`,
		Example: "  prova research status --server https://proof.example",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.client(env)
			if err != nil {
				return err
			}
			s, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(env, s.JSON)
			}
			_, err = env.Stdout.Write([]byte(remoteText(statusLines(c.URL(), s))))
			return err
		},
	}
	f.add(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer as it is")
	return cmd
}

func writeJSON(env *Env, data []byte) error {
	_, err := env.Stdout.Write(append(data, '\n'))
	return err
}

// line is one line of what a command says: a name and a value that may come from
// a server.
type line struct{ name, value string }

// remoteText writes lines with every value fit for a terminal.
func remoteText(lines []line) string {
	var b strings.Builder
	width := 0
	for _, l := range lines {
		width = max(width, len(l.name))
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "%-*s  %s\n", width, l.name, remote.Printable(l.value))
	}
	return b.String()
}

func statusLines(url string, s *remote.Status) []line {
	scores := "no: a submission is answered 503 ('prova research doctor TOPIC' says why)"
	if s.CanScore {
		scores = "yes: " + listed(s.ScorableTopics)
	}
	epoch := fmt.Sprint(s.Epoch)
	if s.EpochClosesAt != nil {
		epoch += ", closes " + s.EpochClosesAt.UTC().Format(time.RFC3339)
	}
	lines := []line{
		{"server", url}, {"can score", scores}, {"open topics", listed(s.OpenTopics)}, {"epoch", epoch},
		{"custom ids", "registered " + listed(s.RegisteredCustom) + "; ready " + listed(s.CustomReady)},
		{"harvest", yesNo(s.LiveHarvestWired, "wired (nll, throughput)", "not wired: nll and throughput topics cannot be scored")},
	}
	judge, executor := "none", "none"
	if o := s.InferenceOffer; o != nil {
		judge = fmt.Sprintf("%s, %s, model %s, config %s", o.OfferID, o.Status, o.ModelRef, o.ConfigCommitment)
	}
	if o := s.EvalExecutor; o != nil {
		executor = fmt.Sprintf("%s, %s, %s, deadline %d s, config %s", o.OfferID, o.Status, o.MachineShape, o.MaxProofDeadlineS, o.ConfigCommitment)
	}
	lines = append(lines, line{"judge offer", judge}, line{"executor offer", executor}, line{"image", s.EvalImage + "@" + s.EvalImageDigest})
	if s.Store != "" {
		lines = append(lines, line{"store", s.Store})
	}
	if driver := s.Driver(); driver != "" {
		lines = append(lines, line{"sandbox", driver})
	}
	if s.SignatureRequired != nil {
		lines = append(lines, line{"signatures", yesNo(*s.SignatureRequired, "required", "not required: anyone may submit under any hotkey")})
	}
	if s.ForceSim || s.EvalBackend == "sim" {
		lines = append(lines, line{"warning", "sim: scores are made up relative to the seal, for tests only"})
	}
	return append(lines, line{"production", yesNo(s.Production, "yes", "no")})
}

func yesNo(v bool, yes, no string) string {
	if v {
		return yes
	}
	return no
}

func newResearchRowsCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var q remote.RowQuery
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "rows [ID…]",
		Short: "List scored submissions, or show some with the reason of their state",
		Long: `List the rows of a control plane, the newest first, or show those that are named
with why they have their state. Claim and address of an artefact are shown once the
epoch of the row is closed.`,
		Example: `  prova research rows --topic my-topic --all
  prova research rows pf_0000000000000003`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (all || q != (remote.RowQuery{})) {
				return usageError("rows that are named exclude --topic, --hotkey, --before, --limit and --all")
			}
			if q.Topic != "" && !shape.Slug(q.Topic) {
				return usageError("--topic %q must match [a-z0-9][a-z0-9-]{1,62}", q.Topic)
			}
			if q.Hotkey != "" {
				stored, ok := intake.Hex64(q.Hotkey)
				if !ok {
					return usageError("--hotkey %q must be 64 hexadecimal digits", q.Hotkey)
				}
				q.Hotkey = stored
			}
			for _, id := range append(args[:len(args):len(args)], q.Before) {
				if id != "" {
					if _, err := intake.ParseID(id); err != nil {
						return usageError("%w", err)
					}
				}
			}
			c, err := f.client(env)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				return showRows(cmd, env, c, args, asJSON)
			}
			return listRows(cmd, env, c, q, all, asJSON)
		},
	}
	f.add(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&q.Topic, "topic", "", "only rows of this topic")
	flags.StringVar(&q.Hotkey, "hotkey", "", "only rows of this miner, 64 hex characters")
	flags.StringVar(&q.Before, "before", "", "only rows older than this one")
	decimalVar(flags, &q.Limit, "limit", 0, "rows of one page; 0 leaves it to the server")
	flags.BoolVar(&all, "all", false, "all pages, not the first alone")
	flags.BoolVar(&asJSON, "json", false, "print the server's answers as they are, one a line")
	return cmd
}

func showRows(cmd *cobra.Command, env *Env, c *remote.Client, ids []string, asJSON bool) error {
	for _, id := range ids {
		row, err := c.Row(cmd.Context(), id)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if asJSON {
			if err := writeJSON(env, row.JSON); err != nil {
				return err
			}
			continue
		}
		lines := []line{
			{"row", row.ID}, {"topic", row.TopicID}, {"epoch", fmt.Sprint(row.Epoch)}, {"hotkey", row.MinerHotkey},
			{"artefact", row.ArtifactDigest}, {"submission", row.SubmissionDigest},
			{"declared", fmt.Sprintf("%d operations, measured %d", row.DeclaredFLOPs, row.Verdict.Agent.FlopsUsed)}, {"state", string(row.State)},
		}
		if row.Claim != "" {
			lines = append(lines, line{"claim", row.Claim})
		}
		if row.ArtifactURI != nil {
			lines = append(lines, line{"address", *row.ArtifactURI})
		}
		if _, err := fmt.Fprint(env.Stdout, remoteText(lines), reasonLines(row, topicOf(cmd.Context(), c, row))); err != nil {
			return err
		}
	}
	return nil
}

func listRows(cmd *cobra.Command, env *Env, c *remote.Client, q remote.RowQuery, all, asJSON bool) error {
	for shown := 0; ; {
		rows, next, data, err := c.Rows(cmd.Context(), q)
		if err != nil {
			return err
		}
		if asJSON {
			err = writeJSON(env, data)
		}
		for i := range rows {
			if asJSON || err != nil {
				break
			}
			row := &rows[i]
			_, err = fmt.Fprintf(env.Stdout, "%s  epoch %d  %s  %s  %s\n", row.ID, row.Epoch,
				remote.Printable(row.TopicID), remote.Printable(row.MinerHotkey), remote.Printable(string(row.State)))
		}
		shown += len(rows)
		switch {
		case err != nil:
			return err
		case next == "":
			if shown == 0 && !asJSON {
				fmt.Fprintln(env.Stderr, "no rows")
			}
			return nil
		case !all:
			if !asJSON {
				fmt.Fprintf(env.Stderr, "more: --before %s, or --all\n", next)
			}
			return nil
		}
		q.Before = next
	}
}
