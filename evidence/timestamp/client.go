package timestamp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"net/http"
	"time"
)

const (
	contentTypeQuery = "application/timestamp-query"
	contentTypeReply = "application/timestamp-reply"

	// defaultTimeout is what Trust Layer issuers wait for an authority.
	defaultTimeout = 15 * time.Second
)

// Provider is one authority on the network.
type Provider struct {
	Name      string    // As proofs name it, e.g. "freetsa.org".
	URL       string    // Where requests are posted.
	Authority Authority // What its tokens are verified against.
	// CertReq asks for tokens that carry their certificates. A reply without
	// any is then an error.
	CertReq bool
	// Nonce sends a random nonce of 128 bits and demands it back. The messages
	// stamped here are roots that nobody can guess, so it is not needed
	// against replay.
	Nonce bool
}

// Client asks authorities for tokens over HTTP (RFC 3161 §3.4). It is safe for
// concurrent use. The zero value works.
type Client struct {
	// HTTP sends the requests; nil means http.DefaultClient.
	HTTP *http.Client
	// Timeout bounds one request, the reply's body included; 0 means 15 s.
	Timeout time.Duration
	// Rand makes nonces; nil means crypto/rand.
	Rand io.Reader
}

// Stamp posts one request for message and returns the response and its token.
// It asks once. What it returns has passed Verify against p.Authority; the
// status must be 200, the content type application/timestamp-reply, the body at
// most MaxResponse bytes. An authority that refuses gives a *StatusError.
func (c *Client) Stamp(ctx context.Context, p Provider, message []byte) ([]byte, *Token, error) {
	o := RequestOptions{CertReq: p.CertReq}
	if p.Nonce {
		n, err := newNonce(c.Rand)
		if err != nil {
			return nil, nil, err
		}
		o.Nonce = n
	}
	query, err := NewRequest(message, o)
	if err != nil {
		return nil, nil, err
	}
	tsr, err := c.post(ctx, p.URL, query)
	if err != nil {
		return nil, nil, fmt.Errorf("timestamp: asking %s: %w", p.Name, err)
	}
	tok, sd, err := verify(tsr, message, p.Authority)
	if err != nil {
		return nil, nil, fmt.Errorf("the answer of %s is refused: %w", p.Name, err)
	}
	if o.Nonce != nil && (tok.Nonce == nil || tok.Nonce.Cmp(o.Nonce) != 0) {
		return nil, nil, fmt.Errorf("the answer of %s is refused: %w", p.Name, malformed("TSTInfo.nonce", "is not the one sent"))
	}
	if p.CertReq && len(sd.certificates) == 0 {
		return nil, nil, fmt.Errorf("the answer of %s is refused: %w", p.Name, malformed("SignedData.certificates", "missing, although certReq asked for them"))
	}
	return tsr, tok, nil
}

// Stamper binds the client to one provider, for a Pool.
func (c *Client) Stamper(p Provider) Stamper { return remote{c, p} }

type remote struct {
	client   *Client
	provider Provider
}

func (r remote) Name() string { return r.provider.Name }

func (r remote) Stamp(ctx context.Context, message []byte) ([]byte, *Token, error) {
	return r.client.Stamp(ctx, r.provider, message)
}

// post sends one query and reads the reply whole.
func (c *Client) post(ctx context.Context, url string, query []byte) ([]byte, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(query))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentTypeQuery)
	req.Header.Set("Accept", contentTypeReply)
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d, want 200", resp.StatusCode)
	}
	typ, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || typ != contentTypeReply {
		return nil, fmt.Errorf("content type %.100q, want %s", resp.Header.Get("Content-Type"), contentTypeReply)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	if len(body) > MaxResponse {
		return nil, fmt.Errorf("the reply has more than %d bytes", MaxResponse)
	}
	return body, nil
}

// newNonce draws 128 bits.
func newNonce(r io.Reader) (*big.Int, error) {
	if r == nil {
		r = rand.Reader
	}
	var b [16]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, fmt.Errorf("timestamp: drawing a nonce: %w", err)
	}
	return new(big.Int).SetBytes(b[:]), nil
}

// Stamper is anything that gives verified tokens: a provider behind a Client,
// or Local in the same process. Implementations make one attempt a call.
type Stamper interface {
	// Name is the provider's name as proofs carry it.
	Name() string
	// Stamp returns a DER TimeStampResp that Verify accepts for message, and
	// the token in it.
	Stamp(ctx context.Context, message []byte) ([]byte, *Token, error)
}

// Pool is a list of authorities in order of preference.
type Pool []Stamper

// Stamp is a token and who gave it.
type Stamp struct {
	Provider string // Name of the Stamper.
	Response []byte // DER TimeStampResp, what a proof stores.
	Token    *Token
}

// ErrEmptyPool is returned by a Pool without authorities.
var ErrEmptyPool = errors.New("timestamp: the pool has no authority")

// Stamp asks the authorities in order, each once, and returns the first token.
// When all fail, the error joins theirs in that order. It stops early when ctx
// is done.
func (p Pool) Stamp(ctx context.Context, message []byte) (Stamp, error) {
	if len(p) == 0 {
		return Stamp{}, ErrEmptyPool
	}
	var failures []error
	for _, s := range p {
		if err := ctx.Err(); err != nil {
			failures = append(failures, err)
			break
		}
		tsr, tok, err := s.Stamp(ctx, message)
		if err == nil {
			return Stamp{Provider: s.Name(), Response: tsr, Token: tok}, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", s.Name(), err))
	}
	return Stamp{}, errors.Join(failures...)
}
