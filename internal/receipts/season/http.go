package season

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/httpx"
)

// Limits of bodies, in bytes: a submission of the largest task with long
// narrative is some tens of kilobytes.
const (
	enrolLimit  = 64 << 10
	submitLimit = 1 << 20
	freezeLimit = 64 << 10
)

// Handler serves the public routes of design §3.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	route := func(method, pattern string, h func(w http.ResponseWriter, r *http.Request, number int64) error) {
		mux.HandleFunc("/v1/season/{n}"+pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
				w.Header().Set("Allow", method)
				httpx.Problem(w, http.StatusMethodNotAllowed, "this route takes "+method+" only")
				return
			}
			number, err := seasonNumber(r.PathValue("n"))
			if err == nil {
				err = h(w, r, number)
			}
			if err != nil {
				s.fail(w, r, err)
			}
		})
	}
	route(http.MethodGet, "", s.getStatus)
	route(http.MethodGet, "/rules/{file}", s.getRules)
	route(http.MethodGet, "/rules/{track}/statement", s.getStatement)
	route(http.MethodGet, "/catalogue/{track}", s.getCatalogue)
	route(http.MethodPost, "/enroll", s.postEnroll)
	route(http.MethodGet, "/tasks/{track}", s.getTasks)
	route(http.MethodPost, "/submit", s.postSubmit)
	route(http.MethodPost, "/freeze/{track}", s.postFreeze)
	route(http.MethodGet, "/results/{track}", s.getResults)
	route(http.MethodGet, "/reports/{did}", s.getReport)
	route(http.MethodGet, "/bundle.tar.zst", s.getBundle)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpx.Problem(w, http.StatusNotFound, "there is no such route; a season's is /v1/season/<number>")
	})
	return mux
}

// seasonNumber reads {n}: a positive decimal without leading zeros.
func seasonNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0, refuse(NotFound, "a season's number is a positive integer")
	}
	return n, nil
}

