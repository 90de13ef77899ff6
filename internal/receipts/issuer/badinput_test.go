package issuer

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/httpx"
)

// serve runs the public handler on a real listener with short timeouts.
func serve(t *testing.T, w *world) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(w.public)
	srv.Config = httpx.Server(w.public, httpx.Limits{ReadHeader: 300 * time.Millisecond, Read: 300 * time.Millisecond}, slog.New(slog.DiscardHandler))
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// TestSection6EveryEndpointAnswersBadInputClearly sends each route what it must
// refuse: the answer is a 4xx in the error envelope, and the service goes on.
func TestSection6EveryEndpointAnswersBadInputClearly(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.cfg.Limits = Limits{}
		s.cfg.Quotas = map[Plan]Quota{PlanFree: {Daily: 1 << 30}}
	})
	key := w.key(PlanFree)
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	deepObjects := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	bodies := map[string]string{
		"empty":               "",
		"white space":         " \n",
		"null":                "null",
		"true":                "true",
		"a number":            "7",
		"a string":            `"x"`,
		"an array":            `[{}]`,
		"cut off":             `{"target":"https://`,
		"two values":          `{} {}`,
		"a trailing comma":    `{"a":1,}`,
		"comments":            `{"a":1/**/}`,
		"not UTF-8":           "{\"target\":\"\xff\xfe\"}",
		"a lone surrogate":    `{"target":"\ud800","email":"\ud800","did":"\ud800","challenge":"\ud800","signature":"\ud800","proof_ids":["\ud800"]}`,
		"UTF-16":              "\xff\xfe{\x00}\x00",
		"NUL":                 "{\"target\":\"\x00\"}",
		"10 000 arrays":       deep,
		"10 000 objects":      deepObjects,
		"deep in a payload":   `{"target":"https://` + corpusHost + `","payload":` + deepObjects + `}`,
		"10 MB":               `{"target":"` + strings.Repeat("x", 10<<20) + `"}`,
		"wrong types":         `{"target":[],"email":{},"did":[],"challenge":{},"signature":7,"proof_ids":{}}`,
		"nulls":               `{"target":null,"email":null,"did":null,"challenge":null,"signature":null,"proof_ids":null}`,
		"unknown members":     `{"foo":1}`,
		"a member in another": `{"Target":"https://x","Email":"a@b.c","DID":"did:key:z","Proof_Ids":[]}`,
		"an endless integer":  `{"target":` + strings.Repeat("9", 5000) + `}`,
	}
	for _, route := range []string{"/v1/proxy", "/v1/keys/free-signup", "/v1/keys/bind-did", "/v1/keys/bind-did/confirm", "/v1/proofs"} {
		for name, body := range bodies {
			t.Run(strings.TrimPrefix(route, "/v1/")+" "+name, func(t *testing.T) {
				r := w.post(route, body, withKey(key))
				require.GreaterOrEqual(t, r.Status, 400, r.Body)
				require.Less(t, r.Status, 500, r.Body)
				require.NotEmpty(t, r.at("/error/code"))
				require.NotEmpty(t, r.at("/error/message"))
				require.Less(t, len(r.Body), 2000, "an error does not echo its input")
				if name == "10 MB" {
					require.Equal(t, 413, r.Status)
				}
			})
		}
	}
	require.Equal(t, 200, w.call(key, entity).Status, "the service goes on")
	var n int
	require.NoError(t, w.db.Reader().QueryRow(`SELECT COUNT(*) FROM issuer_proofs`).Scan(&n))
	require.Equal(t, 1, n, "nothing was recorded of what was refused")
}

func TestSection6IDsAndQueriesThatAreNone(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.cfg.Limits = Limits{} })
	for _, id := range []string{"%00", "prf_%2e%2e%2f", strings.Repeat("x", 5000), "%ff%fe", "prf_20260101_000000_abcdef%0a"} {
		for _, suffix := range []string{"", "/full", "/verify", "/tsr"} {
			r := w.get("/v1/proof/"+id+suffix, withKey(w.key(PlanFree)))
			require.Contains(t, []int{400, 404}, r.Status, id+suffix)
		}
		require.Contains(t, []int{400, 404}, w.get("/v/"+id).Status)
		require.Equal(t, 400, w.do(w.internal, "GET", "/internal/v1/linked-dids?did="+id, "").Status)
	}
}

func TestSection6ASlowClientIsCutOffAndHarmsNobody(t *testing.T) {
	w := newWorld(t)
	srv := serve(t, w)
	key := w.key(PlanFree)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/proxy HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: 1000\r\n\r\n{", key)
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, resp.StatusCode, string(body))
	require.Contains(t, string(body), `"code":"request_timeout"`)
	require.Equal(t, 200, w.call(key, entity).Status)
}

func TestSection6ACallerThatHangsUpStillGetsItsProofStored(t *testing.T) {
	w := newWorld(t)
	srv := serve(t, w)
	key := w.key(PlanFree)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	w.upstream.handle(func(rw http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-goOn
		_, _ = io.WriteString(rw, `{"a":1}`)
	})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "POST /v1/proxy HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s", key, len(entity), entity)
	require.NoError(t, err)
	<-arrived
	require.NoError(t, conn.Close())
	time.Sleep(20 * time.Millisecond)
	close(goOn)
	require.Eventually(t, func() bool { return w.svc.Counters().Proofs == 1 }, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(1), w.pending(), "the call was made, so its record is not lost")
}

func TestSection6AFullDiskAcknowledgesNothing(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.issue(key)
	_, err := w.db.Writer().Exec(`PRAGMA max_page_count = 1`) // SQLite answers "database or disk is full"
	require.NoError(t, err)
	refused := 0
	for range 40 {
		r := w.call(key, entity)
		if r.Status != 200 {
			require.Equal(t, 500, r.Status)
			require.Empty(t, r.Header.Get("X-ArkForge-Proof-ID"))
			refused++
		}
	}
	require.Positive(t, refused)
	_, err = w.db.Writer().Exec(`PRAGMA max_page_count = 1000000`)
	require.NoError(t, err)
	id := w.issue(key)
	require.True(t, w.close()[0].Anchored)
	require.Equal(t, "anchored", w.get("/v1/proof/"+id).at("/batch_anchor/status"))
	var proofs int64
	require.NoError(t, w.db.Reader().QueryRow(`SELECT COUNT(*) FROM issuer_proofs`).Scan(&proofs))
	require.Equal(t, int64(42-refused), proofs)
}
