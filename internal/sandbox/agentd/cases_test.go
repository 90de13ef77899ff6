package agentd_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// TestLiteralCasesOfTheStatusOfErrors provokes each error of testdata/cases.json
// over HTTP.
func TestLiteralCasesOfTheStatusOfErrors(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Area, Input string
			Expected    int
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	create := func(h *host) (int, string) {
		return h.call("POST", "/v1/vms", encode(h.t, wire.CreateRequest{Spec: specOf("topic-a")}))
	}
	provoke := map[string]func(h *host) (int, string){
		"unauthorized": func(h *host) (int, string) {
			require.NoError(h.t, os.WriteFile(h.token, []byte("another"), 0o600))
			return h.call("GET", "/v1/health", "")
		},
		"not_ready": func(h *host) (int, string) {
			h.driver.ready.Store(&wire.Error{Code: wire.CodeNotReady, Text: "no image"})
			return create(h)
		},
		"topic_mismatch": func(h *host) (int, string) {
			_, record := h.create(specOf("topic-a"))
			return h.run(record.Handle.VMID, jobOf(wire.Evaluate, "topic-b"))
		},
		"already_exists": func(h *host) (int, string) {
			h.create(specOf("topic-a"))
			return create(h)
		},
		"not_found": func(h *host) (int, string) { return h.call("GET", "/v1/vms/by-topic/topic-a", "") },
		"wrong_output": func(h *host) (int, string) {
			m, record := h.create(specOf("topic-a"))
			m.run = func(context.Context, wire.Job) (wire.Output, *wire.Attestation, error) {
				output, sister := outcome(jobOf(wire.Baseline, "topic-a"))
				return output, sister, nil
			}
			return h.run(record.Handle.VMID, jobOf(wire.Evaluate, "topic-a"))
		},
	}
	played := 0
	for _, c := range file.Cases {
		t.Run(c.Area+" "+c.Input, func(t *testing.T) {
			play, ok := provoke[c.Input]
			require.True(t, ok && c.Area == "agent_error_status", "nothing plays this case")
			played++
			h := start(t)
			status, body := play(h)
			require.Equal(t, c.Expected, status, "%s: %s", http.StatusText(status), body)
			h.refused(wire.Code(c.Input), "")(status, body)
		})
	}
	require.Equal(t, len(provoke), played)
}
