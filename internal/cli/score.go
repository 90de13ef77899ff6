package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

// The statuses of score and replay (design, receipts challenge §6).
const (
	exitDiffers    = 1
	exitUnreadable = 2
	exitRefused    = 4
)

// bundleFlags are what score and replay have in common.
type bundleFlags struct {
	trust string
	json  bool
}

func (f *bundleFlags) add(cmd *cobra.Command, json string) {
	cmd.Flags().StringVar(&f.trust, "trust", "", "`FILE` with the keys and roots you trust, in place of the bundle's trust.json")
	cmd.Flags().BoolVar(&f.json, "json", false, json)
}

// newScoreCmd scores a bundle and prints the result.
func newScoreCmd(env *Env) *cobra.Command {
	var f bundleFlags
	cmd := &cobra.Command{
		Use:   "score BUNDLE",
		Short: "Score a season bundle",
		Long: `Score a season bundle: a folder, or a tar.zst of it.

Nothing is needed but the bundle: no clock, no network, no account. What was
committed before the season (rules, corpus, key) is checked first, and nothing is
scored when it does not hold.

Exit status: 0 scored, 2 the bundle is unreadable, 4 refused: the freeze does not hold.`,
		Example: `  prova score prova-demo/bundle
  prova score season-1.tar.zst --trust mine.json
  prova score season-1.tar.zst --json > results.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, trust, err := f.open(env, args[0])
			if err != nil {
				return err
			}
			defer b.Close() // read only
			var sink scoring.Sink = &textSink{w: env.Stdout, names: agentNames(b)}
			if f.json {
				sink = results.NewWriter(env.Stdout)
			}
			if err := scoring.Run(cmd.Context(), b, trust, sink); err != nil {
				return f.end(env, err)
			}
			return f.note(env)
		},
	}
	f.add(cmd, "print the bytes of results.json")
	return cmd
}

// newReplayCmd scores a bundle and compares with its own results.json.
func newReplayCmd(env *Env) *cobra.Command {
	var f bundleFlags
	cmd := &cobra.Command{
		Use:   "replay BUNDLE",
		Short: "Score a season bundle and compare with its published results",
		Long: `Score a season bundle (a folder, or a tar.zst of it) and compare the result, byte
for byte, with the results.json that it publishes. The first place that differs is
named: participant, task, assertion, what was published and what was computed.

Exit status: 0 identical, 1 different, 2 the bundle is unreadable or publishes no
results.json, 4 refused: what was committed before the season does not hold.`,
		Example: `  prova replay prova-demo/bundle
  prova replay season-1.tar.zst --trust mine.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, trust, err := f.open(env, args[0])
			if err != nil {
				return err
			}
			defer b.Close() // read only
			d, err := scoring.Replay(cmd.Context(), b, trust)
			if err != nil {
				return f.end(env, err)
			}
			if err := errors.Join(f.printReplay(env.Stdout, d), f.note(env)); err != nil {
				return err
			}
			if d != nil {
				return &ExitError{Code: exitDiffers}
			}
			return nil
		},
	}
	f.add(cmd, `print {"identical":true}, or the first difference as an object`)
	return cmd
}

func (f *bundleFlags) printReplay(w io.Writer, d *scoring.Difference) error {
	var err error
	switch {
	case f.json && d == nil:
		_, err = fmt.Fprintln(w, `{"identical":true}`)
	case f.json:
		_, err = fmt.Fprintf(w, "%s\n", canonjson.Marshal(canonjson.NewObject("identical", false, "place", d.Place,
			"pointer", d.Pointer, "published", d.Published, "computed", d.Computed)))
	case d == nil:
		_, err = fmt.Fprintln(w, "identical: the published results follow from the bundle, byte for byte")
	default:
		_, err = fmt.Fprintf(w, "different at %s\n", d)
	}
	return err
}

// open opens the bundle and the trust file.
func (f *bundleFlags) open(env *Env, path string) (*bundle.Bundle, *receipt.Trust, error) {
	var trust *receipt.Trust
	if f.trust != "" {
		var err error
		if trust, err = readTrustFile(f.trust); err != nil {
			return nil, nil, &ExitError{Code: exitUnreadable, Err: err}
		}
	}
	b, err := bundle.Open(path)
	if err != nil {
		inner := filepath.Join(path, "bundle")
		if _, serr := os.Stat(filepath.Join(inner, "season.json")); serr == nil {
			err = fmt.Errorf("%w: %s is a season's folder, its bundle is %s", err, path, inner)
		}
		return nil, nil, f.end(env, err)
	}
	return b, trust, nil
}

