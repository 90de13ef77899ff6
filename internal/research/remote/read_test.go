package remote_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestDecision19TopicsAreListedByStatusAndReadByID(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	c := admin(t, p)
	for status, want := range map[string]int{"": 1, "open": 1, "draft": 1, "closed": 0, "all": 2} {
		docs, data, err := c.Topics(t.Context(), status)
		if err != nil || len(docs) != want || !strings.HasPrefix(string(data), `{"items":[`) {
			t.Errorf("%q: %d topics, %v", status, len(docs), err)
		}
	}
	d, err := c.Topic(t.Context(), remotetest.OpenID)
	if err != nil || d.VerifyKey(p.Key.Public()) != nil {
		t.Errorf("%v", err)
	}
	if _, err := c.Topic(t.Context(), "no-such-topic"); !remote.IsStatus(err, 404) {
		t.Errorf("%v", err)
	}
	if _, err := c.Topic(t.Context(), "../admin"); err == nil {
		t.Error("a path was taken for an id")
	}
	if docs, _, err := c.Topics(t.Context(), "all"); err != nil || len(docs) != 2 {
		t.Errorf("%v", err)
	}
	p.Change(func() {
		p.Tamper = func(_ http.ResponseWriter, _ *http.Request, status int, body []byte) (int, []byte) {
			return status, []byte(strings.ReplaceAll(string(body), remotetest.OpenID, "another-id"))
		}
	})
	if _, err := c.Topic(t.Context(), remotetest.OpenID); err == nil {
		t.Error("another topic than was asked for was taken")
	}
	if _, err := c.Readiness(t.Context(), remotetest.OpenID); err == nil {
		t.Error("the readiness of another topic was taken")
	}
	if _, _, err := c.Rules(t.Context(), remotetest.OpenID); err == nil {
		t.Error("the rules of another topic were taken")
	}
}

