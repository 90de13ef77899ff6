package season_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// TestSection74LastSubmissionStandsAndNothingHintsAtAScore: one submission per
// task, replaceable until the close; the answer says only that it is recorded.
func TestSection74LastSubmissionStandsAndNothingHintsAtAScore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := openBench(t, url), context.Background()
		token, did := b.enrol(1)
		other, otherDID := b.enrol(2)
		first := submission(did, "conf-01", "conforme")
		last := submission(did, "conf-01", "non_conforme")
		for i, body := range []string{first, last} {
			b.clock.set(opens.Add(time.Duration(i) * time.Minute))
			w := b.submit(token, body)
			require.Equal(t, 200, w.Code, w.Body)
			var answer map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
			require.Len(t, answer, 3, "recorded, replaced, receipt and nothing else")
			require.JSONEq(t, "true", string(answer["recorded"]))
			require.JSONEq(t, fmt.Sprint(i > 0), string(answer["replaced"]))
			var receipt season.Receipt
			require.NoError(t, json.Unmarshal(answer["receipt"], &receipt))
			require.NoError(t, receipt.Verify(b.ReceiptKey(), []byte(body)))
			require.Equal(t, fmt.Sprintf("2026-09-20T08:0%d:00.000000Z", i), receipt.Time)
			require.Error(t, receipt.Verify(b.ReceiptKey(), []byte(body+" ")))
			receipt.Time = "2026-09-20T07:00:00.000000Z"
			require.Error(t, receipt.Verify(b.ReceiptKey(), []byte(body)))
		}
		require.Equal(t, 200, b.submit(other, submission(otherDID, "conf-02", "conforme")).Code)
		_, err := b.Snapshot(ctx, 1)
		require.ErrorIs(t, err, season.ErrState, "nothing is handed out for scoring while the season is open")
		for _, err := range b.Submissions(ctx, 1) {
			require.ErrorIs(t, err, season.ErrState)
		}
		b.clock.set(closes.Add(time.Second))
		var got []string
		for x, err := range b.Submissions(ctx, 1) {
			require.NoError(t, err)
			got = append(got, x.AgentDID+" "+x.TaskID)
			if x.AgentDID == did {
				require.Equal(t, last, string(x.Body), "the bytes as they came")
			}
		}
		require.ElementsMatch(t, []string{did + " conf-01", otherDID + " conf-02"}, got)
	})
}

// TestSection74EveryVerdictAndValueIsAnsweredAlike: whichever of them is exact, the
// answers differ in what the sender knows or signs for (its own DID, the hash of its
// bytes) and in nothing else, to the byte.
func TestSection74EveryVerdictAndValueIsAnsweredAlike(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := openBench(t, url)
		var first, second []string
		for i, verdict := range []string{"conforme", "non_conforme", "indeterminable", "conforme"} {
			token, did := b.enrol(i)
			body := submission(did, "conf-01", verdict)
			if i == 3 { // The same verdict on another value.
				body = strings.Replace(body, `"active"`, `"suspendue"`, 1)
			}
			first = append(first, anonymous(t, b.submit(token, body)))
			b.clock.set(opens.Add(time.Duration(i) * time.Second))
			second = append(second, anonymous(t, b.submit(token, body)))
		}
		require.Contains(t, first[0], `"replaced":false`)
		require.Contains(t, second[0], `"replaced":true`)
		for i := range first {
			require.Equal(t, first[0], first[i])
			require.Equal(t, second[0], second[i])
		}
	})
}

// anonymous is a whole answer without the four values of its receipt that the
// sender, its bytes and the moment decide.
func anonymous(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, 200, w.Code, w.Body)
	var answer struct{ Receipt season.Receipt }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	r := answer.Receipt
	body := w.Body.String()
	for name, value := range map[string]string{"agent_did": r.AgentDID, "hash": r.Hash, "time": r.Time, "signature": r.Signature} {
		member := fmt.Sprintf("%q:%q", name, value)
		require.Equal(t, 1, strings.Count(body, member), "%s in %s", member, body)
		body = strings.Replace(body, member, fmt.Sprintf("%q:", name), 1)
	}
	return fmt.Sprint(w.Code, w.Header(), body)
}

