package host

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
)

func (w *world) publish(d *topic.Document) error {
	w.t.Helper()
	_, err := w.Publish(context.Background(), signed(w.t, d))
	return err
}

func TestSection144PublishValidatesThenVerifiesThenStores(t *testing.T) {
	w := alone(t)
	good := func() *topic.Document {
		d := newTopic("new-topic", topic.NLL)
		w.ready(d, true)
		return d
	}
	for _, c := range []struct {
		name   string
		status int
		text   string
		body   func() []byte
	}{
		{"no JSON", bad, "", func() []byte { return []byte("{") }},
		{"an unknown key", wrongTypes, "machine_id", func() []byte { return []byte(`{"machine_id":"x"}`) }},
		{"a wrong type", wrongTypes, "flops_budget", func() []byte { return []byte(`{"flops_budget":2e18}`) }},
		{"a loosened floor, whatever its signature", bad, "epsilon_nll = 0.01 loosens the pin floor 0.02", func() []byte {
			d := good()
			d.EpsilonNLL = 0.01
			text, _ := d.JSON()
			return text
		}},
		{"an unsealed open topic", bad, "baseline is not sealed", func() []byte {
			d := good()
			d.Baseline.MetricsCommitment = ""
			return signed(t, d)
		}},
		{"no signature", bad, topic.ErrSignatureEncoding.Error(), func() []byte {
			text, _ := good().JSON()
			return text
		}},
		{"another key's signature", bad, topic.ErrSignature.Error(), func() []byte {
			d := good()
			require.NoError(t, d.Sign(nil, newKey("somebody else")))
			text, _ := d.JSON()
			return text
		}},
		{"an open custom topic without a runner", bad, `custom metric "unheard_of" has no registered runner`, func() []byte {
			d := newTopic("new-topic", topic.Custom)
			d.Metric.CustomID = "unheard_of"
			w.ready(d, true)
			return signed(t, d)
		}},
	} {
		_, err := w.Publish(context.Background(), c.body())
		refusal := w.sawError(err)
		require.Equal(t, c.status, refusal.Status, "%s: %s", c.name, refusal.Text)
		require.Contains(t, refusal.Text, c.text, c.name)
		_, err = w.Topic("new-topic")
		require.Error(t, err, c.name)
	}
	text, err := w.Publish(context.Background(), signed(t, good()))
	require.NoError(t, err)
	require.Contains(t, string(text), `"id":"new-topic"`)
	// Its holdout and baseline were put there before: it is scorable at once.
	w.submit(created, w.sent("new-topic", 1, 1))
}

func TestSection144WithoutATopicKeyNothingIsPublished(t *testing.T) {
	w := alone(t, func(w *world) { w.pin.TopicPubkey = "" })
	require.Equal(t, unavailable, w.sawError(w.publish(newDraft(w, "new-topic"))).Status)
	all, err := w.Topics("all")
	require.NoError(t, err)
	require.Empty(t, all)
}

func newDraft(w *world, id string) *topic.Document {
	d := newTopic(id, topic.NLL)
	w.ready(d, false)
	d.Status = topic.Draft
	return d
}

func TestSection14ADraftOfAnUnregisteredCustomTopicDrafts(t *testing.T) {
	w := alone(t)
	d := newTopic("new-topic", topic.Custom)
	w.ready(d, false)
	d.Metric.CustomID, d.Status = "unheard_of", topic.Draft
	require.NoError(t, w.publish(d))
	drafts, err := w.Topics("draft")
	require.NoError(t, err)
	require.Len(t, drafts, 1)
	open, err := w.Topics("")
	require.NoError(t, err)
	require.Len(t, open, 2)
	_, err = w.Topics("opened")
	require.Equal(t, bad, w.sawError(err).Status)
	require.Contains(t, w.submit(bad, w.sent("new-topic", 1, 1))["error"], "topic is not open")
}

func TestDecision11AnOlderVersionIsRefusedAndTheNewestIsStoredOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := newDraft(w, "new-topic")
		one := signed(t, first)
		_, err := w.Publish(context.Background(), one)
		require.NoError(t, err)
		_, err = w.Publish(context.Background(), one)
		require.NoError(t, err)
		second := newDraft(w, "new-topic")
		second.Statement = "Another statement."
		require.NoError(t, w.publish(second))
		_, err = w.Publish(context.Background(), one)
		refusal := w.sawError(err)
		require.Equal(t, conflict, refusal.Status)
		require.Contains(t, refusal.Text, "version 1")
		versions, err := w.ledger.TopicVersions(context.Background(), "new-topic")
		require.NoError(t, err)
		require.Len(t, versions, 2)
	})
}

