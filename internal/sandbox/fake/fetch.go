package fake

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	connectTimeout = 10 * time.Second
	fetchTimeout   = 120 * time.Second
)

// fetcher gets artefacts. It follows no redirect and no proxy of the
// environment: either would name an address that nobody checked.
type fetcher struct {
	client *http.Client
}

func newFetcher(e Egress) *fetcher {
	dialer := &net.Dialer{Timeout: connectTimeout, Control: e.control}
	return &fetcher{client: &http.Client{
		Timeout:       fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    connectTimeout,
			MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives:      true, // One artefact is one connection; nothing is left open.
			DisableCompression:     true, // The digest is of the file as it is served.
		},
	}}
}

// fetch returns the file at uri, whose sha256 must be digest (R§23.2). Errors
// name the host and never the whole URI, which may carry a password or a
// presigned query.
func (f *fetcher) fetch(ctx context.Context, uri, digest string) ([]byte, error) {
	u, err := url.Parse(strings.TrimSpace(uri))
	if err != nil || u.Opaque != "" || u.Host == "" {
		return nil, errors.New("artifact_uri is no URL with a host")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("artifact_uri has the scheme %.20q; only http and https are fetched", u.Scheme)
	}
	data, err := f.get(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("artifact_uri on %s: %w", u.Host, err)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != strings.ToLower(strings.TrimSpace(digest)) {
		return nil, fmt.Errorf("the file of %d bytes at artifact_uri hashes to %s, the submission names %s; the digest is of the exact file that is served, "+
			"and a re-tarred tree never matches: forward the file verbatim", len(data), got, digest)
	}
	return data, nil
}

func (f *fetcher) get(ctx context.Context, u *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("no request can be made of it")
	}
	answer, err := f.client.Do(request)
	if err != nil {
		return nil, fetchFault(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		return nil, fmt.Errorf("it answers %d; redirects are not followed, name the final address", answer.StatusCode)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %d, want 200", answer.StatusCode)
	}
	if answer.ContentLength > MaxArchive {
		return nil, fmt.Errorf("it announces %d bytes; at most %d are taken", answer.ContentLength, MaxArchive)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, MaxArchive+1))
	if err != nil {
		return nil, fetchFault(ctx, err)
	}
	if len(data) > MaxArchive {
		return nil, fmt.Errorf("it sends more than the %d bytes that are taken", MaxArchive)
	}
	return data, nil
}

// fetchFault says what went wrong without the URL, which net/http puts into its
// errors.
func fetchFault(ctx context.Context, err error) error {
	var network net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errEgress):
		return errEgress
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection broke before the end of the file")
	case errors.As(err, &certificate):
		return errors.New("its certificate is not trusted")
	case errors.As(err, &network) && network.Timeout():
		return errors.New("it did not answer in time")
	default:
		return errors.New("it cannot be reached")
	}
}
