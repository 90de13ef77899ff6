package rlm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/topic"
)

// The table of R§16.1, written down a second time as from, event, to.
const lifecycle = `
draft submit_for_review owner_presend
owner_presend owner_approved awaiting_owner_keys
owner_presend owner_declined draft
awaiting_owner_keys owner_keys_present provisioning
provisioning provisioned baselining
provisioning provision_failed draft
baselining baseline_sealed open
baselining baseline_failed draft
open submission_received evaluating
evaluating verdict_recorded open
evaluating promotion_candidate promoting
promoting promoted open
promoting promotion_refused open
draft close closed
owner_presend close closed
awaiting_owner_keys close closed
provisioning close closed
baselining close closed
open close closed
evaluating close closed
promoting close closed
`

func TestSection16LifecycleHasEveryMoveOfTheTableAndNoOther(t *testing.T) {
	want := map[string]rlm.State{}
	for line := range strings.Lines(strings.TrimSpace(lifecycle)) {
		f := strings.Fields(line)
		want[f[0]+" "+f[1]] = rlm.State(f[2])
	}
	legal := 0
	for _, s := range append(rlm.States(), "", "elsewhere") {
		for _, e := range append(rlm.Events(), "", "unheard_of") {
			got, err := rlm.Next(s, e)
			to, ok := want[string(s)+" "+string(e)]
			switch {
			case ok && (err != nil || got != to):
				t.Errorf("%s, %s: %q, %v; want %s", s, e, got, err, to)
			case !ok && (!errors.Is(err, rlm.ErrIllegal) || got != ""):
				t.Errorf("%s, %s: %q, %v; want an illegal transition", s, e, got, err)
			case ok:
				legal++
			}
		}
	}
	if legal != len(want) {
		t.Errorf("%d legal moves, the table has %d", legal, len(want))
	}
}

func TestSection16OnlyOpenAcceptsSubmissions(t *testing.T) {
	for _, s := range rlm.States() {
		if _, err := rlm.Next(s, rlm.SubmissionReceived); (err == nil) != (s == rlm.Open) {
			t.Errorf("a submission in %s: %v", s, err)
		}
	}
}

func TestSection16StateWithoutHistoryIsImpliedByTheDocument(t *testing.T) {
	hash := strings.Repeat("a", 64)
	for _, c := range []struct {
		name   string
		status topic.Status
		sealed bool
		want   rlm.State
	}{
		{"a draft is a draft", topic.Draft, false, rlm.Draft},
		{"a sealed draft is a draft", topic.Draft, true, rlm.Draft},
		{"open and sealed is open", topic.Open, true, rlm.Open},
		{"open and unsealed is baselining", topic.Open, false, rlm.Baselining},
		{"closed is closed", topic.Closed, true, rlm.Closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := topic.New()
			d.Status = c.status
			if c.sealed {
				d.Baseline.ScriptSHA256, d.Baseline.MetricsCommitment = hash, hash
			}
			if got := rlm.Implied(d); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
