package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/agent"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// TestSection74NothingThatLeavesAnOpenSeasonDependsOnTheAnswerKey plays two seasons
// up to their opening that differ in the answer key alone, has one participant do
// the same in both, and wants every answer that it or a reader gets to be the same
// text, but for what is drawn anew in every season or shows when something happened.
func TestSection74NothingThatLeavesAnOpenSeasonDependsOnTheAnswerKey(t *testing.T) {
	t.Parallel()
	_, c := secretCorpus(t, 6)
	other := *c
	other.Key = anotherKey(t, c.Key)
	lives := [2]*keyLife{startKeyLife(t), startKeyLife(t)}
	opens := time.Now().UTC().Add(12 * time.Second).Truncate(time.Second)
	var group errgroup.Group
	for i, frozen := range []*corpus.Corpus{c, &other} {
		group.Go(func() error { return lives[i].freeze(t.Context(), frozen, opens) })
	}
	require.NoError(t, group.Wait())
	require.Equal(t, lives[0].frozen.RulesSHA256, lives[1].frozen.RulesSHA256)
	require.Equal(t, lives[0].frozen.ManifestSHA256, lives[1].frozen.ManifestSHA256)

	time.Sleep(time.Until(opens.Add(time.Second))) // What happens now has another time than the opening.
	for _, life := range lives {
		now, err := life.operator.Open(t.Context())
		require.NoError(t, err)
		require.Equal(t, season.Open, now.State)
		life.participate(t, c)
		life.read(t)
	}
	require.Greater(t, len(lives[0].answers), 100)
	require.Equal(t, len(lives[0].answers), len(lives[1].answers))
	for i, answer := range lives[0].answers {
		require.Equal(t, answer, lives[1].answers[i])
	}

	// The keys do differ: what is scored after the close shows it.
	var best [2]string
	for i, life := range lives {
		require.NoError(t, life.operator.CloseSeason(t.Context()))
		scored, err := life.operator.Score(t.Context())
		require.NoError(t, err)
		best[i] = scored.Tracks["conformite"].Best.Verdict
	}
	require.NotEqual(t, best[0], best[1])
}

// anotherKey gives every task of a key another verdict, other families and facts.
func anotherKey(t *testing.T, key []byte) []byte {
	t.Helper()
	v, err := canonjson.ParseStrict(key)
	require.NoError(t, err)
	tasks, _ := v.(*canonjson.Object).Get("tasks")
	next := map[any]string{"conforme": "non_conforme", "non_conforme": "indeterminable", "indeterminable": "conforme"}
	for id, task := range tasks.(*canonjson.Object).All() {
		o := task.(*canonjson.Object)
		verdict, _ := o.Get("verdict")
		require.Contains(t, next, verdict, id)
		o.Set("verdict", next[verdict])
		facts, _ := o.Get("facts")
		list := slices.Clone(facts.([]any))
		slices.Reverse(list)
		o.Set("facts", append(list, canonjson.NewObject("resource", "/entites/ENT-0000", "field", "/statut", "value", "radiee", "equivalents", []any{})))
	}
	return canonjson.Compact(v)
}

// keyLife is a season and what came out of it.
type keyLife struct {
	server   *Server
	operator *Operator
	frozen   *Frozen
	window   [2]time.Time
	answers  []string
}

