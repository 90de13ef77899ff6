package app

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
)

func researchConfig(t *testing.T) Config {
	t.Helper()
	c := DefaultConfig()
	c.Dir = t.TempDir()
	c.Research.Listen = "127.0.0.1:0"
	return c
}

// status asks a control plane what it is.
func status(t *testing.T, p *ControlPlane) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/v1/status", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// audit asks an admin route with the token of the tests.
func audit(t *testing.T, p *ControlPlane) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/v1/admin/proof/audit", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer a-token")
	res, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// R§25: a bad file is a warning, and later a 503 that names it; nothing about it
// stops the start.
func TestR25OnlyABadPinOrABadDatabaseStopsTheStart(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "secret-name")
	require.NoError(t, os.WriteFile(bad, []byte("{ no document of anything"), 0o600))

	c := researchConfig(t)
	r := &c.Research
	r.TopicsFile, r.HoldoutFile, r.BaselineFile, r.InferenceOfferFile, r.ExecutorOfferFile = bad, bad, bad, bad, bad
	r.LeafKeyFile, r.AdminTokensFile, r.OrchestratorURL = bad, bad+".not", "http://example.org"
	r.RunnerCustomIDs = []string{"some_id"}
	var log syncBuffer
	p, err := StartResearch(t.Context(), c, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	seen := status(t, p)
	require.Equal(t, false, seen["can_score"])
	require.Equal(t, false, seen["custom_family_wired"])
	require.Empty(t, seen["registered_custom"], "ids over an unwired orchestrator register nothing (R§15.4)")
	require.NoError(t, p.Close())
	require.Contains(t, log.String(), "PROOF_TOPICS_FILE")
	require.NotContains(t, log.String(), "secret-name", "a path of the operator is in the log")

	c = researchConfig(t)
	c.Research.PinFile = bad
	_, err = StartResearch(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "PROOF_PIN_FILE")

	c = researchConfig(t)
	c.Research.DatabaseURL = "postgres://prova@127.0.0.1:1/prova?connect_timeout=2"
	_, err = StartResearch(t.Context(), c, slog.New(slog.DiscardHandler))
	require.Error(t, err)

	c = researchConfig(t)
	empty := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	c.Research.DatabaseURLFile = empty
	_, err = StartResearch(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "BASE_DATABASE_URL_FILE) is empty")
}

// Decision 12: production refuses an orchestrator on loopback.
func TestDecision12ProductionRefusesAnOrchestratorOnLoopback(t *testing.T) {
	c := researchConfig(t)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("t"), 0o600))
	c.Research.OrchestratorURL, c.Research.OrchestratorTokenFile, c.Research.Production = "https://127.0.0.1:8200", token, true
	_, err := StartResearch(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "refused under PROVA_PRODUCTION=1")
}

// Decision 11: SIGHUP reads the files again.
func TestDecision11SIGHUPReadsTheFilesAgain(t *testing.T) {
	c := researchConfig(t)
	c.Research.ExecutorOfferFile = filepath.Join(t.TempDir(), "executor.json")
	c.Research.AdminTokensFile = filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(c.Research.AdminTokensFile, []byte("a-token\n"), 0o600))
	pinFile := filepath.Join("..", "research", "pin", "testdata", "proof-pin.seed-era.toml")
	absolute, err := filepath.Abs(pinFile)
	require.NoError(t, err)
	c.Research.PinFile = absolute
	p, err := StartResearch(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer p.Close()
	require.Nil(t, status(t, p)["eval_executor"])
	offer := `{"offer_id":"exec-a","lium_template_id":"proof-eval-78b614a1f51c","machine_shape":"1x","max_proof_deadline_s":7200,` +
		`"eval_image_digest":"sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009",` +
		`"config_commitment":"3c1247e1ebebcd1693525215b617a86889df342f15d05ada70dea503845a6b56","status":"open"}`
	require.Equal(t, http.StatusOK, audit(t, p))
	require.NoError(t, os.WriteFile(c.Research.ExecutorOfferFile, []byte(offer), 0o600))
	require.NoError(t, os.WriteFile(c.Research.AdminTokensFile, []byte("another-token\n"), 0o600))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t, func() bool { return status(t, p)["eval_executor"] != nil }, 10*time.Second, 20*time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, audit(t, p), "a token that is gone from the file is revoked")
}

func TestServeRunsTheControlPlaneWhereItIsConfigured(t *testing.T) {
	runs, err := chosen(nil, false)
	require.NoError(t, err)
	require.False(t, runs[ServiceResearch])
	require.True(t, runs[ServiceIssuer])

	c := researchConfig(t)
	c.Listen = ListenConfig{Public: "127.0.0.1:0", Corpus: "127.0.0.1:0", Internal: "127.0.0.1:0"}
	c.Research.TopicsFile = filepath.Join(t.TempDir(), "topics.json")
	s, err := Start(t.Context(), c, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NotNil(t, s.Research)
	require.Equal(t, "sqlite", status(t, s.Research)["store"])
	require.NoError(t, s.Close())
}

// Decision 1: the owner migrates once, then the service runs as a role that cannot
// change history.
func TestDecision1TheServiceRunsAsARoleThatCannotChangeHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		c := researchConfig(t)
		service := storetest.AppRole(t, url) // the role is there before the owner grants it anything
		c.Research.DatabaseURL = url
		require.NoError(t, MigrateResearch(t.Context(), c))
		require.NoError(t, MigrateResearch(t.Context(), c), "again is no fault")
		c.Research.DatabaseURL = service
		p, err := StartResearch(t.Context(), c, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NotEmpty(t, status(t, p)["store"])
		if p.db.Dialect() == store.Postgres { // SQLite's triggers look at rows, of which there are none yet
			_, err = p.db.Writer().ExecContext(t.Context(), "DELETE FROM proof_submission")
			require.ErrorContains(t, err, "permission denied")
		}
		require.NoError(t, p.Close())
	})
}
