package harvest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/family"
)

func TestSection156ARunRentsStagesScoresAndTerminates(t *testing.T) {
	w := newWorld(t)
	var got *pod
	w.lium.readyAfter, w.lium.unverified = 2, true
	w.lium.pod = func(p *pod) { got = p }
	res, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	if !res.Verdict.Pass || res.Crowned || res.Verdict.Harness.HoldoutNLL != 2.5 {
		t.Errorf("verdict %+v", res.Verdict)
	}
	if n := w.lium.live(); n != 0 {
		t.Errorf("%d pods are left", n)
	}
	if want := "preparing renting booting staging running terminating"; strings.Join(w.phases, " ") != want {
		t.Errorf("phases %v, want %s", w.phases, want)
	}
	if got.name != "proof-"+w.outcome.Submission.Digest[:8] {
		t.Errorf("pod name %q", got.name)
	}
	if _, _, err := w.outcome.Persist(0, res); err != nil {
		t.Error(err)
	}

	// What is in the pod.
	if len(got.files) != 120+3+2 {
		t.Errorf("%d files are staged", len(got.files))
	}
	for _, r := range w.records {
		if !strings.HasPrefix(got.files["holdout/"+r.ContentSHA256], "content of shard") {
			t.Errorf("shard %s is not staged", r.ContentSHA256)
		}
	}
	if got.files["weights/shards/model-1.bin"] != weightContent || got.files["weights/shards/link.json"] != "{}" || got.files["weights/config.json"] != "{}" {
		t.Error("the weights are not staged")
	}
	for name, mode := range map[string]string{requestFile: "C0600", teacherFile: "C0600", "weights/config.json": "C0644"} {
		if got.modes[name] != mode {
			t.Errorf("%s has mode %s, want %s", name, got.modes[name], mode)
		}
	}
	if want := "cd /tmp/proof_eval && set -a && . ./teacher.env && set +a && exec timeout --kill-after=30 600 /usr/bin/proof-eval score --request /tmp/proof_eval/request.json"; got.commands[len(got.commands)-1] != want {
		t.Errorf("command %q", got.commands[len(got.commands)-1])
	}
}

func TestSection10TheReceiptNamesWhatRan(t *testing.T) {
	w := newWorld(t)
	res, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	const harness = `{"canary_nll":null,"custom_value":null,"holdout_nll":2.5,"public_nll":null,"split_nll":{"code_ood":2.5,"longctx":2.5,"math_ood":2.5,"multilingual_ood":2.5,"web_ood":2.5},"step_latency_ms":null,"tokens_per_sec":null,"wall_s":100}`
	digest := w.outcome.Submission.Digest
	want := `{"provider":"lium","pod_id":"proof-` + digest[:8] + `","image_digest":"` + pinnedDigest + `","submission_hash":"` + digest +
		`","metrics_hash":"` + hexSum(harness) + `","termination_verified":true}`
	if res.Receipt == nil || *res.Receipt != want {
		t.Errorf("receipt %v\nwant %s", *res.Receipt, want)
	}
}

func TestARunThatFailsItsGatesIsAResultAndNoRefusal(t *testing.T) {
	w := newWorld(t)
	w.lium.run = func(p *pod) int {
		p.print(metricsMarker+p.document(func(_, agent, harness map[string]any) {
			harness["holdout_nll"], agent["reproduced"], agent["flops_used"] = 2.99, false, 2001
		}), okMarker)
		return 0
	}
	res, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	want := "gates=[FlopsOverBudget { used: 2001, budget: 2000 }, NllMiss { holdout: 2.99, baseline: 3.0, epsilon: 0.02 }, Unreproduced]"
	if got := res.Verdict.Detail(); got != want || res.Receipt == nil {
		t.Errorf("detail %s\nwant   %s", got, want)
	}
}

