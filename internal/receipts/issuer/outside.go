package issuer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/prova-dev/prova/evidence/did"
	"github.com/prova-dev/prova/internal/platform/httpx"
)

// maxDIDDocument bounds a did:web document.
const maxDIDDocument = 256 << 10

// didFetcher gets did:web documents through the address guard (T§12.3): one GET
// of five seconds, no redirects, a bounded body.
type didFetcher struct {
	guard     *httpx.Guard
	transport http.RoundTripper
}

// NewDIDFetcher returns the fetcher for Deps.DIDs. A domain that has no address,
// or a private one, makes the DID invalid.
func NewDIDFetcher(g *httpx.Guard) did.Fetcher {
	return &didFetcher{guard: g, transport: g.Transport()}
}

// Fetch implements did.Fetcher.
func (f *didFetcher) Fetch(ctx context.Context, url string) (body []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, didFetchTimeout)
	defer cancel()
	ctx, target, err := f.guard.CheckURL(ctx, url)
	if errors.Is(err, httpx.ErrTarget) || errors.Is(err, httpx.ErrResolve) {
		return nil, 0, fmt.Errorf("%w: its domain has no public address", did.ErrInvalid)
	}
	if err != nil {
		return nil, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", did.ErrInvalid, err)
	}
	req.Header.Set("Accept", "application/did+json, application/json")
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxDIDDocument+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the DID document: %w", err)
	}
	if len(body) > maxDIDDocument {
		return nil, 0, fmt.Errorf("%w: the document has more than %d bytes", did.ErrInvalid, maxDIDDocument)
	}
	return body, resp.StatusCode, nil
}

// LookupMX asks the DNS whether a domain takes mail, for Deps.MX. Trouble with the
// DNS is an error, by which a sign-up passes (T§3.1); a domain that does not exist
// or has no MX record takes none.
func LookupMX(ctx context.Context, domain string) (bool, error) {
	return mxAnswer(net.DefaultResolver.LookupMX(ctx, domain))
}

func mxAnswer(records []*net.MX, err error) (bool, error) {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return false, nil
	}
	for _, r := range records {
		if r.Host != "." && r.Host != "" { // "." is the null MX of RFC 7505.
			return true, nil
		}
	}
	return false, err
}
