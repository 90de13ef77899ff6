package wire

import (
	"fmt"
	"strings"
)

// APIVersion is the version of the agent's API and of the guest protocol that
// this build speaks.
const APIVersion = 1

// CheckAPIVersion refuses a peer of another version (R§23.1).
func CheckAPIVersion(peer uint32) error {
	if peer != APIVersion {
		return fmt.Errorf("peer api_version %d, this build speaks %d", peer, APIVersion)
	}
	return nil
}

// Retain says what becomes of a VM's jail when the VM ends. The zero value is
// written, and to be treated, as [Destroy].
type Retain string

// The policies of R§21.1.
const (
	Destroy Retain = "destroy"
	Keep    Retain = "retain" // the jail stays for audit
)

// Policy returns the policy with its default filled in.
func (r Retain) Policy() Retain {
	if r == "" {
		return Destroy
	}
	return r
}

// MarshalText writes the policy with its default filled in.
func (r Retain) MarshalText() ([]byte, error) { return []byte(r.Policy()), nil }

func (r *Retain) check() string {
	if *r != Destroy && *r != Keep {
		return "want destroy or retain"
	}
	return ""
}

// Template is the shape of a topic VM.
type Template struct {
	ImageDigest string `json:"image_digest"` // sha256:<64 hex>
	VCPUs       uint32 `json:"vcpus"`        // 1 to 64
	MemMiB      uint32 `json:"mem_mib"`      // 512 to 131072
}

// Sandbox is what a topic asks of the place its runs happen in.
type Sandbox struct {
	FirecrackerRequired bool   `json:"firecracker_required"`
	DeadlineS           uint64 `json:"deadline_s"` // seconds a paid run may take
}

// Spec asks for a topic VM.
type Spec struct {
	TopicID  string   `json:"topic_id"`
	Template Template `json:"template"`
	Sandbox  Sandbox  `json:"sandbox"`
	Retain   Retain   `json:"retain" wire:"optional"`
}

// check fills in the default that a text may leave out.
func (s *Spec) check() string {
	s.Retain = s.Retain.Policy()
	return ""
}

// Validate refuses a spec by its first field that is not within the limits of
// R§21.1.
func (s *Spec) Validate() error {
	bad := func(field string) error { return fmt.Errorf("topic-vm spec: %s is missing or out of range", field) }
	switch {
	case !TopicID(s.TopicID):
		return bad("topic_id")
	case !ImageDigest(s.Template.ImageDigest):
		return bad("image_digest")
	case s.Template.VCPUs < 1 || s.Template.VCPUs > 64:
		return bad("vcpus")
	case s.Template.MemMiB < 512 || s.Template.MemMiB > 131072:
		return bad("mem_mib")
	case s.Retain.Policy() != Destroy && s.Retain != Keep:
		return bad("retain")
	}
	return nil
}

// TopicID reports whether s is a topic's id: [a-z0-9][a-z0-9-]{1,62}. Nothing
// else may become part of a path or an address.
func TopicID(s string) bool {
	return len(s) >= 2 && len(s) <= 63 && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// VMID reports whether s is an id that an agent gives: 1 to 64 of
// [A-Za-z0-9_-], the first no hyphen. Sisters have one of the same form.
func VMID(s string) bool {
	if s == "" || len(s) > 64 || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// ImageDigest reports whether s pins an image: sha256: and 64 lower-case
// hexadecimal digits.
func ImageDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// Handle names a VM and the topic it belongs to.
type Handle struct {
	TopicID string `json:"topic_id"`
	VMID    string `json:"vm_id"`
}

// VMState is where a VM stands.
type VMState string

// The states of R§22.
const (
	Running   VMState = "running"
	Retained  VMState = "retained"
	Destroyed VMState = "destroyed"
	Crashed   VMState = "crashed"
)

func (s *VMState) check() string {
	switch *s {
	case Running, Retained, Destroyed, Crashed:
		return ""
	}
	return "want running, retained, destroyed or crashed"
}

// Record is what an agent tells of a VM.
type Record struct {
	Handle      Handle  `json:"handle"`
	ImageDigest string  `json:"image_digest"`
	VCPUs       uint32  `json:"vcpus"`
	MemMiB      uint32  `json:"mem_mib"`
	Sandbox     Sandbox `json:"sandbox"`
	Retain      Retain  `json:"retain"`
	State       VMState `json:"state"`
}
