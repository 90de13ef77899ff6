package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/client"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

type canned struct {
	status int
	body   []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: c.status, Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: -1, Header: http.Header{}, Request: r}, nil
}

// FuzzAnswer holds whatever an agent answers to this: it is either an output that
// binds to the job, or a Fault of bounded length without the token.
func FuzzAnswer(f *testing.F) {
	for _, kind := range []wire.JobKind{wire.Evaluate, wire.Inspect, wire.Archive} {
		text, err := wire.Encode(good(&wire.Job{Kind: kind}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(200, text)
	}
	f.Add(409, []byte(`{"code":"busy","error":"held since http://10.0.0.3/srv by `+token+`"}`))
	f.Add(401, []byte(`x`))
	f.Add(307, []byte(``))
	path := filepath.Join(f.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			status = 200
		}
		c, err := client.New(client.Options{URL: "https://agent.example", TokenFile: path, ImageDigest: image, Transport: canned{status, body}})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []wire.JobKind{wire.Evaluate, wire.Inspect, wire.Archive} {
			j := job(kind)
			out, err := c.Run(t.Context(), handle, j)
			if err == nil {
				if err := wire.BindEvidence(&j, &out.Output, out.Sister); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if _, ok := errors.AsType[*client.Fault](err); !ok || len(err.Error()) > 700 || strings.Contains(err.Error(), token) {
				t.Fatalf("%T %q", err, err)
			}
		}
	})
}
