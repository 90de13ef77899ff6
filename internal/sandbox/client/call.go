package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// call is one request to the agent.
type call struct {
	what    string // named in errors, such as create
	method  string
	path    string
	body    any // nil: none
	status  int // that of success
	limit   int64
	timeout time.Duration
}

// do makes a call and reads its answer strictly into a type of wire. Every error
// is a *Fault. Nothing is ever sent twice: a job that was begun costs money.
func (c *Client) do(ctx context.Context, k call, into any) error {
	token, err := c.token()
	if err != nil {
		return &Fault{Text: "topic-vm orchestrator not ready: " + err.Error()}
	}
	fail := func(cause error, format string, args ...any) *Fault {
		return &Fault{Text: safe(fmt.Sprintf(format, args...), token), err: cause}
	}
	within, done := context.WithTimeout(ctx, k.timeout)
	defer done()
	body := io.Reader(http.NoBody)
	if k.body != nil {
		text, err := wire.Encode(k.body)
		if err != nil {
			return fail(nil, "%s cannot be written: %v", k.what, err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(within, k.method, c.base+k.path, body)
	if err != nil {
		return fail(nil, "%s cannot be asked for", k.what)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	if k.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.broken(ctx, within, k, err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized {
		return fail(&wire.Error{Code: wire.CodeUnauthorized, Text: refusedBearer}, refusedBearer)
	}
	limit := k.limit
	if response.StatusCode != k.status {
		limit = min(limit, maxSmall)
	}
	text, err := read(response, limit)
	switch {
	case errors.Is(err, errLarge):
		return fail(nil, "orchestrator's answer to %s is larger than %d bytes", k.what, limit)
	case err != nil:
		return c.broken(ctx, within, k, err)
	case response.StatusCode != k.status:
		return refusal(k.what, response.StatusCode, text, fail)
	}
	if err := wire.Decode(text, into); err != nil {
		return fail(nil, "orchestrator's answer to %s is not what it must be: %s", k.what, fault(err))
	}
	return nil
}

// fault writes a pointer with dots, so that it does not read as a path.
func fault(err error) string {
	d, ok := errors.AsType[*wire.DecodeError](err)
	if !ok || d.Pointer == "" {
		return err.Error()
	}
	return strings.ReplaceAll(d.Pointer[1:], "/", ".") + ": " + d.Reason
}

const refusedBearer = "orchestrator refused the bearer"

var (
	errLarge   = errors.New("too large")
	errBare404 = errors.New("not found")
)

// read reads a body whose end must come as announced.
func read(response *http.Response, limit int64) ([]byte, error) {
	if response.ContentLength > limit {
		return nil, errLarge
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = errLarge
	}
	return text, err
}

// refusal reads an answer that is no success. A code must come with its status;
// what does not is some other server's answer.
func refusal(what string, status int, text []byte, fail func(error, string, ...any) *Fault) error {
	var e wire.Error
	if err := wire.Decode(text, &e); err == nil && e.Code.Status() == status {
		e.Text = fail(nil, "%s", e.Text).Text
		return fail(&e, "orchestrator answered %s to %s: %s", e.Code, what, e.Text)
	}
	switch {
	case status >= 300 && status < 400:
		return fail(nil, "orchestrator answered %s with a redirect (status %d), which is not followed", what, status)
	case status == http.StatusNotFound: // not an agent's not_found: it confirms the end of no VM
		return fail(errBare404, "orchestrator answered status 404 to %s without a code", what)
	}
	return fail(nil, "orchestrator answered status %d to %s without a code", status, what)
}

// broken says why there is no whole answer. Errors of the network name addresses;
// none of their words is passed on.
func (c *Client) broken(ctx, within context.Context, k call, err error) error {
	var (
		dial        *net.OpError
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		network     net.Error
	)
	switch {
	case ctx.Err() != nil:
		return &Fault{Text: k.what + ": the caller's time ended before the orchestrator answered", err: ctx.Err()}
	case within.Err() != nil:
		return &Fault{Text: fmt.Sprintf("orchestrator did not answer %s within %s", k.what, k.timeout)}
	case errors.As(err, &certificate), errors.As(err, &authority):
		return &Fault{Text: "orchestrator unreachable: its certificate is not trusted for its name (" + CAVariable + ")"}
	case errors.As(err, &record):
		return &Fault{Text: "orchestrator unreachable: it does not speak TLS"}
	case errors.As(err, &lookup):
		return &Fault{Text: "orchestrator unreachable: its name does not resolve"}
	case errors.Is(err, errNotLoopback):
		return &Fault{Text: "orchestrator unreachable: its address is not loopback, and plain http goes nowhere else"}
	case errors.Is(err, errNotRemote):
		return &Fault{Text: "orchestrator refused: its address is of this machine, and a production host has its agent on another (" + URLVariable + ")"}
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout():
		return &Fault{Text: fmt.Sprintf("orchestrator unreachable: no connection within %s", c.o.Timeouts.Connect)}
	case errors.As(err, &dial) && dial.Op == "dial":
		return &Fault{Text: "orchestrator unreachable: it takes no connection"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &dial):
		return &Fault{Text: "orchestrator's answer to " + k.what + " broke off"}
	case errors.As(err, &network) && network.Timeout():
		return &Fault{Text: fmt.Sprintf("orchestrator unreachable: no handshake within %s", c.o.Timeouts.Connect)}
	}
	return &Fault{Text: "orchestrator unreachable: it does not speak HTTP as it should"}
}