func TestReadinessNamesTheRowsOfTheGate(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	c := admin(t, p)
	r, err := c.Readiness(t.Context(), remotetest.OpenID)
	if err != nil || !r.Scorable || len(r.Missing) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	p.Host(func(h *intake.Host) { h.JudgeKey = false; h.Executor = nil })
	r, err = c.Readiness(t.Context(), remotetest.OpenID)
	if err != nil || r.Scorable || len(r.Missing) < 2 || r.Missing[0].Name != "judge_key" || r.Missing[0].Row != "14" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSection18SetupRulesAndMeasurement(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	p.Setups = []float64{0.25}
	c := admin(t, p)
	id := remotetest.DraftID
	d := p.Document(t, id, topic.Draft)
	d.Baseline.ScriptSHA256 = strings.Repeat("3", 64)
	if err := d.Sign(nil, p.Key); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Publish(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Measurement(t.Context(), id); !remote.IsStatus(err, 404) {
		t.Errorf("before the set-up: %v", err)
	}
	if shown, err := c.Presend(t.Context(), id); err != nil || !strings.Contains(string(shown), "spend_cap_usd") {
		t.Errorf("presend: %s, %v", shown, err)
	}
	if _, err := c.Setup(t.Context(), id, true, ""); err != nil {
		t.Fatal(err)
	}
	life, err := c.Lifecycle(t.Context(), id)
	if err != nil || life.State != "baselining" || life.SetupError != "" || life.SetupRunning == nil || len(life.Events) != 4 {
		t.Errorf("%+v, %v", life, err)
	}
	m, err := c.Measurement(t.Context(), id)
	if err != nil || *m.PrimaryValue != 0.25 || m.RulesVersion != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	rules, _, err := c.Rules(t.Context(), id)
	if err != nil || rules.Version != 2 || rules.Source != topic.FromRLM || rules.Rules[0].ID != "same_seed" {
		t.Errorf("%+v, %v", rules, err)
	}
	edited, err := c.EditRules(t.Context(), id, []topic.ChecklistItem{{ID: "a1", Text: "one"}})
	if err != nil || edited.Version != 3 || edited.Source != topic.FromOperator {
		t.Errorf("%+v, %v", edited, err)
	}
}

func TestRowsGoOnPageByPageAndNeverForEver(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	c := admin(t, p)
	for _, nonce := range []string{"a", "b", "c"} {
		first, err := c.Submit(t.Context(), signed(t, nonce, nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(t.Context(), first.SubmissionDigest, remote.Wait{}); err != nil {
			t.Fatal(err)
		}
	}
	rows, next, _, err := c.Rows(t.Context(), remote.RowQuery{Topic: remotetest.OpenID, Limit: 2})
	if err != nil || len(rows) != 2 || next != rows[1].ID || rows[0].ID <= rows[1].ID {
		t.Fatalf("%d rows, next %q, %v", len(rows), next, err)
	}
	rows, last, _, err := c.Rows(t.Context(), remote.RowQuery{Before: next, Limit: 2})
	if err != nil || len(rows) != 1 || last != "" {
		t.Errorf("%d rows, next %q, %v", len(rows), last, err)
	}
	if rows, _, _, err := c.Rows(t.Context(), remote.RowQuery{Hotkey: strings.Repeat("0", 64)}); err != nil || len(rows) != 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	answer := ""
	p.Change(func() {
		p.Tamper = func(http.ResponseWriter, *http.Request, int, []byte) (int, []byte) {
			return http.StatusOK, []byte(answer)
		}
	})
	for _, said := range []string{`{"items":[],"next":"pf_0000000000000001"}`, `{"items":[{"id":"pf_0000000000000001"}],"next":"pf_0000000000000001"}`, `{"items":[{"id":"x"}],"next":null}`} {
		p.Change(func() { answer = said })
		if _, _, _, err := c.Rows(t.Context(), remote.RowQuery{Before: "pf_0000000000000001"}); err == nil {
			t.Errorf("%s was taken", said)
		}
	}
}

func TestAClosedEpochIsReadByteForByte(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	c := admin(t, p)
	if _, err := c.Snapshot(t.Context(), remotetest.Epoch); !remote.IsStatus(err, 404) {
		t.Errorf("before it is closed: %v", err)
	}
	p.CloseEpoch(t)
	data, err := c.Snapshot(t.Context(), remotetest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	s, err := payout.ParseSnapshot(data)
	if err != nil || len(s.Topics) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	epochs, err := c.Epochs(t.Context())
	if err != nil || epochs.Current != remotetest.Epoch+1 || epochs.Find(remotetest.Epoch) == nil || epochs.Find(1) != nil {
		t.Fatalf("%+v, %v", epochs, err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(data)); epochs.Find(remotetest.Epoch).SHA256 != sum {
		t.Errorf("the list has %s, the bytes %s", epochs.Find(remotetest.Epoch).SHA256, sum)
	}
}

// FuzzAnswers feeds every reader of an answer with outside bytes: an error or a
// value, never a panic, and no text that a terminal would obey.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"challenge_id":"proof","epoch":7,"sandbox":{"driver":"fake"},"open_topics":["a"]}`, `{"items":[{"id":"pf_0000000000000001","verdict":{"pass":true}}],"next":null}`,
		`{"submission_digest":"` + strings.Repeat("c", 64) + `","state":"running","phase":"\u001b[2J","age_s":1e300}`,
		`{"submission_digest":"` + strings.Repeat("c", 64) + `","status":503,"error":"x"}`, `{"topic_id":"a-topic","version":1,"rules":[{"id":"a1","text":"t"}]}`,
		`{"current":1,"closed":[{"epoch":0,"sha256":"aa"}]}`, `{"state":"draft","setup_error":null,"events":[{"event":"close"}]}`, `{"primary_value":1}`, `[]`, "\xff", ``,
	} {
		f.Add(seed)
	}
	body := ""
	p := remotetest.New(f)
	p.Tamper = func(http.ResponseWriter, *http.Request, int, []byte) (int, []byte) {
		return http.StatusOK, []byte(body)
	}
	c := admin(f, p)
	f.Fuzz(func(t *testing.T, answer string) {
		p.Change(func() { body = answer })
		ctx := t.Context()
		var errs []error
		note := func(err error) { errs = append(errs, err) }
		s, err := c.Status(ctx)
		if note(err); err == nil {
			s.Driver()
		}
		_, _, err = c.Topics(ctx, "all")
		note(err)
		_, err = c.Topic(ctx, "a-topic")
		note(err)
		_, _, err = c.Rules(ctx, "a-topic")
		note(err)
		_, err = c.Readiness(ctx, "a-topic")
		note(err)
		_, _, _, err = c.Rows(ctx, remote.RowQuery{})
		note(err)
		_, err = c.Row(ctx, "pf_0000000000000001")
		note(err)
		_, err = c.Epochs(ctx)
		note(err)
		_, err = c.Lifecycle(ctx, "a-topic")
		note(err)
		_, err = c.Measurement(ctx, "a-topic")
		note(err)
		end, err := c.Find(ctx, strings.Repeat("c", 64))
		if note(err); err == nil && remote.Printable(end.Phase) != end.Phase {
			t.Errorf("a phase that a terminal obeys: %q", end.Phase)
		}
		for _, err := range errs {
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\u202e\x07") {
				t.Errorf("an error that a terminal obeys: %q", err)
			}
		}
	})
}
