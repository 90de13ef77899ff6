package offer_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

const pinnedDigest = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"

// committedPin is the committed pin with the executor's keys of the
// specification.
func committedPin() *pin.Pin {
	p := pin.Default()
	p.EvalImageDigest, p.AllowedLiumTemplatePrefixes = pinnedDigest, []string{"proof-eval-"}
	return p
}

func ptr[T any](v T) *T { return &v }

const origin = "http://127.0.0.1:8000/v1"

func inference(edits ...func(*offer.Inference)) *offer.Inference {
	i := &offer.Inference{
		OfferID: "judge-a", Provider: pin.OpenAICompatible, BaseURL: origin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Open,
	}
	for _, edit := range edits {
		edit(i)
	}
	if i.ConfigCommitment == "" {
		i.ConfigCommitment, _ = i.Commitment()
	}
	return i
}

func executor(edits ...func(*offer.Executor)) *offer.Executor {
	e := &offer.Executor{
		OfferID: "exec-a", LiumTemplateID: "proof-eval-78b614a1f51c", MachineShape: "1x", MaxProofDeadlineS: 7200,
		EvalImageDigest: pinnedDigest, Status: offer.Open,
	}
	for _, edit := range edits {
		edit(e)
	}
	if e.ConfigCommitment == "" {
		e.ConfigCommitment, _ = e.Commitment()
	}
	return e
}

func openTopic(edits ...func(*topic.Document)) *topic.Document {
	d := topic.New()
	d.ID, d.Status = "topic-a", topic.Open
	for _, edit := range edits {
		edit(d)
	}
	return d
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// want fails unless err is exactly the text; "" wants no error.
func want(t *testing.T, err error, text string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	if strings.ContainsAny(got, "\n\r") {
		t.Errorf("an error of several lines: %q", got)
	}
}
