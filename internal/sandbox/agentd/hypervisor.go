package agentd

import (
	"context"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// Hypervisor boots the VMs of topics. Its methods may be called from several
// goroutines; Boot is called by one at a time. An error that is (or wraps) a
// *wire.Error is answered with its code and text, any other as backend; texts are
// shown to the operator and hold no secret and no path.
type Hypervisor interface {
	// Name is what health shows as the hypervisor.
	Name() string
	// Ready says why no VM can be booted at this moment, nil when one can.
	Ready(ctx context.Context) error
	// Boot starts the VM of a topic under an id that this process has not used
	// before. A failed or cancelled boot leaves nothing behind. The context is that
	// of the boot, not of the VM's life.
	Boot(ctx context.Context, spec wire.Spec, vmID string) (VM, error)
}

// VM is one booted VM. Alive and Release may be called while Run runs.
type VM interface {
	// Alive reports whether the VM's process runs. It does not block.
	Alive() bool
	// Run does one job and returns what the guest answered, with the host's
	// attestation of the sister guest if one ran. When the context ends, Run stops
	// the job, destroys its sister and returns.
	Run(ctx context.Context, job wire.Job) (wire.Output, *wire.Attestation, error)
	// Release ends the VM if it runs, and a Run with it, and removes or keeps what
	// it left on the host. It may be called again after an error, and after success
	// does nothing.
	Release(ctx context.Context, policy wire.Retain) error
}
