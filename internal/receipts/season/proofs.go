package season

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// ProofSource reads what a bundle needs from the issuer and the log at the close.
type ProofSource interface {
	// Proofs reads public views and hands each to keep as soon as it is there;
	// a proof that the issuer does not show is left out. After an error those kept
	// are good, and the call can be repeated with the rest.
	Proofs(ctx context.Context, ids []string, keep func(id string, view []byte) error) error
	// LogEntry reads the transparency-log entry with this uuid:
	// {"<uuid>":{…}}.
	LogEntry(ctx context.Context, uuid string) ([]byte, error)
}

// proofsPerRead is the most that POST /v1/proofs takes (T§3.7).
const proofsPerRead = 50

// proofsLimit bounds the answer to one read: 50 views of some kilobytes each.
const proofsLimit = 16 << 20

// RateLimitError says that the issuer wants a pause (T§3.5: 101 reads an hour).
type RateLimitError struct{ RetryAfter time.Duration }

// Error says how long the pause is.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("the issuer's read limit is reached; go on in %s", e.RetryAfter)
}

// HTTP reads proofs over HTTP, 50 a call.
type HTTP struct {
	// Issuer is the base URL of the public routes, without a trailing slash.
	Issuer string
	// Client makes the calls; it must have a timeout.
	Client *http.Client
	// Log reads entries of the transparency log.
	Log interface {
		Entry(ctx context.Context, uuid string) ([]byte, error)
	}
}

// Proofs reads each id once, in batches. Views are the bytes the issuer sent.
func (h HTTP) Proofs(ctx context.Context, ids []string, keep func(id string, view []byte) error) error {
	for _, id := range ids {
		if !bundle.ValidProofID(id) {
			return fmt.Errorf("proofs: %q is no proof id", id)
		}
	}
	for batch := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), proofsPerRead) {
		views, err := h.read(ctx, batch)
		if err != nil {
			return fmt.Errorf("proofs: %w", err)
		}
		for _, id := range batch {
			view, ok := views[id]
			if !ok || view.Kind() == 'n' {
				continue
			}
			if view.Kind() != '{' {
				return fmt.Errorf("proofs: the issuer's view of %s is no object", id)
			}
			if err := keep(id, view); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h HTTP) read(ctx context.Context, ids []string) (map[string]jsontext.Value, error) {
	body, err := json.Marshal(map[string][]string{"proof_ids": ids})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Issuer+"/v1/proofs", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", userAgent)
	resp, err := h.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusTooManyRequests {
		pause := time.Hour // The issuer's window when it does not say.
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && s < 86400 {
			pause = time.Duration(s) * time.Second
		}
		return nil, &RateLimitError{RetryAfter: pause}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer answers %d", resp.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, proofsLimit+1))
	if err != nil {
		return nil, err
	}
	if len(answer) > proofsLimit {
		return nil, fmt.Errorf("the answer is larger than %d bytes", proofsLimit)
	}
	var out struct {
		Proofs map[string]jsontext.Value `json:"proofs"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("the answer is not the JSON expected: %w", err)
	}
	if out.Proofs == nil {
		return nil, errors.New("the answer has no member proofs")
	}
	return out.Proofs, nil
}

// LogEntry reads one entry of the log.
func (h HTTP) LogEntry(ctx context.Context, uuid string) ([]byte, error) {
	if !bundle.ValidEntryUUID(uuid) {
		return nil, fmt.Errorf("log entry: %q is no uuid of an entry", uuid)
	}
	return h.Log.Entry(ctx, uuid)
}
