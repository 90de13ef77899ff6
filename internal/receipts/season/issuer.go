package season

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Identity is what the issuer says about an API key.
type Identity struct {
	Known bool     // False: no such key.
	DID   string   // The DID bound to it now; empty if none is.
	Past  []string // DIDs that were bound to it before (verified_did_history).
}

// Issuer answers who is behind a key (§9.1).
type Issuer interface {
	// Identity reads the binding of a key. An error means that the issuer could
	// not be asked.
	Identity(ctx context.Context, apiKey string) (Identity, error)
	// LinkedDIDs lists every other DID that was ever bound to a key that was ever
	// bound to did. An issuer that cannot tell returns none.
	LinkedDIDs(ctx context.Context, did string) ([]string, error)
}

// userAgent is sent with every call: the public issuer's edge refuses an empty
// one (T§1).
const userAgent = "prova-season/1"

// answerLimit bounds what is read of an answer about one key or DID.
const answerLimit = 1 << 20

// HTTPIssuer asks an issuer over HTTP.
type HTTPIssuer struct {
	// Public is the base URL of the public routes, without a trailing slash.
	Public string
	// Internal is the base URL of the issuer's internal listener. Empty for a
	// foreign issuer, of which only the history of each key is known.
	Internal string
	// Client makes the calls; it must have a timeout.
	Client *http.Client
}

// Identity is GET /v1/keys/identity (T§3.13).
func (i HTTPIssuer) Identity(ctx context.Context, apiKey string) (Identity, error) {
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return Identity{}, nil // No issuer gives out such a key, and no header could carry it.
	}
	var answer struct {
		DID     *string `json:"verified_did"`
		History []struct {
			DID string `json:"did"`
		} `json:"verified_did_history"`
	}
	status, err := get(ctx, i.Client, i.Public+"/v1/keys/identity", http.Header{"X-Api-Key": {apiKey}}, &answer)
	switch {
	case err != nil:
		return Identity{}, fmt.Errorf("issuer: identity: %w", err)
	case status == http.StatusUnauthorized:
		return Identity{}, nil
	case status != http.StatusOK:
		return Identity{}, fmt.Errorf("issuer: identity: status %d", status)
	}
	out := Identity{Known: true}
	if answer.DID != nil {
		out.DID = *answer.DID
	}
	for _, h := range answer.History {
		out.Past = append(out.Past, h.DID)
	}
	return out, nil
}

// LinkedDIDs is GET /internal/v1/linked-dids?did= of the internal listener, which
// answers {"did":…,"linked_dids":[…]}.
func (i HTTPIssuer) LinkedDIDs(ctx context.Context, did string) ([]string, error) {
	if i.Internal == "" {
		return nil, nil
	}
	var answer struct {
		Linked []string `json:"linked_dids"`
	}
	status, err := get(ctx, i.Client, i.Internal+"/internal/v1/linked-dids?did="+url.QueryEscape(did), nil, &answer)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return nil, fmt.Errorf("issuer: linked DIDs: %w", err)
	}
	return answer.Linked, nil
}

// get reads a JSON answer of status 200 into out; of any other only the status.
func get(ctx context.Context, c *http.Client, target string, header http.Header, out any) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("Accept", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit+1))
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp.StatusCode, err
	}
	if len(body) > answerLimit {
		return resp.StatusCode, fmt.Errorf("the answer is larger than %d bytes", answerLimit)
	}
	// The decoder's error would quote the answer, which may hold what was asked.
	if err := json.Unmarshal(body, out); err != nil {
		return resp.StatusCode, fmt.Errorf("the answer is not the JSON expected")
	}
	return resp.StatusCode, nil
}
