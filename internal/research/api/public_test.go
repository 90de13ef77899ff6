package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api/apitest"
)

func TestSection14HealthAndStatus(t *testing.T) {
	p := open(t)
	require.Equal(t, `{"ok":true,"challenge_id":"proof","scoring_version":1}`, p.get("/health").Body.String())
	got := p.get("/v1/status").is(http.StatusOK)
	require.Equal(t, []any{apitest.OpenID}, got["scorable_topics"])
	p.Script(1, 0.5)
	require.Equal(t, "champion", p.submit(apitest.Submission(t, 1, 1), nil).is(http.StatusCreated)["state"])
}
