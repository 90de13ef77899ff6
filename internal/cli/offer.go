package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
)

// pinVariable names the pin file to programs and ceremonies alike (R§25).
const pinVariable = "PROOF_PIN_FILE"

// newOfferCmd groups the ceremonies that make the two live offers.
func newOfferCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "offer",
		Short: "Make the live offers of the research challenge: executor and judge",
		Long: `Make the live offers of the research challenge: the executor, which is where the
evaluation image runs, and the inference offer, which is the judge's backend. Each
is checked against the pin before it is written, with its commitment filled in.`,
		Example: `  prova offer executor --offer-id exec-a --max-proof-deadline-s 7200 --pin proof-pin.toml --out ~/proof/executor.json
  prova offer inference --offer-id judge-a --base-url - --model vendor/model --pin proof-pin.toml --out ~/proof/judge.json`,
	}
	cmd.AddCommand(newOfferExecutorCmd(env), newOfferInferenceCmd(env))
	return cmd
}

// offerFlags are the flags that both offers have.
type offerFlags struct {
	id, pinFile, out string
	closed           bool
}

func (f *offerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.id, "offer-id", "", "id of the offer, such as exec-a")
	flags.StringVar(&f.pinFile, "pin", "", "pin file; without it the one of "+pinVariable)
	flags.BoolVar(&f.closed, "closed", false, "write the offer closed")
	flags.StringVar(&f.out, "out", "", "file to write, mode 0600, outside every git checkout")
}

func (f *offerFlags) check() error {
	if f.id == "" {
		return usageError("--offer-id is missing: name the offer, such as --offer-id exec-a")
	}
	if f.out == "" {
		return usageError("--out is missing: name the file to write the offer to, outside every git checkout")
	}
	return nil
}

func (f *offerFlags) status() offer.Status {
	if f.closed {
		return offer.Closed
	}
	return offer.Open
}

