package judge

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
)

func TestSection7AChatSendsModelCapsSamplingAndKey(t *testing.T) {
	b := newBackend(t)
	temperature, topP := 0.0, 0.5
	seed := uint64(18446744073709551615)
	c := client(t, b.URL, func(o *Options) { o.Temperature, o.TopP = &temperature, &topP })
	reply, err := c.Chat(context.Background(), Prompt{Messages: []Message{{"user", "hé"}}, MaxTokens: 9, Seed: &seed, JSON: true})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Model != model || reply.Usage != (Usage{12, 7}) {
		t.Errorf("reply is %+v", reply)
	}
	got := b.requests()
	if len(got) != 1 || got[0].Path != "/v1/chat/completions" || got[0].Authorization != "Bearer "+key {
		t.Fatalf("requests %+v", got)
	}
	want := map[string]any{
		"model": model, "messages": []any{map[string]any{"role": "user", "content": "hé"}}, "stream": false, "n": 1.0,
		"max_tokens": 9.0, "temperature": 0.0, "top_p": 0.5, "seed": float64(seed),
		"response_format": map[string]any{"type": "json_object"},
	}
	if !reflect.DeepEqual(got[0].Body, want) {
		t.Errorf("sent %v\nwant %v", got[0].Body, want)
	}
}

func TestTheCapOnOutputIsAlwaysSent(t *testing.T) {
	for asked, want := range map[uint32]float64{0: 50, 51: 50, 1 << 31: 50, 50: 50, 1: 1} {
		b := newBackend(t, answer(completion("x", "usage", `{"prompt_tokens":1,"completion_tokens":1}`)))
		if _, err := client(t, b.URL).Chat(context.Background(), Prompt{Messages: []Message{{"user", "x"}}, MaxTokens: asked}); err != nil {
			t.Fatal(err)
		}
		if got := b.requests()[0].Body["max_tokens"]; got != want {
			t.Errorf("asked for %d: max_tokens %v, want %v", asked, got, want)
		}
	}
}

func TestAPromptThatMayBeOverTheCapIsNotSent(t *testing.T) {
	b := newBackend(t)
	c := client(t, b.URL)
	fit := 200 - 2*perMessage
	if _, err := c.Chat(context.Background(), Prompt{Messages: []Message{{"user", strings.Repeat("x", fit)}}}); err != nil {
		t.Fatalf("a prompt of exactly the cap: %v", err)
	}
	_, err := c.Chat(context.Background(), Prompt{Messages: []Message{{"user", strings.Repeat("x", fit+1)}}})
	fails(t, err, TooLong)
	_, err = c.Chat(context.Background(), Prompt{Messages: []Message{{"user", strings.Repeat("é", fit/2+1)}}})
	fails(t, err, TooLong)
	_, err = client(t, b.URL, func(o *Options) { o.Tokens = func(string) int { return -1 } }).
		Chat(context.Background(), Prompt{Messages: []Message{{"user", "x"}}})
	fails(t, err, TooLong)
	if n := len(b.requests()); n != 1 {
		t.Errorf("%d requests were sent, want 1", n)
	}
}

