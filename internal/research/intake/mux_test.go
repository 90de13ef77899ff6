package intake

import "testing"

// TestSection15Point3FamilyMux: what each family is told on each kind of host
// (R§§15.3 to 15.5). Neither falls back to the scorer of the other.
func TestSection15Point3FamilyMux(t *testing.T) {
	staged := &Harvest{true, true, true}
	runner := func(detail string) *Custom { return &Custom{Runners: map[string]string{customID: detail}} }
	const (
		unpinned = "runner not wired: PROOF_RLM_VM_IMAGE_DIGEST is not set"
		named    = `custom metric "harness_success_rate" has no registered runner (`
	)
	for name, c := range map[string]struct {
		custom  bool
		harvest *Harvest
		runners *Custom
		sim     bool
		want    string // "" runs
	}{
		"custom on a mux of both":                 {true, staged, runner(""), false, ""},
		"custom on a custom-only host":            {true, nil, runner(""), false, ""},
		"custom on a harvest-only host":           {true, staged, nil, false, named + "no custom-family scorer on this host); refuse scoring"},
		"custom of another id":                    {true, staged, &Custom{Runners: map[string]string{"other_rate": ""}}, false, named + `custom metric "harness_success_rate" has no registered runner); refuse scoring`},
		"custom without a pinned image":           {true, nil, runner(unpinned), false, named + unpinned + "); refuse scoring"},
		"custom on a host of nothing":             {true, nil, nil, false, NoLiveScorer + "; " + named + "no custom-family scorer on this host); refuse scoring"},
		"throughput on a mux of both":             {false, staged, runner(""), false, ""},
		"throughput on a harvest-only host":       {false, staged, nil, false, ""},
		"throughput on a custom-only host":        {false, nil, runner(""), false, NoLiveScorer},
		"throughput on a host of nothing":         {false, nil, nil, false, NoLiveScorer},
		"throughput beside an unwired runner":     {false, staged, runner(unpinned), false, ""},
		"throughput under sim":                    {false, nil, nil, true, ""},
		"custom under sim, registered":            {true, nil, runner(""), true, ""},
		"custom under sim, registered, unwired":   {true, nil, runner(unpinned), true, ""},
		"custom under sim, not registered":        {true, nil, &Custom{}, true, named + `custom metric "harness_success_rate" has no registered runner); refuse scoring`},
		"custom under sim, nothing is registered": {true, nil, nil, true, named + "no custom-family scorer on this host); refuse scoring"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(func(f *fixture) { f.host.Harvest, f.host.Custom, f.host.Sim = c.harvest, c.runners, c.sim })
			if !c.custom {
				throughput(f)
			}
			if c.want == "" {
				f.passes(t, Run)
				return
			}
			f.refused(t, 503, c.want)
		})
	}
}

// TestDecision13ATopicThatTheScorerCannotRunIs503: the scorer's own text, on a live
// host only.
func TestDecision13ATopicThatTheScorerCannotRunIs503(t *testing.T) {
	const fault = "the topic asks for firecracker_required and this host's driver is qemu; refuse scoring"
	cannot := func(f *fixture) { f.host.Topics["topic-a"].ScorerFault = fault }
	newFixture(cannot).refused(t, 503, fault)
	newFixture(cannot, func(f *fixture) { f.host.Sim = true }).passes(t, Run)
}

func TestSection5Point9TheWindowOfATopic(t *testing.T) {
	for epoch, open := range map[uint64]bool{9: false, 10: true, 20: true, 21: false} {
		f := newFixture(func(f *fixture) {
			f.host.Epoch, f.doc.ValidFromEpoch, f.doc.ValidUntilEpoch = epoch, 10, ptr(uint64(20))
		})
		if !open {
			f.refused(t, 400, "topic is not open")
			continue
		}
		if s := f.passes(t, Run).Submission; s.Epoch != epoch {
			t.Errorf("accepted in epoch %d, frozen as of %d", epoch, s.Epoch)
		}
	}
}

func TestDeclaredFlopsMayBeTheWholeBudgetAndExact(t *testing.T) {
	f := newFixture(func(f *fixture) {
		f.doc.FLOPsBudget = 2_000_000_000_000_000_000
		f.fields["declared_flops"] = uint64(2_000_000_000_000_000_000)
	})
	if s := f.passes(t, Run).Submission; s.Request.DeclaredFLOPs != f.doc.FLOPsBudget {
		t.Errorf("declared %d", s.Request.DeclaredFLOPs)
	}
	f.fields["declared_flops"] = uint64(2_000_000_000_000_000_001)
	f.refused(t, 400, "declared_flops exceeds the topic budget")
}
