package topic_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestR162DigestsOfRuleSets(t *testing.T) {
	t.Parallel()
	list := at[[]any](t, tree(t, "derived_digests.json"), "/rule_set_digests")
	if len(list) < 2 {
		t.Fatalf("only %d rule sets", len(list))
	}
	for _, c := range list {
		t.Run(fmt.Sprintf("version %s of %s", at[canonjson.Int](t, c, "/rule_set/version"), at[string](t, c, "/rule_set/source")), func(t *testing.T) {
			t.Parallel()
			version, _ := at[canonjson.Int](t, c, "/rule_set/version").Int64()
			set := topic.RuleSet{
				TopicID: at[string](t, c, "/rule_set/topic_id"), Version: uint32(version),
				Source: topic.RuleSource(at[string](t, c, "/rule_set/source")),
			}
			for _, r := range at[[]any](t, c, "/rule_set/rules") {
				set.Rules = append(set.Rules, topic.ChecklistItem{ID: at[string](t, r, "/id"), Text: at[string](t, r, "/text")})
			}
			digest, err := set.Digest()
			if err != nil || hex.EncodeToString(digest[:]) != at[string](t, c, "/rules_digest") {
				t.Errorf("version %d of %s: %x, %v", set.Version, set.Source, digest, err)
			}
		})
	}
}

func TestR162VersionOneIsTheSignedVector(t *testing.T) {
	t.Parallel()
	digest, err := custom(t).Rules().Digest()
	want := at[string](t, tree(t, "derived_digests.json"), "/rule_set_digests/0/rules_digest")
	if err != nil || hex.EncodeToString(digest[:]) != want {
		t.Errorf("%x, %v, want %s", digest, err, want)
	}
	other := custom(t).Rules()
	other.Source = topic.FromOperator
	if again, err := other.Digest(); err != nil || again == digest {
		t.Error("equal rules of another source have the same digest")
	}
	other.Rules = []topic.ChecklistItem{{ID: "aa", Text: "\xff"}}
	if _, err := other.Digest(); err == nil {
		t.Error("text that is not UTF-8 has a digest")
	}
}