func TestAPromptThatIsNoneIsNotSent(t *testing.T) {
	b := newBackend(t)
	c := client(t, b.URL)
	for name, p := range map[string]Prompt{
		"no message":     {},
		"unknown role":   {Messages: []Message{{"tool", "x"}}},
		"text not UTF-8": {Messages: []Message{{"user", "\xff"}}},
	} {
		_, err := c.Chat(context.Background(), p)
		t.Run(name, func(t *testing.T) { fails(t, err, BadPrompt) })
	}
	_, err := c.Complete(context.Background(), "x", 0, nil)
	fails(t, err, WrongMode)
	_, _, err = c.Embed(context.Background(), "x")
	fails(t, err, WrongMode)
	if n := len(b.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAnAnswerThatIsNotWhatWasAskedForIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		turn http.HandlerFunc
		kind Kind
	}{
		"prose instead of JSON":         {answer("Sure! Here is your verdict."), NotJSON},
		"a page of a proxy":             {status(200, "Content-Type", "text/html"), NotJSON},
		"an array":                      {answer(`[]`), NotJSON},
		"a member twice":                {answer(`{"model":"a","model":"b"}`), NotJSON},
		"nesting without end":           {answer(strings.Repeat(`{"a":`, 5000)), NotJSON},
		"another model":                 {answer(completion("x", "model", `"vendor/other"`)), OtherModel},
		"no model":                      {answer(completion("x", "model", "")), OtherModel},
		"no usage":                      {answer(completion("x", "usage", "")), BadUsage},
		"usage that is text":            {answer(completion("x", "usage", `{"prompt_tokens":"12","completion_tokens":7}`)), BadUsage},
		"usage below zero":              {answer(completion("x", "usage", `{"prompt_tokens":-1,"completion_tokens":7}`)), BadUsage},
		"more input than the cap":       {answer(completion("x", "usage", `{"prompt_tokens":201,"completion_tokens":7}`)), BadUsage},
		"more output than asked":        {answer(completion("x", "usage", `{"prompt_tokens":12,"completion_tokens":51}`)), BadUsage},
		"no choice":                     {answer(completion("x", "choices", `[]`)), NotJSON},
		"two choices":                   {answer(completion("x", "choices", `[{},{}]`)), NotJSON},
		"a choice that is none":         {answer(completion("x", "choices", `[1]`)), NotJSON},
		"an answer cut by max_tokens":   {answer(completion("x", "choices", `[{"message":{"content":"x"},"finish_reason":"length"}]`)), Unfinished},
		"an answer cut by a filter":     {answer(completion("x", "choices", `[{"message":{"content":"x"},"finish_reason":"content_filter"}]`)), Unfinished},
		"a choice without message":      {answer(completion("x", "choices", `[{"finish_reason":"stop"}]`)), NotJSON},
		"a call of a tool":              {answer(completion("x", "choices", `[{"message":{"content":null},"finish_reason":"stop"}]`)), Unfinished},
		"an empty text":                 {chat(""), Unfinished},
		"the key in the text":           {chat("your key is " + key), Secret},
		"the key in base64":             {chat(base64.StdEncoding.EncodeToString([]byte(key))), Secret},
		"the key in hex of either case": {chat(strings.ToUpper(fmt.Sprintf("%x", key))), Secret},
		"an error of the backend":       {status(500), BadStatus},
		"a refused key":                 {status(401), BadStatus},
		"a success that is not 200":     {status(204), BadStatus},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, tt.turn)
			_, err := ask(client(t, b.URL))
			fails(t, err, tt.kind)
			if n := len(b.requests()); n != 1 {
				t.Errorf("%d requests were sent, want 1", n)
			}
		})
	}
}

func TestADatedNameOfTheModelIsTakenOnlyWhenAllowed(t *testing.T) {
	b := newBackend(t, answer(completion("x", "model", `"judge-2026-01-01"`)))
	_, err := ask(client(t, b.URL))
	fails(t, err, OtherModel)
	reply, err := ask(client(t, b.URL, func(o *Options) { o.AlsoModels = []string{"judge-2026-01-01"} }))
	if err != nil || reply.Model != "judge-2026-01-01" {
		t.Errorf("got %v, %v", reply, err)
	}
}

func TestARedirectIsNotFollowedAndTheKeyStaysHere(t *testing.T) {
	other := newBackend(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		b := newBackend(t, status(code, "Location", other.URL+"/v1/chat/completions?planted=1"))
		_, err := ask(client(t, b.URL))
		fails(t, err, Redirect, other.URL)
	}
	if n := len(other.requests()); n != 0 {
		t.Errorf("the other host was sent %d requests", n)
	}
}

func TestAFloodIsCutAtTheLimit(t *testing.T) {
	flood := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		chunk := []byte(strings.Repeat(" ", 64<<10))
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	b := newBackend(t, flood)
	_, err := ask(client(t, b.URL, func(o *Options) { o.MaxReply = 1 << 20 }))
	fails(t, err, TooBig)

	b = newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Flood", strings.Repeat("x", 2*maxHeader))
		chat("x")(w, r)
	})
	_, err = ask(client(t, b.URL))
	fails(t, err, CutOff)
}

func TestACutOffAnswerIsNotAskedForAgain(t *testing.T) {
	for name, turn := range map[string]http.HandlerFunc{
		"inside the body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"model":`)
		},
		"before the status": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, turn)
			_, err := ask(client(t, b.URL))
			fails(t, err, CutOff)
			if n := len(b.requests()); n != 1 {
				t.Errorf("%d requests were sent, want 1", n)
			}
		})
	}
}

func TestASlowBackendEndsWithTheTimeOfTheCall(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, turn := range map[string]http.HandlerFunc{
		"no head": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
		"a body that drips": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, turn)
			_, err := ask(client(t, b.URL, func(o *Options) { o.Timeout = 100 * time.Millisecond }))
			fails(t, err, Timeout)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error("the error is no DeadlineExceeded")
			}
			if n := len(b.requests()); n != 1 {
				t.Errorf("%d requests were sent, want 1", n)
			}
		})
	}
}

func TestACallerThatLeavesEndsTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := newBackend(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := client(t, b.URL).Chat(ctx, Prompt{Messages: []Message{{"user", "x"}}})
	fails(t, err, Canceled)
	if !errors.Is(err, context.Canceled) {
		t.Error("the error is not Canceled")
	}
}

func TestACallIsRepeatedOnlyWhenItWasNotServed(t *testing.T) {
	for name, tt := range map[string]struct {
		turns []http.HandlerFunc
		sent  int
		works bool
	}{
		"429 and then an answer":              {[]http.HandlerFunc{status(429), chat("x")}, 2, true},
		"503 and then an answer":              {[]http.HandlerFunc{status(503, "Retry-After", "1"), chat("x")}, 2, true},
		"502 that asks for it":                {[]http.HandlerFunc{status(502, "Retry-After", "1"), chat("x")}, 1, false},
		"504 that asks for it":                {[]http.HandlerFunc{status(504, "Retry-After", "0"), chat("x")}, 1, false},
		"502 that does not":                   {[]http.HandlerFunc{status(502), chat("x")}, 1, false},
		"504 that does not":                   {[]http.HandlerFunc{status(504), chat("x")}, 1, false},
		"502 with a Retry-After that is none": {[]http.HandlerFunc{status(502, "Retry-After", "soon"), chat("x")}, 1, false},
		"500":                                 {[]http.HandlerFunc{status(500, "Retry-After", "1"), chat("x")}, 1, false},
		"400":                                 {[]http.HandlerFunc{status(400), chat("x")}, 1, false},
		"no more than the retries":            {[]http.HandlerFunc{status(503)}, 1 + DefaultRetries, false},
		"longer than the call has":            {[]http.HandlerFunc{status(503, "Retry-After", "3600"), chat("x")}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, tt.turns...)
			_, err := ask(client(t, b.URL))
			if (err == nil) != tt.works {
				t.Errorf("error %v, want one: %v", err, !tt.works)
			}
			if err != nil {
				fails(t, err, BadStatus)
			}
			if n := len(b.requests()); n != tt.sent {
				t.Errorf("%d requests were sent, want %d", n, tt.sent)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	now := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	for given, want := range map[string]time.Duration{
		"3":                             3 * time.Second,
		"Tue, 01 Sep 2026 00:00:02 GMT": 2 * time.Second,
		"":                              firstWait,
	} {
		b := newBackend(t, status(503, "Retry-After", given), chat("x"))
		var waited []time.Duration
		_, err := ask(client(t, b.URL, func(o *Options) {
			o.Now = func() time.Time { return now }
			o.Wait = func(_ context.Context, d time.Duration) error { waited = append(waited, d); return nil }
		}))
		if err != nil || len(waited) != 1 || waited[0] != want {
			t.Errorf("Retry-After %q: waited %v (%v), want %v", given, waited, err, want)
		}
	}
}

func TestAConnectionThatDoesNotComeAboutIsTriedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	waits := 0
	c := client(t, "http://"+address, func(o *Options) {
		o.Wait = func(context.Context, time.Duration) error { waits++; return nil }
	})
	_, err = ask(c)
	fails(t, err, Unreachable, address)
	if waits != DefaultRetries {
		t.Errorf("%d waits, want %d", waits, DefaultRetries)
	}

	b := newBackend(t)
	_, err = ask(client(t, b.URL, func(o *Options) { o.Retries = -1 }))
	if err != nil {
		t.Errorf("a client without retries: %v", err)
	}
}

func TestTheKeyIsReadForEveryCall(t *testing.T) {
	b := newBackend(t)
	path := keyFile(t, "first-key\n")
	c := client(t, b.URL, func(o *Options) { o.KeyFile = path })
	for _, key := range []string{"first-key", "second-key"} {
		if err := os.WriteFile(path, []byte("  "+key+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(c); err != nil {
			t.Fatal(err)
		}
		got := b.requests()
		if last := got[len(got)-1].Authorization; last != "Bearer "+key {
			t.Errorf("sent %q", last)
		}
	}
}

func TestAKeyFileThatHoldsNoKeyIsRefusedBeforeAnythingIsSent(t *testing.T) {
	b := newBackend(t)
	for name, content := range map[string]string{
		"an empty file": "", "white space": " \n\t", "two lines": "sk-planted\nsk-planted-2", "a control character": "sk-\x00planted",
		"a long file": strings.Repeat("k", maxKey+1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(client(t, b.URL, func(o *Options) { o.KeyFile = keyFile(t, content) }))
			fails(t, err, NoKey)
		})
	}
	_, err := ask(client(t, b.URL, func(o *Options) { o.KeyFile = "/nonexistent/" + fileName }))
	fails(t, err, NoKey, "/nonexistent")
	_, err = ask(client(t, b.URL, func(o *Options) { o.KeyFile = t.TempDir() }))
	fails(t, err, NoKey, os.TempDir())
	if n := len(b.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAConfigurationThatCannotBeCalledIsRefused(t *testing.T) {
	whole := offer.Judge{Origin: "https://planted.example/v1", Model: "m", Mode: pin.Chat, MaxInputTokens: 1, MaxOutputTokens: 1}
	for name, edit := range map[string]func(*Options){
		"no model":        func(o *Options) { o.Judge.Model = "" },
		"no input cap":    func(o *Options) { o.Judge.MaxInputTokens = 0 },
		"no origin":       func(o *Options) { o.Judge.Origin = "" },
		"no host":         func(o *Options) { o.Judge.Origin = "https://?planted" },
		"no address":      func(o *Options) { o.Judge.Origin = "https://planted.example:port" },
		"with a fragment": func(o *Options) { o.Judge.Origin = "https://planted.example/#planted" },
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Judge: whole, KeyFile: "x"}
			edit(&o)
			_, err := New(o)
			fails(t, err, BadConfig, "planted.example")
		})
	}
	_, err := New(Options{Judge: whole})
	fails(t, err, NoKey)
}

func TestAClientShowsNothingOfItself(t *testing.T) {
	c := client(t, "http://127.0.0.1:1/planted")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		silent(t, fmt.Sprintf(verb, c))
		silent(t, fmt.Sprintf(verb, struct{ Inner *Client }{c}))
	}
}

