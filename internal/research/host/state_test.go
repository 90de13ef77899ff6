package host

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestSection25ABadFileIsLaterA503ThatNamesItAndNotItsPath(t *testing.T) {
	for name, c := range map[string]struct {
		file, want string
		topic      string
		row        string
	}{
		"inference offer": {"inference.json", inferenceVariable, custom0, "inference_offer"},
		"executor offer":  {"executor.json", executorVariable, custom0, "executor_offer"},
		"holdout":         {"holdout.json", holdoutVariable, custom0, "holdout"},
		"baseline":        {"baseline.json", baselineVariable, custom0, "baseline"},
	} {
		for kind, spoil := range map[string]func(w *world){
			"missing": func(w *world) { require.NoError(t, os.Remove(w.path(c.file))) },
			"a folder": func(w *world) {
				require.NoError(t, os.Remove(w.path(c.file)))
				require.NoError(t, os.Mkdir(w.path(c.file), 0o700))
			},
			"not JSON":  func(w *world) { w.write(c.file, []byte("{"+secretKey)) },
			"too large": func(w *world) { require.NoError(t, os.Truncate(w.path(c.file), maxFile+1)) },
			"a member that is none": func(w *world) {
				w.write(c.file, []byte(`{"base_url":"`+secretOrigin+`","offer_id":"`+secretKey+`"}`))
			},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				w := alone(t, spoil)
				ready, err := w.Readiness(context.Background(), c.topic)
				require.NoError(t, err)
				w.sawValue(ready)
				require.False(t, ready.Scorable)
				var said string
				for _, m := range ready.Missing {
					if m.Name == c.row {
						said = m.Error + " " + m.Detail
					}
				}
				require.Contains(t, said, c.want, "%+v", ready.Missing)
				require.Equal(t, "", w.shownPath())
				require.Contains(t, w.submit(unavailable, w.sent(c.topic, 1, 1))["error"], c.want, "the 503 names the file")
				require.Zero(t, w.rows())
				require.Contains(t, w.log.String(), c.want, "the start warned")
			})
		}
	}
}

func TestSection25AFaultOfOneTopicsMeasurementIsThatTopicsAlone(t *testing.T) {
	w := alone(t, func(w *world) {
		text, err := os.ReadFile(w.path("baseline.json"))
		require.NoError(t, err)
		all := map[string]json.RawMessage{}
		require.NoError(t, json.Unmarshal(text, &all))
		all[custom0] = json.RawMessage(`{"custom-value":0.4}`)
		w.write("baseline.json", map[string]any{"topics": all})
	})
	w.submit(created, w.sent(nll0, 1, 1))
	ready, err := w.Readiness(context.Background(), custom0)
	require.NoError(t, err)
	w.sawValue(ready)
	require.False(t, ready.Scorable)
	last := ready.Missing[len(ready.Missing)-1]
	require.Equal(t, "baseline", last.Name)
	require.Contains(t, last.Error+last.Detail, baselineVariable+": "+custom0+".custom-value: unknown key; did you mean custom_value?")
	require.Contains(t, w.log.String(), custom0+".custom-value", "the start warned")
	w.submit(unavailable, w.sent(custom0, 2, 2))
}

// shownPath returns what a reply so far shows of the operator's folder.
func (w *world) shownPath() string {
	for _, s := range w.shown {
		if i := strings.Index(s, secretFolder); i >= 0 {
			return s[max(0, i-40):]
		}
	}
	return ""
}

func TestSection25ATopicFileIsTakenTopicByTopic(t *testing.T) {
	w := alone(t, func(w *world) {
		good, forged, loose := newTopic("good-topic", topic.NLL), newTopic("forged-topic", topic.NLL), newTopic("loose-topic", topic.NLL)
		var list []json.RawMessage
		for _, d := range []*topic.Document{good, forged, loose} {
			d.HoldoutCommitment, d.Status = hash("holdout"), topic.Draft
			if d == loose {
				d.EpsilonNLL = 0.001
			}
			text := signed(t, d)
			if d == forged {
				text = []byte(strings.Replace(string(text), d.Signature, strings.Repeat("ab", 64), 1))
			}
			list = append(list, text)
		}
		w.write("topics.json", list)
	})
	all, err := w.Topics("all")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "good-topic", all[0].ID)
	require.Contains(t, w.log.String(), "forged-topic")
	require.Contains(t, w.log.String(), "loosens the pin floor")
}

