package season

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/did"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// Enrolment is a participant of a season (bundle format §8).
type Enrolment struct {
	AgentDID      string
	AgentName     string
	DeclaredStack *string // As the operator said it; nothing checks it.
	EnrolledAt    time.Time
	Kind          string   // bundle.KindCommunity or bundle.KindReference.
	Run           *Run     // Of a reference run.
	LinkedDIDs    []string // Other DIDs ever bound to a key that was ever bound to AgentDID, sorted.
}

// Run is what a reference run publishes about itself (§7.1).
type Run struct {
	Model     string `json:"model"`
	Version   string `json:"version"`
	Framework string `json:"framework"`
	Prompt    string `json:"prompt"`
}

// maxDID keeps <did>.json a name that every file system takes (255 bytes).
const maxDID = 240

type newEnrolment struct {
	Enrolment
	keySHA256, tokenSHA256, nameKey string
}

// Enrolled is what a participant gets. The token is shown this once.
type Enrolled struct {
	SeasonToken string
	AgentDID    string
	Tasks       *canonjson.Object // Track → array of tasks, as published.
}

// Enrol enrols the DID that is bound to an API key (§3 step 3, §9.1). The checks
// come in the order of the answers' table: the key (401), its DID and the window
// (403), what is enrolled already (409), the request itself (422, every fault).
func (s *Service) Enrol(ctx context.Context, number int64, apiKey string, body []byte) (Enrolled, error) {
	season, err := s.Season(ctx, number)
	if err != nil {
		return Enrolled{}, err
	}
	identity, err := s.identify(ctx, apiKey)
	if err != nil {
		return Enrolled{}, err
	}
	e := newEnrolment{
		Enrolment: Enrolment{AgentDID: identity.DID, Kind: bundle.KindCommunity},
		keySHA256: hexSum([]byte(apiKey)),
	}
	if err := enrolling(season); err != nil {
		return Enrolled{}, err
	}
	if err := s.standsAgainst(ctx, number, e); err != nil {
		return Enrolled{}, err
	}
	if err := e.read(body); err != nil {
		return Enrolled{}, err
	}
	tasks, err := s.allTasks(ctx, season)
	if err != nil {
		return Enrolled{}, err
	}
	linked, err := s.issuer.LinkedDIDs(ctx, e.AgentDID)
	if err != nil {
		// The close asks again; the key's own history is known in any case.
		s.log.WarnContext(ctx, "the issuer did not answer for linked DIDs; they are asked for again at the close", "did", e.AgentDID, "error", err)
	}
	e.LinkedDIDs = links(e.AgentDID, identity.Past, linked)
	var raw [32]byte
	if _, err := io.ReadFull(s.random, raw[:]); err != nil {
		return Enrolled{}, fmt.Errorf("enrolling: no randomness for a token: %w", err)
	}
	token := "pst_" + hex.EncodeToString(raw[:])
	e.tokenSHA256 = hexSum([]byte(token))
	if err := s.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.enrolIn(ctx, tx, number, e) }); err != nil {
		return Enrolled{}, err
	}
	return Enrolled{SeasonToken: token, AgentDID: e.AgentDID, Tasks: tasks}, nil
}

// identify asks the issuer whose key it is.
func (s *Service) identify(ctx context.Context, apiKey string) (Identity, error) {
	if apiKey == "" {
		return Identity{}, refuse(Unauthorized, "send your API key in the header X-Api-Key")
	}
	identity, err := s.issuer.Identity(ctx, apiKey)
	switch {
	case err != nil:
		s.log.ErrorContext(ctx, "the issuer did not answer for a key", "error", err)
		return Identity{}, refuse(Unavailable, "the issuer does not answer at this moment, so the key cannot be checked; try again")
	case !identity.Known:
		return Identity{}, refuse(Unauthorized, "the issuer does not know this API key")
	case identity.DID == "":
		return Identity{}, refuse(Forbidden, "no DID is bound to this key: bind one with POST /v1/keys/bind-did at the issuer")
	case !did.IsDID(identity.DID), !bundle.ValidDIDFolder(identity.DID), len(identity.DID) > maxDID:
		return Identity{}, refuse(Forbidden, "the DID bound to this key has a form that a season bundle cannot hold; bind a did:key or a did:web")
	}
	return identity, nil
}

// enrolling refuses enrolment before the freeze and from the close on.
func enrolling(season Season) error {
	switch {
	case !season.State.Reached(Frozen):
		return refuse(Forbidden, "season %d is not frozen yet; enrolment begins then", season.Number)
	case season.State.Reached(Closed):
		return refuse(Forbidden, "season %d is closed", season.Number)
	}
	return nil
}

