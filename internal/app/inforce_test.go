package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/receipts/corpus"
)

// lifeOf starts every service of a data directory in this process.
func lifeOf(t *testing.T, dir string) (*Server, *Operator) {
	t.Helper()
	s, err := Start(t.Context(), practiceConfig(dir), nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, newOperator(&s.config, s.season, s.clock, slog.New(slog.DiscardHandler), func(string, ...any) {})
}

// secretCorpus builds a small corpus from a seed of one repeated byte.
func secretCorpus(t *testing.T, seed byte) (dir string, c *corpus.Corpus) {
	t.Helper()
	o := corpus.Practice("conformite")
	o.Seed = [32]byte(slices.Repeat([]byte{seed}, 32))
	c, err := corpus.Build(o)
	require.NoError(t, err)
	dir = filepath.Join(t.TempDir(), "corpus")
	require.NoError(t, c.Write(dir))
	return dir, c
}

// requireServed fetches every resource of want from the corpus listener and wants
// its frozen bytes.
func requireServed(t *testing.T, s *Server, want *corpus.Corpus) {
	t.Helper()
	time.Sleep(rescan + 50*time.Millisecond)
	urls, err := want.Catalogue()
	require.NoError(t, err)
	secret, err := s.config.challengeSecret()
	require.NoError(t, err)
	served := 0
	for _, url := range urls {
		path := strings.TrimPrefix(url, want.Host)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Corpus+path, nil)
		require.NoError(t, err)
		req.Host = hostOf(want.Host)
		req.Header.Set(corpus.SecretHeader, secret)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, errors.Join(err, resp.Body.Close()))
		frozen, ok := want.Files[strings.TrimPrefix(path, "/")+".json"]
		if !ok {
			continue // an absent reference has no file
		}
		require.Equal(t, string(frozen), string(got), path)
		served++
	}
	require.Equal(t, len(want.Files)-4, served, "all but the four fixed bodies of the service")
}

func freezePlan(dir string, opens time.Time, reason string) FreezePlan {
	return FreezePlan{Corpora: map[string]string{"conformite": dir}, Opens: opens, Closes: opens.Add(time.Hour), Reason: reason}
}

func TestSection8TheCorpusServedIsThatOfTheFreezeInForce(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s, o := lifeOf(t, data)
	firstDir, first := secretCorpus(t, 1)
	secondDir, second := secretCorpus(t, 2)
	opens := time.Now().UTC().Add(time.Hour).Truncate(time.Second)

	_, err := o.Freeze(t.Context(), freezePlan(firstDir, opens, ""))
	require.NoError(t, err)
	requireServed(t, s, first)

	_, err = o.Freeze(t.Context(), freezePlan(secondDir, opens, ""))
	require.ErrorContains(t, err, "say why in its reason")
	requireServed(t, s, first)
	require.NoError(t, s.Close())
	s, o = lifeOf(t, data)
	requireServed(t, s, first) // The refused one is in the folder as the later of the two.

	_, err = o.Freeze(t.Context(), freezePlan(secondDir, opens, "a question was ambiguous"))
	require.NoError(t, err)
	requireServed(t, s, second)
	require.NoError(t, s.Close())
	s, _ = lifeOf(t, data)
	requireServed(t, s, second)
}

// A process that dies between the proof of a freeze and its coming into force must
// find, in either order of what was written, the salt of whatever is in force.
func TestAFreezeCutOffBeforeItIsInForceLeavesNothingThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	s, o := lifeOf(t, filepath.Join(t.TempDir(), "data"))
	firstDir, _ := secretCorpus(t, 1)
	secondDir, second := secretCorpus(t, 2)
	opens := time.Now().UTC().Add(time.Hour).Truncate(time.Second)

	_, err := s.db.Writer().ExecContext(t.Context(), `CREATE TRIGGER cut BEFORE UPDATE ON freezes WHEN NEW.status = 'current' BEGIN SELECT RAISE(ABORT, 'cut off'); END`)
	require.NoError(t, err)
	_, err = o.Freeze(t.Context(), freezePlan(firstDir, opens, ""))
	require.ErrorContains(t, err, "cut off")
	_, err = s.db.Writer().ExecContext(t.Context(), `DROP TRIGGER cut`)
	require.NoError(t, err)
	sealed, err := sealedFreezes(o.freezesDir())
	require.NoError(t, err)
	require.Len(t, sealed, 1, "the proof's folder is known before the freeze is in force")

	_, err = o.Freeze(t.Context(), freezePlan(secondDir, opens, ""))
	require.NoError(t, err)
	requireServed(t, s, second)
	proofs, final, err := s.freezesInForce(t.Context())
	require.NoError(t, err)
	require.False(t, final)
	sealed, err = sealedFreezes(o.freezesDir())
	require.NoError(t, err)
	for _, id := range proofs {
		require.True(t, slices.ContainsFunc(sealed, func(f sealedFreeze) bool { return f.ProofID == id }), id)
	}
}

