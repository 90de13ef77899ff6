package remote_test

import (
	"context"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
)

// signed is a submission to the open topic, with a nonce of one repeated digit.
func signed(t testing.TB, nonce string, edit func(map[string]any)) []byte {
	t.Helper()
	key := remotetest.Secret(t, 0x77)
	s := intake.Signed{
		Hotkey: key.Public().String(), TopicID: remotetest.OpenID, ArtifactDigest: strings.Repeat("ab", 32), DeclaredFLOPs: 100, Claim: "better",
		Manifest: intake.Manifest{DatasetIDs: []string{"my-mix-v0"}}, Nonce: strings.Repeat(nonce, 64),
	}
	signature, err := key.Sign(nil, intake.Domain, s.Payload())
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{
		"miner_hotkey": s.Hotkey, "artifact_digest": s.ArtifactDigest, "topic_id": s.TopicID, "artifact_uri": "https://miner.invalid/a.tar",
		"claim": s.Claim, "declared_flops": s.DeclaredFLOPs, "manifest": map[string]any{"train_dataset_ids": s.Manifest.DatasetIDs},
		"hotkey_signature": hex.EncodeToString(signature[:]), "submit_nonce": s.Nonce,
	}
	if edit != nil {
		edit(fields)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestDecision6ASubmissionIsQueuedRunningAndThenARow(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	p.Looks = 3
	c := admin(t, p)
	taken, err := c.Submit(t.Context(), signed(t, "a", nil))
	if err != nil || taken.State != remote.Queued || taken.Done() {
		t.Fatalf("%+v, %v", taken, err)
	}
	var seen []remote.State
	end, err := c.Wait(t.Context(), taken.SubmissionDigest, remote.Wait{Progress: func(p *remote.Progress) {
		seen = append(seen, p.State)
		if p.State == remote.Running && (p.Phase != "inspecting" || p.Age != 12*time.Second) {
			t.Errorf("running: %+v", p)
		}
	}})
	if err != nil || end.State != remote.Stored || !end.Row.Eligible || end.Row.State != family.AwaitingAdmin || end.Row.ID != "pf_0000000000000000" {
		t.Fatalf("%+v, %v", end, err)
	}
	if len(seen) != 4 || seen[0] != remote.Queued || seen[2] != remote.Running || seen[3] != remote.Stored {
		t.Errorf("seen %v", seen)
	}
	row, err := c.Row(t.Context(), end.Row.ID)
	if err != nil || row.Claim != "" || row.ArtifactURI != nil || row.Verdict.Harness.Primary(true, "") == nil {
		t.Errorf("decision 4: the row before its epoch is closed: %+v, %v", row, err)
	}
}

func TestDecision5TheSameNonceAndBodyRejoinAndAnotherBodyIsAConflict(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	c := admin(t, p)
	body := signed(t, "a", nil)
	first, err := c.Submit(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	end, err := c.Wait(t.Context(), first.SubmissionDigest, remote.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Submit(t.Context(), body)
	if err != nil || again.State != remote.Stored || again.Row.ID != end.Row.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := c.Submit(t.Context(), signed(t, "a", func(f map[string]any) { f["artifact_uri"] = "https://other.invalid/a.tar" })); !remote.IsStatus(err, http.StatusConflict) {
		t.Errorf("another body: %v", err)
	}
}

func TestARunThatEndsWithoutARowIsARefusal(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	p.Run = func(*intake.Submission) remotetest.Result {
		return remotetest.Result{Fault: "proof deadline of 600s exceeded"}
	}
	c := admin(t, p)
	first, err := c.Submit(t.Context(), signed(t, "a", nil))
	if err != nil {
		t.Fatal(err)
	}
	end, err := c.Wait(t.Context(), first.SubmissionDigest, remote.Wait{})
	if err != nil || end.State != remote.Refused || end.Refusal.Status != 503 || end.Refusal.Text != "proof deadline of 600s exceeded" {
		t.Fatalf("%+v, %v", end, err)
	}
}

func TestARefusalOfByDigestThatNamesTheSubmissionIsItsEndAndOneThatDoesNotIsOfTheMoment(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	digest := strings.Repeat("c", 64)
	looks := 0
	p.Tamper = func(_ http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
		looks++
		if looks <= 2 {
			return http.StatusBadGateway, []byte("<html>gateway</html>")
		}
		return http.StatusServiceUnavailable, []byte(`{"submission_digest":"` + digest + `","error":"the sister was cut"}`)
	}
	troubles := 0
	end, err := admin(t, p).Wait(t.Context(), digest, remote.Wait{Trouble: func(error) { troubles++ }})
	if err != nil || end.State != remote.Refused || end.Refusal.Text != "the sister was cut" || troubles != 2 {
		t.Errorf("%+v, %v, %d troubles", end, err, troubles)
	}
}

func TestWaitGivesUpAfterItsPatienceAndAtOnceWhereWaitingHelpsNothing(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	status := http.StatusBadGateway
	looks := 0
	p.Tamper = func(_ http.ResponseWriter, _ *http.Request, _ int, body []byte) (int, []byte) {
		looks++
		return status, body
	}
	c := admin(t, p)
	digest := strings.Repeat("c", 64)
	if _, err := c.Wait(t.Context(), digest, remote.Wait{Patience: 4}); err == nil || looks != 4 || !strings.Contains(err.Error(), "4 looks in a row") {
		t.Errorf("%d looks, %v", looks, err)
	}
	p.Change(func() { status, looks = http.StatusNotFound, 0 })
	if _, err := c.Wait(t.Context(), digest, remote.Wait{Patience: 4}); !remote.IsStatus(err, 404) || looks != 1 {
		t.Errorf("%d looks, %v", looks, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Wait(ctx, digest, remote.Wait{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was ended: %v", err)
	}
	if _, err := c.Find(t.Context(), "../../admin"); err == nil {
		t.Error("a digest that is none was asked for")
	}
}

func TestAnAnswerAboutAnotherSubmissionIsRefused(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	answer := ""
	p.Tamper = func(http.ResponseWriter, *http.Request, int, []byte) (int, []byte) {
		return http.StatusOK, []byte(answer)
	}
	c := admin(t, p)
	digest := strings.Repeat("c", 64)
	for _, c2 := range []string{
		`{"submission_digest":"` + strings.Repeat("d", 64) + `","state":"queued"}`,
		`{"submission_digest":"` + strings.ToUpper(digest) + `","state":"queued"}`,
		`{"state":"queued"}`,
		`{"submission_digest":"` + digest + `","state":"dancing"}`,
		`{"submission_digest":"` + digest + `","id":"pf_1"}`,
		`{"submission_digest":"` + digest + `","submission_digest":"` + digest + `"}`,
		`[]`, ``,
	} {
		p.Change(func() { answer = c2 })
		if got, err := c.Find(t.Context(), digest); err == nil {
			t.Errorf("%s: taken as %+v", c2, got)
		}
	}
}

func TestALostAnswerLeavesOpenWhetherASubmissionWasTaken(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	p.Tamper = func(w http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
		if r.Method != http.MethodPost {
			return status, body
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
		return 0, nil
	}
	c := admin(t, p)
	body := signed(t, "a", nil)
	if _, err := c.Submit(t.Context(), body); !errors.Is(err, remote.ErrUnreachable) {
		t.Fatalf("%v", err)
	}
	if n := len(p.Posts()); n != 1 {
		t.Fatalf("sent %d times, want once", n)
	}
	end, err := c.Find(t.Context(), intake.Digest(remotetest.Secret(t, 0x77).Public().String(), remotetest.OpenID, strings.Repeat("ab", 32)))
	if err != nil || !end.Done() {
		t.Errorf("%+v, %v", end, err)
	}
}
