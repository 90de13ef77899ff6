package offer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/strict"
)

// ParseInference reads an InferenceOffer (R§7) strictly: a key that is unknown,
// twice there or in the wrong case, a null where none may be, and a float for an
// integer are refused with their path. A missing key reads as empty and is left
// to Validate; status, provider.kind and config.mode have no empty value and must
// be there. The error wraps a *[strict.Error].
func ParseInference(data []byte) (*Inference, error) {
	i := &Inference{}
	var base string
	statuses := strict.Word(Open, Closed)
	err := read(data, strict.Object(
		strict.Field{Name: "offer_id", Read: strict.String(&i.OfferID)},
		strict.Field{Name: "provider", Read: strict.Object(
			strict.Field{Name: "kind", Read: strict.Word(pin.Providers()...)(&i.Provider)},
			strict.Field{Name: "base_url", Read: strict.String(&base)},
		)},
		strict.Field{Name: "config", Read: strict.Object(
			strict.Field{Name: "mode", Read: strict.Word(pin.Modes()...)(&i.Mode)},
			strict.Field{Name: "model_ref", Read: strict.String(&i.ModelRef)},
			strict.Field{Name: "max_input_tokens", Read: strict.Uint(&i.MaxInputTokens)},
			strict.Field{Name: "max_output_tokens", Read: strict.Uint(&i.MaxOutputTokens)},
			strict.Field{Name: "temperature", Read: strict.Optional(&i.Temperature, strict.Float)},
			strict.Field{Name: "top_p", Read: strict.Optional(&i.TopP, strict.Float)},
			strict.Field{Name: "timeout_ms", Read: strict.Optional(&i.TimeoutMS, strict.Uint[uint64])},
		)},
		strict.Field{Name: "config_commitment", Read: strict.String(&i.ConfigCommitment)},
		strict.Field{Name: "status", Read: statuses(&i.Status)},
	))
	if err == nil {
		err = present("provider.kind", string(i.Provider), "config.mode", string(i.Mode), "status", string(i.Status))
	}
	if err != nil {
		return nil, fmt.Errorf("parse inference offer: %w", err)
	}
	i.BaseURL = Origin(base)
	return i, nil
}

// ParseExecutor reads an EvalExecutorOffer (R§8), as strictly as ParseInference.
// status must be there.
func ParseExecutor(data []byte) (*Executor, error) {
	e := &Executor{}
	statuses := strict.Word(Open, Closed)
	err := read(data, strict.Object(
		strict.Field{Name: "offer_id", Read: strict.String(&e.OfferID)},
		strict.Field{Name: "lium_template_id", Read: strict.String(&e.LiumTemplateID)},
		strict.Field{Name: "machine_shape", Read: strict.String(&e.MachineShape)},
		strict.Field{Name: "max_proof_deadline_s", Read: strict.Uint(&e.MaxProofDeadlineS)},
		strict.Field{Name: "eval_image_digest", Read: strict.String(&e.EvalImageDigest)},
		strict.Field{Name: "config_commitment", Read: strict.String(&e.ConfigCommitment)},
		strict.Field{Name: "status", Read: statuses(&e.Status)},
	))
	if err == nil {
		err = present("status", string(e.Status))
	}
	if err != nil {
		return nil, fmt.Errorf("parse eval executor offer: %w", err)
	}
	return e, nil
}

func read(data []byte, into strict.Reader) error {
	v, err := strict.JSON(data)
	if err != nil {
		return err
	}
	return into(v, "")
}

// present takes paths and values in turn and refuses the first empty value.
func present(pathValue ...string) error {
	for n := 0; n < len(pathValue); n += 2 {
		if pathValue[n+1] == "" {
			return &strict.Error{Path: pathValue[n], Reason: "is missing"}
		}
	}
	return nil
}

// figure is a float that reads back as itself: the -0 of encoding/json would be
// the integer 0, and the commitment of -0.0 is another one (R§3).
type figure float64

// MarshalJSON implements [json.Marshaler].
func (f figure) MarshalJSON() ([]byte, error) {
	if f == 0 && math.Signbit(float64(f)) {
		return []byte("-0.0"), nil
	}
	return json.Marshal(float64(f))
}

// JSON writes the offer as the document that ParseInference reads, origin
// included: for the operator's file alone.
func (i *Inference) JSON() ([]byte, error) {
	type provider struct {
		Kind    pin.Provider `json:"kind"`
		BaseURL string       `json:"base_url"`
	}
	type config struct {
		Mode            pin.Mode `json:"mode"`
		ModelRef        string   `json:"model_ref"`
		MaxInputTokens  uint32   `json:"max_input_tokens"`
		MaxOutputTokens uint32   `json:"max_output_tokens"`
		Temperature     *figure  `json:"temperature,omitempty"`
		TopP            *figure  `json:"top_p,omitempty"`
		TimeoutMS       *uint64  `json:"timeout_ms,omitempty"`
	}
	text, err := json.MarshalIndent(struct {
		OfferID          string   `json:"offer_id"`
		Provider         provider `json:"provider"`
		Config           config   `json:"config"`
		ConfigCommitment string   `json:"config_commitment"`
		Status           Status   `json:"status"`
	}{
		i.OfferID, provider{i.Provider, string(i.BaseURL)},
		config{i.Mode, i.ModelRef, i.MaxInputTokens, i.MaxOutputTokens, (*figure)(i.Temperature), (*figure)(i.TopP), i.TimeoutMS},
		i.ConfigCommitment, i.Status,
	}, "", "  ")
	if err != nil {
		return nil, errors.New("inference offer cannot be written as JSON") // the cause would quote the document
	}
	return append(text, '\n'), nil
}

// JSON writes the offer as the document that ParseExecutor reads.
func (e *Executor) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(struct {
		OfferID           string `json:"offer_id"`
		LiumTemplateID    string `json:"lium_template_id"`
		MachineShape      string `json:"machine_shape"`
		MaxProofDeadlineS uint64 `json:"max_proof_deadline_s"`
		EvalImageDigest   string `json:"eval_image_digest"`
		ConfigCommitment  string `json:"config_commitment"`
		Status            Status `json:"status"`
	}{e.OfferID, e.LiumTemplateID, e.MachineShape, e.MaxProofDeadlineS, e.EvalImageDigest, e.ConfigCommitment, e.Status}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("eval executor offer cannot be written as JSON: %w", err)
	}
	return append(text, '\n'), nil
}