func TestSection10ADocumentThatIsNotAboutThisRunIsNoRow(t *testing.T) {
	type edit = func(doc, agent, harness map[string]any)
	for name, tt := range map[string]struct {
		edit edit
		text string
	}{
		"another schema":         {func(d, _, _ map[string]any) { d["schema_version"] = 2 }, "recorded baseline: schema_version"},
		"another submission":     {func(d, _, _ map[string]any) { d["submission_digest"] = strings.Repeat("0", 64) }, "recorded baseline: submission_digest"},
		"another artefact":       {func(d, _, _ map[string]any) { d["artifact_digest"] = strings.Repeat("0", 64) }, "recorded baseline: artifact_digest"},
		"another topic":          {func(d, _, _ map[string]any) { d["topic_id"] = "dt-no-ib-v0" }, "recorded baseline: topic_id"},
		"another image":          {func(d, _, _ map[string]any) { d["eval_image_digest"] = "sha256:" + strings.Repeat("0", 64) }, "recorded baseline: eval_image_digest"},
		"another holdout":        {func(d, _, _ map[string]any) { d["holdout_commitment"] = strings.Repeat("0", 64) }, "recorded baseline: holdout_commitment"},
		"another agent's topic":  {func(_, a, _ map[string]any) { a["topic_id"] = "dt-no-ib-v0" }, "no agent verdict: agent.topic_id"},
		"another agent's family": {func(_, a, _ map[string]any) { a["family"] = "throughput" }, "no agent verdict: agent.family"},
		"no agent":               {func(d, _, _ map[string]any) { delete(d, "agent") }, "no agent verdict: agent"},
		"an unknown member":      {func(d, _, _ map[string]any) { d[judgeKeyText] = 1 }, "recorded baseline: "},
		"a secret for a topic":   {func(d, _, _ map[string]any) { d["topic_id"] = judgeOrigin }, "recorded baseline: topic_id"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lium.run = func(p *pod) int {
				p.print(metricsMarker+p.document(tt.edit), okMarker)
				return 0
			}
			w.refused(503, tt.text)
		})
	}
}

func TestTheOutputOfARunMustBeOneResult(t *testing.T) {
	for name, tt := range map[string]struct {
		run  func(p *pod) int
		text string
	}{
		"nothing":                     {func(p *pod) int { p.print("thinking"); return 0 }, "proof-eval printed no PROOF_METRICS; stdout_tail: thinking"},
		"no document":                 {func(p *pod) int { p.print(okMarker); return 0 }, "printed no PROOF_METRICS"},
		"no end":                      {func(p *pod) int { p.print(metricsMarker + p.document()); return 0 }, "did not end with PROOF_EVAL_OK"},
		"the end before the document": {func(p *pod) int { p.print(okMarker, metricsMarker+p.document()); return 0 }, "did not end with PROOF_EVAL_OK"},
		"two documents": {func(p *pod) int {
			p.print(metricsMarker+p.document(), okMarker, metricsMarker+p.document(), okMarker)
			return 0
		}, "PROOF_METRICS more than once"},
		"no JSON":                         {func(p *pod) int { p.print(metricsMarker+"{", okMarker); return 0 }, "recorded baseline: eval document"},
		"an empty marker":                 {func(p *pod) int { p.print(metricsMarker, okMarker); return 0 }, "recorded baseline: eval document"},
		"a marker inside":                 {func(p *pod) int { p.print("x "+metricsMarker+p.document(), okMarker); return 0 }, "printed no PROOF_METRICS"},
		"a document of a run that failed": {func(p *pod) int { p.evaluate(); return 1 }, "proof-eval exited with status 1; stdout_tail: loading"},
		"a flood": {func(p *pod) int {
			line := strings.Repeat("x", 1<<20)
			for range 9 {
				p.print(line)
			}
			return 0
		}, "printed more than a run may"},
		"a line without end": {func(p *pod) int {
			p.print(strings.Repeat("y", 3<<20))
			return 0
		}, "[a line longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lium.run = tt.run
			w.refused(503, tt.text)
		})
	}
}

