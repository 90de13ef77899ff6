package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// refusing makes one row of the gate refuse the first miner's submission of the first
// artefact to the custom topic, on a host that would run it. What is set is done in
// the order of the fields.
type refusing struct {
	row, text string
	world     func(*world)            // before the start
	doc       func(*topic.Document)   // of the next version of the topic
	live      func(*world)            // while the host runs
	fields    func(map[string]any)    // of the body
	sent      func(*Sent)             // around the body
	last      func(w *world, s *Sent) // just before it is sent
}

func field(name string, v any) func(map[string]any) { return func(f map[string]any) { f[name] = v } }

// unsigned sets a field, and a signature of the right form that nobody made.
func unsigned(name string, v any) func(map[string]any) {
	return func(f map[string]any) { f["hotkey_signature"], f[name] = hash(1)+hash(2), v }
}

// without takes the custom topic out of one of the operator's files.
func without(file string) func(*world) {
	return func(w *world) {
		text, err := os.ReadFile(w.path(file))
		require.NoError(w.t, err)
		all := map[string]json.RawMessage{}
		require.NoError(w.t, json.Unmarshal(text, &all))
		delete(all, custom0)
		w.write(file, all)
		require.NoError(w.t, w.Reload(context.Background()))
	}
}

// holds keeps a run of the custom topic between inspection and evaluation.
func (w *world) holds(s Sent) {
	w.hold()
	w.until(w.async(s), "running")
	require.Eventually(w.t, func() bool { return len(w.boundary.Jobs()) == 2 }, 10*time.Second, time.Millisecond)
}

func staged(edit func(*intake.Harvest)) func(*world) {
	return func(w *world) { edit(&w.harvest.facts) }
}

