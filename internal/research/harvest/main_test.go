package harvest

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a run leaves something running: a pod's connection that stays
// open is a watcher that never ends.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
