package judge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/prova-dev/prova/internal/research/judge"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
)

func Example() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"model":"master-proxy-v0","usage":{"prompt_tokens":60,"completion_tokens":12},"choices":[{"message":`+
			`{"content":"{\"topic_id\":\"topic-a\",\"subject\":\"00ff\",\"verdict\":\"clean\"}"},"finish_reason":"stop"}]}`)
	}))
	defer backend.Close()
	keyFile, err := os.CreateTemp("", "judge-key")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(keyFile.Name())
	fmt.Fprintln(keyFile, "example-key")

	c, err := judge.New(judge.For(offer.Judge{
		Origin: offer.Origin(backend.URL), Model: "master-proxy-v0", Mode: pin.Chat, MaxInputTokens: 4096, MaxOutputTokens: 2048,
	}, nil, keyFile.Name()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	reply, err := c.Chat(context.Background(), judge.Prompt{JSON: true, Messages: []judge.Message{
		{Role: "user", Content: `Answer with {"topic_id":"topic-a","subject":"00ff","verdict":"clean"|"suspicious"}.`},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	object, err := reply.Object(judge.About{TopicID: "topic-a", Subject: "00ff"})
	if err != nil {
		fmt.Println(err)
		return
	}
	verdict, _ := object.Get("verdict")
	fmt.Println(verdict)
	// Output: clean
}