func TestDecision11ATopicOpensOnlyFromWhereItMay(t *testing.T) {
	for _, c := range []struct {
		name   string
		at     rlm.State
		custom bool
		stored bool
		to     topic.Status
		want   string // in the refusal; empty: taken
	}{
		{"a new custom topic opens sealed", rlm.Open, true, false, topic.Open, ""},
		{"a custom draft does not open", rlm.Draft, true, true, topic.Open, "is at draft"},
		{"nor before its owner answered", rlm.OwnerPresend, true, true, topic.Open, "is at owner_presend"},
		{"nor before the owner's key", rlm.AwaitingOwnerKeys, true, true, topic.Open, "is at awaiting_owner_keys"},
		{"nor while it is provisioned", rlm.Provisioning, true, true, topic.Open, "is at provisioning"},
		{"at baselining it is sealed", rlm.Baselining, true, true, topic.Open, ""},
		{"an open one is replaced", rlm.Open, true, true, topic.Open, ""},
		{"while it is evaluating too", rlm.Evaluating, true, true, topic.Open, ""},
		{"a closed one never opens again", rlm.Closed, true, true, topic.Open, "is closed"},
		{"nor becomes a draft", rlm.Closed, true, true, topic.Draft, "is closed"},
		{"an open one does not become a draft", rlm.Promoting, true, true, topic.Draft, "close it instead"},
		{"a draft is replaced by a draft", rlm.Baselining, true, true, topic.Draft, ""},
		{"anything closes", rlm.Provisioning, true, true, topic.Closed, ""},
		{"an nll draft opens", rlm.Draft, false, true, topic.Open, ""},
		{"a closed nll topic does not", rlm.Closed, false, true, topic.Open, "is closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTopic("some-topic", topic.Custom)
			d.Status = c.to
			refusal := mayPublish(d, c.at, c.custom, c.stored)
			if c.want == "" {
				require.Nil(t, refusal)
				return
			}
			require.NotNil(t, refusal)
			require.Equal(t, conflict, refusal.Status)
			require.Contains(t, refusal.Text, c.want)
		})
	}
}

// measured publishes a draft of a custom topic and has its baseline measured.
func (w *world) measured(id string) *topic.Document {
	w.t.Helper()
	ctx := context.Background()
	d := newTopic(id, topic.Custom)
	w.ready(d, false)
	d.Status, d.Baseline.ScriptSHA256 = topic.Draft, hash("baseline script")
	require.NoError(w.t, w.publish(d))
	presend, err := w.Presend(ctx, id)
	require.NoError(w.t, err)
	w.sawValue(presend)
	w.setup(id, Approval{Approve: true, Reason: "go on"})
	require.Equal(w.t, rlm.Baselining, w.lifecycle(id).State)
	m, err := w.Measurement(ctx, id)
	require.NoError(w.t, err)
	w.sawValue(m)
	require.Equal(w.t, sealed0, m.PrimaryValue)
	return d
}

// setup starts a ceremony and waits for its end.
func (w *world) setup(id string, a Approval) {
	w.t.Helper()
	started, err := w.Setup(context.Background(), id, a)
	require.NoError(w.t, err)
	w.sawValue(started)
	require.Eventually(w.t, func() bool { return !w.lifecycle(id).SetupRunning }, 10*time.Second, 2*time.Millisecond)
}

func (w *world) lifecycle(id string) *Lifecycle {
	w.t.Helper()
	got, err := w.Lifecycle(context.Background(), id)
	require.NoError(w.t, err)
	w.sawValue(got)
	return got
}

func TestSection18ATopicGoesFromDraftThroughItsSetupToAScoredRow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.measured("new-custom")
		// Opened too early: no measurement in the operator's file yet.
		sealedDoc := *d
		m := w.seal(&sealedDoc)
		sealedDoc.Status = topic.Open
		require.Contains(t, w.sawError(w.publish(&sealedDoc)).Text, "no sealed measurement")
		// Another value than the measured one does not seal.
		other := *d
		wrong := w.sealAs(&other, 0.39)
		w.addBaseline(wrong)
		other.Status = topic.Open
		refusal := w.sawError(w.publish(&other))
		require.Equal(t, conflict, refusal.Status)
		require.Contains(t, refusal.Text, "is not the measured baseline")
		require.Equal(t, rlm.Baselining, w.lifecycle("new-custom").State)
		w.addBaseline(m)
		require.NoError(t, w.publish(&sealedDoc))
		require.Equal(t, rlm.Open, w.lifecycle("new-custom").State)
		w.boundary.Script(rlmtest.Digest(9), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
		require.Equal(t, "champion", w.submit(created, w.sent("new-custom", 1, 9))["state"])
		closed := sealedDoc
		closed.Status = topic.Closed
		require.NoError(t, w.publish(&closed))
		require.Equal(t, rlm.Closed, w.lifecycle("new-custom").State)
		require.Contains(t, w.submit(bad, w.sent("new-custom", 2, 8))["error"], "topic is not open")
		closed.Status, closed.Statement = topic.Open, "Once more."
		require.Contains(t, w.sawError(w.publish(&closed)).Text, "is closed")
	})
}

