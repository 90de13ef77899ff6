package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

// public are the routes that anyone may use.
func (s *server) public() []route {
	get := func(path string, serve handle) route { return route{http.MethodGet, path, s.placed(serve)} }
	return []route{
		{http.MethodGet, "/health", s.health}, // without a place: a host that is busy is alive
		get("/v1/status", s.status),
		get("/v1/proof/topics", s.topics),
		get("/v1/proof/topics/{id}", s.topic),
		get("/v1/proof/topics/{id}/rules", s.rules),
		get("/v1/proof/topics/{id}/promotions", s.promotions),
		get("/v1/proof/topics/{id}/readiness", s.readiness),
		get("/v1/proof/executor", s.executor),
		get("/v1/proof/epochs", s.epochs),
		get("/v1/proof/epochs/{n}/snapshot", s.snapshot),
		get("/v1/proof/epochs/{n}/payout", s.payout),
		{http.MethodPost, "/v1/submissions", s.submit}, // takes its places itself
		get("/v1/submissions", s.rows),
		get("/v1/submissions/{id}", s.row),
		get("/v1/submissions/{id}/{part}", s.part),
		get("/v1/submissions/by-digest/{digest}", s.byDigest),
	}
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) error {
	return value(w, http.StatusOK, struct {
		OK             bool   `json:"ok"`
		ChallengeID    string `json:"challenge_id"`
		ScoringVersion int    `json:"scoring_version"`
	}{true, pin.ChallengeID, pin.ScoringVersion})
}

func (s *server) status(w http.ResponseWriter, r *http.Request) error {
	status, err := s.host.Status(r.Context())
	if err != nil {
		return err
	}
	return value(w, http.StatusOK, status)
}

// items is the form of every list.
type items[T any] struct {
	Items []T `json:"items"`
}

func (s *server) topics(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r.URL.RawQuery, "status")
	if err != nil {
		return err
	}
	documents, err := s.host.Topics(q.Get("status"))
	if err != nil {
		return err
	}
	list := items[jsontext.Value]{[]jsontext.Value{}}
	for _, d := range documents {
		body, err := d.JSON()
		if err != nil {
			return fmt.Errorf("topic %s: %w", d.ID, err)
		}
		list.Items = append(list.Items, body)
	}
	return value(w, http.StatusOK, list)
}

