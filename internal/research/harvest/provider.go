package harvest

import "context"

// Template is what a rented pod starts from.
type Template struct {
	ID     string // the provider's own
	Name   string
	Image  string // repository, without tag and digest
	Digest string // sha256:…; empty: the image is not bound to one
	// Altered says that the template changes what the image starts or with what: an
	// entry point, start commands or variables of its own.
	Altered bool
	Ready   bool // can be rented
	Failed  bool // will never be
}

// Machine is one rent on offer.
type Machine struct {
	ID         string
	GPUs       uint32  // that a rent of it takes; 0: the provider does not say
	USDPerHour float64 // of the whole rent
}

// Order asks for one pod.
type Order struct {
	MachineID, TemplateID string
	PodName               string
	SSHKeyName            string
	SSHKey                string // in the form of authorized_keys
}

// Pod is a rented machine.
type Pod struct {
	ID, Name string
	GPUs     uint32 // 0: the provider does not say
	Running  bool
	SSH      Endpoint // zero until it is known
}

// Endpoint is where a pod takes SSH.
type Endpoint struct {
	User, Host string
	Port       uint16
}

// Provider rents machines. Errors are safe to show: they hold no key, no address and
// nothing that the provider wrote. A [*Fault] says of a failed rent whether there
// can be a pod all the same.
type Provider interface {
	Templates(ctx context.Context) ([]Template, error)
	// CreateTemplate makes a template of name that is bound to image@digest.
	CreateTemplate(ctx context.Context, name, image, digest string) (*Template, error)
	Machines(ctx context.Context) ([]Machine, error)
	// Rent asks for a pod. What became of it is found by its name among Pods.
	Rent(ctx context.Context, o Order) error
	// Pods lists every pod of the account that is not gone.
	Pods(ctx context.Context) ([]Pod, error)
	// Terminate ends a pod; one that is gone already is no error.
	Terminate(ctx context.Context, podID string) error
}

// Fault is a call of a provider that failed.
type Fault struct {
	Op string // such as "rent a pod"
	// Why is one of our own words for it, never the provider's.
	Why string
	// Nothing says that the call cannot have had an effect.
	Nothing bool
}

func (f *Fault) Error() string { return "lium: " + f.Op + ": " + f.Why }