func TestDecision12AProductionHostRefusesWhatIsForDevelopment(t *testing.T) {
	production := func(w *world) { w.options.Production = true }
	for name, edit := range map[string]func(*world){
		"sim":                  func(w *world) { w.options.ForceSim = true },
		"unsigned submissions": func(w *world) { w.options.UnsignedOK = true },
		"stand-ins":            func(w *world) { w.options.Standin = true },
	} {
		w := newWorld(t, "sqlite:"+t.TempDir()+"/prova.db", production, edit)
		err := w.open(t)
		require.ErrorContains(t, err, "PROVA_PRODUCTION=1 refuses", name)
		require.NoError(t, w.db.Close())
	}
	t.Run("a synthetic holdout", func(t *testing.T) {
		synthetic := func(w *world) {
			list, err := holdout.Synthetic(24, 1)
			require.NoError(t, err)
			sum := holdout.Commitment(list)
			d := newTopic(nll0, topic.NLL)
			d.HoldoutCommitment = hex.EncodeToString(sum[:])
			m := w.seal(d)
			text, err := m.JSON()
			require.NoError(t, err)
			w.write("baseline.json", text)
			text, err = holdout.Write(nll0, list)
			require.NoError(t, err)
			w.write("holdout.json", text)
			w.write("topics.json", []json.RawMessage{signed(t, d)})
		}
		w := alone(t, production, synthetic)
		require.Contains(t, w.submit(unavailable, w.sent(nll0, 1, 1))["error"], "no open sealed topic")
		ready, err := w.Readiness(context.Background(), nll0)
		require.NoError(t, err)
		require.Contains(t, ready.Missing[len(ready.Missing)-1].Detail, "synthetic")
		w = alone(t, synthetic)
		w.submit(created, w.sent(nll0, 1, 1))
	})
	for _, driver := range []string{"fake (nothing is isolated)", "process", "gvisor", "qemu (TCG)", "qemu (KVM)", "local", "firecracker (stand-in)"} {
		t.Run("the driver "+driver, func(t *testing.T) {
			w := alone(t, production, func(w *world) { w.boundary.Hypervisor = driver })
			require.Contains(t, w.submit(unavailable, w.sent(custom0, 1, 1))["error"], "a production host refuses it")
			require.Empty(t, w.boundary.Jobs())
			status, err := w.Status(context.Background())
			require.NoError(t, err)
			require.True(t, status.Production)
			require.Equal(t, Sandbox{Driver: driver}, *status.Sandbox, "what nothing runs on is not ready")
			require.Equal(t, []string{nll0}, status.ScorableTopics)
		})
	}
}

func TestDecision12ASubmissionThatWasTakenBeforeTheDriverWasKnownDoesNotRunOnOne(t *testing.T) {
	w := newWorld(t, "sqlite:"+t.TempDir()+"/prova.db", func(w *world) { w.boundary.Hypervisor = "fake" })
	require.NoError(t, w.open(t))
	digest := w.async(w.sent(custom0, 1, 1))
	require.NoError(t, w.db.Close())
	w.options.Production = true // the process after it
	require.NoError(t, w.open(t))
	w.run(t)
	require.Contains(t, w.until(digest, "refused")["error"], "a production host refuses it")
	require.Empty(t, w.boundary.Jobs())
}

