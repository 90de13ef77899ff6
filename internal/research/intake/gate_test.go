package intake

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/topic"
)

// fault makes one row fire.
type fault struct {
	row, number string
	status      int
	text        string
	make        func(*fixture)
	settles     Kind // instead of a refusal
}

// faults walks the table: one fault for each row that is no step, in its order.
var faults = []fault{
	{"address_limit", "0", 429, "too many requests from this address", func(f *fixture) { f.facts.AddressLimited = true }, ""},
	{"content_type", "1", 415, "the body must be JSON: send Content-Type: application/json", func(f *fixture) { f.facts.ContentType = "text/plain" }, ""},
	{"size", "1", 413, "the body is longer than 2097152 bytes", func(f *fixture) { f.raw = bytes.Repeat([]byte(" "), MaxBody+1) }, ""},
	{"syntax", "1", 400, "invalid JSON at byte 1: end of the document where a member name in double quotes was expected", func(f *fixture) { f.raw = []byte("{") }, ""},
	{"types", "1", 422, "declared_flops: is the number 1.5 with a point or exponent, want an integer written in digits", func(f *fixture) { f.fields["declared_flops"] = 1.5 }, ""},
	{"miner_hotkey", "2", 400, "invalid miner_hotkey", func(f *fixture) { f.fields["miner_hotkey"] = "abc" }, ""},
	{"artifact_digest", "2", 400, "invalid artifact_digest", func(f *fixture) { f.fields["artifact_digest"] = artifact + "00" }, ""},
	{"topic_id", "3", 400, "topic_id is required", func(f *fixture) { f.fields["topic_id"] = " \t" }, ""},
	{"topic_known", "4", 400, "unknown topic", func(f *fixture) { f.fields["topic_id"] = "topic-z" }, ""},
	{"topic_open", "5", 400, "topic is not open", func(f *fixture) { f.doc.Status = topic.Closed }, ""},
	{"flops_budget", "6", 400, "declared_flops exceeds the topic budget", func(f *fixture) { f.doc.FLOPsBudget = 999 }, ""},
	{"artifact_uri", "7", 400, "artifact_uri is required for custom topics", func(f *fixture) { f.fields["artifact_uri"] = " " }, ""},
	{"signature_required", "7b", 401, "hotkey_signature required", func(f *fixture) { f.fields["hotkey_signature"] = nil }, ""},
	{"signature_form", "7b", 401, "hotkey_signature invalid", func(f *fixture) { f.fields["hotkey_signature"] = strings.Repeat("A", 128) }, ""},
	{"nonce_required", "7b", 401, "submit_nonce required", func(f *fixture) { f.fields["submit_nonce"] = nil }, ""},
	{"nonce_form", "7b", 401, "submit_nonce invalid", func(f *fixture) { f.fields["submit_nonce"] = "0x" + nonce[2:] }, ""},
	{"signature", "7b", 401, "hotkey_signature invalid", func(f *fixture) { f.fields["hotkey_signature"] = strings.Repeat("a", 128) }, ""},
	{"nonce_reused", "8a", 409, "submit_nonce was used for another submission; sign with a new one", func(f *fixture) { f.facts.Miner.Nonce = NonceOtherBody }, ""},
	{"rejoin", "8b", 0, "", func(f *fixture) { f.facts.Miner.Nonce = NonceSameBody }, Rejoin},
	{"hotkey_limit", "8c", 429, "too many submissions of this hotkey", func(f *fixture) { f.facts.Miner.Limited = true }, ""},
	{"in_flight", "8d", 409, "this artefact is being evaluated already; ask for it by its submission digest", func(f *fixture) { f.facts.Miner.InFlight = true }, ""},
	{"epoch", "8e", 503, "the epoch of this host is closed; no submission is taken", func(f *fixture) { f.host.EpochFault = "the epoch of this host is closed" }, ""},
	{"sealed_topic", "9", 503, "no open sealed topic; refuse scoring", func(f *fixture) {
		for _, t := range f.host.Topics {
			t.Document.Baseline.ScriptSHA256 = ""
		}
	}, ""},
	{"inference_offer", "10", 503, "inference offer is closed; refuse scoring", func(f *fixture) { f.host.Inference.Status = offer.Closed }, ""},
	{"pinned_digest", "11", 503, "eval image digest not pinned; refuse live scoring (PROOF_FORCE_SIM=1 is CI only)", func(f *fixture) { f.host.Pin.EvalImageDigest = "" }, ""},
	{"live_scorer", "12", 503, `live proof eval is driven by the digest-pinned proof-eval image; no in-process sim; custom metric "harness_success_rate" has no registered runner (no custom-family scorer on this host); refuse scoring`, func(f *fixture) { f.host.Harvest, f.host.Custom = nil, nil }, ""},
	{"harvest_weights", "13", 503, "PROOF_PROXY_MODEL_DIR missing or empty; refuse live scoring (no HF bake)", harvest(func(h *Harvest) { h.Weights = false }), ""},
	{"harvest_shards", "13", 503, "PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring", harvest(func(h *Harvest) { h.Shards = false }), ""},
	{"harvest_ssh_key", "13", 503, "LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring", harvest(func(h *Harvest) { h.SSHKey = false }), ""},
	{"judge_key", "14", 503, "inference API key missing; refuse scoring", func(f *fixture) { f.host.JudgeKey = false }, ""},
	{"executor_offer", "15", 503, "eval executor offer is closed; refuse scoring", func(f *fixture) { f.host.Executor.Status = offer.Closed }, ""},
	{"scorer_ready", "16", 503, `custom metric "harness_success_rate" has no registered runner (custom metric "harness_success_rate" has no registered runner); refuse scoring`,
		func(f *fixture) { f.host.Custom = &Custom{} }, ""},
	{"inference_serves", "17", 503, "topic inference.base_url does not match the committed judge origin", func(f *fixture) { f.doc.Inference.BaseURL = ptr("https://spoof.invalid") }, ""},
	{"executor_serves", "18", 503, "eval executor offer: open eval executor offer cannot serve topic eval_executor constraints", func(f *fixture) { f.doc.EvalExecutor.RequireOfferCommitment = &other }, ""},
	{"judge_config", "19", 503, "resolved inference config is incomplete; refuse scoring", func(f *fixture) { f.doc.Inference.Model = nil }, ""},
	{"baseline", "20", 503, "no sealed baseline recorded for this topic", func(f *fixture) { f.host.Topics["topic-a"].Baseline = nil }, ""},
	{"holdout", "21", 503, "illegal state no verified holdout loaded for topic-a", func(f *fixture) { f.host.Topics["topic-a"].Holdout = nil }, ""},
	{"manifest", "22", 201, "", func(f *fixture) { f.fields["manifest"] = map[string]any{} }, Reject},
	{"plan", "23", 503, "eval executor offer: max_proof_deadline_s = 7201 must be 1..=7200", func(f *fixture) { f.host.Overrides.DeadlineS = ptr(uint64(7201)) }, ""},
	{"hotkey_running", "23a", 429, "a run of this hotkey is in flight; one at a time", func(f *fixture) { f.facts.Miner.Running = true }, ""},
	{"queue", "23b", 503, "the queue is full; try again later", func(f *fixture) { f.facts.Miner.QueueFull = true }, ""},
}

