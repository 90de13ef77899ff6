package topic_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/research/topic"
)

const synthetic = "e2f97658a5ff704f1f20982c8e3bbda5aba9793ac390df7f96a3641f33e5483d"

func TestDraftsLackTheirHoldoutCommitmentOnly(t *testing.T) {
	t.Parallel()
	for _, family := range topic.Families() {
		text, err := topic.NewDraft(family, "my-topic")
		if err != nil {
			t.Fatal(err)
		}
		d, err := topic.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", family, err)
		}
		if err := d.Validate(host(), nil); err == nil || err.Error() != "holdout_commitment must be 64 hex chars" {
			t.Errorf("%s: %v", family, err)
		}
		d.HoldoutCommitment = synthetic
		if err := d.Validate(host(), nil); err != nil || d.ID != "my-topic" || d.Metric.Family != family {
			t.Errorf("%s: %v", family, err)
		}
	}
	if _, err := topic.NewDraft(topic.NLL, "My_Topic"); err == nil {
		t.Error("a draft with an id that is no slug")
	}
	if _, err := topic.NewDraft("../nll", "my-topic"); err == nil {
		t.Error("a draft of no family")
	}
}

// TestTheCustomDraftHoldsItsPlaceholders: what is warned of is what the draft says,
// and the draft promises nothing that a host does not do: near-duplicates pass.
func TestTheCustomDraftHoldsItsPlaceholders(t *testing.T) {
	t.Parallel()
	text, err := topic.NewDraft(topic.Custom, "my-topic")
	if err != nil {
		t.Fatal(err)
	}
	d, err := topic.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := d.LeftOfDraft(); err != nil || !slices.Equal(left, []string{"statement", "inference.model"}) {
		t.Errorf("left of a draft as it is: %q, %v", left, err)
	}
	written := *d
	written.Statement, written.Inference.Model = "Raise the success rate.", nil
	if left, err := written.LeftOfDraft(); err != nil || len(left) != 0 {
		t.Errorf("left of a topic that was written: %q, %v", left, err)
	}
	if strings.Contains(d.Validation.RejectIf, "duplicate") {
		t.Errorf("reject_if %q", d.Validation.RejectIf)
	}
	// Both bounds are there to be uncommented.
	bounded, err := topic.Parse([]byte(strings.ReplaceAll(string(text), "# valid_", "valid_")))
	if err != nil || bounded.ValidUntilEpoch == nil || *bounded.ValidUntilEpoch != 20 {
		t.Errorf("with the epochs uncommented: %v, %v", bounded, err)
	}
}

// TestR59CorrectedExamplesValidate: the drafts in examples/topics validate, and
// are the specification's examples but for what they say they add.
func TestR59CorrectedExamplesValidate(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*topic.Document){
		"dt-no-ib-v0":              func(d *topic.Document) { d.Baseline.WallBudgetS = 14400 },
		"agent-harness-improve-v0": func(d *topic.Document) { d.Metric.Unit = "success_rate"; d.Constraints.Params = nil },
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "topics", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := topic.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Validate(host(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want, err := topic.Parse(read(t, "seed-"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		add(want)
		want.HoldoutCommitment = synthetic
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
