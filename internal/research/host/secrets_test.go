package host

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/sandbox/client"
)

// What every other test does to its own replies, this one does to every use case:
// the search itself is world.secrets.
func TestSection14NoReplyShowsAnOriginAKeyAPathOrARecord(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.stop()
		hourly(w)
		w.options.SecretOrigin = secretOrigin + "/second"
		w.start(t)
		ctx := context.Background()
		w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
		w.harvest.run = func(_ context.Context, o *intake.Outcome) (intake.Result, error) {
			if o.Submission.ArtifactDigest == rlmtest.Digest(2) {
				return intake.Result{}, &intake.Refusal{Status: unavailable, Text: "dial " + secretOrigin + ": refused"}
			}
			return simulate(o, pinned, true)
		}
		first := w.submit(created, w.sent(custom0, 1, 1))
		require.Contains(t, w.submit(unavailable, w.sent(nll0, 2, 2))["error"], withheld)
		w.submit(created, w.sent(nll0, 3, 3))
		w.submit(created, w.sent(nll0, 4, 4, func(f map[string]any) {
			f["manifest"] = map[string]any{"train_content_hashes": []string{strings.ToUpper(hash("shard", 5))}}
		}))
		w.measured("new-custom")
		require.NoError(t, w.Audit(ctx, ledger.AuditEntry{TokenLabel: "token-1", Action: "reload", Status: ok}))
		w.clock.advance(time.Hour + grace)
		w.closes(0)

		status, err := w.Status(ctx)
		require.NoError(t, err)
		w.sawValue(status)
		w.sawValue(w.Executor())
		w.sawValue(w.Epochs())
		w.sawValue(w.Probe(ctx))
		for _, id := range []string{custom0, nll0, "new-custom"} {
			d, err := w.Topic(id)
			require.NoError(t, err)
			text, err := d.JSON()
			require.NoError(t, err)
			w.saw(text)
			ready, err := w.Readiness(ctx, id)
			require.NoError(t, err)
			w.sawValue(ready)
			rules, err := w.Rules(ctx, id)
			require.NoError(t, err)
			w.sawValue(rules)
			promotions, err := w.Promotions(ctx, id)
			require.NoError(t, err)
			w.sawValue(promotions)
			sealed, bar, best, err := w.Bar(ctx, id)
			require.NoError(t, err)
			w.sawValue([]any{sealed, bar, best})
			w.lifecycle(id)
		}
		zip, err := w.ArtefactOf(ctx, first["id"].(string))
		require.NoError(t, err)
		contents, err := artefact.Read(zip)
		require.NoError(t, err)
		w.sawValue(contents.Manifest)
		for _, f := range contents.Files {
			w.sawValue(string(f.Bytes))
		}
		for _, l := range contents.Logs {
			w.sawValue(string(l.Bytes))
		}
		w.sawValue(contents.Checklist)
		w.sawValue(contents.BaselineRef)
		w.sawValue(contents.Report)
		snapshot, err := w.Snapshot(ctx, 0)
		require.NoError(t, err)
		w.saw(snapshot)
		result, err := w.Payout(ctx, 0)
		require.NoError(t, err)
		w.sawValue(result)
		log, err := w.AuditLog(ctx, 10)
		require.NoError(t, err)
		require.Equal(t, "token-1", log[0].TokenLabel)
		w.sawValue(log)
		page, err := w.Rows(ctx, ledger.RowQuery{})
		require.NoError(t, err)
		for _, row := range page.Items {
			row.Manifest = intake.StoredManifest{} // stored as the miner sent it
			w.sawValue(row)
		}
	})
}

func TestTextsOfOtherRoomsLoseWhatIsSecret(t *testing.T) {
	w := alone(t, func(w *world) { w.options.SecretOrigin = "https://second.invalid:9/v1" })
	for _, text := range []string{
		"Post \"" + secretOrigin + "/chat/completions\": EOF", "lookup planted-judge.internal:8443", "open " + w.path("judge.key"),
		"second.invalid:9 refused", "https://second.invalid:9/v1/x",
	} {
		got := w.safe(text)
		require.Contains(t, got, withheld, text)
		for _, secret := range append(planted(), "second.invalid") {
			require.NotContains(t, got, secret)
		}
	}
	require.Equal(t, "nothing in here", w.safe("nothing in here"))
}

