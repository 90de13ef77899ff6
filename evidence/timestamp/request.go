package timestamp

import (
	"crypto"
	"crypto/sha256"
	"errors"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// MaxRequest is the largest TimeStampReq, in bytes, that Local reads.
const MaxRequest = 8 << 10

// RequestOptions are the optional members of a request. The zero value asks
// for a bare token, as Trust Layer issuers do (reference §9).
type RequestOptions struct {
	// CertReq asks the authority to put its certificate into the token.
	CertReq bool
	// Nonce comes back in the token; it ties the answer to this request.
	Nonce *big.Int
}

// NewRequest returns a DER TimeStampReq (RFC 3161 §2.4.1) for the SHA-256 of
// message. With zero options it has 56 bytes.
func NewRequest(message []byte, o RequestOptions) ([]byte, error) {
	sum := sha256.Sum256(message)
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		addImprint(b, crypto.SHA256, sum[:])
		if o.Nonce != nil {
			b.AddASN1BigInt(o.Nonce)
		}
		if o.CertReq {
			b.AddASN1Boolean(true)
		}
	})
	return b.Bytes()
}

func addImprint(b *cryptobyte.Builder, h crypto.Hash, sum []byte) {
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		addAlgorithm(b, hashOID(h), true)
		b.AddASN1OctetString(sum)
	})
}

// addAlgorithm writes an AlgorithmIdentifier, with NULL parameters or none.
func addAlgorithm(b *cryptobyte.Builder, id string, null bool) {
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		addOID(b, id)
		if null {
			b.AddASN1NULL()
		}
	})
}

func addOID(b *cryptobyte.Builder, id string) {
	b.AddASN1(asn1.OBJECT_IDENTIFIER, func(b *cryptobyte.Builder) { b.AddBytes([]byte(id)) })
}

// request is a TimeStampReq as Local reads it.
type request struct {
	hash    crypto.Hash
	imprint []byte
	policy  string // Content octets, empty when absent.
	nonce   *big.Int
	certReq bool
}

// requestError is a request that gets a rejection with this failure.
type requestError struct {
	failure FailureInfo
	err     error
}

func (e *requestError) Error() string { return e.err.Error() }

// parseRequest reads one DER TimeStampReq. Every error is a *requestError.
func parseRequest(der []byte) (*request, error) {
	r, err := readRequest(der)
	if err == nil {
		return r, nil
	}
	if known, ok := errors.AsType[*requestError](err); ok {
		return nil, known
	}
	if _, ok := errors.AsType[*imprintAlgorithmError](err); ok {
		return nil, &requestError{BadAlg, err}
	}
	return nil, &requestError{BadDataFormat, err}
}

func readRequest(der []byte) (*request, error) {
	if len(der) > MaxRequest {
		return nil, malformed("TimeStampReq", "has %d bytes, at most %d are read", len(der), MaxRequest)
	}
	in := cryptobyte.String(der)
	s, err := element(&in, asn1.SEQUENCE, "TimeStampReq")
	if err != nil {
		return nil, err
	}
	if err := end(in, "TimeStampReq"); err != nil {
		return nil, err
	}
	version, err := smallInteger(&s, "TimeStampReq.version")
	if err != nil {
		return nil, err
	}
	if version != 1 {
		return nil, &requestError{BadRequest, malformed("TimeStampReq.version", "is %d, want 1", version)}
	}
	r := &request{}
	if r.hash, r.imprint, err = parseImprint(&s, "TimeStampReq.messageImprint"); err != nil {
		return nil, err
	}
	if s.PeekASN1Tag(asn1.OBJECT_IDENTIFIER) {
		if r.policy, err = oid(&s, "TimeStampReq.reqPolicy"); err != nil {
			return nil, err
		}
	}
	if s.PeekASN1Tag(asn1.INTEGER) {
		if r.nonce, err = integer(&s, "TimeStampReq.nonce"); err != nil {
			return nil, err
		}
	}
	// FALSE, the default, may be spelled out: nobody signs a request.
	if s.PeekASN1Tag(asn1.BOOLEAN) && !s.ReadASN1Boolean(&r.certReq) {
		return nil, malformed("TimeStampReq.certReq", "is not a DER BOOLEAN")
	}
	if s.PeekASN1Tag(tag0) {
		return nil, &requestError{UnacceptedExtension, malformed("TimeStampReq.extensions", "none is supported")}
	}
	return r, end(s, "TimeStampReq")
}
