package api_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prova-dev/prova/internal/research/api"
	"github.com/prova-dev/prova/internal/research/api/apitest"
)

// BenchmarkRefusalAtRow5 is a whole request through every layer, from the handler's
// first middleware to the written refusal of a topic that is not open (R§11.3).
func BenchmarkRefusalAtRow5(b *testing.B) {
	w := apitest.New(b)
	handler, err := api.New(api.Options{Host: w.Host, Log: slog.New(slog.NewJSONHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	body := apitest.Submission(b, 1, 1, func(f map[string]any) { f["topic_id"] = apitest.DraftID })
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/submissions", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			rec := httptest.NewRecorder()
			handler.ServeHTTP(rec, r)
			if rec.Code != http.StatusBadRequest {
				b.Errorf("%d %s", rec.Code, rec.Body)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "refusals/s")
}

// BenchmarkRefusalAtRow5OverTCP is the same over loopback with kept connections; the
// clients run on the same cores.
func BenchmarkRefusalAtRow5OverTCP(b *testing.B) {
	w := apitest.New(b)
	handler, err := api.New(api.Options{Host: w.Host, Log: slog.New(slog.NewJSONHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()
	client := srv.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	body := apitest.Submission(b, 1, 1, func(f map[string]any) { f["topic_id"] = apitest.DraftID })
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, srv.URL+"/v1/submissions", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusBadRequest {
				b.Errorf("%d %v", resp.StatusCode, err)
			}
			if err := resp.Body.Close(); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "refusals/s")
}
