package intake

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/topic"
)

func TestSection14Point1StatusTellsOpenFromScorable(t *testing.T) {
	for name, c := range map[string]struct {
		edit           func(*fixture)
		open, scorable string
		sealed         bool
	}{
		"all is well":                      {func(*fixture) {}, "topic-a topic-b", "topic-a topic-b", true},
		"one is closed":                    {func(f *fixture) { f.doc.Status = topic.Closed }, "topic-b", "topic-b", true},
		"one has no holdout":               {func(f *fixture) { f.host.Topics["topic-a"].Holdout = nil }, "topic-a topic-b", "topic-b", true},
		"one pins another offer":           {func(f *fixture) { f.doc.EvalExecutor.RequireOfferCommitment = &other }, "topic-a topic-b", "topic-b", true},
		"one is of a family without":       {func(f *fixture) { throughput(f); f.host.Harvest = nil }, "topic-a topic-b", "topic-b", true},
		"the runner is unwired":            {func(f *fixture) { f.host.Custom.Runners[customID] = "not wired" }, "topic-a topic-b", "", true},
		"no judge key":                     {func(f *fixture) { f.host.JudgeKey = false }, "topic-a topic-b", "", true},
		"no executor":                      {func(f *fixture) { f.host.Executor = nil }, "topic-a topic-b", "", true},
		"the epoch is over":                {func(f *fixture) { f.doc.ValidUntilEpoch = ptr(uint64(6)) }, "topic-b", "topic-b", true},
		"nothing is stored":                {func(f *fixture) { f.host.Topics = nil }, "", "", false},
		"no key and no executor under sim": {func(f *fixture) { f.host.Sim, f.host.JudgeKey, f.host.Executor = true, false, nil }, "topic-a topic-b", "topic-a topic-b", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(c.edit).host
			if got := strings.Join(h.OpenTopics(), " "); got != c.open {
				t.Errorf("open %q, want %q", got, c.open)
			}
			if got := strings.Join(h.ScorableTopics(), " "); got != c.scorable {
				t.Errorf("scorable %q, want %q", got, c.scorable)
			}
			if h.BaselineSealed() != c.sealed {
				t.Errorf("sealed %v", !c.sealed)
			}
		})
	}
}

// TestSection9ATopicIsReadyWhenOpenSealedWithHoldoutAndBaseline: each alone is
// missing on every topic, and then the host gate refuses before the topic's own rows.
func TestSection9ATopicIsReadyWhenOpenSealedWithHoldoutAndBaseline(t *testing.T) {
	for name, lacks := range map[string]func(*Topic){
		"open":     func(t *Topic) { t.Document.Status = topic.Draft },
		"sealed":   func(t *Topic) { t.Document.Baseline.MetricsCommitment = "" },
		"holdout":  func(t *Topic) { t.Holdout = nil },
		"baseline": func(t *Topic) { t.Baseline = nil },
	} {
		f := newFixture()
		lacks(f.host.Topics["topic-a"])
		if !f.host.BaselineSealed() {
			t.Errorf("without %s on one topic the other is not ready", name)
		}
		lacks(f.host.Topics["topic-b"])
		if f.host.BaselineSealed() {
			t.Errorf("without %s on either topic one is ready", name)
		}
		if missing := f.host.Unready(f.host.Topics["topic-a"]); len(missing) == 0 || missing[0].Text != "no open sealed topic; refuse scoring" {
			t.Errorf("without %s: %v", name, missing)
		}
	}
}

func TestScorableTopicsAreThoseWhoseSubmissionsRun(t *testing.T) {
	for _, fault := range faults {
		f := newFixture(fault.make)
		row := gate[rowsBefore(fault.row)]
		scorable := slices.Contains(f.host.ScorableTopics(), "topic-a")
		if want := !row.Host && fault.row != "topic_open"; scorable != want {
			t.Errorf("with the fault of row %s the topic is scorable: %v", fault.row, scorable)
		}
	}
}

func TestRegisteredAndReadyRunnersAreListedApart(t *testing.T) {
	h := &Host{Custom: &Custom{Runners: map[string]string{"b_rate": "", "a_rate": "", "c_rate": "not wired"}}}
	if got := h.RegisteredCustom(); !slices.Equal(got, []string{"a_rate", "b_rate", "c_rate"}) {
		t.Errorf("registered %v", got)
	}
	if got := h.CustomReady(); !slices.Equal(got, []string{"a_rate", "b_rate"}) {
		t.Errorf("ready %v", got)
	}
	bare := &Host{}
	if bare.RegisteredCustom() == nil || bare.CustomReady() == nil || bare.OpenTopics() == nil {
		t.Error("a list of nothing is null on the wire")
	}
}

// TestSection6Point4NoAnswerShowsASecret plants an origin, a secret origin and the
// holdout, makes each row fire and looks for them in what is answered, stored or
// printed.
func TestSection6Point4NoAnswerShowsASecret(t *testing.T) {
	plain, err := records().Reveal(other)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"planted-origin", "planted-secret", plain[0].ContentSHA256, plain[119].ContentSHA256, plain[0].DatasetID}
	for _, fault := range faults {
		f := newFixture(func(f *fixture) {
			f.host.Inference.BaseURL, f.host.SecretOrigin = "https://planted-origin.invalid", "https://planted-secret.invalid"
			f.host.Inference.ConfigCommitment, _ = f.host.Inference.Commitment()
		}, fault.make)
		out, refusal := f.decide()
		printed := fmt.Sprintf("%+v %+v %+v %v", out, *f.host, f.facts, refusal)
		if refusal != nil {
			body, err := refusal.JSON()
			printed += fmt.Sprintf("%s %v", body, err)
		} else if row, attempt, err := out.Persist(0, Result{}); err == nil {
			text, _ := row.JSON()
			printed += fmt.Sprintf("%s %+v %+v %+v", text, row, attempt, out.Submission)
		}
		for _, secret := range secrets {
			if strings.Contains(printed, secret) {
				t.Errorf("row %s shows %s", fault.row, secret)
			}
		}
	}
}
