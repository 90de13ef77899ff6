package rlm_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// owner is an owner who says this.
type owner struct {
	yes    bool
	reason string
	err    error
	shown  *rlm.Presend
}

func (o *owner) Ask(_ context.Context, p *rlm.Presend) (bool, string, error) {
	o.shown = p
	return o.yes, o.reason, o.err
}

// publish stores the world's document as the next version, a draft without a seal
// when it is to be set up.
func (w *world) publish(t testing.TB) {
	t.Helper()
	versions, err := w.ledger.TopicVersions(t.Context(), w.id)
	require.NoError(t, err)
	require.NoError(t, w.ledger.Publish(t.Context(), ledger.TopicVersion{
		TopicID: w.id, Version: uint32(len(versions) + 1), Status: string(w.doc.Status), Document: must(w.doc.JSON()), Signature: w.doc.Signature,
	}))
}

func (w *world) draft(t testing.TB) {
	t.Helper()
	w.doc.Status, w.doc.Baseline.MetricsCommitment = topic.Draft, ""
	w.sign(t)
	w.publish(t)
	w.boundary.Baseline = rlmtest.Script{Primary: ptr(sealed), Flops: 500}
}

func TestSection18SetupTakesADraftToAMeasuredBaseline(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.draft(t)
		o := &owner{yes: true, reason: "within budget"}
		result, err := w.Setup(t.Context(), topicID, o)
		require.NoError(t, err)
		require.Equal(t, &rlm.SetupResult{TopicID: topicID, VM: wire.Handle{TopicID: topicID, VMID: topicID + "-0001"}, RulesVersion: 2, BaselinePrimary: sealed, FlopsUsed: 500}, result)
		require.Equal(t, &rlm.Presend{
			TopicID: topicID, Statement: "raise the success rate", CustomID: customID, ModelPin: ptr("vendor/model"),
			FirecrackerRequired: true, Seed: 42, RuleIDs: []string{"same_seed", "no_eval_short_circuit"}, SpendCapUSD: 12.5,
		}, o.shown)
		require.Equal(t, []string{"submit_for_review", "owner_approved", "owner_keys_present", "provisioned"}, w.events(t))
		require.Equal(t, rlm.Baselining, w.state(t), "sealing is the operator's")
		versions, err := w.ledger.RuleVersions(t.Context(), topicID)
		require.NoError(t, err)
		require.Len(t, versions, 2, "version 1 is the signed vector, version 2 the RLM's")
		require.Equal(t, topic.FromDocument, versions[0].Source)
		require.Equal(t, topic.FromRLM, versions[1].Source)
		m, err := w.ledger.LatestMeasurement(t.Context(), topicID)
		require.NoError(t, err)
		require.Equal(t, uint32(2), m.RulesVersion)
		require.InDelta(t, sealed, m.PrimaryValue, 0)
		w.free(t)
		require.Empty(t, w.boundary.Running(), "the VM with the owner's key does not outlive the ceremony")

		// A second call measures again, under rules of its own.
		again, err := w.Setup(t.Context(), topicID, nil)
		require.NoError(t, err)
		require.Equal(t, uint32(3), again.RulesVersion)
	})
}

func TestSection16SetupStopsAtTheOwner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.draft(t)
		_, err := w.Setup(t.Context(), topicID, nil)
		require.ErrorIs(t, err, rlm.ErrNoOwnerHook)
		require.EqualError(t, err, "no owner hook configured; owner_presend cannot advance")
		require.Equal(t, rlm.OwnerPresend, w.state(t))
		_, err = w.Setup(t.Context(), topicID, &owner{err: errors.New("unreachable")})
		require.EqualError(t, err, "owner hook: unreachable")
		require.Equal(t, rlm.OwnerPresend, w.state(t))
		_, err = w.Setup(t.Context(), topicID, &owner{reason: "too dear"})
		require.ErrorIs(t, err, rlm.ErrDeclined)
		require.Equal(t, rlm.Draft, w.state(t))
		moves, err := w.ledger.Moves(t.Context(), topicID)
		require.NoError(t, err)
		require.Equal(t, "too dear", moves[len(moves)-1].Note)
		w.free(t)
	})
}

