package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
)

// The exit statuses of verify. Among several files the worst counts, in the
// order unreadable, invalid, pending, valid.
const (
	verifyInvalid    = 1
	verifyUnreadable = 2
	verifyPending    = 3
)

// verifyMaxFile bounds every file verify reads; real proofs have 4 KB.
const verifyMaxFile = 16 << 20

type verifyFlags struct {
	offline, json            bool
	require, trust, disclose string
	logEntries               []string
}

func newVerifyCmd(env *Env) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check proofs with keys that did not come from them",
		Example: `  prova verify proof.json
  prova verify --offline --require both --log-entry entry.json proof.json
  curl -s https://trust.example/v1/proof/prf_… | prova verify --json -`,
		Long: `Checks each proof (any spec version; "-" is standard input) and reports seven witnesses: identity, chain,
disclosure, signature, batch, timestamp and log. Keys and roots are the built-in public ones unless --trust names
a trust.json. Without --offline the log entry that a proof names is fetched from the log itself.

A proof is valid when nothing failed, the issuer's hand is on it, and the witnesses that --require asks for
are ok: "any" independent one (timestamp or log), "both", or "local": any one, the operator's own included.

Exit status, the worst of all files: 0 valid, 3 pending, 1 invalid, 2 unreadable.`,
		Args:                  cobra.MinimumNArgs(1),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd.Context(), env, f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.offline, "offline", false, "use no network: a log entry comes from --log-entry only")
	flags.StringVar(&f.require, "require", string(receipt.RequireAny), "what a valid proof needs: `any|both|local` (local needs --trust)")
	completes(cmd, "require", string(receipt.RequireAny), string(receipt.RequireBoth), string(receipt.RequireLocal))
	flags.StringVar(&f.trust, "trust", "", "keys and roots from `FILE` (trust.json) instead of the built-in ones")
	flags.StringVar(&f.disclose, "disclose", "", "open the pairs disclosed in `FILE` as well")
	flags.StringArrayVar(&f.logEntries, "log-entry", nil, "the log entry of a proof is in `FILE`; may be repeated")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line")
	return cmd
}

// verifyRun is one invocation: what all its files share.
type verifyRun struct {
	env         *Env
	flags       verifyFlags
	require     receipt.Require
	checker     *receipt.Checker
	disclosures *receipt.Disclosures
	entries     *verifyEntries
	stdinRead   bool
	// unsigned is set when the issuer's hand was looked for in vain.
	unsigned bool
}

func runVerify(ctx context.Context, env *Env, f verifyFlags, files []string) error {
	require, err := receipt.ParseRequire(f.require)
	if err != nil {
		return usageError("--require: %w", err)
	}
	if require == receipt.RequireLocal && f.trust == "" {
		return usageError("--require local needs --trust FILE: the built-in trust knows no local witness")
	}
	run := &verifyRun{env: env, flags: f, require: require}
	trust := receipt.BuiltinTrust()
	if f.trust != "" {
		if trust, err = verifyReadWith(f.trust, receipt.ParseTrust); err != nil {
			return &ExitError{Code: verifyUnreadable, Err: err}
		}
	}
	run.checker = receipt.NewChecker(trust)
	if f.disclose != "" {
		if run.disclosures, err = verifyReadWith(f.disclose, receipt.ParseDisclosures); err != nil {
			return &ExitError{Code: verifyUnreadable, Err: err}
		}
		if run.disclosures.ForOneProof() && len(files) > 1 {
			return usageError("--disclose: %s names no proof id, so it can serve one file only, not %d", f.disclose, len(files))
		}
	}
	if run.entries, err = newVerifyEntries(f, trust, len(files) == 1); err != nil {
		return &ExitError{Code: verifyUnreadable, Err: err}
	}
	worst := 0
	for _, file := range files {
		if code := run.file(ctx, file); verifySeverity(code) > verifySeverity(worst) {
			worst = code
		}
	}
	if run.unsigned && f.trust == "" {
		fmt.Fprintln(env.Stderr, "prova: note: the built-in keys are those of one public issuer; a proof of another issuer or of a practice season needs --trust FILE (its trust.json)")
	}
	if worst != 0 {
		return &ExitError{Code: worst}
	}
	return nil
}

func verifySeverity(code int) int {
	switch code {
	case verifyUnreadable:
		return 3
	case verifyInvalid:
		return 2
	case verifyPending:
		return 1
	}
	return 0
}

// verifyReadWith reads a file and parses it; the error names the file.
func verifyReadWith[T any](file string, parse func([]byte) (T, error)) (T, error) {
	var zero T
	data, err := verifyRead(file)
	if err != nil {
		return zero, err
	}
	value, err := parse(data)
	if err != nil {
		return zero, fmt.Errorf("%s: %w", file, err)
	}
	return value, nil
}

func verifyRead(file string) ([]byte, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return verifyReadAtMost(r, file)
}

func verifyReadAtMost(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, verifyMaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > verifyMaxFile {
		return nil, fmt.Errorf("%s: is larger than %d MiB: a proof has some kilobytes", name, verifyMaxFile>>20)
	}
	return data, nil
}

