package near

import (
	"strings"
	"testing"
)

func TestTheWordThatMayHaveBeenMeant(t *testing.T) {
	known := []string{"flops_budget", "topic_id", "url", "wall_budget_s"}
	for word, want := range map[string]string{
		"flops-budget":                  "flops_budget",
		"Flops_Budget":                  "flops_budget",
		"topicid":                       "topic_id",
		"tpoic_id":                      "topic_id",
		"urk":                           "url",
		"xyz":                           "",
		"":                              "",
		strings.Repeat("topic_id", 100): "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestTheFirstAmongEqualsWins(t *testing.T) {
	if got := Word("aab", []string{"aac", "aad"}); got != "aac" {
		t.Errorf("got %q", got)
	}
}
