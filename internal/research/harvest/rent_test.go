package harvest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestSection156NothingIsRentedWhenSomethingIsNotStaged(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(w *world)
		text string
	}{
		"no weights":             {func(w *world) { w.options.WeightsDir = "" }, "PROOF_PROXY_MODEL_DIR missing or empty; refuse live scoring (no HF bake)"},
		"weights that are empty": {func(w *world) { w.options.WeightsDir = w.t.TempDir() }, "PROOF_PROXY_MODEL_DIR missing or empty"},
		"weights that are no files": {func(w *world) {
			if err := os.Symlink("/dev/null", filepath.Join(w.options.WeightsDir, "device")); err != nil {
				w.t.Fatal(err)
			}
		}, "PROOF_PROXY_MODEL_DIR holds something that cannot be staged"},
		"a link to nowhere": {func(w *world) {
			if err := os.Symlink("planted", filepath.Join(w.options.WeightsDir, "link")); err != nil {
				w.t.Fatal(err)
			}
		}, "PROOF_PROXY_MODEL_DIR holds something that cannot be staged"},
		"a name that cannot be sent": {func(w *world) { write(w.t, filepath.Join(w.options.WeightsDir, "a\nE"), []byte("x")) }, "PROOF_PROXY_MODEL_DIR holds something that cannot be staged"},
		"no shard store":             {func(w *world) { w.options.HoldoutStore = "" }, "PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring"},
		"one shard missing": {func(w *world) {
			if err := os.Remove(filepath.Join(w.options.HoldoutStore, w.records[119].ContentSHA256)); err != nil {
				w.t.Fatal(err)
			}
		}, "PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring"},
		"one shard with other bytes": {func(w *world) {
			write(w.t, filepath.Join(w.options.HoldoutStore, w.records[7].ContentSHA256), []byte("other"))
		}, "PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring"},
		"a directory for a shard": {func(w *world) {
			path := filepath.Join(w.options.HoldoutStore, w.records[7].ContentSHA256)
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				w.t.Fatal(err)
			}
		}, "PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring"},
		"no judge key":       {func(w *world) { w.options.JudgeKeyFile = "" }, "inference API key missing; refuse scoring"},
		"an empty judge key": {func(w *world) { write(w.t, w.options.JudgeKeyFile, []byte(" \n")) }, "inference API key missing; refuse scoring"},
		"a key of two lines": {func(w *world) { write(w.t, w.options.JudgeKeyFile, []byte("planted\nb")) }, "more than one line; refuse scoring"},
		"no ssh key":         {func(w *world) { w.options.SSHPublicKeyFile = "" }, "LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring"},
		"no private half":    {func(w *world) { w.options.SSHKeyFile = w.options.SSHPublicKeyFile }, "LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring"},
		"another private half": {func(w *world) {
			w.options.SSHKeyFile = strings.TrimSuffix(writeSSHKey(w.t, filepath.Join(w.t.TempDir(), "other")), ".pub")
		}, "LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring"},
		"no plan, as under sim":       {func(w *world) { w.outcome.Plan = nil }, "no live plan"},
		"a pre-eval reject":           {func(w *world) { w.outcome.Kind = intake.Reject }, "no live plan"},
		"a custom topic":              {func(w *world) { w.outcome.Submission.Topic.Document.Metric.Family = topic.Custom }, "families nll and throughput alone"},
		"a pin without a digest":      {func(w *world) { w.options.Pin.EvalImageDigest = "" }, "eval image digest not pinned; refuse live scoring"},
		"a plan of two GPUs":          {func(w *world) { w.outcome.Plan.GPUCount = 2 }, "abort: executor would rent 2x GPUs; the Proof executor is exactly 1x"},
		"no judge":                    {func(w *world) { w.outcome.Judge.Origin = "" }, "resolved inference config is incomplete; refuse scoring"},
		"no baseline":                 {func(w *world) { w.outcome.Submission.Topic.Baseline = nil }, "no sealed baseline recorded"},
		"no holdout":                  {func(w *world) { w.outcome.Submission.Topic.Holdout = nil }, "illegal state no verified holdout loaded for " + topicID},
		"a digest that is not frozen": {func(w *world) { w.outcome.Submission.Digest = "short" }, "stays sealed"},
		"a raw id for a template": {func(w *world) {
			w.options.Pin.AllowedLiumTemplatePrefixes = nil
			w.outcome.Plan.TemplateID = "3f2504e0-4f89-11d3-9a0c-78b614a1f51c"
		}, "eval executor offer: lium_template_id"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.edit(w)
			w.refused(503, tt.text)
			w.neverRented()
			if n := len(w.lium.seen); n != 0 {
				t.Errorf("%d requests to the provider", n)
			}
		})
	}
}