// harvest edits a harvest and puts one there where an earlier fault took it away.
func harvest(edit func(*Harvest)) func(*fixture) {
	return func(f *fixture) {
		if f.host.Harvest == nil {
			f.host.Harvest = &Harvest{Weights: true, Shards: true, SSHKey: true}
		}
		edit(f.host.Harvest)
	}
}

// answers fails unless a fixture is answered by the row of this fault.
func (want *fault) answers(t rapid.TB, f *fixture) {
	t.Helper()
	out, refusal := f.decide()
	switch {
	case want.settles != "":
		if refusal != nil || out.Kind != want.settles {
			t.Fatalf("row %s: got %+v %+v, want the outcome %s", want.row, out, refusal, want.settles)
		}
	case refusal == nil:
		t.Fatalf("row %s: outcome %s, want a refusal", want.row, out.Kind)
	case refusal.Name != want.row || refusal.Row != want.number || refusal.Status != want.status || refusal.Text != want.text:
		t.Fatalf("got  row %s %s: %d %s\nwant row %s %s: %d %s",
			refusal.Row, refusal.Name, refusal.Status, refusal.Text, want.number, want.row, want.status, want.text)
	}
}

func TestSubmissionWithoutFaultRuns(t *testing.T) {
	out := newFixture().passes(t, Run)
	if out.Plan == nil || out.Plan.TopicID != "topic-a" || out.Plan.DeadlineS != 7200 {
		t.Errorf("plan %+v", out.Plan)
	}
	if out.Judge.Model != "master-proxy-v0" {
		t.Errorf("judge of model %q", out.Judge.Model)
	}
}

