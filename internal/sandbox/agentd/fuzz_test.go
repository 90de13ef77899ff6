package agentd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
)

func FuzzReadToken(f *testing.F) {
	for _, seed := range []string{"token\n", " token\t", "", "\n", "two words", "\xff\x00", strings.Repeat("x", 5000), "token" + strings.Repeat(" ", 5000)} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "bearer")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		token, err := agentd.ReadToken(path)
		if err != nil {
			if token != nil {
				t.Fatalf("%q beside an error", token)
			}
			return
		}
		if len(token) == 0 || len(data) > 4096 || bytes.ContainsAny(token, " \t\r\n") || !bytes.Equal(token, bytes.TrimSpace(data)) {
			t.Fatalf("%q is read as %q", data, token)
		}
	})
}
