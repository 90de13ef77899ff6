package timestamp

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"mime"
	"net/http"
	"slices"
	"time"
)

// Local is the embedded authority: it issues real RFC 3161 tokens in this
// process, signed with ECDSA on P-256. It proves no more than the machine's
// clock and the operator's word, which is why its Authority is never
// independent. It is safe for concurrent use when its key is.
type Local struct {
	key    crypto.Signer
	cert   *x509.Certificate
	chain  []*x509.Certificate
	clock  func() time.Time
	random io.Reader
	policy string // Content octets.
	logger *slog.Logger
}

// LocalOption changes a default of NewLocal.
type LocalOption func(*Local) error

// WithPolicy sets the policy under which tokens are issued, as dotted numbers.
// The default is 2.999.3161, in the arc that ITU-T keeps for examples: it
// claims nothing.
func WithPolicy(dottedOID string) LocalOption {
	return func(l *Local) error {
		o, err := x509.ParseOID(dottedOID)
		if err != nil {
			return fmt.Errorf("timestamp: policy %q: %w", dottedOID, err)
		}
		der, err := o.MarshalBinary()
		if err != nil {
			return fmt.Errorf("timestamp: policy %q: %w", dottedOID, err)
		}
		l.policy = string(der)
		return nil
	}
}

// WithRand sets the source of serial numbers and signature nonces; the default
// is crypto/rand.
func WithRand(r io.Reader) LocalOption {
	return func(l *Local) error { l.random = r; return nil }
}

// WithLogger sets where ServeHTTP tells of requests it could not serve; the
// default is nowhere.
func WithLogger(logger *slog.Logger) LocalOption {
	return func(l *Local) error { l.logger = logger; return nil }
}

const (
	defaultPolicy = "\x88\x37\x98\x59" // 2.999.3161

	// localAccuracy is what tokens admit: genTime has whole seconds.
	localAccuracy = time.Second
)

// NewLocal returns an authority that signs with key. cert is the key's
// certificate, fit for time-stamping alone; chain leads from its issuer to the
// root, root last. clock gives the time of tokens.
func NewLocal(key crypto.Signer, cert *x509.Certificate, chain []*x509.Certificate, clock func() time.Time, opts ...LocalOption) (*Local, error) {
	if key == nil || cert == nil || len(chain) == 0 || clock == nil {
		return nil, errors.New("timestamp: the embedded authority needs a key, its certificate, a chain up to the root and a clock")
	}
	pub, ok := key.Public().(*ecdsa.PublicKey)
	if !ok || pub.Curve != elliptic.P256() {
		return nil, errors.New("timestamp: the embedded authority signs with ECDSA on P-256, and the key is another kind")
	}
	if !pub.Equal(cert.PublicKey) {
		return nil, errors.New("timestamp: the certificate is of another key")
	}
	l := &Local{
		key: key, cert: cert, chain: slices.Clone(chain), clock: clock,
		random: rand.Reader, policy: defaultPolicy, logger: slog.New(slog.DiscardHandler),
	}
	for _, o := range opts {
		if err := o(l); err != nil {
			return nil, err
		}
	}
	if err := checkPurpose(cert); err != nil {
		return nil, err
	}
	probe := signedData{info: &tstInfo{time: cert.NotBefore}}
	if err := probe.checkChain(cert, nil, l.Authority("the chain")); err != nil {
		return nil, err
	}
	return l, nil
}

// Authority is what a verifier must trust to accept the tokens of l: the last
// certificate of the chain as root, the others as further certificates. It is
// never independent.
func (l *Local) Authority(provider string) Authority {
	last := len(l.chain) - 1
	return Authority{
		Provider:     provider,
		Roots:        []*x509.Certificate{l.chain[last]},
		Certificates: append([]*x509.Certificate{l.cert}, l.chain[:last]...),
	}
}

// Respond answers one DER TimeStampReq with a DER TimeStampResp. A request that
// it cannot read or does not serve gets a rejection (PKIStatus 2 with the
// fitting failInfo) and no error; the error is for a key or a source of
// randomness that failed. Imprints may be SHA-256, SHA-384 or SHA-512; nonce,
// certReq and reqPolicy are honoured. genTime has whole seconds, rounded down,
// and an accuracy of one second.
func (l *Local) Respond(request []byte) ([]byte, error) {
	r, err := parseRequest(request)
	if refused, ok := errors.AsType[*requestError](err); ok {
		return appendRejection(refused.failure, refused.Error())
	}
	if r.policy != "" && r.policy != l.policy {
		return appendRejection(UnacceptedPolicy, "timestamp: TimeStampReq.reqPolicy: only "+dotted(l.policy)+" is issued")
	}
	now := l.clock().UTC().Truncate(time.Second)
	if now.Before(l.cert.NotBefore) || now.After(l.cert.NotAfter) || now.Year() > 9999 {
		return appendRejection(TimeNotAvailable, "timestamp: the clock is outside the validity of the signer certificate")
	}
	serial, err := newSerial(l.random)
	if err != nil {
		return nil, err
	}
	return l.issue(r, now, serial)
}

// newSerial draws a positive number of 159 bits, the largest that RFC 3161
// readers must take. Drawn ones need no memory to stay unique.
func newSerial(r io.Reader) (*big.Int, error) {
	var b [20]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, fmt.Errorf("timestamp: drawing a serial number: %w", err)
	}
	b[0] &= 0x7f
	b[0] |= 0x40
	return new(big.Int).SetBytes(b[:]), nil
}

// Stamper gives the authority a provider's name, for a Pool. Its tokens carry
// the signer's certificate.
func (l *Local) Stamper(provider string) Stamper { return inProcess{l, provider} }

type inProcess struct {
	local *Local
	name  string
}

func (s inProcess) Name() string { return s.name }

// Stamp asks the authority as a client would, and verifies what it gave.
func (s inProcess) Stamp(ctx context.Context, message []byte) ([]byte, *Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	query, err := NewRequest(message, RequestOptions{CertReq: true})
	if err != nil {
		return nil, nil, err
	}
	tsr, err := s.local.Respond(query)
	if err != nil {
		return nil, nil, err
	}
	tok, err := Verify(tsr, message, s.local.Authority(s.name))
	if err != nil {
		return nil, nil, err
	}
	return tsr, tok, nil
}

// ServeHTTP answers POST with content type application/timestamp-query (RFC
// 3161 §3.4). Requests that are no query get an HTTP error, queries always a
// TimeStampResp with status 200.
func (l *Local) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "timestamp requests are sent with POST", http.StatusMethodNotAllowed)
		return
	}
	if typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || typ != contentTypeQuery {
		http.Error(w, "the content type of a timestamp request is "+contentTypeQuery, http.StatusUnsupportedMediaType)
		return
	}
	query, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequest))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			http.Error(w, fmt.Sprintf("a timestamp request has at most %d bytes", MaxRequest), http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "the request could not be read to its end", http.StatusBadRequest)
		return
	}
	tsr, err := l.Respond(query)
	if err != nil {
		l.logger.ErrorContext(r.Context(), "embedded timestamp authority cannot issue a token", "error", err)
		if tsr, err = appendRejection(SystemFailure, "timestamp: the authority cannot sign at the moment"); err != nil {
			http.Error(w, "the authority cannot answer", http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", contentTypeReply)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(tsr) // A client that left cannot be told.
}