func TestWhatTheEngineRefusesIsShownAndWhatTheLedgerSaysIsNot(t *testing.T) {
	w := alone(t)
	ctx := context.Background()
	for _, c := range []struct {
		err    error
		status int // 0: no refusal
	}{
		{nil, 0},
		{rlm.ErrUnknownTopic, notFound},
		{rlm.ErrOwnerKeys, unavailable},
		{rlm.ErrBusy, conflict},
		{fmt.Errorf("setup: %w", rlm.ErrDeclined), conflict},
		{fmt.Errorf("state: %w", errText("ledger: topic: dial postgres://user:pass@db: refused")), 0},
		{fmt.Errorf("x: %w", ledger.ErrMoved), 0},
		{fmt.Errorf("x: %w", store.ErrUncertain), 0},
	} {
		got := w.engineError(ctx, c.err)
		if c.status == 0 {
			require.Equal(t, c.err, got)
			continue
		}
		require.Equal(t, c.status, w.sawError(got).Status, "%v", c.err)
	}
}

func TestSection141StatusHasTheFieldsInTheirOrder(t *testing.T) {
	w := alone(t)
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	w.sawValue(status)
	text, err := json.Marshal(status)
	require.NoError(t, err)
	at := -1
	for _, field := range []string{
		"challenge_id", "scoring_version", "score_max", "eval_image", "eval_image_digest", "inference_offer", "inference",
		"eval_executor", "executor", "eval_backend", "force_sim", "sim_stub_win", "can_score", "live_harvest_wired",
		"custom_family_wired", "baseline_sealed", "open_topics", "scorable_topics", "registered_custom", "custom_ready", "epoch",
		"store", "production", "signature_required", "sandbox",
	} {
		next := at + 1 + strings.Index(string(text[at+1:]), `"`+field+`":`)
		require.Greater(t, next, at, "%s in %s", field, text)
		at = next
	}
	require.True(t, status.CanScore && status.BaselineSealed && status.LiveHarvestWired && status.CustomFamilyWired && status.SignatureRequired)
	require.Equal(t, []string{custom0, nll0}, status.OpenTopics)
	require.Equal(t, status.OpenTopics, status.ScorableTopics)
	require.Equal(t, []string{customID}, status.CustomReady)
	require.Equal(t, "judge-a", status.InferenceOffer.OfferID)
	require.NotContains(t, string(text), "base_url")
}

func TestSection29ACustomOnlyHostClaimsNoHarvestAndScoresCustomTopics(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Harvest = nil })
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	w.sawValue(status)
	require.False(t, status.LiveHarvestWired)
	require.True(t, status.CustomFamilyWired)
	require.Equal(t, []string{custom0, nll0}, status.OpenTopics)
	require.Equal(t, []string{custom0}, status.ScorableTopics)
	require.Contains(t, w.submit(unavailable, w.sent(nll0, 1, 1))["error"], "no in-process sim")
	w.submit(created, w.sent(custom0, 2, 2))
	d := newTopic("another-custom", topic.Custom)
	w.ready(d, true)
	_, err = w.Publish(context.Background(), signed(t, d))
	require.NoError(t, err)
	w.submit(created, w.sent("another-custom", 3, 3))
}

// ready adds holdout and, when sealed, the measurement of a topic to the files, and
// commits the document to them.
func (w *world) ready(d *topic.Document, sealed bool) *baseline.Measurement {
	w.t.Helper()
	add := func(name string, value []byte) {
		all := map[string]json.RawMessage{}
		text, err := os.ReadFile(w.path(name))
		require.NoError(w.t, err)
		require.NoError(w.t, json.Unmarshal(text, &all))
		all[d.ID] = value
		w.write(name, all)
	}
	all := map[string]json.RawMessage{}
	text, err := os.ReadFile(w.path("holdout.json"))
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(text, &all))
	sum := holdout.Commitment(records(1))
	d.HoldoutCommitment = hex.EncodeToString(sum[:])
	add("holdout.json", all[nll0])
	if !sealed {
		return nil
	}
	m := w.seal(d)
	text, err = m.JSON()
	require.NoError(w.t, err)
	add("baseline.json", text)
	return m
}

