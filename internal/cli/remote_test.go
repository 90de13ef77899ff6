package cli

import (
	"context"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// bench is a person at a terminal: a folder, a plane to talk to, the real commands.
type bench struct {
	t     *testing.T
	plane *remotetest.Plane
	dir   string
	env   map[string]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, plane: remotetest.New(t), dir: t.TempDir()}
	b.env = map[string]string{serverVariable: b.plane.URL, tokenVariable: b.write("admin.token", remotetest.Token+"\n"), "HOME": b.dir}
	b.write("pin.toml", fmt.Sprintf("topic_pubkey = %q\neval_image_digest = %q\n[inference]\nmodel = \"master-proxy-v0\"\n", b.plane.Pin.TopicPubkey, b.plane.Pin.EvalImageDigest))
	b.write("topic.key", "42"+strings.Repeat("11", 31))
	b.write("miner.key", "77"+strings.Repeat("11", 31))
	b.write("recipe/recipe.json", `{"format":"prova-recipe/1","entrypoint":"recipe.wasm","args":[]}`)
	b.write("recipe/recipe.wasm", "\x00asm\x01\x00\x00\x00")
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) string {
	b.t.Helper()
	path := b.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// run runs a command as Main does, over the commands of a control plane alone.
func (b *bench) run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, diag strings.Builder
	env := &Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &diag, Getenv: func(name string) string { return b.env[name] }}
	root := &cobra.Command{Use: "prova", SilenceUsage: true, SilenceErrors: true}
	research := &cobra.Command{Use: "research"}
	research.AddCommand(newResearchReadCmds(env)...)
	root.AddCommand(newSubmitCmd(env), newTopicCmd(env), newBaselineCmd(env), research)
	root.SetOut(&out)
	root.SetErr(&diag)
	wrapUsage(root)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		code = 1
		if exit := (*ExitError)(nil); errors.As(err, &exit) {
			code, err = exit.Code, exit.Err
		}
		if err != nil {
			fmt.Fprintf(&diag, "prova: %s\n", oneLine(err.Error()))
		}
	}
	for _, secret := range []string{remotetest.Token, "42" + strings.Repeat("11", 31), "77" + strings.Repeat("11", 31), "judge-origin"} {
		if strings.Contains(out.String()+diag.String(), secret) {
			b.t.Errorf("prova %s shows a secret", strings.Join(args, " "))
		}
	}
	return code, out.String(), diag.String()
}

// expect runs a command and wants an exit status and texts in its two outputs.
func (b *bench) expect(want int, args ...string) *said {
	b.t.Helper()
	code, stdout, stderr := b.run(b.t.Context(), args...)
	if code != want {
		b.t.Fatalf("prova %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return &said{b.t, strings.Join(args, " "), stdout, stderr}
}

type said struct {
	t                       *testing.T
	command, stdout, stderr string
}

func (s *said) out(texts ...string) *said {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.stdout, text) {
			s.t.Errorf("prova %s: stdout lacks %q:\n%s", s.command, text, s.stdout)
		}
	}
	return s
}

func (s *said) err(texts ...string) *said {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.stderr, text) {
			s.t.Errorf("prova %s: stderr lacks %q:\n%s", s.command, text, s.stderr)
		}
	}
	return s
}

func (b *bench) submit(more ...string) []string {
	return append([]string{
		"submit", "--topic", remotetest.OpenID, "--key", b.path("miner.key"), "--claim", "rate 0.9", "--flops", "100", "--dataset", "my-mix-v0",
		"--every", "1ms", b.path("recipe"),
	}, more...)
}

