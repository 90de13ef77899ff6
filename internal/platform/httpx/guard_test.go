package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/httpx"
)

func TestT46BlockedRanges(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1", "127.255.255.255", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "100.127.255.255", "0.0.0.0", "0.1.2.3", "::1", "fc00::1", "fdff::1", "fe80::1", "fe80::1%eth0", "febf::1",
		"::ffff:8.8.8.8", "::ffff:127.0.0.1", "2002::1", "2002:7f00:1::", "2001::1",
		"::", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "fec0::1", "ff02::1", "224.0.0.1", "239.255.255.255", "192.0.0.8",
		"198.18.0.1", "198.19.255.255", "240.0.0.1", "255.255.255.255",
	} {
		require.True(t, httpx.Blocked(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "198.17.0.1", "223.255.255.255", "2001:4860:4860::8888", "2a00::1", "64:ff9c::1"} {
		require.False(t, httpx.Blocked(netip.MustParseAddr(a)), a)
	}
	require.True(t, httpx.Blocked(netip.Addr{}))
}

func guard(t *testing.T, upstreams map[string]string, hosts map[string][]string, dialled *[]string) *httpx.Guard {
	t.Helper()
	g, err := httpx.NewGuard(httpx.GuardOptions{
		Upstreams: upstreams,
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			var out []netip.Addr
			for _, a := range hosts[host] {
				out = append(out, netip.MustParseAddr(a))
			}
			if out == nil {
				return nil, errors.New("no such host at resolver 10.9.8.7")
			}
			return out, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			*dialled = append(*dialled, address)
			if !strings.HasPrefix(address, "127.") {
				return nil, errors.New("no network in tests")
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	})
	require.NoError(t, err)
	return g
}

func TestT46CheckURL(t *testing.T) {
	hosts := map[string][]string{
		"public.test": {"8.8.8.8"}, "mixed.test": {"8.8.8.8", "10.0.0.1"}, "inside.test": {"10.0.0.1"},
		"six.test": {"2001:4860::1"}, "mapped-six.test": {"::ffff:10.0.0.1"}, "127.1": {"127.0.0.1"}, "localhost.": {"127.0.0.1"},
	}
	for target, want := range map[string]error{
		"https://public.test/a?b=c": nil, "https://PUBLIC.test:8443/": nil, "https://user:pw@public.test/": nil,
		"https://six.test/": nil, "https://8.8.8.8/": nil, "https://corpus.prova.test/x": nil, "https://Corpus.Prova.test:99/x": nil,
		"http://public.test/": httpx.ErrTarget, "HTTPS:public.test": httpx.ErrTarget, "ftp://public.test/": httpx.ErrTarget, "": httpx.ErrTarget,
		"https:///x": httpx.ErrTarget, "https://localhost/": httpx.ErrTarget, "https://LOCALHOST./": httpx.ErrTarget, "https://0.0.0.0/": httpx.ErrTarget,
		"https://127.0.0.1/": httpx.ErrTarget, "https://[::1]/": httpx.ErrTarget, "https://[::ffff:8.8.8.8]/": httpx.ErrTarget, "https://[fe80::1%25lo]/": httpx.ErrTarget,
		"https://169.254.169.254/latest": httpx.ErrTarget, "https://inside.test/": httpx.ErrTarget, "https://mixed.test/": httpx.ErrTarget,
		"https://mapped-six.test/": httpx.ErrTarget, "https://127.1/": httpx.ErrTarget, "https://nowhere.test/": httpx.ErrResolve,
		"https://corpus.prova.test.evil.test/": httpx.ErrResolve, "https://%zz/": httpx.ErrTarget, "https://2130706433/": httpx.ErrResolve,
	} {
		var dialled []string
		_, _, err := guard(t, map[string]string{"corpus.prova.test": "127.0.0.1:9"}, hosts, &dialled).CheckURL(context.Background(), target)
		if want == nil {
			require.NoError(t, err, target)
			continue
		}
		require.ErrorIs(t, err, want, target)
		require.NotContains(t, err.Error(), "10.9.8.7", "what the resolver says stays inside")
	}
}

func TestT46CheckedAddressIsTheOneDialled(t *testing.T) {
	hosts := map[string][]string{"rebind.test": {"8.8.8.8"}}
	var dialled []string
	g := guard(t, nil, hosts, &dialled)
	ctx, u, err := g.CheckURL(context.Background(), "https://rebind.test/")
	require.NoError(t, err)
	hosts["rebind.test"] = []string{"127.0.0.1"} // The name's owner changes it between check and call.
	client := &http.Client{Transport: g.Transport()}
	defer client.CloseIdleConnections()
	do := func(ctx context.Context, target string) error {
		r, err := http.NewRequestWithContext(ctx, "GET", target, nil)
		require.NoError(t, err)
		_, err = client.Do(r) //nolint:bodyclose // It always fails.
		return err
	}
	require.ErrorContains(t, do(ctx, u.String()), "no network in tests")
	require.Equal(t, []string{"8.8.8.8:443"}, dialled)
	// A request that was not checked first is checked at the dial, a pin of another host's does not count.
	require.ErrorIs(t, do(context.Background(), "https://rebind.test/"), httpx.ErrTarget)
	require.ErrorIs(t, do(ctx, "https://127.0.0.1/"), httpx.ErrTarget)
	require.ErrorIs(t, do(ctx, "http://rebind.test/"), httpx.ErrTarget)
	require.Len(t, dialled, 1)
}

func TestMappedHostsGoToTheirLoopbackListenerUnderTheirOwnName(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Host, r.URL.RequestURI())
	}))
	defer s.Close()
	var dialled []string
	g := guard(t, map[string]string{"corpus.prova.test": strings.TrimPrefix(s.URL, "http://")}, nil, &dialled)
	client := &http.Client{Transport: g.Transport()}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://corpus.prova.test/entites/ENT-0001")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "corpus.prova.test /entites/ENT-0001", string(body))
}