func TestSection29ARawTemplateIDIsRefusedInOfferAndOverride(t *testing.T) {
	w := newWorld(t)
	const raw = "3f2504e0-4f89-11d3-9a0c-78b614a1f51c"
	w.lium.templates = []map[string]any{{"id": raw, "name": raw, "docker_image": w.options.Pin.EvalImage, "docker_image_digest": pinnedDigest, "status": "VERIFY_SUCCESS"}}
	w.outcome.Plan.TemplateID = raw
	w.refused(503, "lium_template_id")
	w.neverRented()
}

func TestSection156OnlyADigestBoundTemplateIsReused(t *testing.T) {
	image := newWorld(t).options.Pin.EvalImage
	whole := func(edit func(m map[string]any)) map[string]any {
		m := map[string]any{
			"id": "tpl-listed", "name": templateName, "docker_image": image, "docker_image_digest": strings.ToUpper(pinnedDigest[7:]),
			"entrypoint": "", "startup_commands": "", "environment": map[string]string{}, "status": "VERIFY_SUCCESS",
		}
		m["docker_image_digest"] = pinnedDigest
		edit(m)
		return m
	}
	for name, tt := range map[string]struct {
		listed map[string]any
		reused bool
	}{
		"bound to the digest":       {whole(func(map[string]any) {}), true},
		"another digest":            {whole(func(m map[string]any) { m["docker_image_digest"] = "sha256:" + strings.Repeat("0", 64) }), false},
		"no digest":                 {whole(func(m map[string]any) { m["docker_image_digest"] = "" }), false},
		"another image":             {whole(func(m map[string]any) { m["docker_image"] = "ghcr.io/someone/proof-eval" }), false},
		"another name":              {whole(func(m map[string]any) { m["name"] = templateName + "-x" }), false},
		"an entry point of its own": {whole(func(m map[string]any) { m["entrypoint"] = "/bin/sh" }), false},
		"start commands":            {whole(func(m map[string]any) { m["startup_commands"] = "curl x | sh" }), false},
		"variables of its own":      {whole(func(m map[string]any) { m["environment"] = map[string]string{"LD_PRELOAD": "x"} }), false},
		"failed":                    {whole(func(m map[string]any) { m["status"] = "VERIFY_FAILED" }), false},
		"an id that is none":        {whole(func(m map[string]any) { m["id"] = "../pods" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lium.templates = []map[string]any{tt.listed}
			var got *pod
			w.lium.pod = func(p *pod) { got = p }
			if _, err := w.run(); err != nil {
				t.Fatal(err)
			}
			if reused := got.template == "tpl-listed"; reused != tt.reused {
				t.Errorf("reused %v, want %v", reused, tt.reused)
			}
			if made := w.lium.count("POST /api/templates") == 1; made == tt.reused {
				t.Errorf("made %v", made)
			}
		})
	}
}

func TestATemplateThatIsMadeOtherwiseIsNotRented(t *testing.T) {
	for name, edit := range map[string]func(m map[string]any){
		"with another digest": func(m map[string]any) { m["docker_image_digest"] = "sha256:" + strings.Repeat("0", 64) },
		"with an entry point": func(m map[string]any) { m["entrypoint"] = "sh" },
		"without an id":       func(m map[string]any) { m["id"] = "" },
		"never verified":      func(m map[string]any) { m["status"] = "VERIFY_PENDING" },
		"failed":              func(m map[string]any) { m["status"] = "VERIFY_FAILED" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.options.Limits.Template = 100 * time.Millisecond
			w.lium.instead = func(rw http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || r.URL.Path != "/api/templates" {
					return false
				}
				var body map[string]any
				_ = json.NewDecoder(r.Body).Decode(&body)
				body["id"], body["status"] = "tpl-made", "VERIFY_SUCCESS"
				edit(body)
				w.lium.templates = append(w.lium.templates, body)
				reply(rw, body)
				return true
			}
			w.refused(503, "no digest-bound template")
			w.neverRented()
		})
	}
}