func TestSection11Point3EveryRowOfTheTableHasAFaultInItsOrder(t *testing.T) {
	var rows, tested []string
	for _, row := range Gate() {
		if row.step == nil {
			rows = append(rows, row.Number+" "+row.Name)
		}
	}
	for _, f := range faults {
		tested = append(tested, f.number+" "+f.row)
	}
	if !slices.Equal(rows, tested) {
		t.Fatalf("the table has\n%s\nthe test walks\n%s", strings.Join(rows, "\n"), strings.Join(tested, "\n"))
	}
}

func TestSection11Point3EachRowFiresAlone(t *testing.T) {
	for i := range faults {
		t.Run(faults[i].row, func(t *testing.T) { faults[i].answers(t, newFixture(faults[i].make)) })
	}
}

// exclusive are the neighbours that cannot both be true of one submission.
var exclusive = map[string]bool{
	"size syntax":                       true, // what is too long is not read
	"syntax types":                      true, // what is no JSON has no types
	"topic_id topic_known":              true, // both are about one member
	"topic_known topic_open":            true, // an unknown topic has no status
	"signature_required signature_form": true,
	"nonce_required nonce_form":         true,
	"nonce_reused rejoin":               true, // both are the state of one nonce
	"live_scorer harvest_weights":       true, // no harvest has no weights
}

func TestSection11Point3OfEachAdjacentPairTheEarlierWins(t *testing.T) {
	for i := range len(faults) - 1 {
		first, second := &faults[i], &faults[i+1]
		t.Run(first.row+" before "+second.row, func(t *testing.T) {
			f := newFixture(second.make, first.make)
			first.answers(t, f)
			if exclusive[first.row+" "+second.row] {
				return
			}
			for _, row := range []string{first.row, second.row} {
				if !f.fires(row) {
					t.Errorf("row %s does not fire: the pair proves nothing", row)
				}
			}
		})
	}
}

// fires applies one row to a submission on which all steps before it were taken.
func (f *fixture) fires(name string) bool {
	s := &Submission{}
	for i := range gate {
		row := &gate[i]
		switch {
		case row.step != nil:
			row.step(f.facts, s)
		case row.Name != name:
		case row.settles != nil:
			return row.settles(f.facts, s) != ""
		default:
			return row.refuse(f.facts, s) != nil
		}
	}
	return false
}

func TestSection11Point3OfAnyFaultsTheEarliestWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(faults)-1), 1, 6, rapid.ID[int]).Draw(t, "faults")
		slices.Sort(chosen)
		f := newFixture()
		for _, i := range slices.Backward(chosen) {
			faults[i].make(f)
		}
		faults[chosen[0]].answers(t, f)
	})
}

func TestSection11Point3Row1ABodyOfExactlyTheLimitIsRead(t *testing.T) {
	f := newFixture()
	body := f.body()
	f.raw = append(body, bytes.Repeat([]byte(" "), MaxBody-len(body))...)
	f.passes(t, Run)
	f.raw = append(f.raw, ' ')
	f.refused(t, 413, "the body is longer than 2097152 bytes")
}

func TestRefusalNeverComesWithAnOutcome(t *testing.T) {
	for i := range faults {
		out, refusal := newFixture(faults[i].make).decide()
		if (out == nil) == (refusal == nil) {
			t.Errorf("row %s: outcome %v and refusal %v", faults[i].row, out, refusal)
		}
		if refusal == nil {
			continue
		}
		body, err := refusal.JSON()
		if err != nil || !bytes.HasPrefix(body, []byte(`{"error":"`)) || bytes.Contains(body, []byte("127.0.0.1")) {
			t.Errorf("row %s answers %s %v", faults[i].row, body, err)
		}
	}
}

func TestSection11Point3UnderSimRows11To15And18DoNotApply(t *testing.T) {
	live := map[string]bool{}
	for _, row := range Gate() {
		if row.Live {
			live[row.Number] = true
		}
	}
	for _, number := range []string{"11", "12", "13", "14", "15", "18", "23"} {
		if !live[number] {
			t.Errorf("row %s applies under sim", number)
		}
	}
	if len(live) != 7 {
		t.Errorf("rows of live hosts only: %v", live)
	}
	for _, f := range faults {
		sim := newFixture(f.make, func(f *fixture) { f.host.Sim = true })
		if !live[f.number] {
			f.answers(t, sim)
			continue
		}
		if f.row == "live_scorer" {
			sim.host.Custom = &Custom{Runners: map[string]string{customID: "runner not wired: nothing"}}
		}
		if out := sim.passes(t, Run); out.Plan != nil {
			t.Errorf("sim plans a rent: %+v", out.Plan)
		}
	}
}

