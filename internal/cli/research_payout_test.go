package cli

import (
	"encoding/hex"
	"encoding/json/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
)

func TestAnAuditorComputesThePayoutAndSignsItsLeaves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait")...)
	miner, idle := remotetest.Secret(t, 0x77).Public().String(), remotetest.Secret(t, 0x78).Public().String()
	hotkeys := b.write("hotkeys.txt", "# expected\n0x"+strings.ToUpper(miner)+" # the miner\n"+idle+"\n")
	b.write("leaf.key", "44"+strings.Repeat("11", 31))
	audit := []string{"research", "payout", "--epoch", "7", "--hotkeys", hotkeys}
	b.expect(1, audit...).err("epoch 7 is not closed at " + b.plane.URL + ": it is a fixed epoch, which never closes")
	b.plane.CloseEpoch(t)
	b.expect(0, append(audit, "--rows", "--sign", b.path("leaf.key"), "--out", b.path("leaves.json"))...).
		out("miner "+miner+": score 1000000 of 1000000", "floor 300000", "novelty 700000: weight 400000000",
			"checked     the snapshot has the hash that the server lists", "checked     the server's payout is the one computed here",
			"checked     1 run of the snapshot compared with the public rows: the same", idle+"  no score: NotAttempted")

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
	b.plane.Change(func() {
		b.plane.Tamper = func(_ http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
			if strings.HasSuffix(r.URL.Path, from) {
				body = []byte(strings.ReplaceAll(string(body), old, fresh))
			}
			return status, body
		}
	})
	for _, c := range []struct{ name, from, old, fresh, want string }{
		{"the server pays another score", "/payout", `"score":1000000`, `"score":1`, "miner " + miner + " has 1000000 here and 1 there"},
		{"the server pays somebody else", "/payout", miner, strings.Repeat("bb", 32), "has 1000000 here and 0 there"},
		{"a figure behind the score differs", "/payout", `"floor":300000`, `"floor":300001`, "the figures behind them are not"},
		{"the snapshot is not the listed one", "/epochs", `"sha256":"`, `"sha256":"00`, "where the server lists 00"},
		{"the row has another primary", "/pf_0000000000000000", `"custom_value":0.9`, `"custom_value":0.8`, "pf_0000000000000000: a row with another primary"},
		{"the row did not pass", "/pf_0000000000000000", `"pass":true`, `"pass":false`, "pf_0000000000000000: a row that did not pass"},
		{"the row is another miner's", "/pf_0000000000000000", miner, strings.Repeat("bb", 32), "a row of another topic, epoch, miner or artefact"},
	} {
		b.plane.Change(func() { from, old, fresh = c.from, c.old, c.fresh })
		b.expect(2, audit...).err(c.want, "no leaf was signed")
		if _, err := os.Stat(b.path("leaves.json")); err == nil {
			t.Fatalf("%s: leaves were written", c.name)
		}
		if s := b.expect(2, append(audit, "--json")...); strings.Contains(s.stdout, `"signature"`) {
			t.Errorf("%s: a signature is shown", c.name)
		}
	}
	b.plane.Change(func() { from, old, fresh = "/snapshot", `"epoch":7`, `"epoch":8` })
	b.expect(1, audit...).err("the snapshot is of epoch 8, not of 7")
	b.plane.Change(func() { from, old, fresh = "/snapshot", `"runs"`, ` "runs"` })
	b.expect(1, audit...).err("snapshot is not in its only encoding")
}

func TestHotkeysAreReadStrictlyAndNoRefusalShowsWhatStandsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plane.CloseEpoch(t)
	key, other := remotetest.Secret(t, 0x77).Public().String(), remotetest.Secret(t, 0x78).Public().String()
	noPoint := strings.Repeat("ff", 32)
	for content, want := range map[string]string{
		"# none\n": "names no hotkey", key + "\n0x" + key: "hotkey 2 is there twice, first as hotkey 1", "abc0": "hotkey 1 is not 64 hexadecimal digits",
		"[1]": "want an array of hotkeys", noPoint + "\n": "looks like a secret of 'prova keys new'", "# mine\n0x" + noPoint: "looks like a secret of 'prova keys new'",
		key + "\n" + noPoint: "hotkey 2 is no sr25519 public key", `["` + noPoint + `"]`: "looks like a secret", `["` + key + `", 5, "` + noPoint + `"]`: "want an array of hotkeys",
		key + "\n" + strings.Repeat("00", 32): "hotkey 2 is no sr25519 public key", // the identity
	} {
		for _, sign := range []bool{false, true} {
			args := []string{"research", "payout", "--epoch", "7", "--hotkeys", b.write("keys", content)}
			if sign {
				b.write("leaf.key", "44"+strings.Repeat("11", 31))
				args = append(args, "--sign", b.path("leaf.key"), "--out", b.path("leaves.json"))
			}
			s := b.expect(1, args...).err(want)
			if said := s.stdout + s.stderr; strings.Contains(said, noPoint[:16]) || strings.Contains(said, key[:16]) || strings.Contains(said, "abc0") {
				t.Errorf("%q: what stands in the file is shown: %s", content, said)
			}
		}
	}
	// A secret that is a point by chance, exactly as 'prova keys new' writes one.
	lone := b.write("lone", other+"\n")
	if s := b.expect(1, "research", "payout", "--epoch", "7", "--hotkeys", lone).err("may be a secret of 'prova keys new'", "chmod 644"); strings.Contains(s.stdout+s.stderr, other) {
		t.Error("what may be a secret is shown")
	}
	if err := os.Chmod(lone, 0o644); err != nil {
		t.Fatal(err)
	}
	b.expect(0, "research", "payout", "--epoch", "7", "--hotkeys", lone).out(other+"  no score: ", "  1 hotkey expected")

	snapshot := b.write("snapshot.json", `{"format":"prova-payout-snapshot/1","epoch":7,"topics":[]}`)
	b.env[serverVariable] = "http://127.0.0.1:1"
	b.expect(0, "research", "payout", "--epoch", "7", "--hotkeys", b.write("keys", key+" # one"), "--snapshot", snapshot).
		out("nobody earned a score", "no score: ChallengeInternal", "note        compared with no server")
}

func TestAPayoutWithoutHotkeysTakesTheMinersOfTheSnapshotAndSignsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.expect(0, b.submit("--uri", "http://127.0.0.1:1/a.tar", "--wait")...)
	b.plane.CloseEpoch(t)
	miner := remotetest.Secret(t, 0x77).Public().String()
	b.expect(0, "research", "payout", "--epoch", "7").out("leaves\n  "+miner+"  score 1000000", "  1 hotkey expected")
	b.write("leaf.key", "44"+strings.Repeat("11", 31))
	b.expect(64, "research", "payout", "--epoch", "7", "--sign", b.path("leaf.key"), "--out", b.path("leaves.json")).err("--hotkeys is missing: --sign needs")
	b.expect(1, "research", "payout", "--epoch", "9").err("epoch 9 has not begun at " + b.plane.URL + ": the current one is 8")
	if s := b.expect(1, "research", "payout", "--epoch", "8"); strings.Count(s.stderr, "not closed") != 1 {
		t.Errorf("said twice: %s", s.stderr)
	}
	b.expect(1, "research", "payout", "--epoch", "6").err("epoch 6 is over at " + b.plane.URL + " and not closed yet")
}