func TestSection16SetupWaitsForTheOwnersKeyByPresenceAlone(t *testing.T) {
	w := alone(t)
	w.draft(t)
	path := w.options.OwnerKeyFile
	require.NoError(t, os.WriteFile(path, []byte(" \n\t"), 0o600))
	_, err := w.Setup(t.Context(), topicID, &owner{yes: true})
	require.ErrorIs(t, err, rlm.ErrOwnerKeys)
	require.NotContains(t, err.Error(), "planted")
	require.Equal(t, rlm.AwaitingOwnerKeys, w.state(t))
	require.NoError(t, os.Remove(path))
	_, err = w.Setup(t.Context(), topicID, nil)
	require.ErrorIs(t, err, rlm.ErrOwnerKeys, "a missing file is as good as a blank one")
	require.NoError(t, os.WriteFile(path, []byte(judgeKey), 0o600))
	_, err = w.Setup(t.Context(), topicID, nil)
	require.NoError(t, err, "it goes on without asking the owner again")
	require.NotContains(t, w.log.String(), judgeKey)
}

func TestSection18AFailedVMTakesTheTopicBackToDraft(t *testing.T) {
	for _, c := range []struct {
		call  string
		event string
	}{{"create", "provision_failed"}, {"propose_rules", "baseline_failed"}, {"baseline", "baseline_failed"}} {
		t.Run(c.call, func(t *testing.T) {
			w := alone(t)
			w.draft(t)
			w.boundary.At = func(_ context.Context, call, _ string) error {
				if call == c.call {
					return errors.New("no KVM here")
				}
				return nil
			}
			_, err := w.Setup(t.Context(), topicID, &owner{yes: true})
			require.EqualError(t, err, "no KVM here")
			require.Equal(t, rlm.Draft, w.state(t))
			moves, err := w.ledger.Moves(t.Context(), topicID)
			require.NoError(t, err)
			require.Equal(t, c.event, moves[len(moves)-1].Event)
			require.Equal(t, "no KVM here", moves[len(moves)-1].Note)
			m, err := w.ledger.LatestMeasurement(t.Context(), topicID)
			require.NoError(t, err)
			require.Nil(t, m)
			w.free(t)
		})
	}
}

