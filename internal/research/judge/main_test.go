package judge

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a call leaves something running: an answer that nobody closed
// holds its connection.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
