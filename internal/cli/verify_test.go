package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/cli"
)

// logged is an issuer whose log answers on loopback, with a proof and its trust
// on disk.
type logged struct {
	is           *receipttest.Issuer
	draft        *receipttest.Draft
	dir          string
	trust, proof string
	log          *httptest.Server
	asked        int
}

func newLogged(t *testing.T) *logged {
	t.Helper()
	l := &logged{is: receipttest.New(t), dir: t.TempDir()}
	l.log = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asked++
		l.is.Log.ServeHTTP(w, r)
	}))
	t.Cleanup(l.log.Close)
	l.draft = l.is.Issue(receipttest.Spec{})
	l.is.Batch(l.draft)
	l.setLogURL(t, l.log.URL)
	trust := l.is.Trust()
	trust.Logs[0].Independent = false // a local log: its operator may be this machine
	l.trust = l.write(t, "trust.json", trust.JSON())
	l.proof = l.write(t, "proof.json", l.draft.JSON())
	return l
}

func (l *logged) setLogURL(t *testing.T, base string) {
	t.Helper()
	v, _ := l.draft.Doc.Get("transparency_log")
	log := v.(*canonjson.Object)
	uuid, _ := log.Get("uuid")
	log.Set("log_url", base+"/api/v1/log/entries/"+uuid.(string))
}

func (l *logged) write(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(l.dir, name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

type jsonLine struct {
	Verdict   string
	Witnesses []struct{ Name, Status, Detail string }
}

func (j jsonLine) log() (status, detail string) {
	for _, w := range j.Witnesses {
		if w.Name == receipt.WitnessLog {
			return w.Status, w.Detail
		}
	}
	return "", ""
}

// verify runs the real command.
func verify(t *testing.T, args ...string) (code int, lines []jsonLine, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = cli.Main(context.Background(), append([]string{"verify", "--json"}, args...), env)
	dec := json.NewDecoder(&out)
	for dec.More() {
		var line jsonLine
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return code, lines, errs.String()
}

// TestVerifyFetchesTheEntryFromTheLog when it may use the network, and does not
// when it may not.
func TestVerifyFetchesTheEntryFromTheLog(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	code, lines, _ := verify(t, "--trust", l.trust, "--require", "local", l.proof)
	if status, detail := lines[0].log(); code != 0 || status != "ok" || l.asked != 1 {
		t.Errorf("exit %d, log %s (%s), asked %d times", code, status, detail, l.asked)
	}
	code, lines, _ = verify(t, "--offline", "--trust", l.trust, l.proof)
	if status, detail := lines[0].log(); code != 0 || status != "not_checked" || l.asked != 1 {
		t.Errorf("offline: exit %d, log %s (%s), asked %d times", code, status, detail, l.asked)
	}
	uuid, _ := l.draft.Proof().LogUUID()
	document, _ := l.is.Entry(uuid)
	entry := l.write(t, "entry.json", document)
	code, lines, _ = verify(t, "--trust", l.trust, "--log-entry", entry, l.proof)
	if status, detail := lines[0].log(); code != 0 || status != "ok" || l.asked != 1 {
		t.Errorf("from a file: exit %d, log %s (%s), asked %d times", code, status, detail, l.asked)
	}
}

// TestVerifyTellsALogThatDeniesFromOneThatIsDown.
func TestVerifyTellsALogThatDeniesFromOneThatIsDown(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	denied := l.is.Edit(l.draft.JSON(), func(o *canonjson.Object) {
		v, _ := o.Get("transparency_log")
		v.(*canonjson.Object).Set("uuid", strings.Repeat("0", 80))
	})
	file := l.write(t, "denied.json", canonjson.Compact(denied.Object()))
	code, lines, _ := verify(t, "--trust", l.trust, file)
	if status, detail := lines[0].log(); code != 1 || status != "fail" || !strings.Contains(detail, "the log has no entry") {
		t.Errorf("denied: exit %d, log %s (%s)", code, status, detail)
	}
	l.log.Close()
	code, lines, _ = verify(t, "--trust", l.trust, l.proof, l.proof)
	for _, line := range lines {
		if status, detail := line.log(); code != 0 || status != "not_checked" || !strings.Contains(detail, "did not answer") {
			t.Errorf("down: exit %d, log %s (%s)", code, status, detail)
		}
	}
}

// TestVerifyFollowsNoAddressThatAProofMadeUp: log_url counts only when it names
// a log of the trust, or this machine when the trust has a local log.
func TestVerifyFollowsNoAddressThatAProofMadeUp(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	independent := l.write(t, "independent.json", l.is.Trust().JSON())
	for _, c := range []struct{ name, trust, url string }{
		{"loopback without a local log", independent, l.log.URL},
		{"another host", l.trust, "https://evil.example"},
		{"another port of the log's host", l.trust, "https://" + receipttest.LogHost + ":8443"},
		{"the log's host without TLS", l.trust, "http://" + receipttest.LogHost},
		{"credentials", l.trust, "https://user@" + receipttest.LogHost},
		{"a link-local address", l.trust, "http://169.254.169.254"},
		{"no URL", l.trust, "://"},
		{"a file", l.trust, "file:///etc"},
	} {
		l.setLogURL(t, c.url)
		file := l.write(t, "proof2.json", l.draft.JSON())
		_, lines, _ := verify(t, "--trust", c.trust, file)
		if status, detail := lines[0].log(); status != "not_checked" || !strings.Contains(detail, "--log-entry") || l.asked != 0 {
			t.Errorf("%s: log %s (%s), asked %d times", c.name, status, detail, l.asked)
		}
	}
}

// TestVerifyPrintsForeignBytesHarmlessly: neither a terminal sequence nor a line
// break of a document or a file name reaches the output.
func TestVerifyPrintsForeignBytesHarmlessly(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	p := l.is.Edit(l.draft.JSON(), func(o *canonjson.Object) {
		o.Set("arkforge_kid", "\x1b[2Jkey\n2")
		v, _ := o.Get("timestamp_authority")
		v.(*canonjson.Object).Set("provider", "\x1b]0;x\a\u202e")
	})
	file := l.write(t, "esc\x1b[2J.json", canonjson.Compact(p.Object()))
	var out, errs bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code := cli.Main(context.Background(), []string{"verify", "--offline", "--trust", l.trust, file, file + "\nmissing"}, env)
	if code != 2 || strings.Count(out.String(), "\n") != 2 || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
	if strings.ContainsAny(out.String()+errs.String(), "\x1b\a\u202e") {
		t.Errorf("a control character got through: %q", out.String())
	}
}

// TestVerifyRefusesAFileThatIsTooLarge without reading all of it.
func TestVerifyRefusesAFileThatIsTooLarge(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 17<<20); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := verify(t, "--offline", file); code != 2 || !strings.Contains(stderr, "larger than 16 MiB") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