// kept returns the names of the kept submissions.
func (b *bench) kept() []string {
	b.t.Helper()
	names, err := filepath.Glob(b.path(".local/state/prova/submissions/*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

// freePort names an address that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestSubmitServesItsTarAndWaitsUntilTheRowIsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plane.Looks = 3
	b.plane.Run = func(s *intake.Submission) remotetest.Result {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.ArtifactURI, nil)
		if err != nil {
			t.Error(err)
			return remotetest.Result{Fault: "no address"}
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return remotetest.Result{Fault: "not served"}
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !strings.HasSuffix(s.ArtifactURI, "/"+s.ArtifactDigest+".tar") {
			t.Errorf("%s: %s", s.ArtifactURI, resp.Status)
		}
		v := 0.9
		return remotetest.Result{Primary: &v, Used: 10, Crowned: true}
	}
	b.expect(0, b.submit("--serve", freePort(t))...).
		out("row         pf_0000000000000000\n", "state       champion\n", "reason      it passed and beat the bar").
		err("queued      position 2\n", "running     inspecting, 12s\n", "artefact    ")
	if kept := b.kept(); len(kept) != 0 {
		t.Errorf("a submission whose row is there is still kept: %v", kept)
	}
}

func TestSubmitRejoinsWithTheSameNonceAfterALostAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	served := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(served.Close)
	lose := true
	b.plane.Tamper = func(w http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
		if r.Method == http.MethodPost && lose {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
			return 0, nil
		}
		return status, body
	}
	args := b.submit("--uri", served.URL+"/a.tar")
	b.expect(5, args...).err("whether the submission was taken is not known", "note        --uri could not be checked from here (status 404)")
	kept := b.kept()
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kept with mode %v, %v", info.Mode(), err)
	}
	lose = false
	b.expect(0, append(args, "--wait")...).err("rejoining it").out("row         pf_0000000000000000")
	posts := b.plane.Posts()
	if len(posts) != 2 || string(posts[0]) != string(posts[1]) {
		t.Errorf("%d bodies, the second other than the first", len(posts))
	}
	// Its row is there, so the next one is a new attempt with a new nonce.
	b.expect(0, append(args, "--wait", "--json")...).out(`"id":"pf_0000000000000001"`, `"eligible":true`)
}

func TestSubmitWithoutWaitKeepsTheSubmissionAndNewSignsAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plane.Looks = 1000
	args := b.submit("--uri", "http://127.0.0.1:1/a.tar")
	b.expect(0, args...).out("queued", "the same command with --wait").err("could not be checked from here")
	b.expect(0, args...).err("rejoining it")
	b.expect(3, append(args, "--new")...).err("this artefact is being evaluated already", "--new signs a new nonce once the run in flight has ended")
	// Another claim is another submission: its nonce is not that of the kept one.
	b.expect(3, append(args, "--claim", "rate 0.95")...).err("this artefact is being evaluated already")
	nonces := map[string]bool{}
	for _, post := range b.plane.Posts() {
		r, err := intake.Parse(post)
		if err != nil {
			t.Fatal(err)
		}
		nonces[*r.SubmitNonce] = true
	}
	if len(nonces) != 3 {
		t.Errorf("%d nonces of 4 posts, want 3", len(nonces))
	}
}

func TestSubmitExitStatusesTellTheEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uri := []string{"--uri", "http://127.0.0.1:1/a.tar", "--wait"}
	result := remotetest.Result{Used: 10}
	b.plane.Run = func(*intake.Submission) remotetest.Result { return result }
	b.expect(2, b.submit(uri...)...).out("state       rejected", "gates       gates=[", "rationale")
	worse := 0.4
	result = remotetest.Result{Primary: &worse, Used: 10}
	b.expect(2, b.submit(uri...)...).out("ThroughputMiss")
	result = remotetest.Result{Fault: "proof deadline of 600s exceeded"}
	b.expect(4, b.submit(uri...)...).err("the run ended without a row: proof deadline of 600s exceeded (status 503)")
	b.plane.Host(func(h *intake.Host) { h.JudgeKey = false })
	b.expect(4, b.submit(uri...)...).err("refused for now: inference API key missing; refuse scoring (status 503)", "nothing was stored")
	b.plane.Host(func(h *intake.Host) { h.JudgeKey, h.Epoch = true, 8 })
	b.expect(3, b.submit(append(uri, "--topic", remotetest.DraftID)...)...).err("topic draft-topic is not open: its status is draft")
	b.expect(3, b.submit(append(uri, "--topic", "no-such-topic")...)...).err("has no topic no-such-topic; open are: open-topic")
	b.expect(1, b.submit(append(uri, "--flops", "1001")...)...).err("--flops 1001 exceeds the topic's budget of 1000")
	if posts := len(b.plane.Posts()); posts != 4 {
		t.Errorf("%d submissions were sent, want 4", posts)
	}
}

