package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Client does what an enrolled participant can do. It is safe for concurrent use
// and sends at most eight requests at once.
type Client struct {
	access Access
	wire   *wire
}

// NewClient returns a client for an access.
func NewClient(a *Access) *Client { return &Client{access: *a, wire: newWire(a.HTTP)} }

// Season is the season's number.
func (c *Client) Season() int { return c.access.Season }

// AgentDID is the enrolled DID.
func (c *Client) AgentDID() string { return c.access.AgentDID }

// Receipt is a consultation: the id of its proof and what the corpus answered.
type Receipt struct {
	ProofID string
	// Resource is the canonical URL without its host: what a claim names.
	Resource string
	// Status is the HTTP status with which the corpus answered; no proof covers it.
	Status int
	// Body is the value of the answer, without the stamp that the proxy adds after
	// hashing (T§4.10).
	Body any
}

// stampMember is what the proxy adds to a body, after hashing.
const stampMember = "_arkforge_attestation"

// Consult gets a corpus resource through the proxy, in the one form whose request
// hash the scorer recomputes (§2.4). The URL must be canonical, character for
// character. An answer other than 200 is an error that holds the corpus's own
// words; a corpus that is overloaded (503) is asked again first. With such an
// error the receipt still names the proof that was made.
func (c *Client) Consult(ctx context.Context, target string) (Receipt, error) {
	resource, err := resourceOf(target)
	if err != nil {
		return Receipt{}, err
	}
	pause := 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		r, err := c.consult(ctx, target, resource)
		if err != nil || r.Status != http.StatusServiceUnavailable || attempt == attempts {
			return r, errors.Join(err, r.refusal())
		}
		if err := c.wire.sleep(ctx, pause); err != nil {
			return r, err
		}
		pause *= 2
	}
}

func (c *Client) consult(ctx context.Context, target, resource string) (Receipt, error) {
	req := post(c.access.IssuerURL+"/v1/proxy",
		canonjson.NewObject("target", target, "method", http.MethodGet, "payload", canonjson.NewObject()),
		map[string]string{"X-Api-Key": c.access.APIKey})
	req.repeatable = true // A second call makes a second proof, nothing worse.
	answer, err := c.wire.call(ctx, req)
	r := Receipt{Resource: resource, ProofID: word(member(answer, "proof"), "proof_id")}
	if err != nil {
		return r, fmt.Errorf("consulting %s: %w", resource, err)
	}
	if !ValidProofID(r.ProofID) {
		return r, fmt.Errorf("consulting %s: the proxy's answer has no proof id in the form prf_YYYYMMDD_HHMMSS_xxxxxx", resource)
	}
	response := member(answer, "service_response")
	status, _ := member(response, "status_code").(canonjson.Int)
	n, ok := status.Int64()
	if !ok || n < 100 || n > 999 {
		return r, fmt.Errorf("consulting %s: the proxy's answer has no status_code of the corpus", resource)
	}
	r.Status, r.Body = int(n), member(response, "body")
	if o, ok := r.Body.(*canonjson.Object); ok && o.Has(stampMember) {
		o = o.Clone()
		o.Delete(stampMember)
		r.Body = o
	}
	return r, nil
}

// refusal is the error that an answer other than 200 is.
func (r Receipt) refusal() error {
	if r.Status == 0 || r.Status == http.StatusOK {
		return nil
	}
	why := word(member(r.Body, "explication"), "en")
	if why == "" {
		why = "the corpus gives no reason"
	}
	return fmt.Errorf("consulting %s: the corpus answered %d: %s", r.Resource, r.Status, oneLine(why))
}

// resourceOf is the path of a canonical URL.
func resourceOf(target string) (string, error) {
	rest, ok := strings.CutPrefix(target, "https://")
	host, path, found := strings.Cut(rest, "/")
	if !ok || host == "" || !found || path == "" || strings.ContainsAny(target, "?# \t\r\n") {
		return "", fmt.Errorf("consulting %q: take a canonical URL of the catalogue, https://host/path without a query", oneLine(target))
	}
	return "/" + path, nil
}

var proofIDForm = regexp.MustCompile(`^prf_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}$`)

// ValidProofID reports whether s has the form of a proof id (T§1).
func ValidProofID(s string) bool { return proofIDForm.MatchString(s) }

// Opening is a value with the nonce that opens its commitment.
type Opening struct{ Nonce, Value string }

// Disclosure is what a submission shows of a proof (§4): the two openings that
// tie it to a resource and to an answer.
type Disclosure struct{ RequestHash, ResponseHash Opening }