func TestExactlyOneGPUIsRentedAtTheLowestPrice(t *testing.T) {
	w := newWorld(t)
	rented := machine("taken", 1, 0.1)
	rented["rented"] = true
	w.lium.machines = []map[string]any{
		machine("wide", 8, 0.5), machine("dear", 1, 3), machine("cheap", 1, 1.2), machine("free", 1, 0), machine("unsaid", 0, 0.3), machine("../x", 1, 0.2), rented,
	}
	var got *pod
	w.lium.pod = func(p *pod) { got = p }
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	if got.machine["id"] != "cheap" {
		t.Errorf("rented %v", got.machine["id"])
	}
}

func TestAMachineThatDoesNotFitIsNotRented(t *testing.T) {
	for name, tt := range map[string]struct {
		machines []map[string]any
		text     string
	}{
		"none":              {nil, "no machine of exactly one GPU is on offer"},
		"a whole host":      {[]map[string]any{machine("a", 8, 0.5), machine("b", 2, 9)}, "abort: executor would rent 2x GPUs; the Proof executor is exactly 1x"},
		"one beyond 12 USD": {[]map[string]any{machine("a", 1, 100)}, "would cost more than one run may"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lium.machines = tt.machines
			w.refused(503, tt.text)
			w.neverRented()
		})
	}
}

func TestAPodThatCameOutWiderIsAbortedBeforeAnythingIsStaged(t *testing.T) {
	w := newWorld(t)
	w.lium.edit = func(m map[string]any) { m["executor"] = machine("x", 8, 1) }
	var got *pod
	w.lium.pod = func(p *pod) { got = p }
	w.refused(503, "abort: executor would rent 8x GPUs; the Proof executor is exactly 1x")
	if len(got.commands) != 0 {
		t.Errorf("commands ran: %v", got.commands)
	}
}

func TestAMachineThatIsGoneMeanwhileGivesWayToTheNext(t *testing.T) {
	w := newWorld(t)
	w.lium.machines = []map[string]any{machine("a", 1, 1), machine("b", 1, 2)}
	w.lium.instead = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/executors/a/rent" {
			return false
		}
		http.Error(rw, "already rented, "+liumKey, http.StatusConflict)
		return true
	}
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	w = newWorld(t)
	w.lium.machines = nil
	for i := range 5 {
		w.lium.machines = append(w.lium.machines, machine(fmt.Sprint("m", i), 1, 1))
	}
	w.lium.instead = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/rent") {
			http.Error(rw, "planted", http.StatusBadRequest)
			return true
		}
		return false
	}
	w.refused(503, "lium: rent a pod: answered 400")
	if n := w.lium.count("POST /api/executors/"); n != maxRents {
		t.Errorf("%d rents, want %d", n, maxRents)
	}
}

