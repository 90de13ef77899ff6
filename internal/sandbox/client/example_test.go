package client_test

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/prova-dev/prova/internal/sandbox/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A host whose address of the agent is plain HTTP to another machine has no
// orchestrator at all.
func ExampleNew() {
	_, err := client.New(client.Options{URL: "http://kvm.example.org:8200", TokenFile: "token"})
	fmt.Println(errors.Is(err, client.ErrUnwired))
	fmt.Println(err)
	// Output:
	// true
	// PROOF_VM_ORCHESTRATOR_URL is neither https nor http to a loopback host: topic-vm orchestrator not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)
}