func startKeyLife(t *testing.T) *keyLife {
	t.Helper()
	config := practiceConfig(filepath.Join(t.TempDir(), "data"))
	config.Issuer.BatchAge = time.Hour // The operator alone closes batches.
	s, err := Start(t.Context(), config, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &keyLife{server: s, operator: newOperator(&s.config, s.season, s.clock, slog.New(slog.DiscardHandler), func(string, ...any) {})}
}

// freeze is Operator.Freeze below the lint, which would refuse a wrong key.
func (l *keyLife) freeze(ctx context.Context, c *corpus.Corpus, opens time.Time) (err error) {
	l.window = [2]time.Time{opens, opens.Add(time.Hour)}
	o := l.operator
	err = o.season.Define(ctx, season.Definition{
		Number: o.number, Opens: l.window[0], Closes: l.window[1], Host: o.config.Season.Host,
		Witnesses: bundle.WitnessPolicy{RequireLog: true, AllowLocal: true}, Tracks: []string{c.Track},
	})
	if err != nil {
		return err
	}
	l.frozen, err = o.freezeTrack(ctx, c, FreezePlan{Opens: l.window[0], Closes: l.window[1]})
	return err
}

// participate enrols, consults what the first key's facts cite, and submits every
// task with each verdict, and with faults.
func (l *keyLife) participate(t *testing.T, c *corpus.Corpus) {
	t.Helper()
	access, work, err := agent.Join(t.Context(), agent.JoinOptions{
		IssuerURL: l.server.PublicURL, SeasonURL: l.server.PublicURL, Season: 1, Name: "Someone", Email: "someone@agents.prova.test",
		HTTP: &http.Client{Transport: l}, Rand: bytes.NewReader(bytes.Repeat([]byte{7}, 32)),
	})
	require.NoError(t, err)
	client := agent.NewClient(access)
	rules, err := client.Rules(t.Context(), c.Track)
	require.NoError(t, err)
	require.Len(t, rules.Verdicts, 3)
	sealed, err := bundle.ParseKey("key.json", canonjson.Compact(canonjson.NewObject("salt", strings.Repeat("0", 64), "key", mustParse(t, c.Key))), taskIDs(work, c.Track))
	require.NoError(t, err)
	for _, task := range work.Tracks[c.Track].Tasks {
		fact := sealed.Tasks[task.TaskID].Facts[0]
		receipt, err := client.Consult(t.Context(), c.Host+fact.Resource)
		require.NoError(t, err)
		pairs, err := client.Disclosures(t.Context(), receipt.ProofID)
		require.NoError(t, err)
		submission := agent.Submission{
			Track: c.Track, TaskID: task.TaskID, Disclosures: map[string]agent.Disclosure{receipt.ProofID: pairs},
			Assertions: []agent.Assertion{{Resource: fact.Resource, Field: fact.Field, Value: fact.Value, ProofIDs: []string{receipt.ProofID}}},
		}
		for _, verdict := range append([]string{"oui"}, rules.Verdicts...) {
			submission.Verdict = verdict
			err := client.Submit(t.Context(), submission)
			require.Equal(t, verdict == "oui", err != nil, "%s: %v", verdict, err)
		}
	}
	for _, path := range []string{"/entites/ENT-0000", "/nowhere", "/listes/agrees/none/1"} {
		_, _ = client.Consult(t.Context(), c.Host+path) // That the corpus has no such thing is in the answer noted.
	}
	l.get(t, "/v1/season/1/tasks/"+c.Track, "Authorization", "Bearer "+access.SeasonToken)
}

// read is what anybody may look at.
func (l *keyLife) read(t *testing.T) {
	t.Helper()
	require.NoError(t, l.server.site.refresh(t.Context()))
	for _, path := range []string{"", "/rules/conformite.md", "/rules/conformite.json", "/rules/conformite/statement", "/catalogue/conformite", "/results/conformite", "/reports/x", "/bundle.tar.zst"} {
		l.get(t, "/v1/season/1"+path)
	}
	for _, path := range []string{"", "fr/", "en/", "index.json"} {
		l.get(t, "/"+path)
	}
	for _, page := range []string{"index", "seasons/1", "seasons/1/conformite", "limits", "terms"} {
		for _, ext := range []string{".html", ".json"} {
			l.get(t, "/fr/"+page+ext)
			l.get(t, "/en/"+page+ext)
		}
	}
	l.get(t, "/v1/proof/"+l.frozen.ProofID)
}

func (l *keyLife) get(t *testing.T, path string, header ...string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.server.PublicURL+path, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := l.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}

// RoundTrip notes every answer.
func (l *keyLife) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	header := maps.Clone(resp.Header)
	for _, name := range []string{"Date", "Etag", "X-Request-Id", "Content-Length"} {
		header.Del(name) // Content-Length is that of a body whose masked parts vary in length.
	}
	l.answers = append(l.answers, l.mask(fmt.Sprintf("%s %s\n%d %v\n%s", r.Method, r.URL.Path, resp.StatusCode, header, body)))
	return resp, nil
}

var (
	maskedHex   = regexp.MustCompile(`[0-9a-f]{64}([0-9a-f]{16})?`) // The longer form is that of log entries.
	maskedTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)`)
	maskedDrawn = regexp.MustCompile(strings.Join([]string{
		`prf_\d{8}_\d{6}_[0-9a-f]{6}`, `batch_\d{8}_\d{6}_\d+`, `urn:prova:request:[0-9a-f]+`, `mcp_free_[0-9a-f]+`, `ed25519:[A-Za-z0-9_-]{43,}`, `127\.0\.0\.1:\d+`,
		`"tsr_base64":"[^"]+"`, `"integrated_time":\d+`, `[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`,
	}, "|"))
)

// mask hides ids of proofs, batches and requests, keys, tokens, signatures, ports,
// hashes and past times. The hashes of rules and manifest and the window stay: they
// must be the same.
func (l *keyLife) mask(text string) string {
	text = maskedDrawn.ReplaceAllString(text, "·")
	text = maskedHex.ReplaceAllStringFunc(text, func(h string) string {
		if h == l.frozen.RulesSHA256 || h == l.frozen.ManifestSHA256 {
			return h
		}
		return "·"
	})
	return maskedTime.ReplaceAllStringFunc(text, func(at string) string {
		when, err := time.Parse(time.RFC3339Nano, at)
		if err == nil && (when.Equal(l.window[0]) || when.After(time.Now())) {
			return at
		}
		return "·"
	})
}

func mustParse(t *testing.T, data []byte) any {
	t.Helper()
	v, err := canonjson.ParseStrict(data)
	require.NoError(t, err)
	return v
}

func taskIDs(w *agent.Work, track string) (ids []string) {
	for _, task := range w.Tracks[track].Tasks {
		ids = append(ids, task.TaskID)
	}
	return ids
}