func (w *world) sealAs(d *topic.Document, value float64) *baseline.Measurement {
	w.t.Helper()
	m := w.seal(d)
	m.CustomValue = &value
	var err error
	d.Baseline.MetricsCommitment, err = m.Commitment()
	require.NoError(w.t, err)
	return m
}

func (w *world) addBaseline(m *baseline.Measurement) {
	w.t.Helper()
	text, err := os.ReadFile(w.path("baseline.json"))
	require.NoError(w.t, err)
	all := map[string]any{}
	decode(w.t, text, &all)
	text, err = m.JSON()
	require.NoError(w.t, err)
	var one any
	decode(w.t, text, &one)
	all[m.TopicID] = one
	w.write("baseline.json", all)
}

func TestDecision11ABaselineMeasuredUnderOlderRulesDoesNotSeal(t *testing.T) {
	w := alone(t)
	d := w.measured("new-custom")
	set, err := w.EditRules(context.Background(), "new-custom", []topic.ChecklistItem{{ID: "another_rule", Text: "nothing else"}})
	require.NoError(t, err)
	require.Equal(t, topic.FromOperator, set.Source)
	rules, err := w.Rules(context.Background(), "new-custom")
	require.NoError(t, err)
	require.Equal(t, set.Version, rules[len(rules)-1].Version)
	m := w.seal(d)
	w.addBaseline(m)
	d.Status = topic.Open
	refusal := w.sawError(w.publish(d))
	require.Equal(t, conflict, refusal.Status)
	require.Contains(t, refusal.Text, "run its setup again")
	// The setup measures again, under the rules of now.
	w.setup("new-custom", Approval{Approve: true})
	require.NoError(t, w.publish(d))
}

func TestSection16TheOwnerMayDeclineAndTheKeyMayBeMissing(t *testing.T) {
	w := alone(t)
	d := newTopic("new-custom", topic.Custom)
	w.ready(d, false)
	d.Status, d.Baseline.ScriptSHA256 = topic.Draft, hash("baseline script")
	require.NoError(t, w.publish(d))
	w.setup("new-custom", Approval{Reason: "too dear"})
	got := w.lifecycle("new-custom")
	require.Equal(t, rlm.Draft, got.State)
	require.Contains(t, *got.SetupError, "declined")
	require.Contains(t, got.Events[len(got.Events)-1].Note, "too dear")

	require.NoError(t, os.Remove(w.path("judge.key")))
	w.setup("new-custom", Approval{Approve: true})
	got = w.lifecycle("new-custom")
	require.Equal(t, rlm.AwaitingOwnerKeys, got.State)
	require.Contains(t, *got.SetupError, rlm.OwnerKeyVariable)
	w.write("judge.key", []byte(secretKey))
	w.setup("new-custom", Approval{Approve: true})
	require.Equal(t, rlm.Baselining, w.lifecycle("new-custom").State)
	require.Nil(t, w.lifecycle("new-custom").SetupError)
}

func TestSetupIsRefusedWhereItHasNothingToDo(t *testing.T) {
	w := alone(t)
	ctx := context.Background()
	for _, c := range []struct {
		id     string
		status int
	}{{"no-such-topic", notFound}, {nll0, bad}, {custom0, conflict}} {
		_, err := w.Setup(ctx, c.id, Approval{Approve: true})
		require.Equal(t, c.status, w.sawError(err).Status, c.id)
	}
	_, err := w.EditRules(ctx, custom0, nil)
	require.Equal(t, bad, w.sawError(err).Status)
	_, err = w.EditRules(ctx, custom0, []topic.ChecklistItem{{ID: "Not A Slug", Text: "x"}})
	require.Contains(t, w.sawError(err).Text, "id must match")
	_, err = w.Measurement(ctx, custom0)
	require.Equal(t, notFound, w.sawError(err).Status)
}

func TestSection29TheOrchestratorIsProbed(t *testing.T) {
	w := alone(t)
	got := w.Probe(context.Background())
	w.sawValue(got)
	require.True(t, got.Wired && got.Health.Ready)
	require.Nil(t, got.Error)
	w = alone(t, func(w *world) {
		w.boundary.At = func(_ context.Context, call, _ string) error {
			if call == "probe" {
				return errText("orchestrator unreachable at " + w.path("judge.key"))
			}
			return nil
		}
	})
	got = w.Probe(context.Background())
	w.sawValue(got)
	require.True(t, got.Wired)
	require.True(t, strings.HasPrefix(*got.Error, "orchestrator unreachable"))
	w = alone(t, func(w *world) { w.boundary = nil })
	got = w.Probe(context.Background())
	require.False(t, got.Wired)
	require.Contains(t, *got.Error, "PROOF_VM_ORCHESTRATOR_URL")
}