func TestSubmitSendsNothingThatIsPackedOrServedOtherwise(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("another tar")) }))
	t.Cleanup(served.Close)
	b.expect(1, b.submit("--uri", served.URL+"/a.tar?token=secret-word")...).err("--uri serves 11 bytes with the digest", "a tar that was made again never matches")
	zipped := b.write("a.tar.gz", "\x1f\x8b\x08")
	args := b.submit("--uri", served.URL)
	args[len(args)-3] = zipped
	b.expect(1, args...).err("the archive is gzip, not an uncompressed tar")
	if err := os.Chmod(b.path("miner.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.expect(1, b.submit("--uri", served.URL)...).err("run chmod 600 on it")
	if len(b.plane.Posts()) != 0 {
		t.Error("something was sent")
	}
}

func TestSection11SubmitDryRunPrintsThePayloadThatIsSigned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.expect(0, b.submit("--serve", "127.0.0.1:1", "--dry-run", "--hash", "aa")...)
	payload, err := hex.DecodeString(strings.TrimSpace(strings.TrimPrefix(s.stdout, "signed")))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(payload), "\xff")
	if len(parts) != 10 || parts[1] != remotetest.OpenID || parts[3] != "100" || parts[4] != "rate 0.9" || parts[6] != "aa" || parts[8] != "my-mix-v0" || parts[9] != "" {
		t.Errorf("%q", parts)
	}
	if len(b.plane.Posts()) != 0 || len(b.kept()) != 0 {
		t.Error("a dry run sent or kept something")
	}
}

func TestAnOperatorTakesATopicFromItsDraftToOpenAndClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plane.Setups = []float64{0.25, 0.3}
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

	b.write("other.key", "43"+strings.Repeat("11", 31))
	b.expect(1, "topic", "close", "draft-topic", "--secret", b.path("other.key")).err("is not signed by the key of")
	b.expect(0, "topic", "close", "draft-topic", "--secret", b.path("topic.key")).out("status      closed")
	b.expect(0, "topic", "close", "draft-topic", "--secret", b.path("topic.key")).out("closed already")
	b.expect(64, seal[:3]...).err("--script is missing")
}

func TestSetupTellsWhatStoppedIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
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

func TestDoctorNamesEachThingThatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, "research", "doctor", remotetest.OpenID).out("ready, a submission would run")
	b.plane.Host(func(h *intake.Host) {
		h.JudgeKey = false
		h.Executor = nil
		h.Custom.Runners[remotetest.CustomID] = "PROOF_RLM_VM_IMAGE_DIGEST is not set"
	})
	s := b.expect(1, "research", "doctor", remotetest.OpenID).
		out("row 14", "judge_key", "PROOF_INFERENCE_API_KEY_FILE", "executor_offer", "scorer_ready", "PROOF_RLM_VM_IMAGE_DIGEST is not set", "not ready, ")
	if strings.Count(s.stdout, "  do: ") < 4 {
		t.Errorf("fewer findings than are missing:\n%s", s.stdout)
	}
	b.expect(1, "research", "doctor", remotetest.DraftID).out("row 5", "it is a draft: set it up")
	b.expect(1, "research", "doctor", "no-such-topic").err("publish it with 'prova topic publish FILE'")
	var findings struct {
		Scorable bool      `json:"scorable"`
		Missing  []finding `json:"missing"`
	}
	if err := json.Unmarshal([]byte(b.expect(1, "research", "doctor", remotetest.OpenID, "--json").stdout), &findings); err != nil || findings.Scorable || len(findings.Missing) < 4 {
		t.Errorf("%+v, %v", findings, err)
	}
}

