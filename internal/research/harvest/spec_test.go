package harvest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// R§15.6: the harvest waits for the deadline and 300 s; a rent lasts at most 6 h and
// costs at most 12 USD.
func TestSection156TheDefaultLimitsAreTheReferences(t *testing.T) {
	l := DefaultLimits()
	require.Equal(t, 300*time.Second, l.Grace)
	require.Equal(t, 6*time.Hour, l.Rent)
	require.InDelta(t, 12.0, l.USD, 0)
}