func TestTheOffersSamplingAndTimeAreUsed(t *testing.T) {
	temperature, ms := 0.25, uint64(1500)
	o := For(offer.Judge{}, &offer.Inference{Temperature: &temperature, TimeoutMS: &ms}, "k")
	if o.Temperature != &temperature || o.TopP != nil || o.Timeout != 1500*time.Millisecond {
		t.Errorf("options %+v", o)
	}
	huge := ^uint64(0)
	if o := For(offer.Judge{}, &offer.Inference{TimeoutMS: &huge}, "k"); o.Timeout != time.Hour {
		t.Errorf("timeout %v, want an hour", o.Timeout)
	}
}

func TestCompletions(t *testing.T) {
	b := newBackend(t, chat("and so on"))
	c := client(t, b.URL, func(o *Options) { o.Judge.Mode = pin.Completions })
	reply, err := c.Complete(context.Background(), "once", 5, nil)
	if err == nil || reply != nil {
		t.Fatal("7 tokens of output passed where 5 were asked for")
	}
	fails(t, err, BadUsage)
	reply, err = c.Complete(context.Background(), "once", 0, nil)
	if err != nil || reply.Text != "and so on" {
		t.Fatalf("got %v, %v", reply, err)
	}
	if got := b.requests()[1]; got.Path != "/v1/completions" || got.Body["prompt"] != "once" {
		t.Errorf("sent %+v", got)
	}
	_, err = c.Complete(context.Background(), "", 0, nil)
	fails(t, err, BadPrompt)
}

