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
