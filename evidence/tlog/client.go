package tlog

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
)

// Defaults of [Client], those of the service whose proofs Prova reads (reference §10).
const (
	DefaultAttempts = 2
	DefaultWait     = 2 * time.Second
	DefaultTimeout  = 10 * time.Second
)

// maxDocument bounds an answer. An entry has about four kilobytes.
const maxDocument = 1 << 20

// Client talks to a log that speaks the Rekor v1 API. It is safe for concurrent use as long as its fields do not change.
type Client struct {
	// BaseURL is where the log is, such as "https://rekor.sigstore.dev", without a path.
	BaseURL string
	// HTTP makes the requests. It is required, so that whoever builds a client decides about proxies and addresses.
	HTTP *http.Client
	// Logs, when given, are the logs one of which this has to be: Submit then returns only what VerifyEntry accepts.
	// Without them it still checks that the entry holds the signature submitted and an inclusion proof, but does not
	// verify that proof.
	Logs []Log
	// Attempts is how often a request is made that fails for reasons which may pass (no answer, 429, 5xx, an entry that
	// is not yet included); 0 means DefaultAttempts, less means once.
	Attempts int
	// Wait is the pause between two attempts; 0 means DefaultWait.
	Wait time.Duration
	// Timeout bounds one attempt; 0 means DefaultTimeout.
	Timeout time.Duration
	// UserAgent is sent with each request; "" means "prova".
	UserAgent string
}

// temporary marks an error that another attempt may not meet.
type temporary struct{ error }

func (t temporary) Unwrap() error { return t.error }