// loadPinFile reads and validates the pin that a flag or the environment names.
func loadPinFile(env *Env, path string) (*pin.Pin, error) {
	if path == "" {
		path = env.Getenv(pinVariable)
	}
	if path == "" {
		return nil, usageError("--pin is missing: name the pin file, or set %s", pinVariable)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := pin.Load(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// describeOffer says what was written.
func describeOffer(w io.Writer, path, id, commitment string, status offer.Status) error {
	_, err := fmt.Fprintf(w, "offer              %s\noffer_id           %s\nconfig_commitment  %s\nstatus             %s\n", path, id, commitment, status)
	return err
}

func newOfferExecutorCmd(env *Env) *cobra.Command {
	var f offerFlags
	var template, shape string
	var deadline uint64
	var bind bool
	cmd := &cobra.Command{
		Use:   "executor",
		Short: "Make the offer that says where the evaluation image runs",
		Long: `Make the offer that says where the evaluation image runs, for
PROOF_EVAL_EXECUTOR_OFFER_FILE or POST /v1/admin/proof/executor. The template's name
carries the digest of the pin, by default as proof-eval-<12 hex>; a raw template
UUID of the provider is refused. All of this offer is public.`,
		Example: "  prova offer executor --offer-id exec-a --max-proof-deadline-s 7200 --bind-digest --pin proof-pin.toml --out ~/proof/executor.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if !cmd.Flags().Changed("max-proof-deadline-s") {
				return usageError("--max-proof-deadline-s is missing: give the seconds that a run may take, up to the pin's ceiling")
			}
			p, err := loadPinFile(env, f.pinFile)
			if err != nil {
				return err
			}
			if template == "" {
				if template, err = offer.TemplateName(p); err != nil {
					return err
				}
			}
			e := &offer.Executor{OfferID: f.id, LiumTemplateID: template, MachineShape: shape, MaxProofDeadlineS: deadline, Status: f.status()}
			if bind {
				e.EvalImageDigest = p.EvalImageDigest
			}
			if e.ConfigCommitment, err = e.Commitment(); err != nil {
				return err
			}
			if err := e.Validate(p); err != nil {
				return err
			}
			data, err := e.JSON()
			if err != nil {
				return err
			}
			if err := writeSecret(f.out, data); err != nil {
				return err
			}
			return describeOffer(env.Stdout, f.out, e.OfferID, e.ConfigCommitment, e.Status)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&template, "template-id", "", "name of the digest-scoped template; without it proof-eval-<12 hex of the pinned digest>")
	flags.StringVar(&shape, "machine-shape", "1x", "machine class, which must be the pin's gpu_class")
	decimalVar(flags, &deadline, "max-proof-deadline-s", 0, "seconds that a run may take, 1 to the pin's ceiling")
	flags.BoolVar(&bind, "bind-digest", false, "write the pinned image digest into the offer")
	return cmd
}

func newOfferInferenceCmd(env *Env) *cobra.Command {
	var f offerFlags
	var provider, baseURL, model, mode string
	var in, out uint32
	var temperature, topP float64
	var timeout uint64
	cmd := &cobra.Command{
		Use:   "inference",
		Short: "Make the offer that names the judge's backend",
		Long: `Make the offer that names the judge's backend, for PROOF_INFERENCE_OFFER_FILE. The
commitment covers the origin and the configuration; the origin itself is shown
nowhere, so pass it on standard input to keep it out of the list of processes.
What is not given is taken from the pin. The API key is not part of an offer.`,
		Example: "  prova offer inference --offer-id judge-a --base-url - --model vendor/model --temperature 0 --pin proof-pin.toml --out ~/proof/judge.json < origin",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if baseURL == "" {
				return usageError("--base-url is missing: --base-url - reads the judge's origin from standard input")
			}
			p, err := loadPinFile(env, f.pinFile)
			if err != nil {
				return err
			}
			origin, err := argumentOrStdin(env, baseURL, "origin")
			if err != nil {
				return err
			}
			i := &offer.Inference{
				OfferID: f.id, BaseURL: offer.Origin(origin), Status: f.status(),
				Provider: p.Inference.Provider, ModelRef: p.Inference.Model, Mode: p.Inference.Mode,
				MaxInputTokens: p.Inference.MaxInputTokens, MaxOutputTokens: p.Inference.MaxOutputTokens,
			}
			for name, set := range map[string]func(){
				"provider": func() { i.Provider = pin.Provider(provider) }, "model": func() { i.ModelRef = model }, "mode": func() { i.Mode = pin.Mode(mode) },
				"max-input-tokens": func() { i.MaxInputTokens = in }, "max-output-tokens": func() { i.MaxOutputTokens = out },
				"temperature": func() { i.Temperature = &temperature }, "top-p": func() { i.TopP = &topP }, "timeout-ms": func() { i.TimeoutMS = &timeout },
			} {
				if cmd.Flags().Changed(name) {
					set()
				}
			}
			if i.ConfigCommitment, err = i.Commitment(); err != nil {
				return err
			}
			if err := i.Validate(p); err != nil {
				return err
			}
			data, err := i.JSON()
			if err != nil {
				return err
			}
			if _, err := offer.ParseInference(data); err != nil {
				return err // a provider or mode of no known name
			}
			if err := writeSecret(f.out, data); err != nil {
				return err
			}
			return describeOffer(env.Stdout, f.out, i.OfferID, i.ConfigCommitment, i.Status)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&baseURL, "base-url", "", "http(s) origin of the judge; - reads it from standard input")
	flags.StringVar(&provider, "provider", "", "openai_compatible, vllm or custom")
	flags.StringVar(&model, "model", "", "model that the judge calls")
	flags.StringVar(&mode, "mode", "", "chat, completions or embeddings")
	decimalVar(flags, &in, "max-input-tokens", 0, "input tokens of one call, up to the pin's ceiling")
	decimalVar(flags, &out, "max-output-tokens", 0, "output tokens of one call, up to the pin's ceiling")
	flags.Float64Var(&temperature, "temperature", 0, "sampling temperature, 0 to 2; unset leaves it to the backend")
	flags.Float64Var(&topP, "top-p", 0, "nucleus sampling, 0 to 1; unset leaves it to the backend")
	decimalVar(flags, &timeout, "timeout-ms", 0, "milliseconds that one call may take; unset leaves it to the caller")
	return cmd
}
