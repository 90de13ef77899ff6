package intake

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestSection11Point4RowHasItsFieldsInOrder(t *testing.T) {
	f := newFixture(func(f *fixture) { f.doc.EvalExecutor.MaxProofDeadlineS = ptr(uint64(900)) })
	f.fields["artifact_uri"] = " https://example.invalid/recipe.tar"
	out := f.passes(t, Run)
	pass := family.Verdict{Pass: true, Lattice: family.Lattice, Harness: family.Harness{Metrics: family.Metrics{CustomValue: ptr(0.5)}}}
	row, attempt, err := out.Persist(255, Result{Verdict: pass, Crowned: true, Receipt: ptr(`{"pod_id":"proof-1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := row.JSON()
	if err != nil {
		t.Fatal(err)
	}
	s := out.Submission
	want := `{"id":"pf_00000000000000ff","topic_id":"topic-a","miner_hotkey":"` + s.Hotkey + `","artifact_digest":"` + artifact +
		`","artifact_uri":" https://example.invalid/recipe.tar","claim":"beats the reference by a tenth","declared_flops":1000,"architecture":"",` +
		`"inference_offer_id":"judge-a","config_commitment":"` + f.host.Inference.ConfigCommitment +
		`","executor_offer_id":"exec-a","executor_commitment":"b6988b2da274efc29a255379330f7e42365544a8ef4e558c30e8c8cb98bc0be8",` +
		`"manifest":{"train_content_hashes":[],"train_dataset_ids":["my-mix-v0"]},"nonce":"` + s.Nonce + `","submission_digest":"` + s.Digest +
		`","state":"champion","receipt_json":"{\"pod_id\":\"proof-1\"}","verdict":` + string(pass.AppendJSON(nil)) + `,"detail":null,"epoch":7}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if attempt.Row != 255 || !attempt.Pass || attempt.Primary == nil || *attempt.Primary != 0.5 ||
		attempt.Hotkey != s.Hotkey || attempt.TopicID != "topic-a" || attempt.ArtifactDigest != artifact || attempt.Epoch != 7 {
		t.Errorf("attempt %+v", attempt)
	}
}

// TestPullRequest242TheRowHasTheCommitmentOfWhatRan: the plan's, else the offer's.
func TestPullRequest242TheRowHasTheCommitmentOfWhatRan(t *testing.T) {
	tight := func(f *fixture) { f.doc.EvalExecutor.MaxProofDeadlineS = ptr(uint64(900)) }
	undeclared := func(f *fixture) { f.fields["manifest"] = map[string]any{"train_dataset_ids": []string{" "}} }
	sim := func(f *fixture) { f.host.Sim = true }
	bare := func(f *fixture) { f.host.Executor = nil }
	offered := newFixture().host.Executor.ConfigCommitment
	for name, c := range map[string]struct {
		f    *fixture
		kind Kind
		want string
	}{
		"a run with the offer's deadline":   {newFixture(), Run, offered},
		"a run that a topic tightened":      {newFixture(tight), Run, "b6988b2da274efc29a255379330f7e42365544a8ef4e558c30e8c8cb98bc0be8"},
		"a reject before the run":           {newFixture(tight, undeclared), Reject, offered},
		"sim with an offer":                 {newFixture(tight, sim), Run, offered},
		"sim without an offer":              {newFixture(sim, bare), Run, ""},
		"an offer's commitment in capitals": {newFixture(undeclared, func(f *fixture) { f.host.Executor.ConfigCommitment = strings.ToUpper(offered) }), Reject, offered},
	} {
		t.Run(name, func(t *testing.T) {
			row, _, err := c.f.passes(t, c.kind).Persist(0, Result{})
			if err != nil || row.ExecutorCommitment != c.want {
				t.Errorf("commitment %q %v, want %q", row.ExecutorCommitment, err, c.want)
			}
		})
	}
}

func TestSection11Point4RejectBeforeTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		manifest map[string]any
		detail   string
		overlap  bool
	}{
		"nothing declared": {map[string]any{}, `gates=[EvidenceMissing { field: "contamination_evidence" }]`, false},
		"blank entries":    {map[string]any{"train_content_hashes": []string{" "}, "train_dataset_ids": []string{""}}, `gates=[EvidenceMissing { field: "contamination_evidence" }]`, false},
		"a dataset of the holdout": {map[string]any{"train_dataset_ids": []string{" Synthetic-DEV "}},
			"gates=[Contamination]", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(throughput)
			f.doc.Metric = topic.Metric{Family: topic.NLL, Primary: "holdout_nll", Direction: topic.Min}
			f.fields["manifest"] = c.manifest
			out := f.passes(t, Reject)
			// What a caller hands in is not what a reject stores.
			row, attempt, err := out.Persist(1, Result{Verdict: family.Verdict{Pass: true}, Crowned: true, Receipt: ptr("{}")})
			if err != nil {
				t.Fatal(err)
			}
			v := row.Verdict
			if row.State != family.Rejected || row.ReceiptJSON != nil || row.Detail == nil || *row.Detail != c.detail ||
				v.Pass || v.Lattice != 0 || v.Agent.Kind != family.Reject || v.Agent.Reproduced || v.Agent.Contamination != c.overlap ||
				v.Agent.FlopsUsed != 0 || v.Agent.Rationale != "pre-eval reject" || v.Harness.HoldoutNLL != 0 {
				t.Errorf("row %+v", row)
			}
			if attempt.Pass || attempt.Primary != nil {
				t.Errorf("attempt %+v of a run that never was", attempt)
			}
			if answer := row.Answer("lium"); answer.Eligible || answer.State != family.Rejected {
				t.Errorf("answer %+v", answer)
			}
		})
	}
}

// TestRejectsTakeNoPlaceInTheQueue: nothing runs, so nothing is waited for.
func TestRejectsTakeNoPlaceInTheQueue(t *testing.T) {
	newFixture(func(f *fixture) {
		f.fields["manifest"] = map[string]any{}
		f.facts.Miner.QueueFull, f.facts.Miner.Running = true, true
	}).passes(t, Reject)
}

func TestDecision6ARejoinIsNoRow(t *testing.T) {
	f := newFixture(func(f *fixture) {
		f.facts.Miner = Miner{Nonce: NonceSameBody, InFlight: true, Running: true, Limited: true, QueueFull: true}
		f.host.Executor.Status = offer.Closed // rotated away while the run went on
	})
	if _, _, err := f.passes(t, Rejoin).Persist(0, Result{}); !errors.Is(err, ErrNoRow) {
		t.Errorf("got %v", err)
	}
}

func TestDecision14AFailedRecipeHasNoPrimary(t *testing.T) {
	row, attempt, err := newFixture().passes(t, Run).Persist(0, Result{Verdict: family.Verdict{}})
	if err != nil || attempt.Primary != nil || row.State != family.Rejected {
		t.Errorf("%+v %+v %v", row, attempt, err)
	}
}

func TestDecision4AddressAndClaimAreWithheldUntilTheEpochIsClosed(t *testing.T) {
	row, _, err := newFixture().passes(t, Run).Persist(0, Result{})
	if err != nil {
		t.Fatal(err)
	}
	open, err := row.Public(false).JSON()
	if err != nil || strings.Contains(string(open), "recipe.tar") || strings.Contains(string(open), "a tenth") {
		t.Errorf("%s %v", open, err)
	}
	closed, err := row.Public(true).JSON()
	if err != nil || !strings.Contains(string(closed), "recipe.tar") || !strings.Contains(string(closed), "a tenth") {
		t.Errorf("%s %v", closed, err)
	}
}

func TestSection11Point1Answer(t *testing.T) {
	row, _, err := newFixture(func(f *fixture) { f.host.Sim = true }).passes(t, Run).Persist(0, Result{Verdict: family.Verdict{Pass: true}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(row.Answer((&Host{Sim: true}).Backend()))
	want := `{"id":"pf_0000000000000000","submission_digest":"` + row.SubmissionDigest + `","topic_id":"topic-a","state":"awaiting_admin","eval_backend":"sim","eligible":true}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
}

func TestPropertyIDsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ID(rapid.Uint64().Draw(t, "id"))
		if got, err := ParseID(id.String()); err != nil || got != id {
			t.Fatalf("%s reads back as %s, %v", id, got, err)
		}
	})
	for _, s := range []string{"", "pf_", "pf_0", "0000000000000000", "pf_000000000000000A", "pf_00000000000000000", "pf_+000000000000000", "pf_" + strings.Repeat("0", 99)} {
		if id, err := ParseID(s); err == nil || len(err.Error()) > 120 {
			t.Errorf("%q reads as %s, %v", s, id, err)
		}
	}
}

func TestScoredCarriesEveryFieldThatScoringReads(t *testing.T) {
	d := topic.New()
	d.ID, d.FLOPsBudget, d.EpsilonNLL, d.EpsilonTopicMaxRegress = "t", 1, 2, 3
	d.Metric = topic.Metric{Family: topic.Throughput, Primary: "p", Direction: topic.Max, EpsilonRel: 4, QualityFloorNLL: 5, WallBudgetS: 6, CustomID: "c"}
	want := family.Topic{
		ID: "t", Family: family.Throughput, Primary: "p", Direction: family.Max, EpsilonRel: 4, QualityFloorNLL: 5, WallBudgetS: 6,
		CustomID: "c", FlopsBudget: 1, EpsilonNLL: 2, EpsilonTopicMaxRegress: 3,
	}
	if got := Scored(d); got != want {
		t.Errorf("got %+v", got)
	}
}
