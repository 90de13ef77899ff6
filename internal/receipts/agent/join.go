package agent

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/did"
)

// JoinOptions say where to join and as whom.
type JoinOptions struct {
	IssuerURL, SeasonURL string // A trailing slash is dropped.
	Season               int
	// Name is the agent's name on the Index, Email the address of the sign-up.
	Name, Email string
	// DeclaredStack is what the operator says of the agent; empty means nothing.
	DeclaredStack string
	HTTP          *http.Client // nil: a client with a timeout of its own.
	// Rand makes the key of the DID, normally crypto/rand.Reader.
	Rand io.Reader
}

// Join takes the first three steps of a participant (§3): a free key, a did:key
// made here and bound to it, the enrolment with accepted terms; then it reads the
// catalogues. The private key of the DID serves the one binding and is not kept.
//
// A step that is refused ends it with that step's [StatusError]. Nothing is
// repeated that could take effect twice.
func Join(ctx context.Context, o JoinOptions) (*Access, *Work, error) {
	a := &Access{
		IssuerURL: strings.TrimSuffix(o.IssuerURL, "/"), SeasonURL: strings.TrimSuffix(o.SeasonURL, "/"),
		Season: o.Season, HTTP: o.HTTP,
	}
	w := newWire(o.HTTP)
	if err := signUp(ctx, w, a, o.Email); err != nil {
		return nil, nil, err
	}
	if err := bind(ctx, w, a, o.Rand); err != nil {
		return nil, nil, err
	}
	work, err := enrol(ctx, w, a, o)
	if err != nil {
		return nil, nil, err
	}
	for name := range work.Tracks {
		if err := readCatalogue(ctx, w, a, work, name); err != nil {
			return nil, nil, err
		}
	}
	return a, work, nil
}

func signUp(ctx context.Context, w *wire, a *Access, email string) error {
	v, err := w.call(ctx, post(a.IssuerURL+"/v1/keys/free-signup", canonjson.NewObject("email", email), nil))
	if err != nil {
		return fmt.Errorf("signing up: %w", err)
	}
	if a.APIKey = word(v, "api_key"); a.APIKey == "" {
		return errors.New("signing up: the answer has no api_key")
	}
	return nil
}

// bind makes a did:key and proves it (T§12): the signature is over the ASCII
// bytes of the challenge, whatever it looks like.
func bind(ctx context.Context, w *wire, a *Access, random io.Reader) error {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return fmt.Errorf("binding a DID: no randomness for its key: %w", err)
	}
	private := ed25519.NewKeyFromSeed(seed)
	public, _ := private.Public().(ed25519.PublicKey)
	a.AgentDID = did.FormatKey(public)
	key := map[string]string{"X-Api-Key": a.APIKey}
	v, err := w.call(ctx, post(a.IssuerURL+"/v1/keys/bind-did", canonjson.NewObject("did", a.AgentDID), key))
	if err != nil {
		return fmt.Errorf("binding %s: %w", a.AgentDID, err)
	}
	challenge := word(v, "challenge")
	if challenge == "" {
		return fmt.Errorf("binding %s: the answer has no challenge", a.AgentDID)
	}
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(challenge)))
	v, err = w.call(ctx, post(a.IssuerURL+"/v1/keys/bind-did/confirm", canonjson.NewObject("challenge", challenge, "signature", signature), key))
	if err != nil {
		return fmt.Errorf("confirming %s: %w", a.AgentDID, err)
	}
	if word(v, "verified_did") != a.AgentDID {
		return fmt.Errorf("confirming %s: the answer names another DID", a.AgentDID)
	}
	return nil
}

func enrol(ctx context.Context, w *wire, a *Access, o JoinOptions) (*Work, error) {
	body := canonjson.NewObject("agent_name", o.Name, "accept_terms", true)
	if o.DeclaredStack != "" {
		body.Set("declared_stack", o.DeclaredStack)
	}
	v, err := w.call(ctx, post(seasonURL(a.SeasonURL, a.Season, "/enroll"), body, map[string]string{"X-Api-Key": a.APIKey}))
	if err != nil {
		return nil, fmt.Errorf("enrolling %q: %w", o.Name, err)
	}
	if a.SeasonToken = word(v, "season_token"); a.SeasonToken == "" {
		return nil, fmt.Errorf("enrolling %q: the answer has no season_token", o.Name)
	}
	if word(v, "agent_did") != a.AgentDID {
		return nil, fmt.Errorf("enrolling %q: the answer names another DID than the one bound", o.Name)
	}
	tracks, ok := member(v, "tasks").(*canonjson.Object)
	if !ok {
		return nil, fmt.Errorf("enrolling %q: the answer has no tasks", o.Name)
	}
	work := &Work{Season: a.Season, Tracks: map[string]TrackWork{}}
	for name, list := range tracks.All() {
		tasks, err := parseTasks(list)
		if err != nil {
			return nil, fmt.Errorf("enrolling %q: the tasks of track %s: %w", o.Name, oneLine(name), err)
		}
		work.Tracks[name] = TrackWork{Tasks: tasks}
	}
	return work, nil
}

// parseTasks reads an array of tasks. Members that are not known here are left out.
func parseTasks(v any) ([]Task, error) {
	var tasks []Task
	if err := json.Unmarshal(canonjson.Compact(v), &tasks); err != nil {
		return nil, err
	}
	for i, t := range tasks {
		switch {
		case t.TaskID == "":
			return nil, fmt.Errorf("task %d has no task_id", i)
		case t.Minimum < 1 || t.Cap < t.Minimum:
			return nil, fmt.Errorf("task %s: minimum %d and cap %d do not fit", oneLine(t.TaskID), t.Minimum, t.Cap)
		case t.Target.Kind() != jsontext.KindBeginObject:
			return nil, fmt.Errorf("task %s: target is not an object", oneLine(t.TaskID))
		}
	}
	return tasks, nil
}

func readCatalogue(ctx context.Context, w *wire, a *Access, work *Work, name string) error {
	req := get(seasonURL(a.SeasonURL, a.Season, "/catalogue/"+url.PathEscape(name)), nil)
	req.limit = catalogueLimit
	v, err := w.call(ctx, req)
	if err != nil {
		return fmt.Errorf("reading the catalogue of %s: %w", name, err)
	}
	t := work.Tracks[name]
	t.CorpusHost, t.Catalogue = word(v, "corpus_host"), texts(v, "urls")
	if t.CorpusHost == "" || len(t.Catalogue) == 0 {
		return fmt.Errorf("reading the catalogue of %s: it has no corpus_host or no urls", name)
	}
	work.Tracks[name] = t
	return nil
}