// TestDoctorHasAdviceForEachRowOfTheGate keeps table and advice side by side.
func TestDoctorHasAdviceForEachRowOfTheGate(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, row := range intake.Gate() {
		if !row.Host {
			continue
		}
		rows++
		if advice[row.Name] == "" {
			t.Errorf("row %s %s: no advice", row.Number, row.Name)
		}
	}
	if rows != len(advice) {
		t.Errorf("%d rows look at the host, %d pieces of advice", rows, len(advice))
	}
}

func TestStatusAndRowsAreReadByAnyone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env[tokenVariable] = ""
	b.expect(0, "research", "status").out("can score       yes: open-topic", "sandbox         fake", "signatures      required")
	b.expect(0, "research", "status", "--json").out(`"challenge_id":"proof"`)
	b.expect(0, "research", "rows").err("no rows")
	uri := []string{"--uri", "http://127.0.0.1:1/a.tar", "--wait"}
	for range 3 {
		b.expect(0, b.submit(uri...)...)
	}
	b.expect(0, "research", "rows", "--limit", "2").out("pf_0000000000000002  epoch 7  open-topic").err("more: --before pf_0000000000000001")
	if s := b.expect(0, "research", "rows", "--limit", "2", "--all"); strings.Count(s.stdout, "\n") != 3 {
		t.Errorf("all pages:\n%s", s.stdout)
	}
	s := b.expect(0, "research", "rows", "pf_0000000000000001").out("state       awaiting_admin", "it counts for the payout", "rationale")
	if strings.Contains(s.stdout, "rate 0.9") {
		t.Error("decision 4: the claim is shown before the epoch is closed")
	}
	b.plane.CloseEpoch(t)
	b.expect(0, "research", "rows", "pf_0000000000000001").out("claim       rate 0.9", "address     http://127.0.0.1:1/a.tar")
	b.expect(64, "research", "rows", "pf_1").err("pf_ and 16 lower-case hexadecimal digits")
	b.expect(64, "research", "rows", "--hotkey", "xyz").err("must be 64 hexadecimal digits")
	b.expect(1, "research", "rows", "pf_00000000000000ff").err("not_found")
	b.env[serverVariable] = "http://127.0.0.1:1"
	b.expect(1, "research", "status").err("no answer from the control plane at http://127.0.0.1:1")
}

func TestATextOfTheServerDoesNotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait", "--claim", "red \x1b[31m\u202egreen")...)
	b.plane.CloseEpoch(t)
	for _, args := range [][]string{{"research", "rows", "pf_0000000000000000"}, {"research", "rows"}, {"research", "status"}, {"topic", "show", "open-topic"}} {
		if s := b.expect(0, args...); strings.ContainsAny(s.stdout+s.stderr, "\x1b\u202e") {
			t.Errorf("prova %s: %q", s.command, s.stdout)
		}
	}
}

