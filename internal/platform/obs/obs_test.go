package obs_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/obs"
)

func TestLinesCarryTheRequestIDAndUTC(t *testing.T) {
	var out bytes.Buffer
	log, err := obs.NewLogger(&out, "info", "json")
	require.NoError(t, err)
	ctx := obs.WithRequestID(context.Background(), "abc")
	log.DebugContext(ctx, "below the level")
	log.With("a", 1).WithGroup("g").InfoContext(ctx, "shown", "b", 2)
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), `"request_id":"abc"`)
	require.Regexp(t, `"time":"[^"]+Z"`, out.String())

	out.Reset()
	log, err = obs.NewLogger(&out, "", "")
	require.NoError(t, err)
	log.Info("no request")
	require.NotContains(t, out.String(), "request_id")
	require.Empty(t, obs.RequestID(context.Background()))
}

func TestUnknownLevelAndFormatAreRefused(t *testing.T) {
	_, err := obs.NewLogger(nil, "loud", "text")
	require.ErrorContains(t, err, "debug, info, warn or error")
	_, err = obs.NewLogger(nil, "debug", "xml")
	require.ErrorContains(t, err, "text or json")
}

func TestMetricsServeWhatServicesCount(t *testing.T) {
	r := obs.NewMetrics()
	for _, service := range []string{"season", "issuer"} {
		m, err := obs.NewRequests(r, service)
		require.NoError(t, err)
		m.Observe("POST /v1/x", 201, 20*time.Millisecond)
	}
	_, err := obs.NewRequests(r, "season")
	require.Error(t, err, "one service counts once")
	w := httptest.NewRecorder()
	obs.MetricsHandler(r).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), `prova_http_requests_total{class="2xx",route="POST /v1/x",service="season"} 1`)
	require.Contains(t, w.Body.String(), "go_goroutines")
}
