package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
)

// Options are what a control plane is made of.
type Options struct {
	Ledger    *ledger.Ledger
	Engine    *rlm.Engine    // nil: no custom family
	Harvest   Harvest        // nil: no nll and throughput
	Artefacts *artefact.Root // nil: no artefact is served
	Pin       *pin.Pin       // parsed and validated

	Files        Files
	SecretOrigin string                   // PROOF_INFERENCE_BASE_URL; its file counts when this is empty
	Lookup       func(name string) string // the overrides of R§8.1; nil: none

	ForceSim   bool // R§15.1
	Production bool // decision 12
	UnsignedOK bool // decision 5: a submission may come without a signature
	Standin    bool // the engine takes a stand-in's reports (decision 13)

	Epochs payout.Epochs
	Limits Limits
	Store  string // name of the live store, for the status: sqlite or postgres

	LeafKey *sr25519.SecretKey // nil: leaves are not signed
	Holder  string             // name of this process in flights and leases; empty: a random one
	Now     func() time.Time
	Rand    io.Reader
	Log     *slog.Logger

	// Poll is how often workers, waiters and the closer of epochs look at the
	// store; 0 is a second. A beat of a run that is older than Stale has lost its
	// worker; 0 is a minute.
	Poll, Stale time.Duration

	// Patience is how long an orchestrator of topic VMs may be away before runs of
	// custom topics that come to their turn are refused; 0 refuses them at once.
	// Without it a restart of the agent costs the whole queue.
	Patience time.Duration
}

// Harvest scores the topics of the nll and throughput families. *harvest.Harvest is
// one, and so are the scripted ones of tests.
type Harvest interface {
	// Facts says what is staged now.
	Facts() intake.Harvest
	// Run scores one submission. An *intake.Refusal, 503 or 500, is the answer of a run
	// without a row.
	Run(ctx context.Context, o *intake.Outcome, progress func(phase string)) (intake.Result, error)
}

// Host is the control plane. It is safe for concurrent use.
type Host struct {
	o     Options
	known atomic.Pointer[state]
	mu    sync.Mutex // held by whoever replaces the state
	// warned is what the log was last told of each topic's files; mu guards it.
	warned map[string]fault

	addresses, hotkeys *window
	runs               *runs
	closed             *closedEpochs
	setups             *setups
	seals              *seals
	long               chan struct{} // places of those that read a long body
}

// Error is the answer to a use case that was refused. Its text is safe to show.
type Error struct {
	Status int
	Text   string
}

func (e *Error) Error() string { return e.Text }

func refusef(status int, format string, args ...any) *Error {
	return &Error{status, fmt.Sprintf(format, args...)}
}

// The statuses of the use cases, of RFC 9110 and RFC 6585. This room speaks no HTTP.
const (
	ok          = 200
	created     = 201
	accepted    = 202
	bad         = 400
	notFound    = 404
	conflict    = 409
	wrongTypes  = 422
	tooMany     = 429
	broken      = 500
	unavailable = 503
)

// Open reads the operator's files and the ledger. A bad file is a warning, and a
// fault that the gate names. The error is a store that does not answer, or a
// configuration that a production host refuses (decision 12).
func Open(ctx context.Context, o Options) (*Host, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	if o.Production && o.Engine != nil {
		o.Engine.RequireFirecracker()
	}
	h := &Host{
		o:         o,
		warned:    make(map[string]fault),
		addresses: newWindow(o.Limits.AddressPerMinute, time.Minute),
		hotkeys:   newWindow(o.Limits.HotkeyPerHour, time.Hour),
		runs:      newRuns(),
		closed:    newClosedEpochs(),
		setups:    newSetups(),
		seals:     newSeals(),
		long:      make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
	if err := h.closed.load(ctx, o.Ledger); err != nil {
		return nil, err
	}
	if err := h.Reload(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

func (o *Options) fill() error {
	if o.Ledger == nil || o.Pin == nil {
		return errors.New("research host: a ledger and a pin are required")
	}
	if o.Production {
		switch {
		case o.ForceSim:
			return errors.New("PROVA_PRODUCTION=1 refuses the sim backend; unset PROOF_FORCE_SIM")
		case o.UnsignedOK:
			return errors.New("PROVA_PRODUCTION=1 refuses unsigned submissions")
		case o.Standin:
			return errors.New("PROVA_PRODUCTION=1 refuses stand-ins of a sandbox")
		}
	}
	o.Limits = o.Limits.filled()
	if o.Lookup == nil {
		o.Lookup = func(string) string { return "" }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.Stale <= 0 {
		o.Stale = time.Minute
	}
	if o.Holder == "" {
		var name [8]byte
		if _, err := io.ReadFull(o.Rand, name[:]); err != nil {
			return fmt.Errorf("research host: name of this process: %w", err)
		}
		o.Holder = "host-" + hex.EncodeToString(name[:])
	}
	return nil
}