func TestSection154ARunnerWhoseBackendIsNotReadyLeavesCustomReadyAndNotTheRegistry(t *testing.T) {
	w := alone(t, func(w *world) {
		w.boundary.At = func(_ context.Context, call, _ string) error {
			if call == "ready" {
				return errText("image not pinned: PROOF_RLM_VM_IMAGE_DIGEST")
			}
			return nil
		}
	})
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{customID}, status.RegisteredCustom)
	require.Empty(t, status.CustomReady)
	require.True(t, status.CustomFamilyWired)
	require.Contains(t, w.submit(unavailable, w.sent(custom0, 1, 1))["error"], "PROOF_RLM_VM_IMAGE_DIGEST")
}

type errText string

func (e errText) Error() string { return string(e) }

func TestSection154WithoutAnyScorerEverySubmissionIs503(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Harvest, w.boundary = nil, nil })
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	require.False(t, status.CanScore || status.LiveHarvestWired || status.CustomFamilyWired)
	require.Empty(t, status.ScorableTopics)
	require.Equal(t, []string{nll0}, status.OpenTopics, "a custom topic of a file does not open where no runner is registered")
	require.Contains(t, w.submit(unavailable, w.sent(nll0, 1, 1))["error"], "no in-process sim")
}

// R§24.5: a control plane without an orchestrator names both variables, to miners and
// to whoever publishes; ids that are listed over it register nothing (R§15.4).
func TestSection155AHostWithoutAnOrchestratorNamesBothVariables(t *testing.T) {
	const why = "runner not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)"
	for name, lacks := range map[string]func(w *world){
		"no engine":             func(w *world) { w.boundary = nil },
		"an unwired boundary":   func(w *world) { w.engine.Boundary = rlm.Unwired{} },
		"no live scorer at all": func(w *world) { w.boundary, w.options.Harvest = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := alone(t) // where the topic opened
			w.stop()
			lacks(w)
			w.start(t)
			got := w.submit(unavailable, w.sent(custom0, 1, 1))["error"]
			require.Contains(t, got, `custom metric "`+customID+`" has no registered runner (`+why+`); refuse scoring`)
			status, err := w.Status(context.Background())
			require.NoError(t, err)
			require.Empty(t, status.RegisteredCustom)
			d := newTopic("another-custom", topic.Custom)
			w.ready(d, true)
			_, err = w.Publish(context.Background(), signed(t, d))
			require.Equal(t, bad, w.sawError(err).Status)
			require.Contains(t, err.Error(), "a topic may draft but not open ("+why+")")
			require.Zero(t, w.rows())
		})
	}
}

func TestSection25AKeyFileWithoutAKeyIsAWarningOfTheStart(t *testing.T) {
	w := alone(t, func(w *world) {
		w.engine.OwnerKeyFile = w.path("owner.key")
		w.write("judge.key", []byte(" "))
	})
	require.Contains(t, w.log.String(), "PROOF_INFERENCE_API_KEY_FILE cannot be used")
	require.Contains(t, w.log.String(), "PROOF_RLM_OWNER_INFERENCE_KEY_FILE cannot be used")
	require.NotContains(t, alone(t).log.String(), "cannot be used")
}

func TestSection25AnOpenTopicThatCannotBeScoredIsLoggedOnce(t *testing.T) {
	w := alone(t, func(w *world) { w.write("baseline.json", []byte("{")) })
	require.NoError(t, w.publish(newDraft(w, "another-topic")))
	for _, id := range []string{custom0, nll0} {
		require.Equal(t, 1, strings.Count(w.log.String(), `"an open topic cannot be scored" topic=`+id), id)
	}
	require.NoError(t, w.Reload(context.Background()))
	require.Equal(t, 2, strings.Count(w.log.String(), `"an open topic cannot be scored" topic=`+nll0), "a reload tells again")
}

