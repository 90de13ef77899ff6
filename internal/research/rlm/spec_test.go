package rlm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/rlm"
)

// Specification "Artefacts and promotion": an abandoned lease ends after five
// minutes; decision 10: it is renewed every thirty seconds.
func TestDecision10TheDefaultsOfALeaseAreTheSpecifications(t *testing.T) {
	require.Equal(t, 5*time.Minute, rlm.DefaultLeaseTTL)
	require.Equal(t, time.Second, rlm.DefaultLeasePoll)
	require.Equal(t, 30*time.Second, rlm.DefaultRenewEvery)
}
