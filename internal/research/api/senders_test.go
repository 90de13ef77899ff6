package api

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/httpx"
)

// Slow bodies of one address must not shut out everybody else's submissions.
func TestOneAddressHasAShareOfTheBodiesThatAreRead(t *testing.T) {
	var s senders
	slow, other := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	var leave []func()
	for range maxOfOne {
		one, err := s.enter(slow)
		require.NoError(t, err)
		leave = append(leave, one)
	}
	_, err := s.enter(slow)
	var refused *httpx.StatusError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusTooManyRequests, refused.Status)
	_, err = s.enter(other)
	require.NoError(t, err)
	leave[0]()
	again, err := s.enter(slow)
	require.NoError(t, err)
	again()
	for _, one := range leave[1:] {
		one()
	}
	require.Len(t, s.held, 1, "an address without a body is forgotten")
	for range 2 * maxBodies {
		_, err := s.enter(netip.MustParseAddr("127.0.0.1"))
		require.NoError(t, err, "behind an unnamed proxy of this machine everybody is loopback")
	}
}