// file verifies one file, prints its line and returns its exit status.
func (run *verifyRun) file(ctx context.Context, file string) int {
	p, err := run.readProof(file)
	if err != nil {
		fmt.Fprintf(run.env.Stderr, "prova: %s\n", verifyPrintable(err.Error()))
		run.print(file, nil)
		return verifyUnreadable
	}
	options := receipt.VerifyOptions{Require: run.require, Entry: run.entries.forProof(ctx, p)}
	if run.disclosures != nil {
		options.Disclosures = run.disclosures.For(p.ID())
	}
	report := run.checker.Verify(p, options)
	run.print(file, report)
	run.unsigned = run.unsigned || slices.ContainsFunc(report.Witnesses, func(w receipt.Witness) bool {
		return w.Name == receipt.WitnessSignature && w.Status == receipt.Fail
	})
	switch report.Verdict {
	case receipt.VerdictValid:
		return 0
	case receipt.VerdictPending:
		return verifyPending
	}
	return verifyInvalid
}

func (run *verifyRun) readProof(file string) (*receipt.Proof, error) {
	data, err := run.readFile(file)
	if err != nil {
		return nil, err
	}
	p, err := receipt.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !receipt.ValidID(p.ID()) {
		return nil, fmt.Errorf("%s: is no proof: proof_id is missing or not prf_YYYYMMDD_HHMMSS_xxxxxx; save the answer of GET /v1/proof/{id} as it is", file)
	}
	return p, nil
}

func (run *verifyRun) readFile(file string) ([]byte, error) {
	if file != "-" {
		return verifyRead(file)
	}
	if run.stdinRead {
		return nil, errors.New("-: standard input was read already; name it once")
	}
	run.stdinRead = true
	return verifyReadAtMost(run.env.Stdin, "-")
}

// verifyReport is a line of --json.
type verifyReport struct {
	File        string           `json:"file"`
	ProofID     *string          `json:"proof_id"`
	SpecVersion *string          `json:"spec_version"`
	Verdict     string           `json:"verdict"`
	Witnesses   []verifyWitness  `json:"witnesses"`
	Incidents   []verifyIncident `json:"incidents"`
}

type verifyWitness struct {
	Name        string  `json:"name"`
	Status      string  `json:"status"`
	Independent bool    `json:"independent"`
	Time        *string `json:"time"`
	Detail      string  `json:"detail"`
}

type verifyIncident struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// print writes the line of a file; a nil report is an unreadable one, whose
// fault is on standard error.
func (run *verifyRun) print(file string, r *receipt.Report) {
	if !run.flags.json {
		fmt.Fprintln(run.env.Stdout, verifyPrintable(verifyLine(file, r)))
		return
	}
	line := verifyReport{File: file, Verdict: "unreadable", Witnesses: []verifyWitness{}, Incidents: []verifyIncident{}}
	if r != nil {
		line.ProofID = &r.ProofID
		if !r.SpecVersion.Absent() {
			version := r.SpecVersion.String()
			line.SpecVersion = &version
		}
		line.Verdict = string(r.Verdict)
		for _, w := range r.Witnesses {
			line.Witnesses = append(line.Witnesses, verifyWitness{w.Name, string(w.Status), w.Independent, verifyInstant(w.Time), w.Detail})
		}
		for _, i := range r.Incidents {
			line.Incidents = append(line.Incidents, verifyIncident(i))
		}
	}
	enc := json.NewEncoder(run.env.Stdout)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(line) // strings, booleans and lists always encode; a closed output has nobody to tell
}

func verifyInstant(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339Nano)
	return &s
}

func verifyLine(file string, r *receipt.Report) string {
	if r == nil {
		return file + ": unreadable"
	}
	version := "absent"
	if !r.SpecVersion.Absent() {
		version = r.SpecVersion.String()
	}
	witnesses := make([]string, len(r.Witnesses))
	for i, w := range r.Witnesses {
		witnesses[i] = w.Name + " " + string(w.Status)
		switch {
		case w.Status != receipt.OK:
		case !w.Time.IsZero():
			whose := "local"
			if w.Independent {
				whose = "independent"
			}
			witnesses[i] += fmt.Sprintf(" (%s, %s)", whose, *verifyInstant(w.Time))
		case w.Name == receipt.WitnessIdentity:
			witnesses[i] += " (" + w.Detail + ")"
		}
	}
	line := fmt.Sprintf("%s: %s %s spec %s: %s", file, r.Verdict, r.ProofID, version, strings.Join(witnesses, ", "))
	if r.Reason != "" {
		line += "; " + r.Reason
	}
	for i, incident := range r.Incidents {
		if i == 0 {
			line += "; incidents:"
		}
		line += " " + incident.Kind + " " + incident.Detail
	}
	return line
}

// verifyPrintable keeps foreign bytes from steering a terminal or breaking a line.
func verifyPrintable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '�'
	}, s)
}

// verifyEntryName returns the uuid that an entry document is about, "" when it cannot
// be told.
func verifyEntryName(document []byte) string {
	value, err := canonjson.ParseStrict(document)
	if err != nil {
		return ""
	}
	if o, ok := value.(*canonjson.Object); ok && o.Len() == 1 {
		return o.Names()[0]
	}
	return ""
}