// standsAgainst reads whether key or DID are enrolled; the transaction that
// records an enrolment looks again.
func (s *Service) standsAgainst(ctx context.Context, number int64, e newEnrolment) error {
	tx, err := s.db.Reader().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("enrolling: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // It only reads.
	key, agent, _, err := taken(ctx, tx, number, e)
	if err != nil {
		return fmt.Errorf("enrolling: %w", err)
	}
	return conflict(key, agent)
}

func conflict(key, agent bool) error {
	switch {
	case key:
		return refuse(Conflict, "this key is enrolled already: a key enrols one DID a season (§9.1)")
	case agent:
		return refuse(Conflict, "this DID is enrolled already")
	}
	return nil
}

func (s *Service) enrolIn(ctx context.Context, tx *sql.Tx, number int64, e newEnrolment) error {
	e.EnrolledAt = s.now()
	season, err := lockSeason(ctx, tx, number, e.EnrolledAt)
	if err != nil {
		return err
	}
	if err := enrolling(season); err != nil {
		return err
	}
	key, agent, name, err := taken(ctx, tx, number, e)
	if err != nil {
		return err
	}
	if err := conflict(key, agent); err != nil {
		return err
	}
	if name {
		return &Refusal{Kind: Invalid, Why: "the enrolment has faults", Faults: []Fault{{"/agent_name", "is taken by another participant (upper and lower case and look-alike forms count as the same); choose another"}}}
	}
	return insertEnrolment(ctx, tx, number, e)
}

// read takes the request's members: a strict object, no others than these.
func (e *newEnrolment) read(body []byte) error {
	var faults []Fault
	fault := func(pointer, message string) { faults = append(faults, Fault{pointer, message}) }
	v, err := canonjson.ParseStrict(body)
	if err != nil {
		return &Refusal{Kind: Invalid, Why: "the enrolment has faults", Faults: []Fault{{"", "the body must be one strict JSON object (UTF-8 without BOM, no member twice): " + err.Error()}}}
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return &Refusal{Kind: Invalid, Why: "the enrolment has faults", Faults: []Fault{{"", "the body must be a JSON object with agent_name and accept_terms"}}}
	}
	known := []string{"agent_name", "declared_stack", "accept_terms"}
	for name := range o.All() {
		if !slices.Contains(known, name) {
			if len(faults) == 20 {
				break // The rest would say the same.
			}
			fault("/"+escapePointer(name), "is not a member of an enrolment: remove it")
		}
	}
	name, present := o.Get("agent_name")
	text, ok := name.(string)
	switch why := textFault(text, maxName); {
	case !present:
		fault("/agent_name", "is missing: add the name that the Index will show")
	case !ok:
		fault("/agent_name", "must be a string")
	case why != "":
		fault("/agent_name", why)
	}
	e.AgentName, e.nameKey = text, nameKey(text)
	if stack, present := o.Get("declared_stack"); present && stack != nil {
		text, ok := stack.(string)
		if why := textFault(text, maxStack); !ok {
			fault("/declared_stack", "must be a string or null")
		} else if why != "" {
			fault("/declared_stack", why)
		}
		e.DeclaredStack = &text
	}
	if terms, _ := o.Get("accept_terms"); terms != true {
		fault("/accept_terms", "must be true: assertions, disclosures and reports become public at the close")
	}
	if len(faults) > 0 {
		return &Refusal{Kind: Invalid, Why: "the enrolment has faults", Faults: faults}
	}
	return nil
}

func escapePointer(token string) string {
	if len(token) > 80 {
		token = strings.ToValidUTF8(token[:80], "")
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// allTasks are the tasks of every track, as published.
func (s *Service) allTasks(ctx context.Context, season Season) (*canonjson.Object, error) {
	tracks, err := s.tracks(ctx, season.Definition)
	if err != nil {
		return nil, err
	}
	tasks := canonjson.NewObject()
	for _, name := range season.Tracks {
		f, ok := tracks[name]
		if !ok {
			return nil, fmt.Errorf("season %d: track %s is frozen and its freeze is not there", season.Number, name)
		}
		tasks.Set(name, f.tasksValue)
	}
	return tasks, nil
}

// links joins lists of linked DIDs: sorted, each once, not the DID itself.
func links(own string, lists ...[]string) []string {
	out := []string{}
	for _, d := range slices.Concat(lists...) {
		if d != own && did.IsDID(d) {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MarkReference makes an enrolment a reference run of the operator's, with what
// it publishes about itself. Until the season is scored.
func (s *Service) MarkReference(ctx context.Context, number int64, agentDID string, run Run) error {
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		season, err := lockSeason(ctx, tx, number, s.now())
		if err != nil {
			return err
		}
		if season.State.Reached(Scored) {
			return fmt.Errorf("reference run %s: %w: season %d is scored", agentDID, ErrState, number)
		}
		found, err := setReference(ctx, tx, number, agentDID, bundle.KindReference, run)
		if err == nil && !found {
			err = refuse(NotFound, "%s is not enrolled in season %d", agentDID, number)
		}
		return err
	})
}