func TestAServiceThatFailsStopsTheProcess(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, fail := range map[string]func(*Server){
		"a loop ends with an error":         func(s *Server) { s.group.Go(func() error { return broken }) },
		"the outcome of a write is unknown": func(s *Server) { s.db.OnFatal(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Start(t.Context(), practiceConfig(filepath.Join(t.TempDir(), "data")), nil, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- s.Wait(context.WithoutCancel(t.Context())) }()
			fail(s)
			select {
			case err := <-ended:
				require.ErrorIs(t, err, broken)
			case <-time.After(2 * shutdownGrace):
				t.Fatal("the listeners go on without what anchors their proofs")
			}
			_, err = http.Get("http://" + s.Public + "/v1/health") //nolint:noctx // It must not answer at all.
			require.Error(t, err)
		})
	}
}

// A freeze that comes to nothing must not hold the operator to its window: the
// message for a token after the opening asks for a later one.
func TestAFreezeThatCameToNothingMayBeMadeWithAnotherWindow(t *testing.T) {
	t.Parallel()
	s, o := lifeOf(t, filepath.Join(t.TempDir(), "data"))
	dir, built := secretCorpus(t, 1)
	_, err := o.Score(t.Context())
	require.ErrorContains(t, err, "prova season close")
	keyFile := s.config.path(challengeKeyFile)
	require.NoError(t, os.Rename(keyFile, keyFile+".away"))
	soon := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	_, err = o.Freeze(t.Context(), freezePlan(dir, soon, ""))
	require.ErrorContains(t, err, "prova serve")
	_, err = o.season.Season(t.Context(), 1)
	require.Error(t, err, "nothing was stored")
	require.NoError(t, os.Rename(keyFile+".away", keyFile))

	_, err = o.Freeze(t.Context(), freezePlan(dir, time.Now().UTC().Add(-time.Hour).Truncate(time.Second), ""))
	require.Error(t, err, "the opening is past")
	_, err = o.Freeze(t.Context(), freezePlan(dir, soon, ""))
	require.NoError(t, err)
	requireServed(t, s, built)
}

func TestTheInternalHealthSaysUnavailableAsJSON(t *testing.T) {
	t.Parallel()
	s, _ := lifeOf(t, filepath.Join(t.TempDir(), "data"))
	require.NoError(t, s.db.Close())
	resp, err := http.Get("http://" + s.Internal + "/health") //nolint:noctx // A test.
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	var state map[string]any
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&state))
	require.Equal(t, "unavailable", state["status"])
}

func TestEverySecretFileIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, o := lifeOf(t, data)
	dir, _ := secretCorpus(t, 3)
	_, err := o.Freeze(t.Context(), freezePlan(dir, time.Now().UTC().Add(time.Hour).Truncate(time.Second), ""))
	require.NoError(t, err)
	public := []string{"published_keys.json", "cert.pem", "root.pem"}
	for _, folder := range []string{filepath.Join(data, "keys"), filepath.Join(data, "seasons", "1", "freezes")} {
		info, err := os.Stat(folder)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, folder)
		require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || slices.Contains(public, d.Name()) || strings.Contains(path, string(filepath.Separator)+"corpus"+string(filepath.Separator)) && d.Name() != "key.json" {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %04o", path, info.Mode().Perm())
			}
			return err
		}))
	}
}