func TestARentWithoutAnAnswerIsNeitherRepeatedNorLeftBehind(t *testing.T) {
	for name, late := range map[string]bool{"the pod is there": false, "the pod appears later": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lium.machines = append(w.lium.machines, machine("b", 1, 2))
			w.options.Limits.Settle = 300 * time.Millisecond
			name := podName(w.outcome.Submission.Digest)
			w.lium.instead = func(rw http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/rent") {
					return false
				}
				if late {
					time.AfterFunc(50*time.Millisecond, func() { w.lium.leave(name) })
				} else {
					p := newPod(w.t, "pod-x", name, "tpl", "")
					p.machine = machine("a", 1, 1)
					w.lium.pods[p.id] = p
				}
				http.Error(rw, "bad gateway", http.StatusBadGateway)
				return true
			}
			w.refused(503, "lium: rent a pod: answered 502")
			if n := w.lium.count("POST /api/executors/"); n != 1 {
				t.Errorf("%d rents, want 1", n)
			}
			if n := w.lium.count("DELETE /api/pods/"); n == 0 {
				t.Error("nothing was terminated")
			}
		})
	}
}

func TestSection10ATerminationThatIsNotVerifiedIsAnIntegrityError(t *testing.T) {
	const text = "integrity: termination of the rented pod is not verified"
	lists := func(w *world, status int) func(http.ResponseWriter, *http.Request) bool {
		return func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet && r.URL.Path == "/api/pods" && w.at("terminating") {
				http.Error(rw, judgeOrigin, status)
				return true
			}
			return false
		}
	}
	for name, edit := range map[string]func(w *world){
		"the pod stays":         func(w *world) { w.lium.keeps = true },
		"the list fails":        func(w *world) { w.lium.instead = lists(w, 500) },
		"the list is forbidden": func(w *world) { w.lium.instead = lists(w, 403) },
		"the pod stays behind a failed run": func(w *world) {
			w.lium.keeps, w.lium.run = true, func(p *pod) int { return 1 }
		},
		"a pod in the list has no id": func(w *world) {
			w.lium.edit = func(m map[string]any) {
				if w.at("terminating") {
					m["id"] = "a/b"
				}
			}
			w.lium.keeps = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.options.Limits.Terminate = 100 * time.Millisecond
			edit(w)
			if refusal := w.refused(500, text); refusal.Text != text {
				t.Errorf("text %q", refusal.Text)
			}
		})
	}
}

func TestATerminationIsRepeatedUntilThePodIsGone(t *testing.T) {
	w := newWorld(t)
	failed := 0
	w.lium.instead = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete && failed < 4 {
			failed++
			http.Error(rw, "", http.StatusInternalServerError)
			return true
		}
		return false
	}
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	if n := w.lium.live(); n != 0 || failed != 4 {
		t.Errorf("%d pods are left after %d failures", n, failed)
	}
}

func TestAPodOfAnEarlierAttemptIsTerminatedBeforeTheRent(t *testing.T) {
	w := newWorld(t)
	w.lium.leave(podName(w.outcome.Submission.Digest))
	w.lium.leave("someone-elses")
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	if n := w.lium.live(); n != 1 {
		t.Errorf("%d pods are left, want the other one", n)
	}
}

func TestAnAccountThatCannotBeReadIsNotRentedFrom(t *testing.T) {
	for _, path := range []string{"/api/templates", "/api/executors", "/api/pods"} {
		w := newWorld(t)
		w.lium.instead = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			http.Error(rw, liumKey+judgeOrigin, http.StatusForbidden)
			return true
		}
		w.refused(503, "answered 403")
		w.neverRented()
	}
	w := newWorld(t)
	w.lium.leave(podName(w.outcome.Submission.Digest))
	w.lium.keeps, w.options.Limits.Terminate = true, 50*time.Millisecond
	w.refused(500, "integrity: ")
	w.neverRented()
}

