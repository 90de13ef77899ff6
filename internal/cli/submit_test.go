package cli

import (
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
)

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
	b.plane.Change(func() { lose = false })
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
	b.expect(2, b.submit(uri...)...).out("state       rejected", "gates       [", "rationale")
	worse := 0.4
	b.plane.Change(func() { result = remotetest.Result{Primary: &worse, Used: 10} })
	b.expect(2, b.submit(uri...)...).
		out("reason      0.4 is not better than 0.5 by 5%: 0.525 or more was needed\n", "gates       [ThroughputMiss { value: 0.4,")
	b.plane.Change(func() { result = remotetest.Result{Fault: "proof deadline of 600s exceeded"} })
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

func TestASubmissionThatEndedWithoutARowIsSentAgainAndNotRejoined(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait")
	sentAgain := func(code int) {
		t.Helper()
		if s := b.expect(code, args...).err("was refused before, without a row; sent again"); strings.Contains(s.stderr, "rejoining") {
			t.Errorf("there is nothing to rejoin:\n%s", s.stderr)
		}
	}
	// The run ended so, then the gate refused.
	result := remotetest.Result{Fault: "proof deadline of 600s exceeded"}
	b.plane.Run = func(*intake.Submission) remotetest.Result { return result }
	b.expect(4, args...).err("the run ended without a row")
	b.plane.Host(func(h *intake.Host) { h.JudgeKey = false })
	sentAgain(4)
	b.plane.Host(func(h *intake.Host) { h.JudgeKey = true })
	// Taken, and the answer to the next look at it is lost: now there may be a run.
	b.plane.Change(func() {
		b.plane.Tamper = func(w http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
			if r.Method == http.MethodPost {
				return http.StatusBadGateway, []byte(`{"error":"bad gateway"}`)
			}
			return status, body
		}
	})
	sentAgain(4)
	v := 0.9
	b.plane.Change(func() { b.plane.Tamper, result = nil, remotetest.Result{Primary: &v, Used: 10} })
	b.expect(0, args...).err("rejoining it").out("row         pf_0000000000000000")
	posts := b.plane.Posts()
	for _, post := range posts[1:] {
		if string(post) != string(posts[0]) {
			t.Error("another body was sent")
		}
	}
	if len(posts) != 4 || len(b.kept()) != 0 {
		t.Errorf("%d posts, kept %v", len(posts), b.kept())
	}
}
