package harvest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/pin"
)

// Limits bound a run. A zero field takes the default of [DefaultLimits].
type Limits struct {
	Template  time.Duration // until a new template can be rented with
	Boot      time.Duration // until a rented pod takes SSH
	Stage     time.Duration // of the copy of weights and shards
	Grace     time.Duration // beyond the deadline, for the wrapper to end the run
	Terminate time.Duration // until a terminated pod is gone
	Settle    time.Duration // in which a pod of an unanswered rent may appear
	Poll      time.Duration // between two looks at the provider
	Rent      time.Duration // of everything between rent and termination
	USD       float64       // that one run may cost
	Stdout    int64         // bytes that a run may print
}

// DefaultLimits are those of R§15.6 where it has one.
func DefaultLimits() Limits {
	return Limits{
		Template: 20 * time.Minute, Boot: 20 * time.Minute, Stage: time.Hour, Grace: 300 * time.Second,
		Terminate: 3 * time.Minute, Settle: 30 * time.Second, Poll: 5 * time.Second,
		Rent: 6 * time.Hour, USD: 12, Stdout: 64 << 20,
	}
}

// Options configure a harvest. Nothing is read before Facts or Run asks for it, so
// that files may be put in place while a host runs.
type Options struct {
	Provider Provider
	Pin      *pin.Pin

	WeightsDir       string // PROOF_PROXY_MODEL_DIR
	HoldoutStore     string // PROOF_HOLDOUT_STORE
	JudgeKeyFile     string // PROOF_INFERENCE_API_KEY_FILE
	SSHPublicKeyFile string // LIUM_SSH_PUBLIC_KEY_FILE
	SSHKeyFile       string // the private half; empty: the public file's name without .pub

	// EvalTimeoutS is PROOF_EVAL_TIMEOUT_SECS. It never shortens a deadline.
	EvalTimeoutS uint64

	Limits Limits
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: none
}

// Harvest scores submissions of the families nll and throughput on rented machines.
// It may be used by several goroutines at once.
type Harvest struct {
	o Options

	mu     sync.Mutex
	active map[string]bool // pod names
}

// New returns a harvest. It makes no connection and reads no file.
func New(o Options) (*Harvest, error) {
	if o.Provider == nil {
		return nil, errors.New("a harvest needs a provider")
	}
	if o.Pin == nil {
		return nil, errors.New("a harvest needs a pin")
	}
	d := DefaultLimits()
	for _, l := range []struct{ set, otherwise *time.Duration }{
		{&o.Limits.Template, &d.Template}, {&o.Limits.Boot, &d.Boot}, {&o.Limits.Stage, &d.Stage},
		{&o.Limits.Grace, &d.Grace}, {&o.Limits.Terminate, &d.Terminate}, {&o.Limits.Settle, &d.Settle},
		{&o.Limits.Poll, &d.Poll}, {&o.Limits.Rent, &d.Rent},
	} {
		if *l.set <= 0 {
			*l.set = *l.otherwise
		}
	}
	if o.Limits.USD <= 0 {
		o.Limits.USD = d.USD
	}
	if o.Limits.Stdout <= 0 {
		o.Limits.Stdout = d.Stdout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Harvest{o: o, active: map[string]bool{}}, nil
}

// Format shows nothing of the files and the provider of a harvest.
func (h *Harvest) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "harvest") }

// Facts looks at what is staged, for the gate's row 13. Whether the store has the
// shard of every record is looked at by Run, behind the freeze of a digest.
func (h *Harvest) Facts() intake.Harvest {
	_, err := loadSSHKey(h.o.SSHPublicKeyFile, h.o.SSHKeyFile)
	return intake.Harvest{Weights: hasFile(h.o.WeightsDir), Shards: hasFile(h.o.HoldoutStore), SSHKey: err == nil}
}

// Run scores a submission on a rented machine: it prepares everything that can fail
// without a rent, rents, stages, runs, terminates and verifies that the pod is gone,
// and judges what came back. progress, which may be nil, is told each phase.
//
// The error is an [*intake.Refusal] of status 503, or of status 500 when a pod may be
// left behind; then there is no row. When ctx ends, the pod is terminated all the
// same and the error is that of ctx: the submission is as if it had not been run.
func (h *Harvest) Run(ctx context.Context, o *intake.Outcome, progress func(phase string)) (intake.Result, error) {
	if progress == nil {
		progress = func(string) {}
	}
	progress("preparing")
	j, err := h.prepare(o)
	if err != nil {
		return intake.Result{}, err
	}
	if !h.enter(j.pod) {
		return intake.Result{}, refuse("harvest_busy", "a run under this submission's pod name is in flight on this host; try again later")
	}
	defer h.leave(j.pod)

	log := h.o.Log.With("submission", j.digest, "pod", j.pod)
	document, err := h.rented(ctx, j, log, progress)
	if err != nil {
		log.Warn("harvest refused", "ended_early", ctx.Err() != nil)
		if refusal := new(intake.Refusal); errors.As(err, &refusal) && refusal.Status == statusIntegrity {
			return intake.Result{}, refusal
		}
		if ctx.Err() != nil {
			return intake.Result{}, fmt.Errorf("harvest: %w", ctx.Err())
		}
		return intake.Result{}, err
	}
	return j.judge(document)
}

func (h *Harvest) enter(pod string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.active[pod] {
		return false
	}
	h.active[pod] = true
	return true
}

func (h *Harvest) leave(pod string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.active, pod)
}

const (
	statusUnavailable = 503
	statusIntegrity   = 500
)

func refuse(name, text string) *intake.Refusal {
	return &intake.Refusal{Row: "23", Name: name, Status: statusUnavailable, Text: text}
}
