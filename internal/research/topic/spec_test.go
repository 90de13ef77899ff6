package topic_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/topic"
)

// TestSpecificationDefaultsOfADraft: what a draft leaves out is signed as the
// specification's figures, and a draft that writes them out signs to the same bytes.
func TestSpecificationDefaultsOfADraft(t *testing.T) {
	t.Parallel()
	short, err := topic.Parse([]byte("id: a-topic\npayout_mode: discovery\n"))
	if err != nil {
		t.Fatal(err)
	}
	long, err := topic.Parse([]byte(`{"id":"a-topic","payout_mode":"discovery","schema_version":1,"status":"draft",
		"discovery":{"pass_floor_share_bps":3000,"novelty_pool_share_bps":7000},
		"epsilon_nll":0.02,"epsilon_topic_max_regress":0.05,"holdout_size":120,"flops_budget":2000000000000000000,
		"metric":{"family":"nll","primary":"holdout_nll","direction":"min"},"valid_from_epoch":0,"valid_until_epoch":null}`))
	if err != nil {
		t.Fatal(err)
	}
	one, err := short.Payload()
	if err != nil {
		t.Fatal(err)
	}
	two, err := long.Payload()
	if err != nil || string(one) != string(two) {
		t.Errorf("%s\n%s, %v", one, two, err)
	}
}

// TestSpecificationADraftMayBeUnsealedAnOpenTopicMayNot, and no family opens without
// both hashes of the seal.
func TestSpecificationADraftMayBeUnsealedAnOpenTopicMayNot(t *testing.T) {
	t.Parallel()
	const unsealed = "baseline is not sealed (script_sha256 + metrics_commitment required to open)"
	all := func(string) bool { return true }
	for family, base := range map[topic.Family]func(testing.TB) *topic.Document{topic.NLL: nll, topic.Throughput: throughput, topic.Custom: custom} {
		for name, spoil := range map[string]func(*topic.Baseline){
			"no script":              func(b *topic.Baseline) { b.ScriptSHA256 = "" },
			"no metrics":             func(b *topic.Baseline) { b.MetricsCommitment = "" },
			"neither":                func(b *topic.Baseline) { b.ScriptSHA256, b.MetricsCommitment = "", "" },
			"a script that is short": func(b *topic.Baseline) { b.ScriptSHA256 = strings.Repeat("a", 63) },
		} {
			d := base(t)
			d.Baseline.ScriptSHA256, d.Baseline.MetricsCommitment = strings.Repeat("a", 64), strings.Repeat("b", 64)
			d.Status = topic.Open
			if err := d.Validate(host(), all); err != nil {
				t.Fatalf("%s, sealed: %v", family, err)
			}
			spoil(&d.Baseline)
			if err := d.Validate(host(), all); err == nil || err.Error() != unsealed {
				t.Errorf("%s, open, %s: %v", family, name, err)
			}
			d.Status = topic.Draft
			if err := d.Validate(host(), all); err != nil {
				t.Errorf("%s, draft, %s: %v", family, name, err)
			}
		}
	}
}
