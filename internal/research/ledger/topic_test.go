package ledger

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/topic"
)

func version(id string, n uint32) TopicVersion {
	return TopicVersion{TopicID: id, Version: n, Status: "open", Document: []byte(`{"id":"` + id + "\"}\n\xff\x00"), Signature: "sig"}
}

func TestSection19TopicVersionsFollowEachOther(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		got, err := f.Topic(ctx, "topic-a")
		require.NoError(t, err)
		require.Nil(t, got)
		require.ErrorIs(t, f.Publish(ctx, version("topic-a", 2)), ErrVersionGap)
		require.ErrorIs(t, f.Publish(ctx, version("topic-a", 0)), ErrVersionGap)
		require.NoError(t, f.Publish(ctx, version("topic-a", 1)))
		require.ErrorIs(t, f.Publish(ctx, version("topic-a", 1)), ErrVersionGap)
		require.ErrorIs(t, f.Publish(ctx, version("topic-a", 3)), ErrVersionGap)
		closed := version("topic-a", 2)
		closed.Status = "closed"
		require.NoError(t, f.Publish(ctx, closed))
		require.NoError(t, f.Publish(ctx, version("topic-0", 1)))

		all, err := f.Topics(ctx)
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, "topic-0", all[0].TopicID)
		closed.CreatedAt = f.Ledger.now()
		require.Equal(t, closed, all[1])
		versions, err := f.TopicVersions(ctx, "topic-a")
		require.NoError(t, err)
		require.Len(t, versions, 2)
		require.Equal(t, version("topic-a", 1).Document, versions[0].Document, "a document is kept byte for byte")
	})
}

func TestSection19ATopicVersionHasASlugAndAKnownStatus(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for name, edit := range map[string]func(*TopicVersion){
			"upper case":     func(v *TopicVersion) { v.TopicID = "Topic" },
			"one character":  func(v *TopicVersion) { v.TopicID = "t" },
			"a hyphen first": func(v *TopicVersion) { v.TopicID = "-topic" },
			"an underscore":  func(v *TopicVersion) { v.TopicID = "topic_a" },
			"a path":         func(v *TopicVersion) { v.TopicID = "../a" },
			"a status":       func(v *TopicVersion) { v.Status = "paused" },
		} {
			v := version("topic-a", 1)
			edit(&v)
			require.Error(t, f.Publish(t.Context(), v), name)
		}
	})
}

func TestConcurrentPublishersGetOneVersionEach(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		second := openLedger(t, f.app, f.clock)
		var group sync.WaitGroup
		results := make(chan error, 8)
		for i := range cap(results) {
			l := f.Ledger
			if i%2 == 1 {
				l = second
			}
			group.Go(func() { results <- l.Publish(context.Background(), version("topic-a", 1)) })
		}
		group.Wait()
		close(results)
		won := 0
		for err := range results {
			if err == nil {
				won++
				continue
			}
			require.ErrorIs(t, err, ErrVersionGap)
		}
		require.Equal(t, 1, won)
	})
}

func ruleSet(id string, n uint32, source topic.RuleSource) topic.RuleSet {
	return topic.RuleSet{TopicID: id, Version: n, Source: source, Rules: []topic.ChecklistItem{{ID: "no-net", Text: "é <b> \u2028"}, {ID: "seeds", Text: "two"}}}
}

func TestSection16Point2RulesAreVersioned(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		none, err := f.Rules(ctx, "topic-a")
		require.NoError(t, err)
		require.Nil(t, none)
		require.ErrorIs(t, f.AddRules(ctx, ruleSet("topic-a", 2, topic.FromRLM)), ErrVersionGap)
		require.NoError(t, f.AddRules(ctx, ruleSet("topic-a", 1, topic.FromDocument)))
		require.NoError(t, f.AddRules(ctx, ruleSet("topic-a", 2, topic.FromRLM)))
		require.ErrorIs(t, f.AddRules(ctx, ruleSet("topic-a", 2, topic.FromOperator)), ErrVersionGap)
		require.Error(t, f.AddRules(ctx, ruleSet("topic-a", 3, "somebody")))

		newest, err := f.Rules(ctx, "topic-a")
		require.NoError(t, err)
		require.Equal(t, ruleSet("topic-a", 2, topic.FromRLM), *newest)
		all, err := f.RuleVersions(ctx, "topic-a")
		require.NoError(t, err)
		require.Equal(t, []topic.RuleSet{ruleSet("topic-a", 1, topic.FromDocument), ruleSet("topic-a", 2, topic.FromRLM)}, all)
	})
}

