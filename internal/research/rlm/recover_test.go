package rlm_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestRecoverWritesThePublicFilesAsTheLedgerHasThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for miner, primary := range map[string]float64{"a": 0.5, "b": 0.41} {
			_, err := w.run(t, miner, wins(primary))
			require.NoError(t, err)
		}
		events, best := w.public(t, "events.jsonl"), w.public(t, "best.json")
		dir := filepath.Join(w.dir, topicID)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(events[:len(events)/2]), 0o600))
		require.NoError(t, os.Remove(filepath.Join(dir, "best.json")))
		require.NoError(t, w.Recover(t.Context()))
		require.Equal(t, events, w.public(t, "events.jsonl"))
		require.Equal(t, best, w.public(t, "best.json"))
	})
}

func TestACutOffEventsFileIsWrittenAgainByTheNextRun(t *testing.T) {
	w := alone(t)
	first, err := w.run(t, "a", wins(0.5))
	require.NoError(t, err)
	name := filepath.Join(w.dir, topicID, "events.jsonl")
	events := w.public(t, "events.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(events[:len(events)-9]), 0o600))
	second, err := w.run(t, "b", wins(0.6))
	require.NoError(t, err)
	require.Contains(t, w.public(t, "events.jsonl"), events)
	require.Contains(t, w.public(t, "events.jsonl"), `"promoted","submission_id":"`+second.ID+`","primary_value":0.6,"bar":0.5,"previous_best":"`+first.ID)
}

func TestRecoverRemovesAStagedZipThatHasNoRow(t *testing.T) {
	w := alone(t)
	row, err := w.run(t, "a", wins(0.5))
	require.NoError(t, err)
	data, err := w.root.Open(topicID, row.ID)
	require.NoError(t, err)
	_, err = w.root.Stage(topicID, "pf_00000000000000ff", data)
	require.NoError(t, err)
	// Two of one row, none of them published: that of a lost crown, and its own.
	require.NoError(t, os.Remove(filepath.Join(w.dir, topicID, row.ID+".zip")))
	for _, content := range [][]byte{append([]byte("x"), data...), data} {
		_, err = w.root.Stage(topicID, row.ID, content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Recover(t.Context()))
	left, err := w.root.Leftovers()
	require.NoError(t, err)
	require.Empty(t, left)
	again, err := w.root.Open(topicID, row.ID)
	require.NoError(t, err)
	require.Equal(t, data, again)
	_, err = w.root.Open(topicID, "pf_00000000000000ff")
	require.Error(t, err)
}

func TestSection17AStalePhaseIsEndedByWhoeverHasTheLease(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, stale := range []struct {
			moves []ledger.Move
			event string
		}{
			{[]ledger.Move{{TopicID: topicID, From: "open", Event: "submission_received", To: "evaluating"}}, "verdict_recorded"},
			{[]ledger.Move{
				{TopicID: topicID, From: "open", Event: "submission_received", To: "evaluating"},
				{TopicID: topicID, From: "evaluating", Event: "promotion_candidate", To: "promoting"},
			}, "promotion_refused"},
		} {
			if len(w.events(t)) == 0 {
				w.publish(t)
			}
			require.NoError(t, w.ledger.Apply(t.Context(), stale.moves...))
			lease, err := w.ledger.Acquire(t.Context(), topicID, "alive", time.Minute)
			require.NoError(t, err)
			require.NoError(t, w.Recover(t.Context()))
			require.NotEqual(t, rlm.Open, w.state(t), "a run that is alive is left alone")
			require.NoError(t, w.ledger.Release(t.Context(), *lease))
			require.NoError(t, w.Recover(t.Context()))
			require.Equal(t, rlm.Open, w.state(t))
			moves, err := w.ledger.Moves(t.Context(), topicID)
			require.NoError(t, err)
			require.Equal(t, stale.event, moves[len(moves)-1].Event)
			require.Equal(t, "the previous run never persisted", moves[len(moves)-1].Note)
			// A run that comes first does the same.
			require.NoError(t, w.ledger.Apply(t.Context(), stale.moves...))
			_, err = w.run(t, "miner "+stale.event, wins(0.41))
			require.NoError(t, err)
			require.Equal(t, rlm.Open, w.state(t))
		}
	})
}

func TestSection17AnOlderVersionOfTheDocumentIsNotStoredAgain(t *testing.T) {
	w := alone(t)
	old := w.doc
	w.publish(t)
	w.seal(t, sealed)
	w.doc.Statement = "another statement"
	w.sign(t)
	w.publish(t)
	newest := w.doc
	w.doc = old // a submission that was accepted under it
	_, err := w.run(t, "a", wins(0.5))
	require.NoError(t, err)
	v, err := w.ledger.Topic(t.Context(), topicID)
	require.NoError(t, err)
	require.Equal(t, uint32(2), v.Version)
	require.Equal(t, newest.Signature, v.Signature)
}

func TestNewRefusesOptionsThatCannotWork(t *testing.T) {
	w := alone(t)
	for name, edit := range map[string]func(o *rlm.Options){
		"no ledger":    func(o *rlm.Options) { o.Ledger = nil },
		"no boundary":  func(o *rlm.Options) { o.Boundary = nil },
		"no artefacts": func(o *rlm.Options) { o.Artefacts = nil },
		"no pin":       func(o *rlm.Options) { o.Pin = nil },
		"no clock":     func(o *rlm.Options) { o.Now = nil },
		"no holder":    func(o *rlm.Options) { o.Holder = "" },
		"bad id":       func(o *rlm.Options) { o.CustomIDs = []string{"Bad Id"} },
		"bad retain":   func(o *rlm.Options) { o.Retain = wire.Retain("burn") },
		"slow renewal": func(o *rlm.Options) { o.RenewEvery, o.LeaseTTL = time.Minute, time.Minute },
	} {
		o := w.options
		edit(&o)
		if _, err := rlm.New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
