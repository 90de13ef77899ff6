package blob

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Place is where objects go and who puts them there.
type Place struct {
	Bucket, Prefix string // the prefix without slashes around it; empty: the bucket itself
	Endpoint       string // http(s) address of the storage, for path-style requests; empty: AWS
	Region         string
	AccessKeyID    string
	SecretKey      string // never in an error
	SessionToken   string // of temporary credentials; never in an error

	Transport http.RoundTripper // nil: one with bounds for connecting and for an answer
	MaxWait   time.Duration     // longest pause between two attempts; 0: five seconds
}

var (
	bucketForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	segmentForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	regionForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
)

// errForm names no part of the address: credentials may have been put into it.
var errForm = errors.New("want s3://BUCKET or s3://BUCKET/PREFIX, such as s3://my-bucket/recipes; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// ParseURL reads s3://bucket/prefix. A prefix has segments of letters, digits, ".",
// "_" and "-", so that a key and the path of its address are the same text.
func ParseURL(address string) (bucket, prefix string, err error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "s3" || at.Opaque != "" || at.User != nil || at.RawQuery != "" || at.ForceQuery || at.Fragment != "" {
		return "", "", errForm
	}
	if !bucketForm.MatchString(at.Host) || strings.Contains(at.Host, "..") {
		return "", "", fmt.Errorf("%q is no name of a bucket: 3 to 63 lower-case letters, digits, hyphens and dots", at.Host)
	}
	prefix = strings.Trim(at.Path, "/")
	if prefix == "" {
		return at.Host, "", nil
	}
	const longest = 512 // a key has 1024 bytes at most
	if len(prefix) > longest {
		return "", "", fmt.Errorf("the prefix has %d bytes, and at most %d are taken", len(prefix), longest)
	}
	for segment := range strings.SplitSeq(prefix, "/") {
		if !segmentForm.MatchString(segment) || segment == "." || segment == ".." {
			return "", "", fmt.Errorf("the prefix has the segment %q: use letters, digits, dots, hyphens and underscores, with single slashes between", segment)
		}
	}
	return at.Host, prefix, nil
}

// FromEnvironment adds to an s3:// address what the usual variables say:
// AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN. No file and no metadata service is asked.
func FromEnvironment(address string, getenv func(string) string) (*Place, error) {
	bucket, prefix, err := ParseURL(address)
	if err != nil {
		return nil, err
	}
	p := &Place{
		Bucket: bucket, Prefix: prefix, Endpoint: getenv("AWS_ENDPOINT_URL"), Region: getenv("AWS_REGION"),
		AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN"),
	}
	if p.Endpoint != "" && p.Region == "" {
		p.Region = "us-east-1" // what storage that has no regions calls its only one
	}
	return p, p.check()
}

// check finds what a request would fail of later, in the names that a person set.
func (p *Place) check() error {
	if p.Endpoint != "" {
		at, err := url.Parse(p.Endpoint)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
			return errors.New("AWS_ENDPOINT_URL must be an http(s) address without user, query and fragment, such as https://s3.example")
		}
	}
	switch {
	case p.Region == "":
		return errors.New("AWS_REGION is not set: name the region of the bucket, such as eu-west-3, or the storage's address in AWS_ENDPOINT_URL")
	case !regionForm.MatchString(p.Region):
		return fmt.Errorf("AWS_REGION %q is no region: lower-case letters, digits and hyphens, such as eu-west-3", p.Region)
	}
	for _, v := range []struct{ name, value string }{
		{"AWS_ACCESS_KEY_ID", p.AccessKeyID}, {"AWS_SECRET_ACCESS_KEY", p.SecretKey}, {"AWS_SESSION_TOKEN", p.SessionToken},
	} {
		switch {
		case v.value == "" && v.name != "AWS_SESSION_TOKEN":
			return fmt.Errorf("%s is not set: export the credentials of the storage (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with temporary ones AWS_SESSION_TOKEN too)", v.name)
		case strings.ContainsFunc(v.value, func(r rune) bool { return r <= ' ' || r > '~' }):
			return fmt.Errorf("%s has a space, a line break or another character that no key has; set it again without", v.name)
		}
	}
	return nil
}

// key is the name of an object in the bucket.
func (p *Place) key(name string) string {
	if p.Prefix == "" {
		return name
	}
	return p.Prefix + "/" + name
}

// locate names an object as s3://bucket/prefix/name, without its storage.
func (p *Place) locate(name string) string { return "s3://" + p.Bucket + "/" + p.key(name) }