func TestALaterConnectionMustShowTheHostKeyOfTheFirst(t *testing.T) {
	w := newWorld(t)
	key, err := loadSSHKey(w.options.SSHPublicKeyFile, "")
	if err != nil {
		t.Fatal(err)
	}
	var seen ssh.PublicKey
	first, other := newPod(t, "a", "a", "", key.public), newPod(t, "b", "b", "", key.public)
	defer first.stop()
	defer other.stop()
	connect := func(p *pod) error {
		at, ok := parseConnect(p.listed(0)["ssh_connect_cmd"].(string))
		if !ok {
			t.Fatal("the pod has no address")
		}
		sh, err := dial(t.Context(), at, key, &seen)
		if err == nil {
			sh.close()
		}
		return err
	}
	if err := errors.Join(connect(first), connect(first)); err != nil {
		t.Fatal(err)
	}
	if err := connect(other); !errors.Is(err, errLost) {
		t.Errorf("another host key was taken (%v)", err)
	}
}

func TestThroughputRunsAreJudgedByTheirOwnGates(t *testing.T) {
	w := newWorld(t, func(h *intake.Host, d *topic.Document) {
		d.Metric = topic.Metric{
			Family: topic.Throughput, Primary: "tokens_per_sec", Direction: topic.Max, EpsilonRel: 0.05, QualityFloorNLL: 0.02, WallBudgetS: 14400,
		}
		h.Topics[topicID].Baseline.TokensPerSec = ptr(100.0)
	})
	for speed, pass := range map[float64]bool{105: true, 104.9: false} {
		w.lium.run = func(p *pod) int {
			if p.request()["wall_budget_s"] != 14400.0 {
				t.Error("the wall budget is not in the request")
			}
			p.print(metricsMarker+p.document(func(_, _, harness map[string]any) { harness["tokens_per_sec"] = speed }), okMarker)
			return 0
		}
		res, err := w.run()
		if err != nil || res.Verdict.Pass != pass {
			t.Errorf("%v tokens a second: %v, %s, want pass %v", speed, err, res.Verdict.Detail(), pass)
		}
	}
}

func TestACallerThatLeavesStillTerminates(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.lium.run = func(p *pod) int {
		cancel()
		<-p.hangs
		return 0
	}
	_, err := w.harvest().Run(ctx, w.outcome, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if n := w.lium.live(); n != 0 {
		t.Errorf("%d pods are left", n)
	}
}

func TestStagingThatFailsIsNoRun(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  func(p *pod)
		text string
	}{
		"a full disk":            {func(p *pod) { p.refuseFile = "model-1.bin" }, "staging failed: the pod did not take a staged file"},
		"a full disk at the end": {func(p *pod) { p.refuseFile = teacherFile }, "staging failed: the pod did not take a staged file"},
		"no work directory":      {func(p *pod) { p.prepareExit = 1 }, "staging failed: the pod did not take a staged file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lium.pod = tt.pod
			w.refused(503, tt.text)
		})
	}
}

func TestAPodThatDoesNotTakeSSHIsGivenUp(t *testing.T) {
	for name, edit := range map[string]func(w *world){
		"it says nothing":      func(w *world) { w.lium.pod = func(p *pod) { p.silent = true } },
		"it knows another key": func(w *world) { w.lium.pod = func(p *pod) { p.authorized = "ssh-ed25519 AAAA" } },
		"it is never running":  func(w *world) { w.lium.readyAfter = 1 << 30 },
		"its address is a command": func(w *world) {
			w.lium.edit = func(m map[string]any) { m["ssh_connect_cmd"] = "ssh -oProxyCommand=id root@127.0.0.1 -p 22" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.options.Limits.Boot = 150 * time.Millisecond
			edit(w)
			w.refused(503, "the rented pod did not take SSH in time")
		})
	}
}

