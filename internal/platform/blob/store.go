package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// MaxValid is the longest that a presigned address can hold (SigV4).
const MaxValid = 7 * 24 * time.Hour

// ErrOtherBytes says that another object is at a key. Under a name that says its
// content, that is a damaged or a foreign object.
var ErrOtherBytes = errors.New("other bytes are there")

// Store is one prefix of one bucket. It is safe for concurrent use.
type Store struct {
	place  Place
	client *s3.Client
}

// Open checks what a place says; nothing is sent yet.
func Open(p *Place) (*Store, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	s := &Store{place: *p}
	credentials := aws.Credentials{AccessKeyID: p.AccessKeyID, SecretAccessKey: p.SecretKey, SessionToken: p.SessionToken}
	transport := p.Transport
	if transport == nil {
		transport = newTransport()
	}
	wait := p.MaxWait
	if wait == 0 {
		wait = 5 * time.Second
	}
	o := s3.Options{
		Region:       p.Region,
		UsePathStyle: p.Endpoint != "",
		Credentials:  aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
		// No redirect: a request is signed for one host.
		HTTPClient: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		// Two writers of one key at a time: the second is asked to come again.
		Retryer: retry.AddWithErrorCodes(retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = wait }), "ConditionalRequestConflict"),
		// The signed SHA-256 of the payload protects it; not every storage knows the
		// checksums that were added since.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		// Every write asks first: a refusal is read before anything is sent, where it
		// would else be lost with the connection.
		ContinueHeaderThresholdBytes: 1,
	}
	if p.Endpoint != "" {
		o.BaseEndpoint = &p.Endpoint
	}
	s.client = s3.New(o)
	return s, nil
}

func newTransport() http.RoundTripper {
	const connect, answer = 15 * time.Second, time.Minute
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout:   connect,
		ResponseHeaderTimeout: answer,
		ExpectContinueTimeout: 2 * time.Second, // then it is sent to a server that does not know the question
		ForceAttemptHTTP2:     true,
		// Connections are kept: with "Connection: close" the end of the connection can
		// overtake a refusal that came in place of 100 Continue, and its words are lost.
		IdleConnTimeout: 10 * time.Second,
	}
}

// Locate names an object for a person, as s3://bucket/prefix/name.
func (s *Store) Locate(name string) string { return s.place.locate(name) }

// Put writes an object once. When one is there already its bytes are checked and
// existed is true; other bytes are ErrOtherBytes, and they stay. An attempt whose
// answer was lost is made again, and then finds its own object.
func (s *Store) Put(ctx context.Context, name, contentType string, data []byte) (existed bool, err error) {
	_, err = s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.place.Bucket, Key: aws.String(s.place.key(name)), Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ContentType: &contentType, IfNoneMatch: aws.String("*"),
	})
	switch {
	case err == nil:
		return false, nil
	case statusOf(err) == http.StatusPreconditionFailed:
		return true, s.Check(ctx, name, data)
	}
	return false, s.fault("write", "s3:PutObject", name, err)
}

// Check reads an object back and compares it; it reads one byte more than is
// expected at most.
func (s *Store) Check(ctx context.Context, name string, want []byte) error {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.place.Bucket, Key: aws.String(s.place.key(name))})
	if err != nil {
		return s.fault("read back", "s3:GetObject", name, err)
	}
	defer out.Body.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(out.Body, int64(len(want))+1))
	switch {
	case err != nil:
		return s.fault("read back", "s3:GetObject", name, err)
	case n != int64(len(want)) || [sha256.Size]byte(h.Sum(nil)) != sha256.Sum256(want):
		return fmt.Errorf("%s: %w (%s); they are left alone: remove that object, or name another prefix", s.Locate(name), ErrOtherBytes, sized(n, len(want)))
	}
	return nil
}

func sized(n int64, want int) string {
	switch {
	case n > int64(want):
		return fmt.Sprintf("more than the %d of this one", want)
	case n < int64(want):
		return fmt.Sprintf("%d in place of %d", n, want)
	}
	return fmt.Sprintf("as many as here, %d, with another SHA-256", want)
}

// PresignGet makes an address under which anyone fetches an object, without
// credentials, from now on and as long as it is valid: at most MaxValid, and with
// temporary credentials no longer than these. Nothing is sent.
func (s *Store) PresignGet(ctx context.Context, name string, now time.Time, valid time.Duration) (string, error) {
	if valid < time.Second || valid > MaxValid {
		return "", fmt.Errorf("a presigned address holds from one second to %s, not %s", MaxValid, valid)
	}
	signed, err := s3.NewPresignClient(s.client, s3.WithPresignExpires(valid)).PresignGetObject(ctx,
		&s3.GetObjectInput{Bucket: &s.place.Bucket, Key: aws.String(s.place.key(name))},
		func(o *s3.PresignOptions) { o.Presigner = presigner{now.UTC()} })
	if err != nil {
		return "", s.fault("presign", "s3:GetObject", name, err)
	}
	return signed.URL, nil
}

// presigner signs at the caller's instant in place of the SDK's.
type presigner struct{ now time.Time }

// PresignHTTP implements s3.HTTPPresignerV4.
func (p presigner) PresignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, payload, service, region string, _ time.Time, options ...func(*v4.SignerOptions)) (string, http.Header, error) {
	return v4.NewSigner().PresignHTTP(ctx, c, r, payload, service, region, p.now, options...)
}
