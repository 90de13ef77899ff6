package offer

import (
	"strings"

	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Judge is the configuration that the judge of one run is called with (R§7).
type Judge struct {
	Provider                        pin.Provider
	Origin                          Origin
	Model                           string
	Mode                            pin.Mode
	MaxInputTokens, MaxOutputTokens uint32
}

// Resolve merges what a topic asks for into the pin's defaults (R§7). The origin
// is the live offer's, else the pin's, else the host's secret one; an origin that
// a topic names is never used. i may be nil.
func (i *Inference) Resolve(p *pin.Pin, t *topic.Inference, secret Origin) Judge {
	return Judge{
		Provider:        either(t.Provider, p.Inference.Provider),
		Origin:          i.origin(p, secret),
		Model:           either(t.Model, p.Inference.Model),
		Mode:            either(t.Mode, p.Inference.Mode),
		MaxInputTokens:  either(t.MaxInputTokens, p.Inference.MaxInputTokens),
		MaxOutputTokens: either(t.MaxOutputTokens, p.Inference.MaxOutputTokens),
	}
}

func (i *Inference) origin(p *pin.Pin, secret Origin) Origin {
	if i != nil && shape.HTTPOrigin(i.BaseURL.trimmed()) {
		return Origin(i.BaseURL.trimmed())
	}
	if pinned := Origin(p.Inference.BaseURL).trimmed(); pinned != "" {
		return Origin(pinned)
	}
	return Origin(secret.trimmed())
}

func either[T any](override *T, otherwise T) T {
	if override != nil {
		return *override
	}
	return otherwise
}

// Ready returns nil when a judge can be called: a model, both token caps and an
// origin are known.
func (j *Judge) Ready() error {
	if !shape.Model(j.Model) || j.MaxInputTokens == 0 || j.MaxOutputTokens == 0 || !shape.HTTPOrigin(j.Origin.trimmed()) {
		return ErrInferenceIncomplete
	}
	return nil
}

// Serves returns nil when the offer can judge for a topic (R§7): it is open, a
// topic that names an origin names the offer's, and kind, mode, caps, model and
// commitment fit what the topic and the pin resolve to. The offer is taken to be
// valid. nil stands for a missing offer.
func (i *Inference) Serves(p *pin.Pin, t *topic.Document, secret Origin) error {
	if i == nil {
		return ErrInferenceMissing
	}
	if i.Status != Open {
		return ErrInferenceClosed
	}
	want := &t.Inference
	if want.BaseURL != nil && Origin(*want.BaseURL).trimmed() != i.BaseURL.trimmed() {
		return ErrOriginMismatch
	}
	judge := i.Resolve(p, want, secret)
	if judge.Origin.trimmed() != i.BaseURL.trimmed() {
		return ErrOriginMismatch
	}
	switch {
	case judge.Provider != i.Provider,
		judge.Mode != i.Mode,
		i.MaxInputTokens < judge.MaxInputTokens,
		i.MaxOutputTokens < judge.MaxOutputTokens,
		strings.TrimSpace(judge.Model) != "" && strings.TrimSpace(judge.Model) != strings.TrimSpace(i.ModelRef),
		want.RequireJudgeOfferCommitment != nil && !shape.SameHex(*want.RequireJudgeOfferCommitment, i.ConfigCommitment):
		return ErrInferenceServe
	}
	return nil
}

// RequireKey returns nil when there is a key to call a judge with: what the key
// file holds, white space aside (R§7). It is asked for on the live path only, and
// no error repeats it.
func RequireKey(key string) error {
	if strings.TrimSpace(key) == "" {
		return ErrInferenceKey
	}
	return nil
}
