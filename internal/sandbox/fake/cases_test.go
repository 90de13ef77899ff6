package fake

import (
	"archive/tar"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// TestLiteralCases plays every case of testdata/cases.json by its area and input.
func TestLiteralCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	var vectors struct {
		Cases []struct {
			Area     string
			Input    json.RawMessage
			Expected string
		}
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	plays := map[string]func(t *testing.T, input json.RawMessage) error{
		`sister_request "empty bytes"`: func(*testing.T, json.RawMessage) error {
			_, err := readArchive(nil)
			return err
		},
		`sister_request "empty archive / only empty files / only a directory"`: func(t *testing.T, _ json.RawMessage) error {
			for _, entries := range [][]tar.Header{nil, {file("a", ""), file("b", "")}, {{Typeflag: tar.TypeDir, Name: "d/"}}} {
				_, err = readArchive(archiveOf(t, entries...))
				require.ErrorContains(t, err, "no file content")
			}
			return err
		},
		`sister_request "digest of job equals request digest but bytes differ"`: func(t *testing.T, _ json.RawMessage) error {
			uri, _ := serveFile(t, archiveOf(t, file("./a", "x")))
			job := wire.Job{Kind: wire.Evaluate, RunRequest: request(uri, archiveOf(t, file("a", "x"))), RulesVersion: 2}
			_, sister, err := boot(t, hypervisor(t, "127.0.0.0/8")).Run(t.Context(), job)
			require.Nil(t, sister)
			return err
		},
	}
	names := 0
	for _, c := range vectors.Cases {
		t.Run(c.Area+" "+string(c.Input), func(t *testing.T) {
			if c.Area == "sister_id" {
				names++
				sisterName(t, c.Input, c.Expected)
				return
			}
			play, ok := plays[c.Area+" "+string(c.Input)]
			require.True(t, ok, "nothing plays this case")
			part, found := strings.CutPrefix(c.Expected, "refused")
			require.True(t, found, c.Expected)
			require.ErrorContains(t, play(t, c.Input), strings.Trim(part, `, "`))
		})
	}
	require.Equal(t, len(plays)+names, len(vectors.Cases))
	require.Equal(t, 1, names)
}

// sisterName reads [vm id, n]: the id of the nth sister of a VM.
func sisterName(t *testing.T, input json.RawMessage, expected string) {
	require.Equal(t, "length <= 64, ends -s12", expected)
	var in []any
	require.NoError(t, json.Unmarshal(input, &in))
	id, n := in[0].(string), int(in[1].(float64))
	v, err := hypervisor(t, "").Boot(t.Context(), spec, id)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Release(context.Background(), wire.Destroy)) })
	job := wire.Job{Kind: wire.Baseline, RunRequest: request("http://127.0.0.1/a", nil)}
	var last string
	for range n {
		_, sister, err := v.Run(t.Context(), job)
		require.NoError(t, err)
		require.LessOrEqual(t, len(sister.SisterVMID), 64)
		require.NotEqual(t, last, sister.SisterVMID)
		last = sister.SisterVMID
	}
	require.True(t, strings.HasSuffix(last, "-s12"), last)
}
