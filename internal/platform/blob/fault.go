package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
)

// statusOf is the status that a server answered with, 0 without an answer.
func statusOf(err error) int {
	var answered interface{ HTTPStatusCode() int }
	if errors.As(err, &answered) {
		return answered.HTTPStatusCode()
	}
	return 0
}

var codeForm = regexp.MustCompile(`^[A-Za-z0-9.]{1,64}$`)

// codeOf is the error code of an answer when it has the form of one; whatever else
// a server writes there stays out.
func codeOf(err error) string {
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) && codeForm.MatchString(coded.ErrorCode()) {
		return coded.ErrorCode()
	}
	return ""
}

// fault says what failed and what to do. It wraps no error of the SDK: these hold
// a server's text and whole addresses. The end of the context stays visible.
func (s *Store) fault(what, permission, name string, err error) error {
	status, code := statusOf(err), s.unsecret(codeOf(err))
	at := what + " " + s.Locate(name)
	var slow net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", at, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return fmt.Errorf("%s: the storage was too slow: %w; try again, what is there already is not sent twice", at, context.DeadlineExceeded)
	case status == 0 || status < http.StatusMultipleChoices:
		return fmt.Errorf("%s: %s; look at AWS_ENDPOINT_URL and the network, then try again", at, s.unsecret(connection(err)))
	}
	answer := fmt.Sprintf("status %d", status)
	if code != "" {
		answer += " " + code
	}
	return fmt.Errorf("%s: the storage answers %s: %s", at, answer, s.advice(status, code, permission))
}

// advice is what to do about an answer of S3 (its list of error codes).
func (s *Store) advice(status int, code, permission string) string {
	switch code {
	case "InvalidAccessKeyId":
		return "it does not know AWS_ACCESS_KEY_ID"
	case "SignatureDoesNotMatch":
		return "AWS_SECRET_ACCESS_KEY is not the one of AWS_ACCESS_KEY_ID, or AWS_REGION is not the storage's"
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return "the temporary credentials have ended or do not belong together: get new ones, AWS_SESSION_TOKEN included"
	case "RequestTimeTooSkewed", "RequestExpired":
		return "the clock of this machine is wrong"
	case "NoSuchBucket":
		return fmt.Sprintf("there is no bucket %s: create it, or correct its name or AWS_ENDPOINT_URL", s.place.Bucket)
	case "NoSuchKey":
		return "the object is gone again; try again"
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return fmt.Sprintf("the bucket is not in the region %s: correct AWS_REGION", s.place.Region)
	case "QuotaExceeded", "EntityTooLarge", "XMinioStorageFull":
		return "it has no room for this object"
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Sprintf("these credentials are refused; they need %s on %s/*", permission, strings.TrimSuffix("arn:aws:s3:::"+s.place.Bucket+"/"+s.place.Prefix, "/"))
	case status == http.StatusNotFound:
		return "nothing is there: correct the bucket or AWS_ENDPOINT_URL"
	case status < http.StatusBadRequest:
		return "it points elsewhere: correct AWS_REGION or AWS_ENDPOINT_URL"
	case status == http.StatusNotImplemented:
		return "it does not know a write with If-None-Match: upload the file with the storage's own tool"
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return "try again later; what is there already is not sent twice"
	}
	return "is AWS_ENDPOINT_URL that of S3-compatible storage?"
}

// connection is the fault of a connection in a few words, without its address.
func connection(err error) string {
	var (
		op   *net.OpError
		name *net.DNSError
	)
	switch {
	case errors.As(err, &name):
		return "no address of this name: " + name.Name
	case errors.As(err, &op) && op.Op == "dial":
		return "no connection: " + op.Err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.As(err, &op):
		return "the connection was cut off"
	}
	return "no answer that can be read"
}

// unsecret is a text without what must not be shown; a server may repeat it.
func (s *Store) unsecret(text string) string {
	for _, secret := range []string{s.place.SecretKey, s.place.SessionToken, s.place.AccessKeyID} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}