// refusals has one for each row of the gate that refuses, in its order.
func refusals() []refusing {
	overridden := &atomic.Bool{}
	return []refusing{
		{row: "address_limit", text: "too many requests from this address", last: func(w *world, s *Sent) {
			w.addresses = newWindow(1, time.Minute)
			w.addresses.take(sender(s.Address), w.clock.now())
		}},
		{row: "content_type", text: "the body must be JSON: send Content-Type: application/json", sent: func(s *Sent) { s.ContentType = "text/plain" }},
		{row: "size", text: "the body is longer than 2097152 bytes", sent: func(s *Sent) { s.Body = bytes.Repeat([]byte(" "), intake.MaxBody+1) }},
		{row: "syntax", text: "invalid JSON at byte 1: end of the document where a member name in double quotes was expected", sent: func(s *Sent) { s.Body = []byte("{") }},
		{row: "types", text: `declared_flops: is a string, want an integer`, fields: unsigned("declared_flops", "1")},
		{row: "miner_hotkey", text: "invalid miner_hotkey", fields: field("miner_hotkey", "abc")},
		{row: "artifact_digest", text: "invalid artifact_digest", fields: field("artifact_digest", "abc")},
		{row: "topic_id", text: "topic_id is required", fields: field("topic_id", " ")},
		{row: "topic_known", text: "unknown topic", fields: field("topic_id", "no-such-topic")},
		{row: "topic_open", text: "topic is not open", doc: func(d *topic.Document) { d.Status = topic.Closed }},
		{row: "flops_budget", text: "declared_flops exceeds the topic budget", fields: field("declared_flops", 3000)},
		{row: "artifact_uri", text: "artifact_uri is required for custom topics", fields: field("artifact_uri", " ")},
		{row: "signature_required", text: "hotkey_signature required", fields: field("hotkey_signature", nil)},
		{row: "signature_form", text: "hotkey_signature invalid", fields: field("hotkey_signature", strings.Repeat("A", 128))},
		{row: "nonce_required", text: "submit_nonce required", fields: unsigned("submit_nonce", nil)},
		{row: "nonce_form", text: "submit_nonce invalid", fields: unsigned("submit_nonce", "0x")},
		{row: "signature", text: "hotkey_signature invalid", fields: field("hotkey_signature", hash(1)+hash(2))},
		{row: "nonce_reused", text: "submit_nonce was used for another submission; sign with a new one", live: func(w *world) {
			w.submit(created, w.sent(nll0, 1, 1))
		}},
		{row: "hotkey_limit", text: "too many submissions of this hotkey", last: func(w *world, _ *Sent) {
			w.hotkeys = newWindow(1, time.Hour)
			w.hotkeys.take(newKey("miner 1").Public().String(), w.clock.now())
		}},
		{row: "in_flight", text: "this artefact is being evaluated already; ask for it by its submission digest", live: func(w *world) {
			w.holds(w.sent(custom0, 1, 1, field("submit_nonce", hash("another nonce"))))
		}},
		{row: "epoch", text: "the epoch of this host is closed; no submission is taken", live: func(w *world) {
			require.NoError(w.t, w.ledger.CloseEpoch(context.Background(), 3, []byte(`{}`)))
			require.NoError(w.t, w.closed.load(context.Background(), w.ledger))
		}},
		{row: "sealed_topic", text: "no open sealed topic; refuse scoring (PROOF_HOLDOUT_FILE cannot be used)", live: func(w *world) {
			w.write("holdout.json", []byte("{"))
			require.NoError(w.t, w.Reload(context.Background()))
		}},
		{row: "inference_offer", text: offer.ErrInferenceClosed.Error(), live: func(w *world) {
			w.writeInference(&offer.Inference{
				OfferID: "judge-b", Provider: pin.OpenAICompatible, BaseURL: secretOrigin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
				MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Closed,
			})
			require.NoError(w.t, w.Reload(context.Background()))
		}},
		{row: "pinned_digest", text: "eval image digest not pinned; refuse live scoring (PROOF_FORCE_SIM=1 is CI only)", world: func(w *world) {
			w.pin.EvalImageDigest = ""
			w.files()
		}},
		{row: "live_scorer", text: intake.NoLiveScorer + `; custom metric "harness_success_rate" has no registered runner (runner not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)); refuse scoring`, live: func(w *world) {
			w.stop()
			w.engine.Boundary, w.options.Harvest = rlm.Unwired{}, nil
			w.start(w.t)
		}},
		{row: "harvest_weights", text: "PROOF_PROXY_MODEL_DIR missing or empty; refuse live scoring (no HF bake)", live: staged(func(h *intake.Harvest) { h.Weights = false })},
		{row: "harvest_shards", text: "PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring", live: staged(func(h *intake.Harvest) { h.Shards = false })},
		{row: "harvest_ssh_key", text: "LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring", live: staged(func(h *intake.Harvest) { h.SSHKey = false })},
		{row: "judge_key", text: "inference API key missing; refuse scoring (PROOF_INFERENCE_API_KEY_FILE cannot be used)", live: func(w *world) {
			require.NoError(w.t, os.Remove(w.path("judge.key")))
		}},
		{row: "executor_offer", text: offer.ErrExecutorClosed.Error(), live: func(w *world) {
			w.write("executor.json", w.executor(600, offer.Closed))
			require.NoError(w.t, w.Reload(context.Background()))
		}},
		{row: "scorer_ready", text: `custom metric "harness_success_rate" has no registered runner (custom metric "harness_success_rate" has no registered runner); refuse scoring`, live: func(w *world) {
			w.stop()
			w.engine.CustomIDs = []string{"another_rate"}
			w.start(w.t)
		}},
		{row: "inference_serves", text: offer.ErrOriginMismatch.Error(), doc: func(d *topic.Document) { d.Inference.BaseURL = ptr("https://elsewhere.invalid/v1") }},
		{row: "executor_serves", text: "eval executor offer: open eval executor offer cannot serve topic eval_executor constraints", doc: func(d *topic.Document) {
			d.EvalExecutor.RequireOfferCommitment = ptr(hash("another offer"))
		}},
		{row: "judge_config", text: "resolved inference config is incomplete; refuse scoring", last: func(w *world, _ *Sent) {
			// No file and no document leads here, as both are validated: the state is changed.
			next := *w.known.Load()
			host, changed := *next.host, *next.host.Topics[custom0]
			d := *changed.Document
			d.Inference.Model, changed.Document = nil, &d
			host.Topics = maps.Clone(host.Topics)
			host.Topics[custom0], next.host = &changed, &host
			w.known.Store(&next)
		}},
		{row: "baseline", text: "no sealed baseline recorded for this topic", live: without("baseline.json")},
		{row: "holdout", text: "illegal state no verified holdout loaded for " + custom0, live: without("holdout.json")},
		{row: "plan", text: "eval executor offer: max_proof_deadline_s = 7201 must be 1..=7200",
			world: func(w *world) {
				overridden.Store(false)
				w.options.Lookup = func(name string) string {
					if overridden.Load() && name == "PROOF_HARVEST_DEADLINE_SECS" {
						return "7201"
					}
					return ""
				}
			},
			live: func(w *world) {
				overridden.Store(true)
				require.NoError(w.t, w.Reload(context.Background()))
			}},
		{row: "hotkey_running", text: "a run of this hotkey is in flight; one at a time", live: func(w *world) { w.holds(w.sent(custom0, 1, 2)) }},
		{row: "queue", text: "the queue is full; try again later",
			world: func(w *world) { w.options.Limits = Limits{Workers: 1, QueueCap: 1} },
			live: func(w *world) {
				w.holds(w.sent(custom0, 50, 50))
				w.async(w.sent(nll0, 51, 51))
			}},
	}
}