func TestUpstreamsMustBeLoopback(t *testing.T) {
	for host, address := range map[string]string{
		"a.test": "10.0.0.1:80", "b.test": "127.0.0.1", "c.test": "localhost:80", "d.test": "127.0.0.1:0", "UPPER.test": "127.0.0.1:80",
		"https://e.test": "127.0.0.1:80", "f.test:443": "127.0.0.1:80", "": "127.0.0.1:80",
	} {
		_, err := httpx.NewGuard(httpx.GuardOptions{Upstreams: map[string]string{host: address}})
		require.ErrorContains(t, err, "upstreams", host)
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://a/", "https://[::1]/", "https://127.0.0.1", "https://a@b:1/%2f", "https://0x7f.1/", "https://[::ffff:1.2.3.4%25x]:9"} {
		f.Add(s)
	}
	g, err := httpx.NewGuard(httpx.GuardOptions{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, target string) {
		// Every name resolves inside: only literals outside the ranges may pass.
		_, u, err := g.CheckURL(context.Background(), target)
		if err != nil {
			return
		}
		a, err := netip.ParseAddr(u.Hostname())
		if err != nil || httpx.Blocked(a) {
			t.Fatalf("%q passed", target)
		}
	})
}

func TestAMappedHostNeverGetsAnAddressThatACallerMadeUp(t *testing.T) {
	var got http.Header
	ours := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer ours.Close()
	g, err := httpx.NewGuard(httpx.GuardOptions{Upstreams: map[string]string{"season.prova.test": ours.Listener.Addr().String()}})
	require.NoError(t, err)
	client := &http.Client{Transport: g.Transport()}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "https://season.prova.test/", nil)
	require.NoError(t, err)
	r.Header.Set("X-Real-IP", "8.8.8.8")
	r.Header.Set("X-Other", "stays")
	resp, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Empty(t, got.Values("X-Real-IP"))
	require.Equal(t, "stays", got.Get("X-Other"))
	require.Equal(t, "8.8.8.8", r.Header.Get("X-Real-IP"), "the caller's request is not altered")
}
