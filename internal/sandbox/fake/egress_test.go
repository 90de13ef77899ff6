package fake

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestR242EgressEntries(t *testing.T) {
	e, err := ParseEgress("127.0.0.1:9000, 10.1.0.0/16,[fd00::/8]:443/tcp, ::1,192.168.7.9:80/tcp")
	require.NoError(t, err)
	for at, want := range map[string]bool{
		"127.0.0.1:9000":          true,
		"127.0.0.1:9001":          false,
		"127.0.0.2:9000":          false,
		"[::ffff:127.0.0.1]:9000": true,
		"10.1.255.1:22":           true,
		"10.2.0.1:22":             false,
		"[fd00::1]:443":           true,
		"[fd00::1]:80":            false,
		"[::1]:80":                true,
		"192.168.7.9:80":          true,
		"169.254.169.254:80":      false,
		"0.0.0.0:9000":            false,
		"8.8.8.8:443":             true,
		"[2a00::1]:443":           true,
	} {
		require.Equal(t, want, e.Allows(netip.MustParseAddrPort(at)), at)
	}
	none, err := ParseEgress(" , ")
	require.NoError(t, err)
	require.Empty(t, none)
	require.False(t, none.Allows(netip.MustParseAddrPort("127.0.0.1:80")))
}

func TestR242BadEgressEntriesAreRefused(t *testing.T) {
	for entry, want := range map[string]string{
		"10.0.0.0/33":      "neither an address nor a network",
		"10.0.0.1:0":       "port must be",
		"10.0.0.1:65536":   "port must be",
		"10.0.0.1:":        "port must be",
		"10.0.0.1:80/icmp": "over tcp",
		"10.0.0.1:80/udp":  "over tcp",
		"localhost:80":     "neither an address nor a network",
		"[::1:80":          "bracket is not closed",
		"[::1]80":          "after the bracket",
		"fe80::1%eth0":     "neither an address nor a network",
	} {
		_, err := ParseEgress("127.0.0.1," + entry)
		require.ErrorContains(t, err, want, entry)
		require.ErrorContains(t, err, "CIDR[:port[/tcp]]", entry)
	}
}

func FuzzParseEgress(f *testing.F) {
	for _, s := range []string{"127.0.0.0/8", "10.0.0.1:80/tcp", "[::1]:9,[fd00::/8]", "0.0.0.0/0:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		e, err := ParseEgress(list)
		if err != nil {
			return
		}
		for _, a := range e {
			if !a.prefix.IsValid() || a.prefix != a.prefix.Masked() {
				t.Fatalf("%q gave %v", list, a)
			}
		}
	})
}