// Everything at once, for the race detector: forty miners, two topics, an operator
// who publishes, rotates and reloads, and readers.
func TestManyMinersAnOperatorAndReadersAtOnce(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Limits = Limits{Workers: 4, QueueCap: 100} })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const miners = 40
	for n := range byte(miners) {
		w.boundary.Script(rlmtest.Digest(n), rlmtest.Script{Primary: ptr(0.3 + float64(n%20)/50), Flops: 10, Delay: time.Millisecond})
	}
	sent := make([]Sent, miners)
	for n := range sent {
		id := nll0
		if n%4 == 0 {
			id = custom0
		}
		sent[n] = w.sent(id, n, byte(n))
	}
	var miner, others sync.WaitGroup
	for n := range sent {
		miner.Go(func() {
			reply, err := w.Submit(ctx, sent[n])
			if err != nil || reply.Status != created {
				t.Errorf("miner %d: %v %+v", n, err, reply)
			}
		})
	}
	stop := make(chan struct{})
	each := func(do func() error) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := do(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	rotated := w.executor(7000, offer.Open)
	each(func() error { _, err := w.SetExecutor(ctx, rotated); return err })
	each(func() error { return w.Reload(ctx) })
	each(func() error { _, err := w.Status(ctx); return err })
	each(func() error { _, err := w.Rows(ctx, ledger.RowQuery{}); return err })
	drafts := [][]byte{}
	for n := range 5 {
		d := newDraft(w, "new-topic")
		d.Statement = strings.Repeat("x", n+1)
		drafts = append(drafts, signed(t, d))
	}
	for _, text := range drafts {
		_, err := w.Publish(ctx, text)
		require.NoError(t, err)
	}
	miner.Wait()
	close(stop)
	others.Wait()
	rows, err := w.Rows(ctx, ledger.RowQuery{})
	require.NoError(t, err)
	require.Len(t, rows.Items, miners)
	// A crown only ever went to a better run.
	promotions, err := w.Promotions(ctx, custom0)
	require.NoError(t, err)
	for i := 1; i < len(promotions); i++ {
		require.Greater(t, promotions[i].Primary, promotions[i-1].Primary)
	}
	require.Empty(t, w.runs.decided)
	require.Empty(t, w.runs.waiting)
}

func FuzzSubmitRefusesWithoutARow(f *testing.F) {
	w := alone(f)
	good := w.sent(nll0, 1, 1)
	f.Add("application/json", []byte(`{"miner_hotkey":"`+strings.Repeat("ab", 32)+`"}`))
	f.Add("application/json; charset=utf-8", good.Body[:len(good.Body)-1])
	f.Add("text/plain", good.Body)
	f.Add("application/json", []byte("\x00"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		reply, err := w.Submit(context.Background(), Sent{ContentType: contentType, Body: body, Async: true})
		if err != nil {
			t.Fatal(err)
		}
		if reply.Status < 400 || reply.Status > 499 {
			t.Fatalf("%d %s", reply.Status, reply.JSON) // an unsigned body never gets further
		}
	})
}

// The bearer of the orchestrator goes out with every call, and an agent may send it
// back in whatever it says.
func TestSection14NoReplyShowsTheBearerThatAnAgentSendsBack(t *testing.T) {
	var calls atomic.Int32
	agent := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusInternalServerError)
		said, err := json.Marshal(map[string]string{"error": "backend", "text": r.Header.Get("Authorization"), "message": r.Header.Get("Authorization")})
		if err == nil {
			_, err = rw.Write(said)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(agent.Close)
	w := alone(t, func(w *world) {
		w.write("bearer", []byte(secretBearer+"\n"))
		boundary, err := client.New(client.Options{URL: agent.URL, TokenFile: w.path("bearer"), ImageDigest: pinned})
		require.NoError(t, err)
		w.engine.Boundary = boundary
	})
	ctx := context.Background()
	require.NotEmpty(t, w.submit(unavailable, w.sent(custom0, 1, 1))["error"])
	w.sawValue(w.Probe(ctx))
	status, err := w.Status(ctx)
	require.NoError(t, err)
	w.sawValue(status)
	ready, err := w.Readiness(ctx, custom0)
	require.NoError(t, err)
	w.sawValue(ready)
	w.lifecycle(custom0)
	require.Positive(t, calls.Load(), "the bearer was sent")
}