func TestSection29AnEmptyDigestAndAMissingKeyAre503(t *testing.T) {
	w := alone(t)
	require.NoError(t, os.Remove(w.path("judge.key")))
	noKey := offer.ErrInferenceKey.Error() + " (PROOF_INFERENCE_API_KEY_FILE cannot be used)"
	require.Equal(t, noKey, w.submit(unavailable, w.sent(custom0, 1, 1))["error"])
	w.write("judge.key", []byte(" \n"))
	require.Equal(t, noKey, w.submit(unavailable, w.sent(custom0, 1, 1))["error"])
	w.write("judge.key", []byte(secretKey))
	w.submit(created, w.sent(custom0, 1, 1))

	w = alone(t, func(w *world) {
		w.pin.EvalImageDigest = ""
		w.files()
	})
	require.Contains(t, w.submit(unavailable, w.sent(custom0, 1, 1))["error"], "eval image digest not pinned")
	require.Zero(t, w.rows())
}

func TestSection29ATopicThatSpoofsTheJudgesOriginIs503BeforeAnyRun(t *testing.T) {
	w := alone(t, func(w *world) {
		d := newTopic(nll0, topic.NLL)
		d.Inference.BaseURL = ptr("https://elsewhere.invalid/v1")
		w.ready(d, true)
		w.write("topics.json", []json.RawMessage{signed(t, d)})
	})
	require.Equal(t, offer.ErrOriginMismatch.Error(), w.submit(unavailable, w.sent(nll0, 1, 1))["error"])
	require.Empty(t, w.harvest.seen())
}

func TestSection142TheExecutorSaysWhyItIsNotReady(t *testing.T) {
	w := alone(t)
	ready := w.Executor()
	w.sawValue(ready)
	require.True(t, ready.Ready)
	require.Nil(t, ready.Reason)
	require.EqualValues(t, 1, *ready.EvalExecutor.GPUCount)
	require.EqualValues(t, pin.MaxDeadlineS, ready.Pin.MaxProofDeadlineSCeiling)

	set, err := w.SetExecutor(context.Background(), w.executor(600, offer.Closed))
	require.NoError(t, err)
	require.False(t, set.CanScore)
	closed := w.Executor()
	require.Equal(t, offer.ErrExecutorClosed.Error(), *closed.Reason)
	require.Equal(t, offer.ErrExecutorClosed.Error(), strings.TrimPrefix(w.submit(unavailable, w.sent(custom0, 1, 1))["error"].(string), "eval executor offer: "))

	_, err = w.SetExecutor(context.Background(), w.executor(9999, offer.Open))
	require.Equal(t, bad, w.sawError(err).Status)
	_, err = w.SetExecutor(context.Background(), []byte("{"))
	require.Equal(t, bad, w.sawError(err).Status)
	_, err = w.SetExecutor(context.Background(), []byte(`{"machine_id":1}`))
	require.Equal(t, wrongTypes, w.sawError(err).Status)
	require.Equal(t, offer.Closed, w.Executor().EvalExecutor.Status, "a refused offer leaves the one before")
	set, err = w.SetExecutor(context.Background(), w.executor(600, offer.Open))
	require.NoError(t, err)
	require.True(t, set.CanScore)

	w = alone(t, func(w *world) { w.options.Files.ExecutorOffer = "" })
	require.Equal(t, offer.ErrExecutorMissing.Error(), *w.Executor().Reason)
}

func TestReloadReadsEveryFileAgain(t *testing.T) {
	w := alone(t)
	judge := &offer.Inference{
		OfferID: "judge-b", Provider: pin.OpenAICompatible, BaseURL: secretOrigin + "/b", Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Closed,
	}
	w.writeInference(judge)
	require.NoError(t, w.Reload(context.Background()))
	require.Equal(t, offer.ErrInferenceClosed.Error(), w.submit(unavailable, w.sent(nll0, 1, 1))["error"])
	w.files()
	require.NoError(t, w.Reload(context.Background()))
	w.submit(created, w.sent(nll0, 1, 1))
}
