// Package blobtest is S3-compatible storage for tests of what writes to one: an
// in-memory server behind the signature check that real storage makes (SigV4 in
// headers and in presigned addresses, with their end), written from its description
// and not from the client's code. [Server.Tamper] makes it misbehave.
package blobtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// What every server begins with.
const (
	Bucket    = "artefacts"
	Region    = "eu-test-1"
	AccessKey = "AKIDOFTHETEST"
	SecretKey = "secret/key+of-the-test"
	Token     = "session-token-of-the-test"
)

// Server is one storage with one bucket.
type Server struct {
	URL string

	mu     sync.Mutex
	tamper func(w http.ResponseWriter, r *http.Request) bool
	now    func() time.Time
	calls  []string
	memory *s3mem.Backend
}

// New starts a storage and stops it with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{memory: s3mem.New(), now: time.Now}
	if err := s.memory.CreateBucket(Bucket); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(s.memory, gofakes3.WithTimeSkewLimit(0)).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(fake, w, r) }))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Environment is how a person names this storage, with lasting credentials.
func (s *Server) Environment() map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL": s.URL, "AWS_REGION": Region, "AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": SecretKey,
	}
}

// Tamper lets a function see each request first; one that it answered returns true.
func (s *Server) Tamper(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tamper = f
}

// At sets the server's clock.
func (s *Server) At(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = func() time.Time { return now }
}

// Calls lists the requests so far, each as its method and path.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Place puts an object, past all checks.
func (s *Server) Place(t testing.TB, key string, data []byte) {
	t.Helper()
	if _, err := s.memory.PutObject(Bucket, key, map[string]string{}, bytes.NewReader(data), int64(len(data)), nil); err != nil {
		t.Fatal(err)
	}
}

// Object returns what is at a key, nil when nothing is.
func (s *Server) Object(t testing.TB, key string) []byte {
	t.Helper()
	o, err := s.memory.GetObject(Bucket, key, nil)
	if err != nil {
		return nil
	}
	defer o.Contents.Close()
	data, err := io.ReadAll(o.Contents)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (s *Server) serve(fake http.Handler, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	tamper, now := s.tamper, s.now()
	s.mu.Unlock()
	if tamper != nil && tamper(w, r) {
		return
	}
	if code := authorize(r, now); code != "" {
		Refuse(w, http.StatusForbidden, code)
		return
	}
	fake.ServeHTTP(w, r)
}

// Refuse answers as storage does, with a text that repeats what came in.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>refused %s %s %s</Message></Error>`, code, AccessKey, SecretKey, Token)
}

const stamp = "20060102T150405Z"

// authorize is the check of SigV4; it returns the error code of a refusal.
func authorize(r *http.Request, now time.Time) string {
	query := r.URL.Query()
	presigned := query.Has("X-Amz-Signature")
	date, payload := r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Content-Sha256")
	var credential, names, signature string
	if presigned {
		date, payload = query.Get("X-Amz-Date"), "UNSIGNED-PAYLOAD"
		credential, names, signature = query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Signature")
		query.Del("X-Amz-Signature")
	} else {
		rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
		if !ok {
			return "AccessDenied"
		}
		for part := range strings.SplitSeq(rest, ", ") {
			switch name, value, _ := strings.Cut(part, "="); name {
			case "Credential":
				credential = value
			case "SignedHeaders":
				names = value
			case "Signature":
				signature = value
			}
		}
	}
	at, err := time.Parse(stamp, date)
	if err != nil {
		return "AccessDenied"
	}
	if presigned {
		seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
		if err != nil || seconds < 1 || seconds > 604800 {
			return "AuthorizationQueryParametersError"
		}
		if now.After(at.Add(time.Duration(seconds) * time.Second)) {
			return "AccessDenied"
		}
	}
	scope := []string{date[:8], Region, "s3", "aws4_request"}
	id, given, _ := strings.Cut(credential, "/")
	switch {
	case id != AccessKey:
		return "InvalidAccessKeyId"
	case given != strings.Join(scope, "/"):
		return "AuthorizationHeaderMalformed"
	}
	if !presigned {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "IncompleteBody"
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if payload != fmt.Sprintf("%x", sha256.Sum256(body)) {
			return "XAmzContentSHA256Mismatch"
		}
	}
	canonical := r.Method + "\n" + (&url.URL{Path: r.URL.Path}).EscapedPath() + "\n" + strings.ReplaceAll(query.Encode(), "+", "%20") + "\n"
	for name := range strings.SplitSeq(names, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + names + "\n" + payload
	key := []byte("AWS4" + SecretKey)
	for _, part := range scope {
		key = mac(key, part)
	}
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", date, strings.Join(scope, "/"), sha256.Sum256([]byte(canonical)))
	if want := hex.EncodeToString(mac(key, text)); want != signature {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
