package board_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api"
	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
)

// claim is what a miner wrote that must stay hidden until the epoch closes, and can
// do nothing to a page after it.
const claim = "<script>alert(1)</script> \u202edeltrevni the planted claim"

// site is a plane with a champion, a pass, a copy, and a reject of each stage.
type site struct {
	*apitest.World
	t       testing.TB
	handler http.Handler
	rows    map[string]string // id by what became of it
}

func open(tb testing.TB, edits ...func(*apitest.World)) *site {
	tb.Helper()
	s := &site{World: apitest.New(tb, edits...), t: tb, rows: map[string]string{}}
	var err error
	s.handler, err = api.New(api.Options{Host: s.Host, Log: s.Logger(), Now: s.Clock.Now})
	require.NoError(tb, err)
	return s
}

// lived lets miners submit what ends in every state.
func lived(tb testing.TB, edits ...func(*apitest.World)) *site {
	tb.Helper()
	s := open(tb, edits...)
	s.Script(1, 0.5)
	s.Script(2, 0.45)
	s.Script(3, 0.41)
	s.Boundary.Script(rlmtest.Digest(4), rlmtest.Script{Red: []string{"same_seed"}})
	s.Boundary.Script(rlmtest.Digest(5), rlmtest.Script{Failure: "exit code 3 <b>bold</b>"})
	over := 0.9
	s.Boundary.Script(rlmtest.Digest(6), rlmtest.Script{Primary: &over, Flops: 1500})
	for name, miner := range map[string]byte{"champion": 1} {
		s.submit(name, int(miner), miner)
	}
	s.submit("passed", 2, 2)
	s.submit("missed", 3, 3)
	s.submit("red", 4, 4)
	s.submit("failed", 5, 5)
	s.submit("over", 6, 6)
	s.submit("undeclared", 7, 7, func(f map[string]any) { f["manifest"] = map[string]any{} })
	s.submit("copy", 8, 1)
	return s
}

func (s *site) submit(name string, miner int, artifact byte, edits ...func(map[string]any)) {
	s.t.Helper()
	edits = append([]func(map[string]any){func(f map[string]any) { f["claim"] = claim }}, edits...)
	r := httptest.NewRequest(http.MethodPost, "/v1/submissions", strings.NewReader(string(apitest.Submission(s.t, miner, artifact, edits...))))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	require.Equal(s.t, http.StatusCreated, w.Code, "%s: %s", name, w.Body)
	s.rows[name] = strings.TrimPrefix(w.Header().Get("Location"), "/v1/submissions/")
}

// get returns a page, which must be there.
func (s *site) get(path string) string {
	s.t.Helper()
	w := s.ask(path)
	require.Equal(s.t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	return w.Body.String()
}

func (s *site) ask(path string) *httptest.ResponseRecorder {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}