func TestEmbeddings(t *testing.T) {
	vectors := func(data string) http.HandlerFunc {
		return answer(`{"object":"list","model":"` + model + `","usage":{"prompt_tokens":4,"total_tokens":4},"data":` + data + `}`)
	}
	embed := func(turn http.HandlerFunc, texts ...string) ([][]float64, Usage, error) {
		b := newBackend(t, turn)
		return client(t, b.URL, func(o *Options) { o.Judge.Mode = pin.Embeddings }).Embed(context.Background(), texts...)
	}
	got, usage, err := embed(vectors(`[{"index":1,"embedding":[3,4.5]},{"index":0,"embedding":[1,-2e-3]}]`), "a", "b")
	if err != nil || usage.Input != 4 || !reflect.DeepEqual(got, [][]float64{{1, -0.002}, {3, 4.5}}) {
		t.Fatalf("got %v, %v, %v", got, usage, err)
	}
	for name, data := range map[string]string{
		"a vector too few":      `[{"index":0,"embedding":[1]}]`,
		"an index twice":        `[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]`,
		"an index out of range": `[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]`,
		"no index":              `[{"embedding":[1]},{"embedding":[1]}]`,
		"an empty vector":       `[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]`,
		"vectors of two sizes":  `[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]`,
		"text in a vector":      `[{"index":0,"embedding":["1"]},{"index":1,"embedding":[1]}]`,
		"no finite number":      `[{"index":0,"embedding":[1e999]},{"index":1,"embedding":[1]}]`,
		"entries that are none": `[1,2]`,
		"vectors in base64":     `[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":"AAAA"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := embed(vectors(data), "a", "b")
			fails(t, err, NotJSON)
		})
	}
	_, _, err = embed(vectors(`[]`))
	fails(t, err, BadPrompt)
	_, _, err = embed(vectors(`[]`), "a", "")
	fails(t, err, BadPrompt)
	_, _, err = embed(vectors(`[]`), strings.Repeat("x", 199))
	fails(t, err, TooLong)
}

func TestAnAnswerMustBeAboutWhatWasAsked(t *testing.T) {
	const subject = "abcd"
	about := About{topicID, subject}
	whole := `{"topic_id":"` + topicID + `","subject":"abcd","verdict":"clean"}`
	for name, text := range map[string]string{
		"plain": whole, "with space around": "\n " + whole + "\n", "in a fence": "```json\n" + whole + "\n```", "in a plain fence": "```\n" + whole + "\n```",
	} {
		t.Run(name, func(t *testing.T) {
			object, err := (&Reply{Text: text}).Object(about)
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := object.Get("verdict"); v != "clean" {
				t.Errorf("verdict %v", v)
			}
		})
	}
	for name, tt := range map[string]struct {
		text string
		kind Kind
	}{
		"prose":                   {"It is clean, planted.", Prose},
		"prose around the object": {"Here you are: " + whole, Prose},
		"two objects":             {whole + whole, Prose},
		"two fences":              {"```" + whole + "``````" + whole + "```", Prose},
		"an open fence":           {"```json" + whole, Prose},
		"a list":                  {"[" + whole + "]", Prose},
		"a member twice":          {`{"topic_id":"a","topic_id":"` + topicID + `","subject":"abcd"}`, Prose},
		"another topic":           {`{"topic_id":"planted-other","subject":"abcd"}`, OtherTopic},
		"no topic":                {`{"subject":"abcd"}`, OtherTopic},
		"a topic that is no text": {`{"topic_id":["` + topicID + `"],"subject":"abcd"}`, OtherTopic},
		"another subject":         {`{"topic_id":"` + topicID + `","subject":"planted"}`, OtherTopic},
		"no subject":              {`{"topic_id":"` + topicID + `"}`, OtherTopic},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&Reply{Text: tt.text}).Object(about)
			fails(t, err, tt.kind)
		})
	}
	if _, err := (&Reply{Text: `{"topic_id":""}`}).Object(About{}); err == nil {
		t.Error("a question about nothing has an answer")
	}
}

// FuzzObject looks for replies that break the reading or are taken for another topic's.
func FuzzObject(f *testing.F) {
	f.Add("```json\n{\"topic_id\":\"" + topicID + "\"}\n```")
	f.Add(`{"topic_id":"` + topicID + `"}`)
	f.Add("``````")
	f.Add("[[[[")
	f.Fuzz(func(t *testing.T, text string) {
		object, err := (&Reply{Text: text}).Object(About{TopicID: topicID})
		if err != nil {
			return
		}
		if id, _ := object.Get("topic_id"); id != topicID {
			t.Errorf("%q was taken for topic %v", text, id)
		}
	})
}

// FuzzAnswer looks for bodies of a backend that break the reading of answers.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(completion("x", "", "")))
	f.Add([]byte(`{"model":"` + model + `","usage":{"prompt_tokens":1},"data":[{"index":0,"embedding":[1]}]}`))
	f.Add([]byte(`{"choices":[null],"usage":{}}`))
	c, err := New(Options{Judge: offer.Judge{Origin: "http://127.0.0.1:1", Model: model, Mode: pin.Chat, MaxInputTokens: 20, MaxOutputTokens: 10}, KeyFile: "x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := read(data, key)
		if err != nil {
			return
		}
		if _, reply, err := c.choice(object, 10); err == nil && (reply.Usage.Output > 10 || reply.Usage.Input > 20 || reply.Model != model) {
			t.Errorf("%q was taken: %+v", data, reply)
		}
		if list, err := vectors(object, 1); err == nil && len(list) != 1 {
			t.Errorf("%q has %d vectors", data, len(list))
		}
	})
}
