package offer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Executor says where the evaluation image runs (R§8). All of it is public.
type Executor struct {
	OfferID           string
	LiumTemplateID    string
	MachineShape      string
	MaxProofDeadlineS uint64 // seconds of one run
	EvalImageDigest   string // empty, or the pin's
	ConfigCommitment  string
	Status            Status
}

// config is what an executor commitment covers.
type config struct {
	digest, template, shape string
	deadlineS               uint64
}

func (c config) canonical() ([]byte, error) {
	return canonjson.Sorted(canonjson.NewObject(
		"eval_image_digest", strings.TrimSpace(c.digest),
		"lium_template_id", strings.TrimSpace(c.template),
		"machine_shape", strings.TrimSpace(c.shape),
		"max_proof_deadline_s", unsigned(c.deadlineS),
	))
}

func (c config) commitment() (string, error) {
	text, err := c.canonical()
	if err != nil {
		return "", fmt.Errorf("eval executor config: %w", err)
	}
	return hash(text), nil
}

func unsigned(n uint64) canonjson.Int { return canonjson.Int(strconv.FormatUint(n, 10)) }

func (e *Executor) config() config {
	return config{e.EvalImageDigest, e.LiumTemplateID, e.MachineShape, e.MaxProofDeadlineS}
}

// Canonical is the text behind the commitment (R§8).
func (e *Executor) Canonical() ([]byte, error) { return e.config().canonical() }

// Commitment is what config_commitment must be: 64 lower-case hex.
func (e *Executor) Commitment() (string, error) { return e.config().commitment() }

// Validate checks an offer against the pin, in the order of R§8; the first rule
// that is broken is the error. A closed offer may be valid.
func (e *Executor) Validate(p *pin.Pin) error {
	if !shape.Slug(e.OfferID) {
		return badID(e.OfferID)
	}
	if err := CheckTemplate(p, e.LiumTemplateID); err != nil {
		return err
	}
	if e.MachineShape != p.GPUClass {
		return fmt.Errorf("machine_shape %s is not the pin gpu_class %s; refuse scoring", quote(e.MachineShape), quote(p.GPUClass))
	}
	if err := checkDeadline(p, e.MaxProofDeadlineS); err != nil {
		return err
	}
	if d := strings.TrimSpace(e.EvalImageDigest); d != "" && !shape.SameHex(d, p.EvalImageDigest) {
		return errors.New("eval_image_digest does not match the pin")
	}
	want, err := e.Commitment()
	if err != nil || !shape.Hex64(e.ConfigCommitment) || !shape.SameHex(e.ConfigCommitment, want) {
		return errors.New("config_commitment does not match sha256(canonical executor config)")
	}
	return nil
}

// DigestPrefix is the part of the pinned digest that a template's name carries:
// its first 12 hex characters. The pin must have a digest that can be rented
// (R§4), or no executor can be bound to it (R§8).
func DigestPrefix(p *pin.Pin) (string, error) {
	hex, found := strings.CutPrefix(p.EvalImageDigest, "sha256:")
	if !found || !p.CanRent() || len(hex) < 12 {
		return "", errors.New("the pin carries no eval_image_digest; it binds no executor")
	}
	return strings.ToLower(hex[:12]), nil
}

// TemplateName is the name of the template that is bound to the pinned digest
// and nothing else.
func TemplateName(p *pin.Pin) (string, error) {
	prefix, err := DigestPrefix(p)
	if err != nil {
		return "", err
	}
	return "proof-eval-" + prefix, nil
}

