package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/app"
	"github.com/prova-dev/prova/internal/platform/obs"
	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/fake"
)

func newSandboxCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the agent that runs the VMs of research topics",
		Long: `The agent runs the VMs of topics on its machine and answers the control plane on
port 8200. The control plane reaches it by PROOF_VM_ORCHESTRATOR_URL and
PROOF_VM_ORCHESTRATOR_TOKEN_FILE.`,
		Example: "  prova sandbox serve --fake --token-file token",
	}
	cmd.AddCommand(newSandboxServeCmd(env))
	return cmd
}

// sandboxServe are the flags of "prova sandbox serve".
type sandboxServe struct {
	fake                               bool
	bind, tokenFile, tlsCert, tlsKey   string
	baselineValue                      float64
	baselineFlops                      uint64
	egress                             string
	logLevel, logFormat                string
	bindGiven, egressGiven, production bool
}

func newSandboxServeCmd(env *Env) *cobra.Command {
	var f sandboxServe
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the control plane's jobs on this machine",
		Long: `Answers the API of the host agent until it is stopped; then jobs are cancelled and
VMs released. Every request needs the bearer of the token file, which is read each
time. Without --tls-cert and --tls-key the address must be loopback.

--fake boots nothing: it fetches a submitted artefact, checks digest and form,
and reports the figures that the artefact's own fake-run.json names. It is for
development: its evidence says driver "fake" and sandboxed false, a topic with
firecracker_required is refused, and so is --fake itself under PROVA_PRODUCTION=1.

PROOF_VM_AGENT_BIND, _TOKEN_FILE, _TLS_CERT, _TLS_KEY and _EGRESS_ALLOW stand for
the flags of these names.`,
		Example: `  head -c 32 /dev/urandom | base64 > token
  prova sandbox serve --fake --token-file token --baseline-value 0.42
  prova sandbox serve --fake --token-file token --bind 10.0.0.5:8200 --tls-cert tls.crt --tls-key tls.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.bindGiven, f.egressGiven = cmd.Flags().Changed("bind"), cmd.Flags().Changed("egress")
			return f.run(cmd, env)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.fake, "fake", false, "boot nothing; figures are the artefact's own")
	flags.StringVar(&f.bind, "bind", "127.0.0.1:8200", "address to listen on")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the bearer token")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "certificate (PEM); needed unless the address is loopback")
	flags.StringVar(&f.tlsKey, "tls-key", "", "key of the certificate (PEM)")
	flags.Float64Var(&f.baselineValue, "baseline-value", 1, "primary value of every fake baseline")
	decimalVar(flags, &f.baselineFlops, "baseline-flops", 1, "measured operations of every fake baseline")
	flags.StringVar(&f.egress, "egress", "127.0.0.0/8", "private addresses that artefacts may be fetched from, CIDR[:port[/tcp]] with commas; public ones always may")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json")
	completes(cmd, "log-level", "debug", "info", "warn", "error")
	completes(cmd, "log-format", "text", "json")
	return cmd
}

// environment fills in what the flags leave open (R§24.4).
func (f *sandboxServe) environment(env *Env) error {
	fill := func(to *string, given bool, name string) {
		if text := env.Getenv(name); text != "" && !given {
			*to = text
		}
	}
	fill(&f.bind, f.bindGiven, "PROOF_VM_AGENT_BIND")
	fill(&f.egress, f.egressGiven, "PROOF_VM_AGENT_EGRESS_ALLOW")
	fill(&f.tokenFile, f.tokenFile != "", "PROOF_VM_AGENT_TOKEN_FILE")
	fill(&f.tlsCert, f.tlsCert != "", "PROOF_VM_AGENT_TLS_CERT")
	fill(&f.tlsKey, f.tlsKey != "", "PROOF_VM_AGENT_TLS_KEY")
	if text := env.Getenv("PROVA_PRODUCTION"); text != "" {
		var on app.Switch
		if err := on.UnmarshalText([]byte(text)); err != nil {
			return usageError("PROVA_PRODUCTION: %w", err)
		}
		f.production = bool(on)
	}
	return nil
}

func (f *sandboxServe) run(cmd *cobra.Command, env *Env) error {
	if err := f.environment(env); err != nil {
		return err
	}
	switch {
	case !f.fake:
		return usageError("no driver is chosen: this version has the fake agent only, which isolates nothing; start it with --fake")
	case f.production:
		return usageError("--fake is refused under PROVA_PRODUCTION=1: it isolates nothing")
	case f.tokenFile == "":
		return usageError("--token-file is missing: every request needs the bearer that it holds")
	case (f.tlsCert == "") != (f.tlsKey == ""):
		return usageError("--tls-cert and --tls-key go together")
	}
	egress, err := fake.ParseEgress(f.egress)
	if err != nil {
		return usageError("--egress: %w", err)
	}
	hypervisor, err := fake.New(fake.Options{BaselineValue: f.baselineValue, BaselineFlops: f.baselineFlops, Egress: egress})
	if err != nil {
		return usageError("--baseline-value: %w", err)
	}
	logger, err := obs.NewLogger(env.Stderr, f.logLevel, f.logFormat)
	if err != nil {
		return usageError("%w", err)
	}
	// A token that is not there would be a 401 to everybody; here it can still be said.
	if _, err := agentd.ReadToken(f.tokenFile); err != nil {
		return err
	}
	agent, err := agentd.New(agentd.Options{Hypervisor: hypervisor, TokenFile: f.tokenFile, Log: logger})
	if err != nil {
		return err
	}
	listener, err := agentd.Listen(cmd.Context(), f.bind, f.tlsCert, f.tlsKey)
	if err != nil {
		return errors.Join(err, agent.Close(cmd.Context()))
	}
	scheme := "http"
	if f.tlsCert != "" {
		scheme = "https"
	}
	fmt.Fprintf(env.Stderr, "FAKE AGENT: nothing is isolated, no submission is run, every figure is the artefact's own. For development only.\n")
	fmt.Fprintf(env.Stdout, "agent %s://%s\nhypervisor %s\n", scheme, listener.Addr(), hypervisor.Name())
	return agent.Serve(cmd.Context(), listener)
}