func TestSection29TheHostsFallbackNeverShortensADeadline(t *testing.T) {
	for _, tt := range []struct{ deadline, fallback, want uint64 }{{600, 60, 600}, {600, 7200, 600}, {7200, 60, 7200}, {0, 60, 60}} {
		if got := podTimeout(tt.deadline, tt.fallback); got != tt.want {
			t.Errorf("deadline %d, fallback %d: %d, want %d", tt.deadline, tt.fallback, got, tt.want)
		}
	}
	w := newWorld(t, func(_ *intake.Host, d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(300)) })
	var got *pod
	w.lium.pod = func(p *pod) { got = p }
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	if command := got.commands[len(got.commands)-1]; !strings.Contains(command, " 300 "+entryPoint) {
		t.Errorf("command %q", command)
	}
}

func TestSection29ATopicThatTightensChangesTheCommitmentOfWhatRan(t *testing.T) {
	w := newWorld(t, func(_ *intake.Host, d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(300)) })
	var told map[string]any
	w.lium.run = func(p *pod) int { told = p.request(); return p.evaluate() }
	res, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	row, _, err := w.outcome.Persist(1, res)
	if err != nil {
		t.Fatal(err)
	}
	if told["executor_commitment"] == told["executor_offer_commitment"] || told["executor_commitment"] != row.ExecutorCommitment ||
		told["executor_offer_commitment"] != w.outcome.Submission.Executor.ConfigCommitment {
		t.Errorf("request says %v of offer %v, the row %v", told["executor_commitment"], told["executor_offer_commitment"], row.ExecutorCommitment)
	}
}

func TestFactsSayWhatIsStaged(t *testing.T) {
	w := newWorld(t)
	if got, want := w.harvest().Facts(), (intake.Harvest{Weights: true, Shards: true, SSHKey: true}); got != want {
		t.Errorf("facts %+v", got)
	}
	w.options.WeightsDir, w.options.HoldoutStore, w.options.SSHKeyFile = filepath.Join(t.TempDir(), "none"), t.TempDir(), "none"
	if got, want := w.harvest().Facts(), (intake.Harvest{}); got != want {
		t.Errorf("facts %+v", got)
	}
}

func TestSweepTerminatesWhatAnEarlierProcessLeft(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"proof-0123abcd", "proof-ffffffff", "proof-eval", "someone-elses"} {
		w.lium.leave(name)
	}
	h := w.harvest()
	h.enter("proof-ffffffff")
	n, err := h.Sweep(t.Context())
	if err != nil || n != 1 || w.lium.live() != 3 {
		t.Errorf("%d swept (%v), %d are left", n, err, w.lium.live())
	}
}

func TestOneSubmissionHasOnePodAtATime(t *testing.T) {
	w := newWorld(t)
	h := w.harvest()
	h.enter(podName(w.outcome.Submission.Digest))
	_, err := h.Run(t.Context(), w.outcome, nil)
	if refusal, ok := err.(*intake.Refusal); !ok || refusal.Status != 503 || !strings.Contains(refusal.Text, "in flight") {
		t.Errorf("got %v", err)
	}
	w.neverRented()
}

func TestAHarvestNeedsAProviderAndAPin(t *testing.T) {
	w := newWorld(t)
	if _, err := New(Options{Pin: w.options.Pin}); err == nil {
		t.Error("a harvest without a provider")
	}
	if _, err := New(Options{Provider: w.options.Provider}); err == nil {
		t.Error("a harvest without a pin")
	}
}

func TestNoLogLineShowsWhatIsStaged(t *testing.T) {
	for name, run := range map[string]func(p *pod) int{
		"a pass": (*pod).evaluate,
		"a failure": func(p *pod) int {
			p.print(judgeKeyText, judgeOrigin, p.files[requestFile])
			return 5
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var log strings.Builder
			w.options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			w.lium.run = run
			_, err := w.run()
			w.silent(log.String() + fmt.Sprintf("%v %+v", err, w.harvest()) + fmt.Sprintf("%#v", w.options.Provider))
			if !strings.Contains(log.String(), "pod terminated") {
				t.Errorf("log %q", log.String())
			}
		})
	}
}