// CheckTemplate applies the rules for template names to an offer's or an
// override's (R§8): printable, under the pin's prefixes, no raw id of the
// provider, which would be rented with no look at its image, and carrying the
// first 12 hex characters of the pinned digest.
func CheckTemplate(p *pin.Pin, id string) error {
	if !printable(id) {
		return errors.New("lium_template_id must be 1..=128 printable ASCII chars")
	}
	if !p.TemplateAllowed(id) {
		return fmt.Errorf("lium_template_id %q is not under the pin allowed_lium_template_prefixes", id)
	}
	if isUUID(id) {
		return fmt.Errorf("lium_template_id %q is a raw template UUID, which would be rented with no image check; name the digest-scoped template", id)
	}
	prefix, err := DigestPrefix(p)
	if err != nil {
		return err
	}
	if !strings.Contains(id, prefix) {
		return fmt.Errorf("lium_template_id %q does not carry the pinned eval image digest prefix %s", id, prefix)
	}
	return nil
}

func printable(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isUUID reports whether s is 8-4-4-4-12 hex characters.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(s[i])) {
				return false
			}
		}
	}
	return true
}

func checkDeadline(p *pin.Pin, seconds uint64) error {
	if seconds < 1 || seconds > p.MaxProofDeadlineSCeiling {
		return fmt.Errorf("max_proof_deadline_s = %d must be 1..=%d", seconds, p.MaxProofDeadlineSCeiling)
	}
	return nil
}

// The refusals of R§8 that a caller tells apart.
var (
	ErrExecutorMissing = errors.New("eval executor offer missing; refuse scoring")
	ErrExecutorClosed  = errors.New("eval executor offer is closed; refuse scoring")
	ErrExecutorServe   = errors.New("open eval executor offer cannot serve topic eval_executor constraints")
)

// RequireOpen returns nil for an offer that is there, valid and open, in this
// order. What is wrong with an offer is said behind "eval executor offer: ", as
// on the scoring path. nil stands for a missing offer.
func (e *Executor) RequireOpen(p *pin.Pin) error {
	if e == nil {
		return ErrExecutorMissing
	}
	if err := e.Validate(p); err != nil {
		return fmt.Errorf("eval executor offer: %w", err)
	}
	if e.Status != Open {
		return ErrExecutorClosed
	}
	return nil
}

// Serves returns nil when the offer can run submissions of a topic: it is open,
// and a topic that pins an offer pins this one.
func (e *Executor) Serves(t *topic.Document) error {
	if e == nil {
		return ErrExecutorMissing
	}
	if e.Status != Open {
		return ErrExecutorClosed
	}
	if want := t.EvalExecutor.RequireOfferCommitment; want != nil && !shape.SameHex(*want, e.ConfigCommitment) {
		return fmt.Errorf("eval executor offer: %w", ErrExecutorServe)
	}
	return nil
}

// GPUCount reads the n of a machine shape "nx"; ok is false for another form.
func GPUCount(machineShape string) (n uint32, ok bool) {
	digits, found := strings.CutSuffix(strings.TrimSpace(machineShape), "x")
	count, err := strconv.ParseUint(digits, 10, 32) // takes digits alone, no sign
	if !found || err != nil {
		return 0, false
	}
	return uint32(count), true
}

// ExecutorView is the public view of an executor offer (R§8).
type ExecutorView struct {
	OfferID           string  `json:"offer_id"`
	LiumTemplateID    string  `json:"lium_template_id"`
	MachineShape      string  `json:"machine_shape"`
	GPUCount          *uint32 `json:"gpu_count"`
	MaxProofDeadlineS uint64  `json:"max_proof_deadline_s"`
	EvalImageDigest   string  `json:"eval_image_digest"`
	ConfigCommitment  string  `json:"config_commitment"`
	Status            Status  `json:"status"`
}

// Public returns the public view; nil for a missing offer.
func (e *Executor) Public() *ExecutorView {
	if e == nil {
		return nil
	}
	v := &ExecutorView{e.OfferID, e.LiumTemplateID, e.MachineShape, nil, e.MaxProofDeadlineS, e.EvalImageDigest, e.ConfigCommitment, e.Status}
	if n, ok := GPUCount(e.MachineShape); ok {
		v.GPUCount = &n
	}
	return v
}