func TestSection18AMeasurementThatIsNoneIsRefusedAndTheTopicStays(t *testing.T) {
	for name, c := range map[string]struct {
		script rlmtest.Script
		text   string
	}{
		"over the budget": {rlmtest.Script{Primary: ptr(sealed), Flops: 2001}, "baseline refused: it used 2001 operations, the topic's flops_budget is 2000"},
		"without usage":   {rlmtest.Script{Primary: ptr(sealed), Unmeasured: true}, "baseline refused: run report has no flops_used"},
		"without value":   {rlmtest.Script{Failure: "exit status 2"}, `baseline refused: the baseline recipe ran and failed: "exit status 2"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := alone(t)
			w.draft(t)
			w.boundary.Baseline = c.script
			_, err := w.Setup(t.Context(), topicID, &owner{yes: true})
			require.ErrorContains(t, err, c.text)
			require.Equal(t, rlm.Baselining, w.state(t), "a run again is possible")
			m, err := w.ledger.LatestMeasurement(t.Context(), topicID)
			require.NoError(t, err)
			require.Nil(t, m)
			w.boundary.Baseline = rlmtest.Script{Primary: ptr(sealed)}
			_, err = w.Setup(t.Context(), topicID, nil)
			require.NoError(t, err)
		})
	}
}

func TestSection18RulesThatCannotBeUsedAreNotStored(t *testing.T) {
	w := alone(t)
	w.draft(t)
	w.boundary.Rules = []wire.Rule{{ID: "Bad Id", Text: "x"}}
	_, err := w.Setup(t.Context(), topicID, &owner{yes: true})
	require.ErrorContains(t, err, "the RLM proposed rules that cannot be used")
	versions, err := w.ledger.RuleVersions(t.Context(), topicID)
	require.NoError(t, err)
	require.Len(t, versions, 1)
}

func TestSection30AnEmptySignedVectorMakesTheRLMsRulesVersion1(t *testing.T) {
	w := alone(t)
	w.doc.Checklist = nil
	w.draft(t)
	w.boundary.Rules = []wire.Rule{{ID: "a_rule", Text: "x"}}
	result, err := w.Setup(t.Context(), topicID, &owner{yes: true})
	require.NoError(t, err)
	require.Equal(t, uint32(1), result.RulesVersion)
	jobs := w.boundary.Jobs()
	require.Nil(t, jobs[0].CurrentVersion)
}

func TestSetupRefusesWhatItCannotSetUp(t *testing.T) {
	w := alone(t)
	_, err := w.Setup(t.Context(), topicID, nil)
	require.ErrorIs(t, err, rlm.ErrUnknownTopic)
	w.publish(t) // open and sealed
	_, err = w.Setup(t.Context(), topicID, nil)
	require.ErrorIs(t, err, rlm.ErrState)
	w.doc.Status, w.doc.Baseline.ScriptSHA256 = topic.Draft, ""
	w.publish(t)
	_, err = w.Setup(t.Context(), topicID, nil)
	require.ErrorContains(t, err, "baseline.script_sha256 is not set")
	require.Empty(t, w.events(t))
	w.draft(t)
	lease, err := w.ledger.Acquire(t.Context(), topicID, "somebody", w.options.LeaseTTL)
	require.NoError(t, err)
	w.doc.Baseline.ScriptSHA256 = hash("baseline.tar")
	w.draft(t)
	_, err = w.Setup(t.Context(), topicID, &owner{yes: true})
	require.ErrorIs(t, err, rlm.ErrBusy)
	require.NoError(t, w.ledger.Release(t.Context(), *lease))
	w.start(t, func(o *rlm.Options) { o.CustomIDs = nil })
	_, err = w.Setup(t.Context(), topicID, &owner{yes: true})
	require.ErrorContains(t, err, "has no registered runner")
	w.doc.Metric = topic.New().Metric
	w.draft(t)
	_, err = w.Setup(t.Context(), topicID, &owner{yes: true})
	require.ErrorContains(t, err, "only custom topics are set up by their RLM")
}

// measured sets the topic up and signs it open with the seal of what was measured.
func (w *world) measured(t testing.TB) {
	t.Helper()
	w.draft(t)
	_, err := w.Setup(t.Context(), w.id, &owner{yes: true})
	require.NoError(t, err)
	w.seal(t, sealed)
}

func TestSection18MarkSealedOpensAMeasuredTopic(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.measured(t)
		require.NoError(t, w.MarkSealed(t.Context(), w.doc, w.sealed))
		require.Equal(t, rlm.Open, w.state(t))
		v, err := w.ledger.Topic(t.Context(), topicID)
		require.NoError(t, err)
		require.Equal(t, uint32(2), v.Version)
		require.Equal(t, w.doc.Signature, v.Signature)
		row, err := w.run(t, "a", wins(0.5))
		require.NoError(t, err)
		require.Contains(t, row.Verdict.Agent.Rationale, "(rules v2)")
		err = w.MarkSealed(t.Context(), w.doc, w.sealed)
		require.ErrorIs(t, err, rlm.ErrIllegal, "it happens once")
	})
}

// TestSection18EachCheckOfMarkSealedAloneBlocksTheMove also holds their order: each
// row together with the one after it still gives its own text.
func TestSection18EachCheckOfMarkSealedAloneBlocksTheMove(t *testing.T) {
	type attempt struct {
		w *world
		d *topic.Document
		m *baseline.Measurement
	}
	resign := func(a *attempt) { a.w.sign(a.w.t) }
	rows := []struct {
		name, text string
		edit       func(a *attempt)
	}{
		{"status", "topic agent-harness-v0 has status draft; only an open document seals", func(a *attempt) { a.d.Status = topic.Draft; resign(a) }},
		{"validation", "", func(a *attempt) { a.d.Metric.EpsilonRel = 0; resign(a) }},
		{"signature", "topic signature does not verify under the proof trust-root key", func(a *attempt) { a.d.Statement += "!" }},
		{"measurement binds", "recorded baseline: ", func(a *attempt) { a.m.HoldoutCommitment = hash("other") }},
	}
	blocked := func(t *testing.T, w *world, err error, text string) {
		t.Helper()
		require.ErrorContains(t, err, text)
		require.Equal(t, rlm.Baselining, w.state(t))
		v, err := w.ledger.Topic(t.Context(), topicID)
		require.NoError(t, err)
		require.Equal(t, uint32(1), v.Version, "nothing was written")
		w.free(t)
	}
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := alone(t)
			w.measured(t)
			a := &attempt{w, w.doc, w.sealed}
			row.edit(a)
			err := w.MarkSealed(t.Context(), a.d, a.m)
			blocked(t, w, err, row.text)
			if i+1 == len(rows) {
				return
			}
			first := err.Error()
			rows[i+1].edit(a)
			blocked(t, w, w.MarkSealed(t.Context(), a.d, a.m), first)
		})
	}
	t.Run("registered id", func(t *testing.T) {
		w := alone(t)
		w.measured(t)
		w.start(t, func(o *rlm.Options) { o.CustomIDs = nil })
		blocked(t, w, w.MarkSealed(t.Context(), w.doc, w.sealed), customID)
	})
	t.Run("no measurement at all", func(t *testing.T) {
		w := alone(t)
		w.measured(t)
		blocked(t, w, w.MarkSealed(t.Context(), w.doc, nil), "recorded baseline: ")
	})
	t.Run("no baseline measured", func(t *testing.T) {
		w := alone(t)
		w.publish(t)
		require.EqualError(t, w.MarkSealed(t.Context(), w.doc, w.sealed), `no baseline measured for "agent-harness-v0"`)
	})
	t.Run("no custom value", func(t *testing.T) {
		w := alone(t)
		w.measured(t)
		w.sealed.CustomValue = nil
		commitment, err := w.sealed.Commitment()
		require.NoError(t, err)
		w.doc.Baseline.MetricsCommitment = commitment
		w.sign(t)
		blocked(t, w, w.MarkSealed(t.Context(), w.doc, w.sealed), "sealed measurement has no custom_value")
	})
	t.Run("another value than was measured", func(t *testing.T) {
		w := alone(t)
		w.measured(t)
		w.seal(t, 0.3)
		blocked(t, w, w.MarkSealed(t.Context(), w.doc, w.sealed), "sealed custom_value 0.3 is not the measured baseline 0.4")
	})
	t.Run("another script than was measured", func(t *testing.T) {
		w := alone(t)
		w.measured(t)
		w.doc.Baseline.ScriptSHA256 = hash("another.tar")
		w.sign(t)
		blocked(t, w, w.MarkSealed(t.Context(), w.doc, w.sealed), "sealed script_sha256 is not the baseline that was measured")
	})
	t.Run("state", func(t *testing.T) {
		w := alone(t)
		w.measured(t)
		require.NoError(t, w.ledger.Apply(t.Context(), ledger.Move{TopicID: topicID, From: "baselining", Event: "baseline_failed", To: "draft"}))
		require.EqualError(t, w.MarkSealed(t.Context(), w.doc, w.sealed), "topic lifecycle: illegal transition: agent-harness-v0 is draft, sealing wants baselining")
	})
	t.Run("a setup that is under way", func(t *testing.T) {
		w := alone(t)
		w.measured(t)
		lease, err := w.ledger.Acquire(t.Context(), topicID, "setup", w.options.LeaseTTL)
		require.NoError(t, err)
		require.ErrorIs(t, w.MarkSealed(t.Context(), w.doc, w.sealed), rlm.ErrBusy)
		require.NoError(t, w.ledger.Release(t.Context(), *lease))
		require.NoError(t, w.MarkSealed(t.Context(), w.doc, w.sealed))
	})
}

func TestDecision11ABaselineMeasuredUnderOlderRulesCannotSeal(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.measured(t)
		edited, err := w.EditRules(t.Context(), topicID, []topic.ChecklistItem{{ID: "same_seed", Text: "the operator's words"}})
		require.NoError(t, err)
		require.Equal(t, uint32(3), edited.Version)
		require.Equal(t, topic.FromOperator, edited.Source)
		require.ErrorContains(t, w.MarkSealed(t.Context(), w.doc, w.sealed), "measured under rules v2, which are not the current ones; run its setup again")
		require.Equal(t, rlm.Baselining, w.state(t))
		// The operator's last word on the rules stands: only the baseline is measured.
		result, err := w.Setup(t.Context(), topicID, nil)
		require.NoError(t, err)
		require.Equal(t, uint32(3), result.RulesVersion)
		require.NoError(t, w.MarkSealed(t.Context(), w.doc, w.sealed))
	})
}

func TestSection16OperatorRulesFollowTheSignedVector(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rules := []topic.ChecklistItem{{ID: "a_rule", Text: "x"}}
		_, err := w.EditRules(t.Context(), topicID, rules)
		require.ErrorIs(t, err, rlm.ErrUnknownTopic)
		w.publish(t)
		set, err := w.EditRules(t.Context(), topicID, rules)
		require.NoError(t, err)
		require.Equal(t, uint32(2), set.Version)
		versions, err := w.ledger.RuleVersions(t.Context(), topicID)
		require.NoError(t, err)
		require.Equal(t, topic.FromDocument, versions[0].Source)
		for _, bad := range [][]topic.ChecklistItem{nil, {{ID: "Bad Id", Text: "x"}}, {{ID: "a_rule", Text: " "}}, {rules[0], rules[0]}} {
			_, err := w.EditRules(t.Context(), topicID, bad)
			require.Error(t, err)
		}
		p, err := w.Presend(t.Context(), topicID)
		require.NoError(t, err)
		require.Equal(t, []string{"a_rule"}, p.RuleIDs)
	})
}