func TestSection4NonConformingSubmissionIsRefusedWithEveryFaultAndNotRecorded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := openBench(t, url), context.Background()
		token, did := b.enrol(1)
		good := submission(did, "conf-01", "conforme")
		replace := func(old, with string) string {
			require.Contains(t, good, old)
			return strings.Replace(good, old, with, 1)
		}
		claim := `{"id":"a1","claim":{"resource":"/entites/ENT-0001","field":"/statut","value":"active"},"proof_ids":["` + proofID + `"]}`
		for name, c := range map[string]struct{ body, pointer string }{
			"not JSON":                       {"{", ""},
			"an array":                       {"[]", ""},
			"a name twice":                   {replace(`"season":1,`, `"season":1,"season":1,`), ""},
			"no UTF-8":                       {replace("ici", "\xff"), ""},
			"ten thousand nested arrays":     {replace(`"active"`, strings.Repeat("[", 10000)+strings.Repeat("]", 10000)), ""},
			"an unknown member":              {replace(`"season":1,`, `"season":1,"score":1,`), "/score"},
			"a missing member":               {replace(`"verdict":"conforme",`, ``), "/verdict"},
			"another season":                 {replace(`"season":1,`, `"season":2,`), "/season"},
			"another agent":                  {replace(did, didOf(2)), "/agent_did"},
			"no such task":                   {replace("conf-01", "conf-99"), "/task_id"},
			"a task of another track":        {replace("conf-01", "gen-01"), "/task_id"},
			"a verdict outside the set":      {replace(`"conforme"`, `"oui"`), "/verdict"},
			"more assertions than the cap":   {replace(claim, claim+","+strings.Replace(strings.Replace(claim, "a1", "a2", 1), "0001", "0002", 1)+","+strings.Replace(strings.Replace(claim, "a1", "a3", 1), "0001", "0003", 1)), "/assertions"},
			"a claim repeated":               {replace(claim, claim+","+strings.Replace(claim, "a1", "a2", 1)), "/assertions/1/claim"},
			"an empty list of proofs":        {replace(`["`+proofID+`"]`, `[]`), "/assertions/0/proof_ids"},
			"a proof that is not disclosed":  {replace(`"disclosures":{"`+proofID, `"disclosures":{"prf_20260921_101233_ffffff`), "/disclosures/" + proofID},
			"a disclosure that is not cited": {replace(`"disclosures":{`, `"disclosures":{"prf_20260921_101233_ffffff":{"request_hash":{"nonce":"n","value":"v"},"response_hash":{"nonce":"n","value":"v"}},`), "/disclosures/prf_20260921_101233_ffffff"},
			"a field that is no pointer":     {replace(`"/statut"`, `"statut"`), "/assertions/0/claim/field"},
		} {
			w := b.submit(token, c.body)
			require.Equal(t, 422, w.Code, name)
			faults := problem(t, w)
			require.Contains(t, faults, c.pointer, "%s: %v", name, faults)
			require.NotEmpty(t, faults[c.pointer], name)
		}
		w := b.submit(token, strings.NewReplacer(`"season":1`, `"season":9`, `"conforme"`, `"oui"`, `"/statut"`, `"statut"`).Replace(good))
		faults := problem(t, w)
		for _, pointer := range []string{"/season", "/verdict", "/assertions/0/claim/field"} {
			require.Contains(t, faults, pointer, "all faults at once")
		}
		b.clock.set(closes.Add(time.Second))
		for x, err := range b.Submissions(ctx, 1) {
			t.Errorf("recorded: %v %v", x, err)
		}
	})
}

func TestSection63VerdictMayBeAReferenceOfThePublishedCatalogue(t *testing.T) {
	b := openBench(t, "sqlite:"+t.TempDir()+"/s.db")
	token, did := b.enrol(1)
	for verdict, status := range map[string]int{"PRD-0001": 200, "aucune_option_valide": 200, "PRD-0002": 422, "conforme": 422, "": 422} {
		body := fmt.Sprintf(`{"season":1,"track":"generique","task_id":"gen-01","agent_did":%q,"verdict":%q,"assertions":[],"disclosures":{}}`, did, verdict)
		require.Equal(t, status, b.submit(token, body).Code, verdict)
	}
}

func TestWindowIncludesBothBoundsAndAnswersInTheOrderOfItsTable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := openBench(t, url)
		b.clock.set(opens.Add(-time.Hour))
		token, did := b.enrol(1)
		body := submission(did, "conf-01", "conforme")
		for _, c := range []struct {
			at     time.Time
			status int
		}{
			{opens.Add(-time.Microsecond), 403}, {opens, 200}, {closes, 200}, {closes.Add(time.Microsecond), 403},
			{opens.Add(time.Hour), 200}, // Nothing was written at the refusal, so nothing has closed yet.
		} {
			b.clock.set(c.at)
			require.Equal(t, c.status, b.submit(token, body).Code, c.at)
		}
		require.Equal(t, 401, b.submit("pst_wrong", strings.Repeat(" ", 2<<20)).Code, "the token comes first")
		require.Equal(t, 413, b.submit(token, strings.Repeat(" ", 10<<20)).Code)
		require.Equal(t, 415, b.do("POST", "/v1/season/1/submit", body, "Authorization", "Bearer "+token, "Content-Type", "text/json").Code)
		require.Equal(t, 405, b.do("GET", "/v1/season/1/submit", "").Code)
		b.clock.set(closes.Add(time.Second))
		_, err := b.Advance(context.Background(), 1)
		require.NoError(t, err)
		b.clock.set(opens)
		require.Equal(t, 403, b.submit(token, strings.Repeat(" ", 10<<20)).Code, "closed stays closed, whatever the clock does")
	})
}

