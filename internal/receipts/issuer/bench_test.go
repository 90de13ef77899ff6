package issuer

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/httpx"
)

const benchClients = 64

// hammer sends b.N requests from 64 clients that each keep their connection.
func hammer(b *testing.B, request func() *http.Request) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: benchClients, MaxIdleConnsPerHost: benchClients}}
	defer client.CloseIdleConnections()
	var failed atomic.Pointer[string]
	b.SetParallelism(benchClients / max(1, runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Do(request())
			if err != nil {
				text := err.Error()
				failed.Store(&text)
				return
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				text := resp.Status + " " + string(body)
				failed.Store(&text)
				return
			}
		}
	})
	b.StopTimer()
	if text := failed.Load(); text != nil {
		b.Fatal(*text)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// benchServer is a server as the product runs it.
func benchServer(b *testing.B, h http.Handler) *httptest.Server {
	b.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config = httpx.Server(h, httpx.Limits{}, slog.New(slog.DiscardHandler))
	srv.Start()
	b.Cleanup(srv.Close)
	return srv
}

// BenchmarkProxy64 is POST /v1/proxy with durable proofs (SQLite on disk, one
// fsync for many) and batches being anchored beside, at 64 clients.
func BenchmarkProxy64(b *testing.B) {
	w := newWorld(b, func(s *setup) {
		s.cfg.Quotas = map[Plan]Quota{PlanInternal: {Daily: 1 << 40}}
		s.deps.Clock = nil
	})
	key := w.key(PlanInternal)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.svc.Run(ctx) }()
	srv := benchServer(b, w.public)
	hammer(b, func() *http.Request {
		r, _ := http.NewRequest("POST", srv.URL+"/v1/proxy", bytes.NewReader([]byte(entity)))
		r.Header.Set("X-Api-Key", key)
		return r
	})
	cancel()
	require.NoError(b, <-done)
	require.GreaterOrEqual(b, w.svc.Counters().Proofs, int64(b.N))
}

// BenchmarkReverseProxy64 is what BenchmarkProxy64 is compared with: a plain
// reverse proxy to the same upstream.
func BenchmarkReverseProxy64(b *testing.B) {
	up := newUpstream(b)
	target, err := url.Parse("http://" + up.addr)
	require.NoError(b, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: benchClients},
	}
	srv := benchServer(b, proxy)
	hammer(b, func() *http.Request {
		r, _ := http.NewRequest("GET", srv.URL+"/entites/ENT-0001", nil)
		return r
	})
}