func TestAnAuditorComputesThePayoutAndSignsItsLeaves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait")...)
	miner, idle := remotetest.Secret(t, 0x77).Public().String(), strings.Repeat("aa", 32)
	hotkeys := b.write("hotkeys.txt", "# expected\n0x"+strings.ToUpper(miner)+" # the miner\n"+idle+"\n")
	b.write("leaf.key", "44"+strings.Repeat("11", 31))
	audit := []string{"research", "payout", "--epoch", "7", "--hotkeys", hotkeys}
	b.expect(1, audit...).err("epoch 7 is not closed")
	b.plane.CloseEpoch(t)
	b.expect(0, append(audit, "--rows", "--sign", b.path("leaf.key"), "--out", b.path("leaves.json"))...).
		out("miner "+miner+": score 1000000 of 1000000", "floor 300000", "novelty 700000: weight 400000000",
			"checked     the snapshot has the hash that the server lists", "checked     the server's payout is the one computed here",
			"checked     1 runs of the snapshot are as in their public rows", idle+"  no score: NotAttempted")

	var leaves struct {
		PublicKey string `json:"public_key"`
		Leaves    []struct {
			Hotkey, Payload, Signature string
		} `json:"leaves"`
	}
	if err := json.Unmarshal([]byte(b.read("leaves.json")), &leaves, json.MatchCaseInsensitiveNames(true)); err != nil || len(leaves.Leaves) != 2 {
		t.Fatalf("%+v, %v", leaves, err)
	}
	key, err := sr25519.ParsePublicKey(leaves.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves.Leaves {
		payload, payloadErr := hex.DecodeString(l.Payload)
		signature, signatureErr := hex.DecodeString(l.Signature)
		if payloadErr != nil || signatureErr != nil || key.Verify(payout.LeafDomain, payload, signature) != nil {
			t.Errorf("the leaf of %s does not verify", l.Hotkey)
		}
		if leaf, err := payout.ParseLeaf(payload); err != nil || leaf.Hotkey.String() != l.Hotkey || leaf.Epoch != 7 {
			t.Errorf("%+v, %v", leaf, err)
		}
	}
	b.expect(0, append(audit, "--json")...).out(`"faults":[]`, `"score":1000000`, `"explained":[`)
	b.expect(0, "research", "payout", "--epoch", "7", "--hotkeys", b.write("one.json", `["`+idle+`"]`)).out(miner + "  earned a score and is not among the expected")
}

func TestAnAuditThatComesToAnotherResultSignsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait")...)
	b.plane.CloseEpoch(t)
	miner := remotetest.Secret(t, 0x77).Public().String()
	b.write("leaf.key", "44"+strings.Repeat("11", 31))
	audit := []string{"research", "payout", "--epoch", "7", "--hotkeys", b.write("hotkeys.txt", miner), "--rows", "--sign", b.path("leaf.key"), "--out", b.path("leaves.json")}
	var from, old, fresh string
	b.plane.Tamper = func(_ http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
		if strings.HasSuffix(r.URL.Path, from) {
			body = []byte(strings.ReplaceAll(string(body), old, fresh))
		}
		return status, body
	}
	for _, c := range []struct{ name, from, old, fresh, want string }{
		{"the server pays another score", "/payout", `"score":1000000`, `"score":1`, "miner " + miner + " has 1000000 here and 1 there"},
		{"the server pays somebody else", "/payout", miner, strings.Repeat("bb", 32), "has 1000000 here and 0 there"},
		{"a figure behind the score differs", "/payout", `"floor":300000`, `"floor":300001`, "the figures behind them are not"},
		{"the snapshot is not the listed one", "/epochs", `"sha256":"`, `"sha256":"00`, "where the server lists 00"},
		{"the row has another primary", "/pf_0000000000000000", `"custom_value":0.9`, `"custom_value":0.8`, "pf_0000000000000000: a row with another primary"},
		{"the row did not pass", "/pf_0000000000000000", `"pass":true`, `"pass":false`, "pf_0000000000000000: a row that did not pass"},
		{"the row is another miner's", "/pf_0000000000000000", miner, strings.Repeat("bb", 32), "a row of another topic, epoch, miner or artefact"},
	} {
		from, old, fresh = c.from, c.old, c.fresh
		b.expect(2, audit...).err(c.want, "no leaf was signed")
		if _, err := os.Stat(b.path("leaves.json")); err == nil {
			t.Fatalf("%s: leaves were written", c.name)
		}
		if s := b.expect(2, append(audit, "--json")...); strings.Contains(s.stdout, `"signature"`) {
			t.Errorf("%s: a signature is shown", c.name)
		}
	}
	from, old, fresh = "/snapshot", `"epoch":7`, `"epoch":8`
	b.expect(1, audit...).err("the snapshot is of epoch 8, not of 7")
	from, old, fresh = "/snapshot", `"runs"`, ` "runs"`
	b.expect(1, audit...).err("snapshot is not in its only encoding")
}