func TestSection16Point2EditedRulesDoNotReadBack(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		rs := ruleSet("topic-a", 1, topic.FromDocument)
		require.NoError(t, f.db.Tx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO proof_rule_version (topic_id, version, source, rules, digest, created_at) VALUES ($1, 1, 'topic_document', '[{"id":"no-net","text":"other"}]', $2, '')`,
				rs.TopicID, hash("of other rules"))
			return err
		}))
		_, err := f.Rules(t.Context(), "topic-a")
		require.ErrorContains(t, err, "no longer have the digest")
	})
}

func move(from, event, to string) Move {
	return Move{TopicID: "topic-a", From: from, Event: event, To: to, Note: "  why \x00\xff "}
}

func TestSection16Point1MovesStartWhereTheTopicIs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		state, err := f.State(ctx, "topic-a")
		require.NoError(t, err)
		require.Empty(t, state)
		// The first move starts from the state that the document implies.
		require.NoError(t, f.Apply(ctx, move("open", "submission_received", "evaluating")))
		require.ErrorIs(t, f.Apply(ctx, move("open", "submission_received", "evaluating")), ErrMoved)
		f.advance(time.Minute)
		require.NoError(t, f.Apply(ctx, move("evaluating", "promotion_candidate", "promoting"), move("promoting", "promoted", "open")))
		state, err = f.State(ctx, "topic-a")
		require.NoError(t, err)
		require.Equal(t, "open", state)

		// All or none.
		require.ErrorIs(t, f.Apply(ctx, move("open", "submission_received", "evaluating"), move("open", "close", "closed")), ErrMoved)
		moves, err := f.Moves(ctx, "topic-a")
		require.NoError(t, err)
		require.Len(t, moves, 3)
		require.Equal(t, "why \uFFFD\uFFFD", moves[0].Note, "trimmed, and kept on both databases alike")
		require.Equal(t, "promoted", moves[2].Event)
		require.Equal(t, f.Ledger.now(), moves[2].CreatedAt)
		require.Greater(t, moves[2].ID, moves[1].ID)

		require.Error(t, f.Apply(ctx, move("open", "jump", "somewhere")), "only the nine states")
		require.Error(t, f.Apply(ctx, Move{TopicID: "topic-b", From: "", Event: "x", To: "open"}))
	})
}

func TestMovesAreOneTransactionWithWhatTheyGoWith(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.Apply(ctx, move("provisioning", "provisioned", "baselining")))
		wrong := move("draft", "submit_for_review", "owner_presend")
		require.ErrorIs(t, f.Publish(ctx, version("topic-a", 1), wrong), ErrMoved)
		require.ErrorIs(t, f.AddRules(ctx, ruleSet("topic-a", 1, topic.FromDocument), wrong), ErrMoved)
		require.ErrorIs(t, f.AddMeasurement(ctx, Measurement{TopicID: "topic-a", RulesVersion: 1, PrimaryValue: 1}, wrong), ErrMoved)
		v, err := f.Topic(ctx, "topic-a")
		require.NoError(t, err)
		require.Nil(t, v)
		rs, err := f.Rules(ctx, "topic-a")
		require.NoError(t, err)
		require.Nil(t, rs)
		m, err := f.LatestMeasurement(ctx, "topic-a")
		require.NoError(t, err)
		require.Nil(t, m)

		require.NoError(t, f.Publish(ctx, version("topic-a", 1), move("baselining", "baseline_sealed", "open")))
		state, err := f.State(ctx, "topic-a")
		require.NoError(t, err)
		require.Equal(t, "open", state)
	})
}