func TestConcurrentSubmissionsForOneTaskLeaveOneOfThem(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := openBench(t, url), context.Background()
		_, did := b.enrol(1)
		var wg sync.WaitGroup
		var mu sync.Mutex
		fresh := 0
		for i := range 20 {
			wg.Go(func() {
				body := strings.Replace(submission(did, "conf-01", "conforme"), "ici", fmt.Sprint("ici ", i), 1)
				_, replaced, err := b.Submit(ctx, 1, did, []byte(body))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if !replaced {
					fresh++
				}
			})
		}
		wg.Wait()
		require.Equal(t, 1, fresh, "exactly one was the first")
	})
}

func TestADisconnectInMidRequestRecordsNothingAndHarmsNobody(t *testing.T) {
	b := openBench(t, "sqlite:"+t.TempDir()+"/s.db")
	token, did := b.enrol(1)
	server := httpx.Server(b.handler, httpx.Limits{}, deps(b, b.issuer).Logger)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	body := submission(did, "conf-01", "conforme")
	for range 20 {
		c, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "POST /v1/season/1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", token, len(body), body[:len(body)-5])
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	require.Equal(t, 200, b.submit(token, submission(did, "conf-02", "conforme")).Code)
	require.NoError(t, server.Shutdown(context.Background()))
	<-served
	b.clock.set(closes.Add(time.Second))
	n := 0
	for x, err := range b.Submissions(context.Background(), 1) {
		require.NoError(t, err)
		require.Equal(t, "conf-02", x.TaskID)
		n++
	}
	require.Equal(t, 1, n)
}

// submitterChild makes the test binary the victim of the kill test.
const submitterChild = "PROVA_SEASON_TEST_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(submitterChild); url != "" {
		submitUntilKilled(url)
	}
	os.Exit(m.Run())
}

func submitUntilKilled(url string) {
	t := &testing.T{}
	b := newBench(t, url)
	b.clock.set(opens)
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				did := didOf(w)
				body := strings.Replace(submission(did, "conf-02", "conforme"), "ici", fmt.Sprintf("%s-%d", os.Getenv(submitterChild+"_ROUND"), i), 1)
				receipt, _, err := b.Submit(context.Background(), 1, did, []byte(body))
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				line, _ := json.Marshal(map[string]any{"receipt": receipt, "body": body})
				_, _ = os.Stdout.Write(append(line, '\n'))
			}
		}()
	}
	select {}
}

// TestAcknowledgedSubmissionsSurviveKill9: after each kill every participant's
// stored submission is the last acknowledged one, or a later one whose answer was
// cut off.
func TestAcknowledgedSubmissionsSurviveKill9(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := openBench(t, url)
		for n := range 8 {
			b.enrol(n)
		}
		type line struct {
			Receipt season.Receipt
			Body    string
		}
		for round := range 3 {
			last := map[string]line{}
			child := exec.Command(os.Args[0], "-test.run=^$")
			child.Env = append(os.Environ(), submitterChild+"="+url, fmt.Sprintf("%s_ROUND=%d", submitterChild, round))
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			lines, seen := bufio.NewScanner(out), 0
			for lines.Scan() {
				var l line
				require.NoError(t, json.Unmarshal(lines.Bytes(), &l), lines.Text())
				require.NoError(t, l.Receipt.Verify(b.ReceiptKey(), []byte(l.Body)))
				last[l.Receipt.AgentDID] = l
				if seen++; seen == 40+13*round {
					require.NoError(t, child.Process.Kill())
				}
			}
			require.Error(t, child.Wait(), "it was killed")
			require.Len(t, last, 8)
			for did, l := range last {
				var body []byte
				require.NoError(t, b.db.Reader().QueryRow(`SELECT body FROM submissions WHERE agent_did = $1`, did).Scan(&body))
				require.GreaterOrEqual(t, sequence(t, string(body)), sequence(t, l.Body), "what was acknowledged is there, or what came after it")
			}
		}
	})
}

// sequence reads the running number out of a submission's narrative.
func sequence(t *testing.T, body string) int {
	t.Helper()
	var x struct{ Narrative string }
	require.NoError(t, json.Unmarshal([]byte(body), &x))
	var round, i int
	_, err := fmt.Sscanf(x.Narrative, "%d-%d", &round, &i)
	require.NoError(t, err)
	return round*1_000_000 + i
}