// Submit implements [Appender] over HTTP. When the log says that it has the entry (409), that one is fetched, by the
// place that the log names or else by its leaf hash; the caller sees no difference. Answers about another entry, or
// without an inclusion proof, are not accepted.
func (c *Client) Submit(ctx context.Context, anchoredHex string, signer crypto.Signer) (string, []byte, error) {
	h, err := sign(anchoredHex, signer)
	if err != nil {
		return "", nil, err
	}
	body, err := h.body()
	if err != nil {
		return "", nil, err
	}
	var answer []byte
	var places []string
	err = c.attempt(ctx, func(ctx context.Context) error {
		answer, places, err = c.post(ctx, body)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("log %s: submit: %w", c.BaseURL, err)
	}
	if answer != nil {
		uuid, err := c.accept(answer, anchoredHex, h)
		if err == nil {
			return uuid, answer, nil
		}
	}
	// The log has the entry. Its answer may have named another place than where it is, so the entry's own leaf hash,
	// which is a uuid too, comes last.
	leaf := merkle.LeafHash(body)
	places = append(places, hex.EncodeToString(leaf[:]))
	var uuid string
	var document []byte
	err = c.attempt(ctx, func(ctx context.Context) error {
		uuid, document, err = c.collect(ctx, places, anchoredHex, h)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("log %s: fetch the entry just submitted: %w", c.BaseURL, err)
	}
	return uuid, document, nil
}

// Entry implements [Appender] over HTTP. The document is strict JSON with one member named uuid; nothing else of it is
// checked.
func (c *Client) Entry(ctx context.Context, uuid string) ([]byte, error) {
	if !validUUID(uuid) {
		return nil, fmt.Errorf("log entry: uuid %s is not 64 or 80 lower-case hex", excerpt(uuid))
	}
	var document []byte
	err := c.attempt(ctx, func(ctx context.Context) error {
		var err error
		document, err = c.fetch(ctx, uuid)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("log %s: entry %s: %w", c.BaseURL, uuid, err)
	}
	name, value, err := soleMember(document)
	switch {
	case err != nil:
		return nil, fmt.Errorf("log %s: entry %s: %w", c.BaseURL, uuid, err)
	case name == uuid:
		return document, nil
	case len(uuid) == 64 && validUUID(name) && strings.HasSuffix(name, uuid):
		// Rekor answers a leaf hash with the entry's full name; the caller knows it by the short one.
		return canonjson.Compact(canonjson.NewObject(uuid, value)), nil
	default:
		return nil, fmt.Errorf("log %s: asked for entry %s, got %s", c.BaseURL, uuid, excerpt(name))
	}
}

// post submits an entry. It returns the answer of a log that took it, or where the log says that it already is.
func (c *Client) post(ctx context.Context, body []byte) (answer []byte, places []string, err error) {
	status, header, data, err := c.do(ctx, http.MethodPost, entriesPath, body)
	if err != nil {
		return nil, nil, err
	}
	switch status {
	case http.StatusCreated:
		if name, _, err := soleMember(data); err == nil && validUUID(name) {
			places = append(places, name)
		}
		return data, places, nil
	case http.StatusConflict:
		return nil, places409(header, data), nil
	default:
		return nil, nil, unexpected(status, data)
	}
}

// collect fetches the submitted entry from the first of places that has it.
func (c *Client) collect(ctx context.Context, places []string, anchoredHex string, h *hashedRekord) (string, []byte, error) {
	var errs []error
	for _, place := range places {
		document, err := c.fetch(ctx, place)
		if err == nil {
			var uuid string
			if uuid, err = c.accept(document, anchoredHex, h); err == nil {
				return uuid, document, nil
			}
		}
		errs = append(errs, fmt.Errorf("entry %s: %w", place, err))
	}
	// Inclusion takes a public log a moment, and so may the spread to all of its replicas.
	return "", nil, temporary{errors.Join(errs...)}
}

func (c *Client) fetch(ctx context.Context, uuid string) ([]byte, error) {
	status, _, data, err := c.do(ctx, http.MethodGet, entriesPath+"/"+uuid, nil)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return nil, ErrNotFound
	case status != http.StatusOK:
		return nil, unexpected(status, data)
	}
	return data, nil
}

// accept checks that a document is the entry that was submitted, and returns its uuid.
func (c *Client) accept(document []byte, anchoredHex string, h *hashedRekord) (string, error) {
	uuid, _, err := soleMember(document)
	if err != nil {
		return "", err
	}
	if len(c.Logs) > 0 {
		entry, err := VerifyEntry(uuid, document, anchoredHex, c.Logs)
		if err == nil && !bytes.Equal(entry.SubmitterDER, h.keyDER) {
			err = errors.New("it is signed by another key than the one submitted")
		}
		return uuid, err
	}
	v := &verification{uuid: uuid, anchored: anchoredHex, out: new(Entry)}
	if err := v.checkUUID(); err != nil {
		return "", err
	}
	if err := v.readDocument(document); err != nil {
		return "", err
	}
	if err := v.readBody(); err != nil {
		return "", err
	}
	if v.record.hash != sha256.Sum256([]byte(anchoredHex)) || !bytes.Equal(v.record.keyDER, h.keyDER) {
		return "", errors.New("it is about another artifact or signed by another key than the one submitted")
	}
	if err := errors.Join(v.checkEntrySignature(), v.checkLeaf()); err != nil {
		return "", err
	}
	return uuid, v.checkInclusion()
}

func soleMember(document []byte) (string, any, error) {
	value, err := canonjson.ParseStrict(document)
	if err != nil {
		return "", nil, fmt.Errorf("the answer is not strict JSON: %w", err)
	}
	o, err := as[*canonjson.Object](value, "")
	if err != nil {
		return "", nil, err
	}
	if o.Len() != 1 {
		return "", nil, fmt.Errorf("the answer has %d members, want one entry", o.Len())
	}
	name := o.Names()[0]
	v, _ := o.Get(name)
	return name, v, nil
}

var uuidInText = regexp.MustCompile(`\b(?:[0-9a-f]{80}|[0-9a-f]{64})\b`)

// places409 returns the uuids that a log names when it has the entry: in the Location header, else in the message.
func places409(header http.Header, data []byte) []string {
	var places []string
	for _, text := range []string{header.Get("Location"), string(data)} {
		if uuid := uuidInText.FindString(text); uuid != "" && !slices.Contains(places, uuid) {
			places = append(places, uuid)
		}
	}
	return places
}

func unexpected(status int, data []byte) error {
	err := fmt.Errorf("status %d: %s", status, excerpt(string(data)))
	if status == http.StatusTooManyRequests || status >= 500 {
		return temporary{err}
	}
	return err
}

// do makes one request. Its error is temporary unless the context ended.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (int, http.Header, []byte, error) {
	if c.HTTP == nil {
		return 0, nil, nil, errors.New("the client has no HTTP client")
	}
	ctx, cancel := context.WithTimeout(ctx, or(c.Timeout, DefaultTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.BaseURL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", or(c.UserAgent, "prova"))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return 0, nil, nil, temporary{err}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return 0, nil, nil, temporary{err}
	}
	if len(data) > maxDocument {
		return 0, nil, nil, fmt.Errorf("status %d with more than %d bytes", response.StatusCode, maxDocument)
	}
	return response.StatusCode, response.Header, data, nil
}

// attempt runs fn until it succeeds, fails for good, or the attempts are used up.
func (c *Client) attempt(ctx context.Context, fn func(context.Context) error) error {
	var err error
	for n := range max(1, or(c.Attempts, DefaultAttempts)) {
		if n > 0 {
			select {
			case <-time.After(or(c.Wait, DefaultWait)):
			case <-ctx.Done():
				return errors.Join(context.Cause(ctx), err)
			}
		}
		if err = fn(ctx); err == nil || !errors.As(err, new(temporary)) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// or returns v, or fallback when v is the zero value.
func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}
