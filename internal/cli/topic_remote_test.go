package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// publishDraft signs and publishes a document.
func (b *bench) publishDraft(d *topic.Document) *said {
	b.t.Helper()
	if err := d.Sign(nil, b.plane.Key); err != nil {
		b.t.Fatal(err)
	}
	text, err := d.JSON()
	if err != nil {
		b.t.Fatal(err)
	}
	return b.expect(0, "topic", "publish", b.write("published.json", string(text)))
}

func TestAnOperatorTakesATopicFromItsDraftToOpenAndClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plane.Setups = []float64{0.25, 0.3}
	b.expect(1, "topic", "setup", "draft-topic", "--approve", "--wait", "--every", "1ms").err("baseline.script_sha256 is not set")
	draft := b.plane.Document(t, "draft-topic", topic.Draft)
	b.publishDraft(draft).err("its baseline.script_sha256 is not set, and 'prova topic setup' needs it")
	draft.Baseline.ScriptSHA256 = strings.Repeat("3", 64)
	if s := b.publishDraft(draft); s.stderr != "" {
		t.Errorf("a draft that can be set up: %s", s.stderr)
	}
	b.expect(0, "topic", "list", "--status", "all").out("draft-topic  draft  custom", "open-topic  open  custom")
	b.expect(0, "topic", "show", "draft-topic").out("baseline     not sealed", "rule         same_seed: every run")
	b.expect(0, "topic", "setup", "draft-topic").out("spend_cap_usd").err("nothing was done")
	b.expect(1, "baseline", "measure", "draft-topic", "--out", b.path("m.json")).err("no baseline is measured for draft-topic yet: 'prova topic setup draft-topic --approve --wait'")
	b.expect(0, "topic", "setup", "draft-topic", "--approve", "--wait", "--every", "1ms").out("baseline    0.25, measured under rules version 2").err("provisioned: provisioning → baselining")
	b.expect(0, "topic", "rules", "show", "draft-topic").out("version  2, source rlm")
	b.expect(0, "topic", "rules", "edit", "draft-topic", "--rules", b.write("rules.yaml", "- id: same_seed\n  text: the seed of the topic\n")).out("version  3, source operator")
	b.expect(1, "baseline", "measure", "draft-topic", "--out", b.path("m.json")).err("measured under rules version 2, and the newest is 3")
	// A second set-up: the older measurement is not its end.
	b.expect(0, "topic", "setup", "draft-topic", "--approve", "--wait", "--every", "1ms").out("baseline    0.3, measured under rules version 4")
	b.expect(0, "baseline", "measure", "draft-topic", "--out", b.path("m.json")).out("custom_value  0.3")

	b.write("draft.json", b.expect(0, "topic", "show", "draft-topic", "--json").stdout)
	b.write("baseline.tar", "the baseline's tar")
	seal := []string{
		"topic", "seal", b.path("draft.json"), "--script", b.path("baseline.tar"), "--secret", b.path("topic.key"), "--pin", b.path("pin.toml"),
		"--baseline-out", b.path("baseline.json"), "--out", b.path("signed.json"),
	}
	b.expect(0, append(seal, "--measurement", b.path("m.json"))...).out("status              open", "registered under success_rate is for the host to say")
	if got := b.read("baseline.json"); !strings.Contains(got, `"custom_value": 0.3,`) || !strings.Contains(got, b.plane.Pin.EvalImageDigest) {
		t.Errorf("the measurement: %s", got)
	}
	b.expect(0, append(seal, "--publish")...).out("published   "+b.plane.URL, "status      open")
	b.expect(0, "topic", "list").out("draft-topic  open")
	b.expect(0, "topic", "publish", b.path("signed.json"), "--pin", b.path("pin.toml")).out("status      open")

	edit := []string{"topic", "rules", "edit", "draft-topic", "--rules", b.path("rules.yaml")}
	b.expect(64, edit...).err("topic draft-topic is open under rules version 4: new rules count from the next run on, and its baseline was measured under rules version 4", "--yes")
	b.expect(0, "topic", "rules", "show", "draft-topic").out("version  4")
	b.expect(0, append(edit, "--yes")...).out("version  5, source operator").err("note        topic draft-topic is open under rules version 4")
	b.expect(64, edit...).err("is open under rules version 5", "measured under rules version 4")
	b.expect(64, "topic", "rules", "edit", remotetest.OpenID, "--rules", b.path("rules.yaml")).err("the host has no baseline of it that was measured under any version")
	b.expect(1, "topic", "rules", "edit", "no-such-topic", "--rules", b.path("rules.yaml")).err("unknown topic")

	b.write("other.key", "43"+strings.Repeat("11", 31))
	b.expect(1, "topic", "close", "draft-topic", "--secret", b.path("other.key")).err("is not signed by the key of")
	b.expect(0, "topic", "close", "draft-topic", "--secret", b.path("topic.key")).out("status      closed")
	b.expect(0, "topic", "close", "draft-topic", "--secret", b.path("topic.key")).out("closed already")
	b.expect(64, seal[:3]...).err("--script is missing")
}

func TestSetupTellsWhatStoppedIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.plane.Document(t, "draft-topic", topic.Draft)
	draft.Baseline.ScriptSHA256 = strings.Repeat("3", 64)
	b.publishDraft(draft)
	b.expect(1, "topic", "setup", "draft-topic", "--approve", "--wait", "--every", "1ms").
		err("the set-up of draft-topic stopped at awaiting_owner_keys: owner keys are not there; run it again, it resumes there")
	b.expect(0, "topic", "setup", "draft-topic", "--decline", "too dear").out("state       owner_presend")
	b.expect(1, "topic", "setup", "draft-topic", "--wait", "--every", "1ms").err("is not running: the topic is draft; --approve goes on from there")
	b.env[tokenVariable] = b.write("wrong.token", "another-token")
	b.expect(1, "topic", "setup", "draft-topic").err("unauthorized (status 401)")
	b.env[tokenVariable] = ""
	b.expect(64, "topic", "setup", "draft-topic").err("--token-file is missing")
}

func TestPublishRefusesWhatTheHostWould(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.plane.Document(t, "new-topic", topic.Open)
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	b.expect(1, "topic", "publish", b.write("unsigned.json", string(text))).err("is not signed; run 'prova topic sign")
	if err := d.Sign(nil, remotetest.Secret(t, 0x43)); err != nil {
		t.Fatal(err)
	}
	if text, err = d.JSON(); err != nil {
		t.Fatal(err)
	}
	other := b.write("other.json", string(text))
	b.expect(1, "topic", "publish", other).err("topic signature does not verify under the proof trust-root key (status 400)")
	b.expect(1, "topic", "publish", other, "--pin", b.path("pin.toml")).err("other.json: topic signature does not verify")
	b.plane.Host(func(h *intake.Host) { h.JudgeKey = false })
	if err := d.Sign(nil, b.plane.Key); err != nil {
		t.Fatal(err)
	}
	if text, err = d.JSON(); err != nil {
		t.Fatal(err)
	}
	b.expect(0, "topic", "publish", b.write("good.json", string(text))).err("open, and not scorable yet: 'prova research doctor new-topic'")
}

func TestATopicWithPassesOfAnOpenEpochClosesWithYesAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uri := []string{"--uri", "http://127.0.0.1:1/a.tar", "--wait"}
	b.expect(0, b.submit(uri...)...)
	b.plane.CloseEpoch(t)
	b.expect(0, b.submit(uri...)...)
	worse := 0.4
	b.plane.Change(func() {
		b.plane.Run = func(*intake.Submission) remotetest.Result { return remotetest.Result{Primary: &worse, Used: 10} }
	})
	b.expect(2, b.submit(uri...)...)
	args := []string{"topic", "close", remotetest.OpenID, "--secret", b.path("topic.key")}
	s := b.expect(64, args...).err("closing is final", "pays nothing for that epoch, not even for runs that passed", "unpaid      pf_0000000000000001  epoch 8  ",
		"1 row of open-topic passed and its epoch is not closed", "--yes")
	if strings.Count(s.stderr, "unpaid  ") != 1 {
		t.Errorf("a row that is paid or did not pass is listed:\n%s", s.stderr)
	}
	b.expect(0, "topic", "show", remotetest.OpenID).out("status       open")
	b.plane.Change(func() {
		b.plane.Tamper = func(_ http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
			if r.URL.Path == "/v1/submissions" {
				return http.StatusInternalServerError, []byte(`{"error":"the rows are away"}`)
			}
			return status, body
		}
	})
	b.expect(1, args...).err("which rows would not be paid could not be read: the rows are away")
	b.plane.Change(func() { b.plane.Tamper = nil })
	b.expect(0, append(args, "--yes")...).out("status      closed").err("unpaid      pf_0000000000000001")
}

func TestATopicWithoutPassesOfAnOpenEpochClosesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait")...)
	b.plane.CloseEpoch(t)
	s := b.expect(0, "topic", "close", remotetest.OpenID, "--secret", b.path("topic.key")).out("status      closed").err("closing is final")
	if strings.Contains(s.stderr, "unpaid") {
		t.Errorf("a row of a closed epoch is listed:\n%s", s.stderr)
	}
}