// Disclosures reads the pairs of one of the participant's own proofs.
func (c *Client) Disclosures(ctx context.Context, proofID string) (Disclosure, error) {
	if !ValidProofID(proofID) {
		return Disclosure{}, fmt.Errorf("proof id %q: the form is prf_YYYYMMDD_HHMMSS_xxxxxx", oneLine(proofID))
	}
	full, err := c.wire.call(ctx, get(c.access.IssuerURL+"/v1/proof/"+proofID+"/full", map[string]string{"X-Api-Key": c.access.APIKey}))
	if err != nil {
		return Disclosure{}, fmt.Errorf("reading the pairs of %s: %w", proofID, err)
	}
	opening := func(field string) Opening {
		return Opening{Nonce: word(member(full, "commitment_nonces"), field), Value: word(member(full, "chain_data"), field)}
	}
	d := Disclosure{RequestHash: opening("request_hash"), ResponseHash: opening("response_hash")}
	for field, o := range map[string]Opening{"request_hash": d.RequestHash, "response_hash": d.ResponseHash} {
		if !hexForm.MatchString(o.Nonce) || !hexForm.MatchString(o.Value) {
			return Disclosure{}, fmt.Errorf("reading the pairs of %s: %s has no nonce and value of 64 hex characters", proofID, field)
		}
	}
	return d, nil
}

var hexForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// disclosuresOf reads the pairs of several proofs, several at a time.
func (c *Client) disclosuresOf(ctx context.Context, ids []string) (map[string]Disclosure, error) {
	var wg sync.WaitGroup
	found, errs := make([]Disclosure, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		wg.Go(func() { found[i], errs[i] = c.Disclosures(ctx, id) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := make(map[string]Disclosure, len(ids))
	for i, id := range ids {
		out[id] = found[i]
	}
	return out, nil
}

// Submit submits one task; the last submission of a task stands (§7.4). The pairs
// of cited proofs that the submission does not bring are read first. A refusal is
// a [StatusError] with every fault that the season found, and nothing is recorded.
func (c *Client) Submit(ctx context.Context, s Submission) error {
	var missing []string
	for _, id := range s.cited() {
		if _, ok := s.Disclosures[id]; !ok {
			missing = append(missing, id)
		}
	}
	read, err := c.disclosuresOf(ctx, missing)
	if err != nil {
		return fmt.Errorf("submitting %s: %w", oneLine(s.TaskID), err)
	}
	body := s.object(c.access.Season, c.access.AgentDID, read)
	req := post(c.season("/submit"), body, map[string]string{"Authorization": "Bearer " + c.access.SeasonToken})
	req.repeatable = true // The same submission again replaces itself.
	answer, err := c.wire.call(ctx, req)
	if err != nil {
		return fmt.Errorf("submitting %s: %w", oneLine(s.TaskID), err)
	}
	if member(answer, "recorded") != true {
		return fmt.Errorf("submitting %s: the season's answer does not say that it is recorded", oneLine(s.TaskID))
	}
	return nil
}

func (c *Client) season(path string) string {
	return seasonURL(c.access.SeasonURL, c.access.Season, path)
}

func seasonURL(base string, season int, path string) string {
	return base + "/v1/season/" + strconv.Itoa(season) + path
}

// Rules are a track's published rules as far as a participant needs them to write
// a submission that is taken (bundle format §4).
type Rules struct {
	Verdicts []string
	// Collections are the collections with probative fields, as published.
	Collections []Collection
}

// Collection is a path prefix and the pointer patterns that may be asserted below it.
type Collection struct {
	Prefix string
	Fields []string
}

// Rules reads the frozen rules of a track.
func (c *Client) Rules(ctx context.Context, trackName string) (Rules, error) {
	v, err := c.wire.call(ctx, get(c.season("/rules/"+url.PathEscape(trackName)+".json"), nil))
	if err != nil {
		return Rules{}, fmt.Errorf("reading the rules of %s: %w", trackName, err)
	}
	r := Rules{Verdicts: texts(v, "verdicts")}
	fields, ok := member(v, "probative_fields").(*canonjson.Object)
	if !ok || len(r.Verdicts) == 0 {
		return Rules{}, fmt.Errorf("reading the rules of %s: they have no verdicts or no probative_fields", trackName)
	}
	for prefix := range fields.All() {
		r.Collections = append(r.Collections, Collection{Prefix: prefix, Fields: texts(fields, prefix)})
	}
	return r, nil
}

// openPoll is how often AwaitOpen looks.
const openPoll = 200 * time.Millisecond

// AwaitOpen returns when the season takes submissions. A season that is past its
// close is an error.
func (c *Client) AwaitOpen(ctx context.Context) error {
	for {
		v, err := c.wire.call(ctx, get(c.season(""), nil))
		if err != nil {
			return fmt.Errorf("waiting for season %d to open: %w", c.access.Season, err)
		}
		if member(v, "ouverte") == true {
			return nil
		}
		switch state := word(v, "state"); state {
		case "closed", "scored", "published":
			return fmt.Errorf("season %d is %s: it takes no submissions any more", c.access.Season, state)
		}
		if err := c.wire.sleep(ctx, openPoll); err != nil {
			return err
		}
	}
}