// note says whose keys a result rests on, when they are not the caller's. It
// follows a result only: an unreadable or refused bundle has one line on
// standard error, its fault.
func (f *bundleFlags) note(env *Env) error {
	if f.trust != "" {
		return nil
	}
	_, err := fmt.Fprintln(env.Stderr, "prova: note: keys and roots are the publisher's proposal, from the bundle's trust.json: give your own with --trust FILE")
	return err
}

func readTrustFile(path string) (*receipt.Trust, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	trust, err := receipt.ParseTrust(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return trust, nil
}

// end turns what ended a scoring into a status. With --json a refusal is also
// printed as an object.
func (f *bundleFlags) end(env *Env, err error) error {
	var unreadable *bundle.UnreadableError
	var refusal *bundle.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unreadable):
		return &ExitError{Code: exitUnreadable, Err: fmt.Errorf("bundle unreadable: %w", err)}
	case errors.As(err, &refusal):
		if f.json {
			body := canonjson.NewObject("refused", canonjson.NewObject("reason", refusal.Reason, "track", refusal.Track))
			if _, err := fmt.Fprintf(env.Stdout, "%s\n", canonjson.Marshal(body)); err != nil {
				return err
			}
		}
		return &ExitError{Code: exitRefused, Err: fmt.Errorf("refused, nothing is scored: %w", refusal)}
	}
	return err
}

// textSink prints results for a reader, a line for each participant as it comes.
type textSink struct {
	w     io.Writer
	names map[string]string // agents' names by DID, printable
}

// agentNames reads the names that the participants gave themselves.
func agentNames(b *bundle.Bundle) map[string]string {
	names := make(map[string]string, len(b.Enrolments))
	for _, e := range b.Enrolments {
		names[e.AgentDID] = verifyPrintable(e.AgentName)
	}
	return names
}

func (s *textSink) Begin(h results.Header) error {
	if c := h.Corrections; c != nil {
		_, err := fmt.Fprintf(s.w, "season %d, publication %d with %d corrections\n", h.Season, c.Version, len(c.Entries))
		return err
	}
	_, err := fmt.Fprintf(s.w, "season %d\n", h.Season)
	return err
}

func (s *textSink) Track(name string, best results.BestConstantAnswer) error {
	_, err := fmt.Fprintf(s.w, "\ntrack %s\nbest constant answer: %s, success %s, overclaim not applicable\n\n%s\n",
		name, best.Verdict, percent(&best.Rate), textLine("agent", "table", "overclaim", "success", "submitted", "name", ""))
	return err
}

func (s *textSink) Participant(p *results.Participant) error {
	var remarks []string
	if pending := p.Pending(); pending > 0 {
		remarks = append(remarks, fmt.Sprintf("provisional, %d pending", pending))
	}
	if !p.Ranked {
		remarks = append(remarks, "linked to an earlier enrolment, no place in the table")
	}
	if n := len(p.Incidents); n > 0 {
		remarks = append(remarks, fmt.Sprintf("incidents: %d", n))
	}
	_, err := fmt.Fprintln(s.w, textLine(p.AgentDID, p.Kind, percent(p.Overclaim), percent(&p.Success),
		fmt.Sprintf("%d/%d", p.TasksSubmitted, len(p.Tasks)), s.names[p.AgentDID], strings.Join(remarks, "; ")))
	return err
}

func (s *textSink) End() error { return nil }

func textLine(agent, table, overclaim, success, submitted, name, remarks string) string {
	return strings.TrimRight(fmt.Sprintf("%-56s  %-9s  %-16s  %-16s  %-9s  %-16s  %s", agent, table, overclaim, success, submitted, name, remarks), " ")
}

// percent prints a rate with its counts; a rate without any is a dash.
func percent(r *results.Rate) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%s %% (%d/%d)", r.Percent, r.Num, r.Den)
}