func (s *server) topic(w http.ResponseWriter, r *http.Request) error {
	d, err := s.host.Topic(r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := d.JSON()
	if err != nil {
		return fmt.Errorf("topic %s: %w", d.ID, err)
	}
	return text(w, http.StatusOK, body)
}

// ruleSet is a version of a topic's rules; Digest is what checklists bind to (R§16.2).
type ruleSet struct {
	TopicID string           `json:"topic_id"`
	Version uint32           `json:"version"`
	Source  topic.RuleSource `json:"source"`
	Digest  string           `json:"digest"`
	Rules   []rule           `json:"rules"`
}

type rule struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func wireRules(set *topic.RuleSet) (ruleSet, error) {
	sum, err := set.Digest()
	if err != nil {
		return ruleSet{}, fmt.Errorf("rules of %s: %w", set.TopicID, err)
	}
	out := ruleSet{set.TopicID, set.Version, set.Source, hex.EncodeToString(sum[:]), []rule{}}
	for _, r := range set.Rules {
		out.Rules = append(out.Rules, rule(r))
	}
	return out, nil
}

// rules answers with the newest version, which is the one that counts, and with those
// that it replaced.
func (s *server) rules(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	sets, err := s.host.Rules(r.Context(), id)
	if err != nil {
		return err
	}
	if len(sets) == 0 {
		return bad(http.StatusNotFound, "topic %q has no rules yet", id)
	}
	out := struct {
		ruleSet
		Earlier []ruleSet `json:"earlier"` // oldest first
	}{Earlier: []ruleSet{}}
	for i := range sets {
		set, err := wireRules(&sets[i])
		if err != nil {
			return err
		}
		if i < len(sets)-1 {
			out.Earlier = append(out.Earlier, set)
		} else {
			out.ruleSet = set
		}
	}
	return value(w, http.StatusOK, out)
}

// promotion is one crown (R§19).
type promotion struct {
	ID               int64     `json:"id"`
	TopicID          string    `json:"topic_id"`
	SubmissionID     string    `json:"submission_id"`
	SubmissionDigest string    `json:"submission_digest"`
	PrimaryValue     float64   `json:"primary_value"`
	Bar              *float64  `json:"bar"`           // that it was decided against
	PreviousBest     *string   `json:"previous_best"` // row that it displaced
	Epoch            uint64    `json:"epoch"`
	CreatedAt        time.Time `json:"created_at"`
}

func (s *server) promotions(w http.ResponseWriter, r *http.Request) error {
	crowns, err := s.host.Promotions(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	list := items[promotion]{[]promotion{}}
	for _, p := range crowns {
		list.Items = append(list.Items, promotion{
			p.ID, p.TopicID, p.SubmissionID, p.SubmissionDigest, p.Primary, p.Bar, p.PreviousBest, p.Epoch, p.CreatedAt.UTC(),
		})
	}
	return value(w, http.StatusOK, list)
}

func (s *server) readiness(w http.ResponseWriter, r *http.Request) error {
	ready, err := s.host.Readiness(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return value(w, http.StatusOK, ready)
}

func (s *server) executor(w http.ResponseWriter, _ *http.Request) error {
	return value(w, http.StatusOK, s.host.Executor())
}

func (s *server) epochs(w http.ResponseWriter, _ *http.Request) error {
	return value(w, http.StatusOK, s.host.Epochs())
}

// closed finds the epoch of a path among those that are over.
func (s *server) closed(r *http.Request) (*host.ClosedEpoch, error) {
	n, err := epochNumber(r.PathValue("n"))
	if err != nil {
		return nil, err
	}
	for _, e := range s.host.Epochs().Closed {
		if e.Epoch == n {
			return &e, nil
		}
	}
	return nil, bad(http.StatusNotFound, "epoch %d is not closed", n)
}

// known reports whether the client has this answer already, and says so.
func known(w http.ResponseWriter, r *http.Request, tag string) bool {
	tag = `"` + tag + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache") // may be kept, and is asked about each time
	for has := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if has = strings.TrimPrefix(strings.TrimSpace(has), "W/"); has == tag || has == "*" {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

func (s *server) snapshot(w http.ResponseWriter, r *http.Request) error {
	e, err := s.closed(r)
	if err != nil || known(w, r, e.SHA256) {
		return err
	}
	body, err := s.host.Snapshot(r.Context(), e.Epoch)
	if err != nil {
		return err
	}
	large(w, r, time.Now, len(body))
	return text(w, http.StatusOK, body)
}

func (s *server) payout(w http.ResponseWriter, r *http.Request) error {
	e, err := s.closed(r)
	if err != nil || known(w, r, "payout-"+e.SHA256) {
		return err
	}
	result, err := s.payouts.of(r.Context(), e.Epoch)
	if err != nil {
		return err
	}
	body, err := result.Encode()
	if err != nil {
		return fmt.Errorf("payout of epoch %d: %w", e.Epoch, err)
	}
	large(w, r, time.Now, len(body))
	return text(w, http.StatusOK, body)
}

func (s *server) rows(w http.ResponseWriter, r *http.Request) error {
	q, err := rowQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	page, err := s.host.Rows(r.Context(), q)
	if err != nil {
		return err
	}
	return writePage(w, page)
}

func writePage(w http.ResponseWriter, page *host.RowPage) error {
	out := struct {
		items[jsontext.Value]
		Next *string `json:"next"`
	}{items[jsontext.Value]{[]jsontext.Value{}}, page.Next}
	for _, row := range page.Items {
		body, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("row %s: %w", row.ID, err)
		}
		out.Items = append(out.Items, body)
	}
	return value(w, http.StatusOK, out)
}

func (s *server) row(w http.ResponseWriter, r *http.Request) error {
	row, err := s.host.Row(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return value(w, http.StatusOK, row)
}

// part answers for what belongs to a row; its artefact is all that there is
// (decision 19).
func (s *server) part(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("part") != "artefact" {
		return bad(http.StatusNotFound, noRoute)
	}
	id := r.PathValue("id")
	zip, err := s.host.ArtefactOf(r.Context(), id)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(zip)
	if known(w, r, hex.EncodeToString(sum[:])) {
		return nil
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+id+`.zip"`)
	large(w, r, time.Now, len(zip))
	httpx.Bytes(w, http.StatusOK, "application/zip", zip)
	return nil
}

func (s *server) byDigest(w http.ResponseWriter, r *http.Request) error {
	digest := r.PathValue("digest")
	if stored, ok := intake.Hex64(digest); !ok || stored != digest {
		return bad(http.StatusBadRequest, "submission digest %q: want 64 lower-case hexadecimal digits", cut(digest))
	}
	reply, err := s.host.ByDigest(r.Context(), digest)
	if err != nil {
		return err
	}
	return answer(w, reply)
}

// answer writes a reply of the host.
func answer(w http.ResponseWriter, reply *host.Reply) error {
	if reply.Location != "" {
		w.Header().Set("Location", reply.Location)
	}
	retry(w, reply.RetryAfter)
	return text(w, reply.Status, reply.JSON)
}
