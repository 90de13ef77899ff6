package harvest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answerWith is a transport that answers each request with the same body.
type answerWith []byte

func (body answerWith) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// FuzzLiumAnswers reads any bytes as each answer of the provider. A fault is a
// *Fault, which shows nothing of the answer.
func FuzzLiumAnswers(f *testing.F) {
	for _, seed := range []string{
		`[]`, `{}`, `null`, `[null]`, `[{"id":"t-1","name":"n","docker_image":"i","docker_image_digest":"sha256:aa"}]`, `{"id":"t-1"}`,
		`[{"id":"e-1","machine_name":"1x","specs":{"gpu":{"count":1}},"price_per_hour":1e308}]`,
		`[{"id":"p-1","pod_name":"proof","status":"RUNNING","ssh_connect_cmd":"ssh root@127.0.0.1 -p 22"}]`, `[{"id":"../x"}]`, "[\xff]", `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := NewLium(LiumOptions{Key: "planted-key", Transport: answerWith(body)})
		if err != nil {
			t.Fatal(err)
		}
		_, templates := l.Templates(t.Context())
		_, created := l.CreateTemplate(t.Context(), "n", "i", "sha256:aa")
		_, machines := l.Machines(t.Context())
		_, pods := l.Pods(t.Context())
		for _, err := range []error{templates, created, machines, pods} {
			var fault *Fault
			if err != nil && !errors.As(err, &fault) {
				t.Fatalf("%T: %v", err, err)
			}
			if err != nil && (len(err.Error()) > 300 || strings.Contains(err.Error(), "planted-key")) {
				t.Fatalf("%v", err)
			}
		}
	})
}
