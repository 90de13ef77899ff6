package offer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
)

// Status says whether an offer may be used.
type Status string

// The two states of an offer.
const (
	Open   Status = "open"
	Closed Status = "closed"
)

// Inference is the judge's backend as the operator offers it (R§7).
type Inference struct {
	OfferID  string
	Provider pin.Provider
	BaseURL  Origin
	Mode     pin.Mode
	ModelRef string
	// Tokens of one call.
	MaxInputTokens, MaxOutputTokens uint32
	// Sampling and time of one call; nil leaves them to the backend.
	Temperature, TopP *float64
	TimeoutMS         *uint64
	ConfigCommitment  string
	Status            Status
}

// Origin is the address of a judge: it may hold a key and is shown nowhere. Ask
// for its text with a conversion to string. Keep it in exported fields: fmt calls
// no method of what an unexported field holds.
type Origin string

const hiddenOrigin = "[origin withheld]"

// Format keeps an origin out of every text that fmt writes (fmt.Formatter).
func (o Origin) Format(f fmt.State, _ rune) { fmt.Fprint(f, hiddenOrigin) }

// String does not return the origin.
func (o Origin) String() string { return hiddenOrigin }

// MarshalText keeps an origin out of JSON and logs.
func (o Origin) MarshalText() ([]byte, error) { return []byte(hiddenOrigin), nil }

// trimmed is the origin as it is compared, called and committed to.
func (o Origin) trimmed() string { return strings.TrimSpace(string(o)) }

// Canonical is the text behind the commitment (R§7): the origin, the knobs of
// the configuration, and nothing of offer_id, status or the provider's kind. It
// holds the origin and is as secret.
func (i *Inference) Canonical() ([]byte, error) {
	o := canonjson.NewObject(
		"base_url", i.BaseURL.trimmed(),
		"max_input_tokens", canonjson.NewInt(int64(i.MaxInputTokens)),
		"max_output_tokens", canonjson.NewInt(int64(i.MaxOutputTokens)),
		"mode", string(i.Mode),
		"model_ref", strings.TrimSpace(i.ModelRef),
	)
	if i.Temperature != nil {
		o.Set("temperature", *i.Temperature)
	}
	if i.TimeoutMS != nil {
		o.Set("timeout_ms", unsigned(*i.TimeoutMS))
	}
	if i.TopP != nil {
		o.Set("top_p", *i.TopP)
	}
	text, err := canonjson.Sorted(o)
	if err != nil {
		return nil, errors.New("inference offer has no canonical form") // the cause would quote the document
	}
	return text, nil
}

// Commitment is what config_commitment must be: 64 lower-case hex.
func (i *Inference) Commitment() (string, error) {
	text, err := i.Canonical()
	if err != nil {
		return "", err
	}
	return hash(text), nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Validate checks an offer against the pin, in the order of R§7; the first rule
// that is broken is the error. A closed offer may be valid.
func (i *Inference) Validate(p *pin.Pin) error {
	if !shape.Slug(i.OfferID) {
		return badID(i.OfferID)
	}
	if !shape.HTTPOrigin(i.BaseURL.trimmed()) {
		return errors.New("provider.base_url must be an http(s) origin")
	}
	if !shape.Model(i.ModelRef) {
		return errors.New("config.model_ref is required")
	}
	if !p.ModeAllowed(i.Mode) {
		return fmt.Errorf("config.mode %s is not in the pin allowed_modes", i.Mode)
	}
	for _, c := range []struct {
		field        string
		got, ceiling uint32
	}{
		{"max_input_tokens", i.MaxInputTokens, p.MaxInputTokensCeiling},
		{"max_output_tokens", i.MaxOutputTokens, p.MaxOutputTokensCeiling},
	} {
		if c.got < 1 || c.got > c.ceiling {
			return fmt.Errorf("config.%s = %d must be 1..=%d", c.field, c.got, c.ceiling)
		}
	}
	if !usable(i.Temperature, 2) {
		return errors.New("config.temperature is not a usable sampling value")
	}
	if !usable(i.TopP, 1) {
		return errors.New("config.top_p is not a usable sampling value")
	}
	want, err := i.Commitment()
	if err != nil || !shape.Hex64(i.ConfigCommitment) || !shape.SameHex(i.ConfigCommitment, want) {
		return errors.New("config_commitment does not match sha256(canonical config+origin)")
	}
	return nil
}

// usable reports whether a sampling value is unset or a number of 0..=most.
func usable(v *float64, most float64) bool {
	return v == nil || !math.IsNaN(*v) && *v >= 0 && *v <= most
}

func badID(id string) error {
	return fmt.Errorf("offer_id %s must match [a-z0-9][a-z0-9-]{1,62}", quote(id))
}

// quote shows a value of a document in a text that stays on one line.
func quote(s string) string {
	const limit = 160
	if len(s) > limit {
		return fmt.Sprintf("%q…", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}

// The refusals that stand for a missing or closed judge, in the words of R§7.
var (
	ErrInferenceMissing    = errors.New("inference offer missing; refuse scoring")
	ErrInferenceClosed     = errors.New("inference offer is closed; refuse scoring")
	ErrOriginMismatch      = errors.New("topic inference.base_url does not match the committed judge origin")
	ErrInferenceServe      = errors.New("open inference offer cannot serve topic inference constraints")
	ErrInferenceIncomplete = errors.New("resolved inference config is incomplete; refuse scoring")
	ErrInferenceKey        = errors.New("inference API key missing; refuse scoring")
)

// RequireOpen returns nil for an offer that is there, valid and open, in this
// order (R§7): an invalid closed offer reports what makes it invalid. nil stands
// for a missing offer.
func (i *Inference) RequireOpen(p *pin.Pin) error {
	if i == nil {
		return ErrInferenceMissing
	}
	if err := i.Validate(p); err != nil {
		return fmt.Errorf("inference offer: %w", err)
	}
	if i.Status != Open {
		return ErrInferenceClosed
	}
	return nil
}

// InferenceView is what anyone may see of the judge's backend (R§7): never the
// origin, the sampling or the time.
type InferenceView struct {
	OfferID          string       `json:"offer_id"`
	ProviderKind     pin.Provider `json:"provider_kind"`
	Mode             pin.Mode     `json:"mode"`
	ModelRef         string       `json:"model_ref"`
	MaxInputTokens   uint32       `json:"max_input_tokens"`
	MaxOutputTokens  uint32       `json:"max_output_tokens"`
	ConfigCommitment string       `json:"config_commitment"`
	Status           Status       `json:"status"`
}

// Public returns the public view; nil for a missing offer.
func (i *Inference) Public() *InferenceView {
	if i == nil {
		return nil
	}
	return &InferenceView{i.OfferID, i.Provider, i.Mode, i.ModelRef, i.MaxInputTokens, i.MaxOutputTokens, i.ConfigCommitment, i.Status}
}