// fail answers with the problem that err is; what is not the caller's to know is
// logged and answered 500.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		httpx.Fail(w, problemOf(w, refusal))
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // The client has gone.
	}
	if !httpx.Fail(w, err) {
		s.log.ErrorContext(r.Context(), "a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
}

func problemOf(w http.ResponseWriter, r *Refusal) *httpx.StatusError {
	out := &httpx.StatusError{Title: r.Why}
	switch r.Kind {
	case NotFound:
		out.Status = http.StatusNotFound
	case Unauthorized:
		out.Status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer realm="season"`)
	case Forbidden:
		out.Status = http.StatusForbidden
	case Conflict:
		out.Status = http.StatusConflict
	case Invalid:
		out.Status = http.StatusUnprocessableEntity
	case Unavailable:
		out.Status, out.RetryAfter = http.StatusServiceUnavailable, 5*time.Second
	}
	for _, f := range r.Faults {
		out.Errors = append(out.Errors, httpx.FieldError{Pointer: f.Pointer, Message: f.Message})
	}
	return out
}

func answer(w http.ResponseWriter, status int, o *canonjson.Object) error {
	w.Header().Set("Cache-Control", "no-store")
	httpx.Bytes(w, status, "application/json", canonjson.Compact(o))
	return nil
}

func (s *Service) getStatus(w http.ResponseWriter, r *http.Request, number int64) error {
	season, err := s.Season(r.Context(), number)
	if err != nil {
		return err
	}
	tracks := canonjson.NewObject()
	for _, name := range season.Tracks {
		tracks.Set(name, nil)
	}
	if season.State.Reached(Frozen) {
		frozen, err := s.tracks(r.Context(), season.Definition)
		if err != nil {
			return err
		}
		for _, name := range season.Tracks {
			entry, err := s.trackStatus(r.Context(), number, frozen[name])
			if err != nil {
				return err
			}
			tracks.Set(name, entry)
		}
	}
	o := canonjson.NewObject(
		"season", canonjson.NewInt(number), "state", string(season.State), "ouverte", season.State == Open,
		"opens", season.Opens.Format(secondLayout), "closes", season.Closes.Format(secondLayout),
		"last_safe_call", season.LastSafeCall().Format(secondLayout), "closed_at", nil,
		"practice", season.Practice, "season_host", season.Host, "witness_policy", season.policy(),
		"receipt_key", keyText(s.ReceiptKey()), "tracks", tracks, "publication", nil)
	if !season.ClosedAt.IsZero() {
		o.Set("closed_at", season.ClosedAt.Format(microLayout))
	}
	if season.State == Published {
		_, version, at, found, err := publication(r.Context(), s.db.Reader(), number)
		if err != nil {
			return err
		}
		if found {
			o.Set("publication", canonjson.NewObject("version", canonjson.NewInt(version), "published_at", at))
		}
	}
	return answer(w, http.StatusOK, o)
}

// trackStatus is a track as the status shows it: proof ids and hashes (design §3).
func (s *Service) trackStatus(ctx context.Context, number int64, f *frozen) (*canonjson.Object, error) {
	record, err := s.freezeRecord(ctx, number, f)
	if err != nil {
		return nil, err
	}
	replaced := []any{}
	for _, r := range record.Replaced {
		replaced = append(replaced, canonjson.NewObject("proof_id", r.ProofID, "reason", r.Reason))
	}
	return canonjson.NewObject(
		"corpus_host", f.CorpusHost, "rules_version", f.version, "tasks", canonjson.NewInt(int64(len(f.tasks))),
		"freeze", canonjson.NewObject("proof_id", f.proofID, "rules_sha256", f.rulesSHA256, "manifest_sha256", f.ManifestSHA256,
			"key_commitment", f.KeyCommitment, "replaced", replaced)), nil
}

func (s *Service) getRules(w http.ResponseWriter, r *http.Request, number int64) error {
	file := r.PathValue("file")
	name, isText := strings.CutSuffix(file, ".md")
	stem, isJSON := strings.CutSuffix(file, ".json")
	if isJSON {
		name = stem
	}
	if !isText && !isJSON {
		return refuse(NotFound, "the rules of a track are at rules/<track>.md and rules/<track>.json")
	}
	_, f, err := s.frozenTrack(r.Context(), number, name)
	if err != nil {
		return err
	}
	if isText {
		httpx.Bytes(w, http.StatusOK, "text/markdown; charset=utf-8", f.RulesText)
		return nil
	}
	httpx.Bytes(w, http.StatusOK, "application/json", f.Rules)
	return nil
}

// getStatement serves C(R), so that its SHA-256 is the rules hash.
func (s *Service) getStatement(w http.ResponseWriter, r *http.Request, number int64) error {
	season, f, err := s.frozenTrack(r.Context(), number, r.PathValue("track"))
	if err != nil {
		return err
	}
	httpx.Bytes(w, http.StatusOK, "application/json", rulesStatement(season.Definition, f))
	return nil
}

func (s *Service) getCatalogue(w http.ResponseWriter, r *http.Request, number int64) error {
	_, f, err := s.frozenTrack(r.Context(), number, r.PathValue("track"))
	if err != nil {
		return err
	}
	httpx.Bytes(w, http.StatusOK, "application/json", f.Catalogue)
	return nil
}

func (s *Service) postEnroll(w http.ResponseWriter, r *http.Request, number int64) error {
	key := r.Header.Get("X-Api-Key")
	if key == "" {
		if _, err := s.Season(r.Context(), number); err != nil {
			return err
		}
		return refuse(Unauthorized, "send your API key in the header X-Api-Key")
	}
	body, err := jsonBody(w, r, enrolLimit)
	if err != nil {
		return err
	}
	e, err := s.Enrol(r.Context(), number, key, body)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, canonjson.NewObject("season_token", e.SeasonToken, "agent_did", e.AgentDID, "tasks", e.Tasks))
}

// jsonBody checks size, then type, then reads.
func jsonBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength <= limit {
		if err := httpx.RequireJSON(r); err != nil {
			return nil, err
		}
	}
	return httpx.Body(w, r, limit)
}

// participant is the DID of the bearer of the season token.
func (s *Service) participant(r *http.Request, number int64) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = "" // Answered like a wrong one.
	}
	return s.Participant(r.Context(), number, strings.TrimSpace(token))
}

func (s *Service) getTasks(w http.ResponseWriter, r *http.Request, number int64) error {
	if _, err := s.participant(r, number); err != nil {
		return err
	}
	_, f, err := s.frozenTrack(r.Context(), number, r.PathValue("track"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, canonjson.NewObject("season", canonjson.NewInt(number), "track", f.Track, "corpus_host", f.CorpusHost, "tasks", f.tasksValue))
}

func (s *Service) postSubmit(w http.ResponseWriter, r *http.Request, number int64) error {
	did, err := s.participant(r, number)
	if err != nil {
		return err
	}
	if err := s.Taking(r.Context(), number); err != nil {
		return err
	}
	body, err := jsonBody(w, r, submitLimit)
	if err != nil {
		return err
	}
	receipt, replaced, err := s.Submit(r.Context(), number, did, body)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	httpx.JSON(w, http.StatusOK, struct {
		Recorded bool    `json:"recorded"`
		Replaced bool    `json:"replaced"`
		Receipt  Receipt `json:"receipt"`
	}{true, replaced, receipt})
	return nil
}

func (s *Service) postFreeze(w http.ResponseWriter, r *http.Request, number int64) error {
	if !s.fromProxy(r) {
		return refuse(Forbidden, "this route is called through the proxy of the issuer only")
	}
	body, err := jsonBody(w, r, freezeLimit)
	if err != nil {
		return err
	}
	if err := s.ReceiveFreeze(r.Context(), number, r.PathValue("track"), body); err != nil {
		return err
	}
	return answer(w, http.StatusOK, canonjson.NewObject("recorded", true))
}

// fromProxy compares the challenge secret in constant time, whatever its length.
func (s *Service) fromProxy(r *http.Request) bool {
	given, want := sha256.Sum256([]byte(r.Header.Get("X-Challenge-Secret"))), sha256.Sum256([]byte(s.secret))
	return s.secret != "" && subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

// published is where the files of a published season are. Before that the answer
// is the same whatever there is.
func (s *Service) published(ctx context.Context, number int64) (Season, Publication, error) {
	season, err := s.Season(ctx, number)
	if err != nil {
		return season, Publication{}, err
	}
	if season.State != Published {
		return season, Publication{}, refuse(NotFound, "season %d has not been published: scores are released after the close (§7.4)", number)
	}
	p, _, _, _, err := publication(ctx, s.db.Reader(), number)
	return season, p, err
}

func (s *Service) getResults(w http.ResponseWriter, r *http.Request, number int64) error {
	_, p, err := s.published(r.Context(), number)
	if err != nil {
		return err
	}
	path, ok := p.Results[r.PathValue("track")]
	if !ok {
		return refuse(NotFound, "season %d has no results for track %q", number, r.PathValue("track"))
	}
	return serveFile(w, r, path, "application/json")
}

func (s *Service) getReport(w http.ResponseWriter, r *http.Request, number int64) error {
	_, p, err := s.published(r.Context(), number)
	if err != nil {
		return err
	}
	// Only an enrolled DID becomes a file name: a path from outside never does.
	enrolled, err := isEnrolled(r.Context(), s.db.Reader(), number, r.PathValue("did"))
	if err != nil {
		return err
	}
	if !enrolled {
		return refuse(NotFound, "no participant of season %d has this DID", number)
	}
	return serveFile(w, r, filepath.Join(p.Reports, r.PathValue("did")+".json"), "application/json")
}

func (s *Service) getBundle(w http.ResponseWriter, r *http.Request, number int64) error {
	_, p, err := s.published(r.Context(), number)
	if err != nil {
		return err
	}
	return serveFile(w, r, p.Bundle, "application/zstd")
}

// serveFile sends a published file, ranges included.
func serveFile(w http.ResponseWriter, r *http.Request, path, contentType string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return refuse(NotFound, "there is no such file in this publication")
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "public, max-age=60") // A correction is a new publication under the same address.
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}
