package agentd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// certificate writes a self-signed pair for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(certFile, certPEM, 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	pool = x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certPEM))
	return certFile, keyFile, pool
}

func TestR244WithoutACertificateTheAddressIsLoopback(t *testing.T) {
	for _, bind := range []string{"0.0.0.0:0", ":0", "[::]:0", "10.0.0.1:8200", "8.8.8.8:8200"} {
		_, err := agentd.Listen(t.Context(), bind, "", "")
		require.ErrorContains(t, err, "is not loopback", bind)
	}
	for bind, want := range map[string]string{"127.0.0.1": "missing port", "127.0.0.1:99999": "invalid port", "no host:1": "bind address"} {
		_, err := agentd.Listen(t.Context(), bind, "", "")
		require.ErrorContains(t, err, want, bind)
	}
	for _, bind := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := agentd.Listen(t.Context(), bind, "", "")
		require.NoError(t, err)
		require.True(t, l.Addr().(*net.TCPAddr).IP.IsLoopback())
		require.NoError(t, l.Close())
	}
	cert, key, _ := certificate(t)
	_, err := agentd.Listen(t.Context(), "127.0.0.1:0", cert, "")
	require.ErrorContains(t, err, "both a certificate and its key")
	_, err = agentd.Listen(t.Context(), "127.0.0.1:0", "", key)
	require.ErrorContains(t, err, "both a certificate and its key")
	_, err = agentd.Listen(t.Context(), "127.0.0.1:0", key, cert)
	require.ErrorContains(t, err, "TLS certificate")
	l, err := agentd.Listen(t.Context(), "0.0.0.0:0", cert, key)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func TestServeStopsInOrderJobsFirstThenVMs(t *testing.T) {
	h := start(t)
	cert, key, pool := certificate(t)
	listener, err := agentd.Listen(t.Context(), "127.0.0.1:0", cert, key)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.agent.Serve(ctx, listener) }()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	post := func(path string, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+listener.Addr().String()+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return 0, err.Error()
		}
		return answer.StatusCode, string(text)
	}
	status, body := post("/v1/vms", encode(t, wire.CreateRequest{Spec: specOf("topic-a")}))
	require.Equal(t, 201, status, body)
	keep := specOf("topic-b")
	keep.Retain = wire.Keep
	status, body = post("/v1/vms", encode(t, wire.CreateRequest{Spec: keep}))
	require.Equal(t, 201, status, body)

	busy, kept := h.driver.vms[0], h.driver.vms[1]
	began, ended := make(chan struct{}), make(chan error, 1)
	busy.run = waits(began, ended)
	type answer struct {
		status int
		body   string
	}
	got := make(chan answer, 1)
	go func() {
		status, body := post("/v1/vms/topic-a-0001/jobs", encode(t, wire.JobRequest{TopicID: "topic-a", Job: jobOf(wire.Evaluate, "topic-a")}))
		got <- answer{status, body}
	}()
	<-began
	stop()
	require.ErrorContains(t, <-ended, "shutting down")
	require.NoError(t, <-served)
	last := <-got
	h.refused(wire.CodeBackend, "job evaluate cancelled: the agent is shutting down")(last.status, last.body)
	require.Equal(t, []wire.Retain{wire.Destroy}, busy.releases())
	require.Equal(t, []wire.Retain{wire.Keep}, kept.releases())

	_, err = h.agent.Create(t.Context(), specOf("topic-c"))
	require.ErrorContains(t, err, "shutting down")
	require.Equal(t, "the agent is shutting down", h.agent.Health(t.Context()).Reason)
}

func TestCloseNamesTheVMsThatItCouldNotRelease(t *testing.T) {
	h := start(t)
	m, _ := h.create(specOf("topic-a"))
	m.release = func(context.Context, wire.Retain) error { return errGuest }
	require.ErrorContains(t, h.agent.Close(t.Context()), "release of VM topic-a-0001: guest failed: of a reason")
	m.release = nil
}

// TestAJobOutlivesTheTimesOfItsConnection: a server's read deadline would
// otherwise end the context of a request that is being worked on.
func TestAJobOutlivesTheTimesOfItsConnection(t *testing.T) {
	h := start(t)
	m, _ := h.create(specOf("topic-a"))
	m.run = func(ctx context.Context, job wire.Job) (wire.Output, *wire.Attestation, error) {
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
			return wire.Output{}, nil, ctx.Err()
		}
		output, sister := outcome(job)
		return output, sister, nil
	}
	const short = 100 * time.Millisecond
	server := httpx.Server(h.agent.Handler(), httpx.Limits{ReadHeader: short, Read: short, Write: short}, slog.New(slog.DiscardHandler))
	listener, err := agentd.Listen(t.Context(), "127.0.0.1:0", "", "")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	h.url = "http://" + listener.Addr().String()
	status, body := h.run("topic-a-0001", jobOf(wire.Evaluate, "topic-a"))
	require.Equal(t, 200, status, body)
	require.Equal(t, wire.EvaluatedOutput, response(t, body).Output.Kind)
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for want, o := range map[string]agentd.Options{
		"no hypervisor": {TokenFile: "t", Log: log},
		"no token file": {Hypervisor: &scripted{}, Log: log},
		"no log":        {Hypervisor: &scripted{}, TokenFile: "t"},
	} {
		_, err := agentd.New(o)
		require.ErrorContains(t, err, want)
	}
}