func TestBeforeTheFreezeNothingOfTheStoreIsLookedAt(t *testing.T) {
	everything := Miner{Nonce: NonceOtherBody, Limited: true, InFlight: true, Running: true, QueueFull: true}
	f := newFixture(func(f *fixture) { f.facts.Miner = everything })
	f.facts.Body = f.body()
	if _, refusal := Before(f.facts); refusal != nil {
		t.Fatalf("refused at row %s", refusal.Row)
	}
}

func TestSection11Point3Row8WhatWasFrozenStaysWhenOffersRotate(t *testing.T) {
	f := newFixture()
	f.facts.Body = f.body()
	s, refusal := Before(f.facts)
	if refusal != nil {
		t.Fatal(refusal)
	}
	rotated := *f.host
	rotated.Inference, rotated.Executor = nil, nil
	f.facts.Host = &rotated
	out, refusal := After(f.facts, s)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if out.Submission.Executor != f.host.Executor || out.Submission.Inference != f.host.Inference {
		t.Error("the submission does not hold the offers of its freeze")
	}
}

func TestFaultOfAnOfferFileIsTheAnswerInsteadOfMissing(t *testing.T) {
	newFixture(func(f *fixture) { f.host.Inference = nil }).refused(t, 503, "inference offer missing; refuse scoring")
	newFixture(func(f *fixture) { f.host.Executor = nil }).refused(t, 503, "eval executor offer missing; refuse scoring")
	newFixture(func(f *fixture) { f.host.Inference, f.host.InferenceFault = nil, "status: is missing" }).
		refused(t, 503, "inference offer: status: is missing")
	newFixture(func(f *fixture) { f.host.Executor, f.host.ExecutorFault = nil, "status: is missing" }).
		refused(t, 503, "eval executor offer: status: is missing")
}

func TestSection8Point1UnusableOverrideRefusesTheRun(t *testing.T) {
	_, err := offer.ParseOverrides(func(string) string { return "-5" })
	if err == nil {
		t.Fatal("-5 is read")
	}
	newFixture(func(f *fixture) { f.host.OverridesFault = err }).refused(t, 503, err.Error())
}

func TestUnreadyNamesEverythingAnOperatorHasToDo(t *testing.T) {
	f := newFixture()
	if missing := f.host.Unready(f.host.Topics["topic-a"]); len(missing) != 0 {
		t.Fatalf("a ready host lacks %v", missing)
	}
	bare := &Host{Pin: f.host.Pin, Epoch: f.host.Epoch, Topics: map[string]*Topic{"topic-a": {Document: f.doc}}, OverridesFault: errors.New("X")}
	var got []string
	for _, refusal := range bare.Unready(bare.Topics["topic-a"]) {
		got = append(got, refusal.Row)
	}
	if want := []string{"9", "10", "12", "14", "15", "16", "17", "18", "19", "20", "21", "23"}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

// R§25: the 503 names the file that cannot be used, by its variable, and keeps the
// reference's text; what is not set is not named.
func TestSection25TheRowNamesTheFileThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		row  string
		file func(*Unusable)
		want string
	}{
		{"sealed_topic", func(u *Unusable) { u.Topics, u.Holdout, u.Baseline = "A", "B", "C" }, " (A, B, C cannot be used)"},
		{"sealed_topic", func(u *Unusable) { u.Holdout = "B" }, " (B cannot be used)"},
		{"judge_key", func(u *Unusable) { u.JudgeKey = "K" }, " (K cannot be used)"},
		{"baseline", func(u *Unusable) { u.Baseline = "C" }, " (C cannot be used)"},
		{"holdout", func(u *Unusable) { u.Holdout = "B" }, " (B cannot be used)"},
	} {
		i := slices.IndexFunc(faults, func(f fault) bool { return f.row == c.row })
		newFixture(faults[i].make, func(f *fixture) { c.file(&f.host.Unusable) }).refused(t, 503, faults[i].text+c.want)
	}
	newFixture(func(f *fixture) { f.host.Unusable = Unusable{"A", "B", "C", "K"} }).passes(t, Run)
}

func TestSection155AHostWithoutAnOrchestratorSaysSoToCustomTopicsAlone(t *testing.T) {
	const why = "runner not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)"
	lacks := func(f *fixture) { f.host.Custom, f.host.CustomFault = nil, why }
	named := `custom metric "harness_success_rate" has no registered runner (` + why + "); refuse scoring"
	newFixture(lacks).refused(t, 503, named)
	none := func(f *fixture) { f.host.Harvest = nil }
	newFixture(lacks, none).refused(t, 503, NoLiveScorer+"; "+named)
	newFixture(lacks, none, throughput).refused(t, 503, NoLiveScorer)
}
