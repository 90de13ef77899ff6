package corpus

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// FixedErrors wraps the listener of a corpus. A request that net/http cannot read
// (no HTTP, a bad escape, headers without end) never reaches the Server: net/http
// answers it itself, in plain text. The response contract knows one answer to a
// malformed request, status 400 and the bytes of /_systeme/400 (§2.5), so that is
// what leaves. body gives those bytes when they are needed, nil when no corpus is
// served; it must be safe for concurrent use.
func FixedErrors(ln net.Listener, body func() []byte) net.Listener {
	return fixedListener{ln, body}
}

type fixedListener struct {
	net.Listener
	body func() []byte
}

func (l fixedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &fixedConn{conn, l.body}, nil
}

// fixedConn looks at what is written to it. net/http writes an answer of its own in
// one call and closes the connection after it.
type fixedConn struct {
	net.Conn
	body func() []byte
}

// The answers of net/http itself: a status line followed directly by these headers,
// which no handler can produce since its own come sorted and with a date; and the
// refusal of an Expect header.
const (
	bareErrorHeaders  = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	expectationFailed = "HTTP/1.1 417 "
)

func (c *fixedConn) Write(p []byte) (int, error) {
	if !bareError(p) {
		return c.Conn.Write(p)
	}
	body := c.body()
	if body == nil {
		return c.Conn.Write(p)
	}
	head := fmt.Sprintf("HTTP/1.1 400 %s\r\nCache-Control: no-store\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		http.StatusText(http.StatusBadRequest), len(body))
	if _, err := c.Conn.Write(append([]byte(head), body...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func bareError(p []byte) bool {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(p, []byte("HTTP/1.1 5")) {
		return false
	}
	line, _, _ := strings.Cut(string(p[:min(len(p), 512)]), "\r\n")
	return strings.HasPrefix(line, expectationFailed) || bytes.HasPrefix(p[len(line):], []byte(bareErrorHeaders))
}

// Fixed returns the bytes of a /_systeme body by its status, nil for another one.
func (s *Server) Fixed(status int) []byte { return s.system[status] }
