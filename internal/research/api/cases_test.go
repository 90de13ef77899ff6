package api_test

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api"
	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// cases are the routes of testdata/cases.json: what is asked of which host, held
// against the words of the case.
var cases = map[string]func(t *testing.T, expected string){
	"GET /health": func(t *testing.T, expected string) {
		require.Equal(t, "200 challenge_id proof", expected)
		require.Equal(t, "proof", open(t).get("/health").is(http.StatusOK)["challenge_id"])
	},
	"sim host, sealed topic: GET /v1/status": simStatus,
	"POST admin executor 8x": func(t *testing.T, expected string) {
		require.Equal(t, "400 containing machine_shape; previous slot kept", expected)
		p := open(t)
		before := p.get("/v1/proof/executor").is(http.StatusOK)
		bad := strings.Replace(string(apitest.Executor(t, 600)), `"1x"`, `"8x"`, 1)
		executor(p, bad).refused(http.StatusBadRequest, "machine_shape")
		require.Equal(t, before, p.get("/v1/proof/executor").is(http.StatusOK))
		require.Equal(t, true, p.get("/v1/status").is(http.StatusOK)["can_score"])
	},
	"POST admin executor valid": func(t *testing.T, expected string) {
		require.Equal(t, "201 can_score true", expected)
		p := openWith(t, func(w *apitest.World) { w.Vacant = true })
		require.Equal(t, true, executor(p, string(apitest.Executor(t, 600))).is(http.StatusCreated)["can_score"])
	},
	"publish open custom, id unregistered": func(t *testing.T, expected string) {
		require.Equal(t, `400 containing "no registered runner"`, expected)
		p := open(t)
		d := p.Topic("another-topic-v0", topic.Open)
		d.Metric.CustomID = "nobody_registered"
		p.Seal(d, apitest.Sealed)
		publish(p, d).refused(http.StatusBadRequest, "no registered runner")
		d.Metric.CustomID = "harness_sucess_rate"
		p.Seal(d, apitest.Sealed)
		publish(p, d).refused(http.StatusBadRequest, "a topic may draft but not open; did you mean "+apitest.CustomID+"?")
		p.get("/v1/proof/topics/another-topic-v0").is(http.StatusNotFound)
	},
	"publish open custom, id registered": func(t *testing.T, expected string) {
		require.Equal(t, "201", expected)
		p := open(t)
		d := p.Topic(apitest.OpenID, topic.Open)
		p.Seal(d, apitest.Sealed)
		d.Statement += " With a word more."
		require.Equal(t, apitest.OpenID, publish(p, d).is(http.StatusCreated)["id"])
	},
}

func executor(p *plane, body string) answer {
	return p.do(call{method: http.MethodPost, path: "/v1/admin/proof/executor", body: body, admin: true})
}

func publish(p *plane, d *topic.Document) answer {
	return p.do(call{method: http.MethodPost, path: "/v1/admin/proof/topics", body: string(p.Sign(d)), admin: true})
}

func simStatus(t *testing.T, expected string) {
	require.Equal(t, "eval_backend sim, sim_stub_win true, can_score true, baseline_sealed true, open_topics[0] dt-no-ib-v0, eval_executor null, "+
		"executor.gpu_class 1x; body never contains synthetic-dev, holdout_nll, base_url, api_key, 8000", expected)
	const id = "dt-no-ib-v0"
	p := openWith(t, func(w *apitest.World) {
		w.Options.ForceSim, w.Vacant = true, true
		for _, name := range []string{"holdout.json", "baseline.json"} {
			text, err := os.ReadFile(w.Path(name))
			require.NoError(t, err)
			w.Write(name, []byte(strings.ReplaceAll(string(text), `"`+apitest.OpenID+`"`, `"`+id+`"`)))
		}
		d := w.Topic(id, topic.Open)
		w.Seal(d, apitest.Sealed)
		w.Write("topics.json", []json.RawMessage{w.Sign(d)})
	})
	a := p.get("/v1/status")
	got := a.is(http.StatusOK)
	for name, want := range map[string]any{
		"eval_backend": "sim", "sim_stub_win": true, "can_score": true, "baseline_sealed": true, "open_topics": []any{id}, "eval_executor": nil,
	} {
		require.Equal(t, want, got[name], name)
	}
	require.Equal(t, "1x", got["executor"].(map[string]any)["gpu_class"])
	for _, never := range []string{"synthetic-dev", "holdout_nll", "base_url", "api_key", "8000"} {
		require.NotContains(t, a.Body.String(), never)
	}
}

func TestLiteralCasesOfRoutes(t *testing.T) {
	var file struct {
		Cases []struct{ Area, Input, Expected string }
	}
	vectors(t, "cases.json", &file)
	played := 0
	for _, c := range file.Cases {
		t.Run(c.Area+" "+c.Input, func(t *testing.T) {
			play, ok := cases[c.Input]
			require.True(t, ok && c.Area == "http", "nothing plays this case")
			played++
			play(t, c.Expected)
		})
	}
	require.Equal(t, len(cases), played)
}

func TestSection143VectorsOfTokenHashes(t *testing.T) {
	var file struct {
		Tokens []struct{ Token, SHA256 string } `json:"admin_token_hashes"`
	}
	vectors(t, "derived_digests.json", &file)
	require.Len(t, file.Tokens, 2)
	for _, v := range file.Tokens {
		t.Run(v.Token, func(t *testing.T) {
			tokens, err := api.ParseTokens([]byte(" " + v.Token + "\n"))
			require.NoError(t, err)
			require.Len(t, tokens, 1)
			require.Equal(t, v.SHA256, hex.EncodeToString(tokens[0].SHA256[:]))
		})
	}
}

func vectors(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}