// The proxy reaches the season's routes and nothing else of this machine: not the
// issuer itself, whose limits would count the caller as this machine.
func TestTheProxyReachesOnlyTheSeasonUnderTheSeasonsHost(t *testing.T) {
	t.Parallel()
	s, o := lifeOf(t, filepath.Join(t.TempDir(), "data"))
	key, err := o.challengeKey()
	require.NoError(t, err)
	call := func(path string) (status int, body string) {
		t.Helper()
		answer, err := o.post(t.Context(), s.PublicURL+"/v1/proxy",
			[]byte(`{"target":"`+s.config.Season.Host+path+`","method":"POST","payload":{"email":"a@agents.prova.test"},"extra_headers":{"X-Real-IP":"8.8.8.8"}}`),
			map[string]string{"X-Api-Key": key})
		require.NoError(t, err)
		var made struct {
			Response struct {
				Status int             `json:"status_code"`
				Body   json.RawMessage `json:"body"`
			} `json:"service_response"`
		}
		require.NoError(t, json.Unmarshal(answer, &made))
		return made.Response.Status, string(made.Response.Body)
	}
	for _, path := range []string{"/v1/keys/free-signup", "/v1/proxy", "/v1/proofs", "/v1/pubkey", "/health", "/v/x", "/en/", "/api/v1/log", "/internal/v1/batch/close", "/v1/season/../keys/free-signup", "/"} {
		status, body := call(path)
		require.Equal(t, http.StatusNotFound, status, path)
		require.NotContains(t, body, "api_key", path)
	}
	status, _ := call("/v1/season/1/freeze/conformite")
	require.Equal(t, http.StatusNotFound, status) // There is no season yet.
	_, body := call("/v1/season/1/freeze/conformite")
	require.Contains(t, body, "there is no season 1", "the season service itself answers")
}

func TestServicesThatRunApartFindEachOther(t *testing.T) {
	t.Parallel()
	start := func(c Config, only ...string) (*Server, error) {
		s, err := Start(t.Context(), c, only, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Cleanup(func() { require.NoError(t, s.Close()) })
		}
		return s, err
	}
	c := practiceConfig(filepath.Join(t.TempDir(), "data"))
	_, err := start(c, ServiceSeason, ServiceIndex)
	require.ErrorContains(t, err, "season.issuer_url is missing")

	c.Season.IssuerURL = "http://127.0.0.1:1"
	foreign, err := start(c, ServiceSeason, ServiceIndex)
	require.NoError(t, err)
	require.Empty(t, foreign.config.Season.IssuerInternalURL, "an issuer of which no internal listener is known is a foreign one")

	c.Upstreams = map[string]string{hostOf(c.Season.Host): foreign.Public}
	s, err := start(c, ServiceIssuer, ServiceCorpus)
	require.NoError(t, err)
	require.Equal(t, "http://"+s.Internal, s.config.Season.IssuerInternalURL)
	require.Equal(t, foreign.Public, s.config.Upstreams[hostOf(c.Season.Host)])

	c.Upstreams, c.Season.IssuerURL, c.Season.IssuerInternalURL = nil, s.PublicURL, "http://"+s.Internal
	own, err := start(c, ServiceSeason, ServiceIndex)
	require.NoError(t, err)
	resp, err := http.Post(own.PublicURL+"/v1/season/1/enroll", "application/json", strings.NewReader("{}")) //nolint:noctx // A test.
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNotFound, resp.StatusCode) // No season is announced.
}

func TestStartsAtOnceOnANewDirectoryAgreeOnOneSetOfKeys(t *testing.T) {
	t.Parallel()
	for range 4 {
		data := filepath.Join(t.TempDir(), "data")
		lives := make(chan *Server, 3)
		var group sync.WaitGroup
		for range cap(lives) {
			group.Go(func() {
				c := practiceConfig(data)
				if s, err := Start(t.Context(), c, nil, slog.New(slog.DiscardHandler)); err == nil {
					lives <- s
				} else if !strings.Contains(err.Error(), "stop it first") { // The embedded log has one writer.
					t.Error(err)
				}
			})
		}
		group.Wait()
		close(lives)
		running := 0
		for s := range lives {
			running++
			require.NoError(t, s.Close())
		}
		require.Equal(t, 1, running)
		s, err := Start(t.Context(), practiceConfig(data), nil, slog.New(slog.DiscardHandler))
		require.NoError(t, err, "the keys on disk are those of the published history")
		require.NoError(t, s.Close())
	}
}