func TestSection29ExitsAreClassified(t *testing.T) {
	for name, tt := range map[string]struct {
		exit   int
		signal string
		after  time.Duration
		text   string
	}{
		"124 is the deadline":                    {124, "", 0, "proof deadline of 600s exceeded; stdout_tail: step 1"},
		"137 after the budget is the deadline":   {137, "", 600 * time.Second, "proof deadline of 600s exceeded; stdout_tail: step 1"},
		"137 late is the deadline":               {137, "", 630 * time.Second, "proof deadline of 600s exceeded; stdout_tail: step 1"},
		"137 early is an external SIGKILL":       {137, "", 599 * time.Second, "ended by an external SIGKILL after 599s, before its deadline of 600s (for example out of memory); stdout_tail: step 1"},
		"a SIGKILL of the session early as well": {0, "KILL", time.Second, "ended by an external SIGKILL after 1s"},
		"another exit says its status":           {3, "", 0, "proof-eval exited with status 3; stdout_tail: step 1"},
		"127: the image has no entry":            {127, "", 0, "proof-eval exited with status 127"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			now := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
			w.options.Now = func() time.Time { return now }
			w.lium.pod = func(p *pod) { p.signal = tt.signal }
			w.lium.run = func(p *pod) int {
				p.print("step 1")
				now = now.Add(tt.after)
				return tt.exit
			}
			refusal := w.refused(503, tt.text)
			if tt.exit != 124 && tt.after < 600*time.Second && strings.Contains(refusal.Text, "exceeded") {
				t.Errorf("%q blames the deadline", refusal.Text)
			}
		})
	}
}

func TestARunThatNeverExitsIsCutBehindTheGrace(t *testing.T) {
	w := newWorld(t)
	w.outcome.Plan.DeadlineS = 1
	w.options.Limits.Grace = 50 * time.Millisecond
	w.lium.run = func(p *pod) int {
		p.print("step 1")
		<-p.hangs
		return 0
	}
	w.refused(503, "proof deadline of 1s exceeded; stdout_tail: step 1")
}

func TestAPodThatVanishesIsNoDeadline(t *testing.T) {
	w := newWorld(t)
	w.lium.pod = func(p *pod) { p.drop = true }
	w.lium.run = func(p *pod) int { p.print("step 1"); return 0 }
	w.refused(503, "the connection to the pod was lost; stdout_tail: step 1")
}

func TestSection64NothingStagedComesBackInATail(t *testing.T) {
	w := newWorld(t)
	w.lium.run = func(p *pod) int {
		for name, content := range p.files {
			if name == requestFile || name == teacherFile {
				p.print(content)
			}
		}
		quoted, _ := json.Marshal(judgeKeyText)
		p.print("key "+judgeKeyText, strings.ToUpper(judgeOrigin), string(quoted), "\x1b[31mred", "end")
		return 9
	}
	refusal := w.refused(503, "exited with status 9", "key "+mark, ".[31mred\nend")
	if n := len(refusal.Text); n > maxTail+200 {
		t.Errorf("the text has %d bytes", n)
	}
	if strings.Count(refusal.Text, mark) < 20 {
		t.Errorf("%q withholds too little", refusal.Text)
	}
}

func TestSection64NothingStagedIsStoredInARationale(t *testing.T) {
	w := newWorld(t)
	w.lium.run = func(p *pod) int {
		p.print(metricsMarker+p.document(func(_, agent, _ map[string]any) {
			agent["rationale"] = "shard " + w.records[3].ContentSHA256 + " of " + w.records[3].DatasetID + " via " + judgeOrigin + " " +
				strings.Repeat("é", 2040)
		}), okMarker)
		return 0
	}
	res, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	text := string(res.Verdict.AppendJSON(nil)) + *res.Receipt
	w.silent(text)
	if got := res.Verdict.Agent.Rationale; len(got) > family.MaxRationale || !strings.HasPrefix(got, "shard "+mark+" of "+mark+" via "+mark) {
		t.Errorf("rationale %q", got)
	}
}
