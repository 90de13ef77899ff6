package issuer

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// outcome is what came of an upstream call: a response, or one of two faults.
type outcome struct {
	Status int
	Body   []byte
	Type   string // Content-Type
	Date   string // several Date headers joined with ", "
	// Fault is empty, "proxy_timeout" or "service_error" (T§4.8).
	Fault string
}

const (
	faultTimeout = "proxy_timeout"
	faultNetwork = "service_error"
)

// fetch makes the call of T§4.4. ctx carries the pinned address. It follows no
// redirect, forwards no header of the caller's request, and turns every failure
// into an outcome: a failed call gets a proof too.
func (s *Service) fetch(ctx context.Context, req *proxyRequest, extra http.Header, secrets map[string]string) *outcome {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.UpstreamTimeout)
	defer cancel()
	out, err := s.roundTrip(ctx, req, extra, secrets)
	if err == nil {
		return out
	}
	s.metrics.upstreamFaults.Add(1)
	fault := faultNetwork
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &network) && network.Timeout()) {
		fault = faultTimeout
	}
	// The error's own words may name addresses or headers: only the host is logged.
	s.deps.Logger.Warn("upstream call failed", "host", req.dest.Host, "fault", fault)
	return &outcome{Fault: fault}
}

func (s *Service) roundTrip(ctx context.Context, req *proxyRequest, extra http.Header, secrets map[string]string) (*outcome, error) {
	r := &http.Request{
		Method: req.Method,
		URL:    req.dest.url(req.Method, req.Payload),
		Host:   req.dest.authority,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Accept":          {"*/*"},
			"Accept-Encoding": {"gzip, deflate"},
			"Connection":      {"keep-alive"},
			"User-Agent":      {"python-httpx/0.28.1"},
		},
	}
	if req.Method == http.MethodPost {
		body := canonjson.Compact(req.Payload)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Header["Content-Type"] = []string{"application/json"}
	}
	for name, values := range extra {
		r.Header[name] = values
	}
	if u := req.dest.user; u != nil {
		password, _ := u.Password()
		r.SetBasicAuth(u.Username(), password)
	}
	for name, value := range secrets {
		r.Header.Set(name, value)
	}
	resp, err := s.deps.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := s.readBody(resp)
	if err != nil {
		return nil, err
	}
	out := &outcome{Status: resp.StatusCode, Body: body, Type: resp.Header.Get("Content-Type"), Date: strings.Join(resp.Header.Values("Date"), ", ")}
	if s.secret.leaks(out.Date) {
		out.Date = "" // a committed value goes public
	}
	return out, nil
}

var errTooLarge = errors.New("the upstream's body exceeds the limit")

// readBody reads and decodes a body, both bounded.
func (s *Service) readBody(resp *http.Response) ([]byte, error) {
	var reader io.Reader = resp.Body
	codings := strings.Split(strings.Join(resp.Header.Values("Content-Encoding"), ","), ",")
	for i := len(codings) - 1; i >= 0; i-- {
		var err error
		if reader, err = decoder(strings.ToLower(strings.TrimSpace(codings[i])), reader); err != nil {
			return nil, fmt.Errorf("decode the upstream's body: %w", err)
		}
	}
	size := 512
	if n := resp.ContentLength; n > 0 && n <= 64<<10 {
		size = int(n) + 1
	}
	buf := bytes.NewBuffer(make([]byte, 0, size))
	n, err := buf.ReadFrom(io.LimitReader(reader, s.cfg.MaxResponseBody+1))
	if err != nil {
		return nil, fmt.Errorf("read the upstream's body: %w", err)
	}
	if n > s.cfg.MaxResponseBody {
		return nil, errTooLarge
	}
	return buf.Bytes(), nil
}

// decoder undoes one content coding. Codings the source cannot decode either are
// left as they are.
func decoder(coding string, r io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r)
		if errors.Is(err, io.EOF) {
			return bytes.NewReader(nil), nil // an empty body, whatever its coding
		}
		return z, err
	case "deflate":
		return inflate(r)
	}
	return r, nil
}

// inflate takes both readings of "deflate": with the zlib wrapper and raw.
func inflate(r io.Reader) (io.Reader, error) {
	var head [2]byte
	n, err := io.ReadFull(r, head[:])
	if n == 0 && errors.Is(err, io.EOF) {
		return bytes.NewReader(nil), nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), r)
	if n == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(whole)
	}
	return flate.NewReader(whole), nil
}