func TestHotkeysAreReadStrictly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plane.CloseEpoch(t)
	key := strings.Repeat("ab", 32)
	for content, want := range map[string]string{
		"# none\n": "names no hotkey", key + "\n0x" + key: "is there twice", "abc": "hotkey 1 is not 64 hexadecimal digits", "[1]": "want an array of hotkeys",
	} {
		b.expect(1, "research", "payout", "--epoch", "7", "--hotkeys", b.write("keys", content)).err(want)
	}
	snapshot := b.write("snapshot.json", `{"format":"prova-payout-snapshot/1","epoch":7,"topics":[]}`)
	b.env[serverVariable] = "http://127.0.0.1:1"
	b.expect(0, "research", "payout", "--epoch", "7", "--hotkeys", b.write("keys", key), "--snapshot", snapshot).out("nobody earned a score", "no score: ChallengeInternal")
}

func TestSection26TheOperatorPathMarksWhatIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.expect(0, "research", "operator-path", "--topic", remotetest.OpenID)
	if strings.Count(s.stdout, "[x] ") != 8 || strings.Contains(s.stdout, "[ ] ") {
		t.Errorf("a topic that is scored:\n%s", s.stdout)
	}
	b.plane.Host(func(h *intake.Host) { h.JudgeKey = false; h.Executor = nil; h.Topics[remotetest.OpenID].Holdout = nil })
	b.expect(0, "research", "operator-path", "--topic", remotetest.OpenID).
		out("[ ] 1. select the holdout", "[x] 4. sign the open topic", "[x] 5. publish it", "[ ] 6. offer an executor", "missing: eval executor offer missing", "[ ] 7.", "missing: inference API key missing", "[ ] 8.")
	b.expect(0, "research", "operator-path", "--topic", remotetest.DraftID).out("[ ] 3. measure and seal", "missing: the topic carries no sealed baseline", "missing: its status is draft")
	b.expect(0, "research", "operator-path", "--topic", "no-such-topic").out("missing: the topic is not published yet")
	b.env[serverVariable] = ""
	s = b.expect(0, "research", "operator-path", "--family", "nll").out("1. select the holdout", "8. check the status", "LIUM_API_KEY")
	if strings.Contains(s.stdout, "[ ]") {
		t.Error("steps are marked without a server")
	}
	b.expect(0, "research", "operator-path", "--json").out(`"step":8`, `"done":null`)
}

// TestSection26TheOperatorPathNamesRealCommandsAndFlags looks up every command that
// the path prints.
func TestSection26TheOperatorPathNamesRealCommandsAndFlags(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	env := &Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	root := &cobra.Command{Use: "prova"}
	research := &cobra.Command{Use: "research"}
	research.AddCommand(newResearchReadCmds(env)...)
	root.AddCommand(newSubmitCmd(env), newTopicCmd(env), newBaselineCmd(env), newHoldoutCmd(env), newOfferCmd(env), research)
	seen := 0
	for _, family := range topic.Families() {
		steps := operatorPath("my-topic", family, nil)
		if len(steps) != 8 {
			t.Fatalf("%s: %d steps", family, len(steps))
		}
		for _, s := range steps {
			for _, text := range s.Commands {
				words := strings.Fields(text)
				if words[0] != "prova" {
					if words[0] != "export" {
						t.Errorf("step %d: %q", s.Number, text)
					}
					continue
				}
				if i := strings.Index(text, " <"); i >= 0 {
					words = strings.Fields(text[:i])
				}
				cmd, rest, err := root.Find(words[1:])
				if err != nil || !cmd.Runnable() {
					t.Errorf("step %d: %q: no such command: %v", s.Number, text, err)
					continue
				}
				if err := cmd.ParseFlags(rest); err != nil {
					t.Errorf("step %d: %q: %v", s.Number, text, err)
				} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
					t.Errorf("step %d: %q: %v", s.Number, text, err)
				}
				seen++
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands", seen)
	}
}