// refuses applies rows to one host, the last one first, and wants the answer of the
// first, and of the host that nothing came of the submission.
func refuses(t *testing.T, rows ...refusing) {
	t.Helper()
	w := newWorld(t, "sqlite:"+t.TempDir()+"/prova.db")
	w.boundary.Default.Primary = ptr(0.5)
	each := func(do func(r *refusing)) {
		for i := len(rows) - 1; i >= 0; i-- {
			do(&rows[i])
		}
	}
	d := newTopic(custom0, topic.Custom)
	changed := false
	each(func(r *refusing) {
		if r.world != nil {
			r.world(w)
		}
		if r.doc != nil {
			r.doc(d)
			changed = true
		}
	})
	w.start(t)
	if changed {
		w.ready(d, true)
		require.NoError(t, w.publish(d))
	}
	each(func(r *refusing) {
		if r.live != nil {
			r.live(w)
		}
	})
	sent := w.sent(custom0, 1, 1, func(f map[string]any) {
		each(func(r *refusing) {
			if r.fields != nil {
				r.fields(f)
			}
		})
	})
	each(func(r *refusing) {
		if r.sent != nil {
			r.sent(&sent)
		}
		if r.last != nil {
			r.last(w, &sent)
		}
	})
	before := w.left()
	status := 0
	for _, row := range intake.Gate() {
		if row.Name == rows[0].row {
			status = row.Status
		}
	}
	require.Equal(t, rows[0].text, w.submit(status, sent)["error"])
	require.Equal(t, before, w.left(), "what the refusal left")
}

// left says what a host holds and has begun.
func (w *world) left() string {
	w.t.Helper()
	ctx := context.Background()
	flights, err := w.ledger.Flights(ctx)
	require.NoError(w.t, err)
	nonces := 0
	require.NoError(w.t, w.db.Reader().QueryRowContext(ctx, "SELECT count(*) FROM proof_nonce").Scan(&nonces))
	return fmt.Sprintf("%d rows, %d flights, %d nonces, %d jobs, %d harvests", w.rows(), len(flights), nonces, len(w.boundary.Jobs()), len(w.harvest.seen()))
}

func TestSection113EveryRowThatRefusesIsDrivenThroughAHost(t *testing.T) {
	var table, driven []string
	for _, row := range intake.Gate() {
		if row.Status >= bad {
			table = append(table, row.Name)
		}
	}
	for _, r := range refusals() {
		driven = append(driven, r.row)
		t.Run(r.row, func(t *testing.T) { refuses(t, r) })
	}
	require.Equal(t, table, driven)
}

// apart are the neighbours that cannot both be true of one submission to a host; the
// gate's own test says why of each that is not said here.
var apart = map[string]bool{
	"size syntax": true, "syntax types": true, "topic_id topic_known": true, "topic_known topic_open": true,
	"signature_required signature_form": true, "nonce_required nonce_form": true, "live_scorer harvest_weights": true,
	"in_flight epoch":      true, // a flight keeps its epoch open
	"hotkey_running queue": true, // whoever runs took the last place before it was full
}

func TestSection113OfTwoNeighboursTheEarlierAnswersInAHost(t *testing.T) {
	all := refusals()
	for i := range len(all) - 1 {
		first, second := all[i], all[i+1]
		if !apart[first.row+" "+second.row] {
			t.Run(first.row+" before "+second.row, func(t *testing.T) { refuses(t, first, second) })
		}
	}
}

// A nonce that was refused is free: the same body runs once nothing is in its way.
func TestDecision5ANonceIsFreeAfterEachRefusalOfTheHostsOwn(t *testing.T) {
	w := alone(t)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	sent := w.sent(custom0, 1, 1)
	for _, spoil := range []func(*world){
		without("baseline.json"), without("holdout.json"),
		func(w *world) { require.NoError(t, os.Remove(w.path("judge.key"))) },
		staged(func(h *intake.Harvest) { h.Weights = false }),
	} {
		spoil(w)
		w.submit(unavailable, sent)
		require.Equal(t, "0 rows, 0 flights, 0 nonces, 0 jobs, 0 harvests", w.left())
		w.files()
		w.harvest.facts.Weights = true
		require.NoError(t, w.Reload(context.Background()))
	}
	require.Equal(t, "champion", w.submit(created, sent)["state"])
}
