package offer_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestR7ServesTopic(t *testing.T) {
	t.Parallel()
	const cannot = "open inference offer cannot serve topic inference constraints"
	const spoofed = "topic inference.base_url does not match the committed judge origin"
	for _, c := range []struct {
		name  string
		offer func(*offer.Inference)
		topic func(*topic.Inference)
		want  string
	}{
		{"a topic that asks for nothing", nil, nil, ""},
		{"a topic that names the offer's origin", nil, func(i *topic.Inference) { i.BaseURL = ptr(" " + origin) }, ""},
		{"a topic that spoofs the origin", nil, func(i *topic.Inference) { i.BaseURL = ptr("http://evil.invalid/v1") }, spoofed},
		{"a closed offer before a spoofed origin", func(i *offer.Inference) { i.Status = offer.Closed }, func(i *topic.Inference) { i.BaseURL = ptr("http://evil.invalid/v1") }, "inference offer is closed; refuse scoring"},
		{"an offer whose origin is none", func(i *offer.Inference) { i.BaseURL = "nowhere" }, nil, spoofed},
		{"a spoofed origin before another model", nil, func(i *topic.Inference) { i.BaseURL, i.Model = ptr("http://evil.invalid/v1"), ptr("other") }, spoofed},
		{"another kind of provider", func(i *offer.Inference) { i.Provider = pin.VLLM }, nil, cannot},
		{"the kind that the topic asks for", func(i *offer.Inference) { i.Provider = pin.VLLM }, func(i *topic.Inference) { i.Provider = ptr(pin.VLLM) }, ""},
		{"another mode", nil, func(i *topic.Inference) { i.Mode = ptr(pin.Completions) }, cannot},
		{"fewer input tokens than the pin resolves to", func(i *offer.Inference) { i.MaxInputTokens = 32767 }, nil, cannot},
		{"fewer output tokens than the topic asks for", func(i *offer.Inference) { i.MaxOutputTokens = 255 }, func(i *topic.Inference) { i.MaxOutputTokens = ptr(uint32(256)) }, cannot},
		{"a topic that asks for less than is offered", func(i *offer.Inference) { i.MaxInputTokens, i.MaxOutputTokens = 4096, 256 }, func(i *topic.Inference) { i.MaxInputTokens, i.MaxOutputTokens = ptr(uint32(4096)), ptr(uint32(256)) }, ""},
		{"the offered model", nil, func(i *topic.Inference) { i.Model = ptr("master-proxy-v0") }, ""},
		{"another model", nil, func(i *topic.Inference) { i.Model = ptr("other") }, cannot},
		{"the pinned offer in upper case", nil, func(i *topic.Inference) {
			i.RequireJudgeOfferCommitment = ptr(strings.ToUpper(inference().ConfigCommitment))
		}, ""},
		{"another pinned offer", nil, func(i *topic.Inference) { i.RequireJudgeOfferCommitment = ptr(strings.Repeat("a", 64)) }, cannot},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			i, d := inference(), openTopic()
			if c.offer != nil {
				i = inference(c.offer)
			}
			if c.topic != nil {
				c.topic(&d.Inference)
			}
			want(t, i.Serves(committedPin(), d, "http://secret.invalid"), c.want)
		})
	}
	want(t, (*offer.Inference)(nil).Serves(committedPin(), openTopic(), ""), "inference offer missing; refuse scoring")
}

func TestR7ResolveTakesTheTopicThenThePin(t *testing.T) {
	t.Parallel()
	p := committedPin()
	p.Inference.Model = "pin-model"
	got := inference().Resolve(p, &topic.Inference{}, "")
	if wanted := (offer.Judge{Provider: pin.OpenAICompatible, Origin: origin, Model: "pin-model", Mode: pin.Chat, MaxInputTokens: 32768, MaxOutputTokens: 8192}); got != wanted {
		t.Errorf("inherited: %s %+v", string(got.Origin), got)
	}
	asked := &topic.Inference{Provider: ptr(pin.CustomProvider), Model: ptr("topic-model"), Mode: ptr(pin.Embeddings), MaxInputTokens: ptr(uint32(1)), MaxOutputTokens: ptr(uint32(2))}
	got = inference().Resolve(p, asked, "")
	if wanted := (offer.Judge{Provider: pin.CustomProvider, Origin: origin, Model: "topic-model", Mode: pin.Embeddings, MaxInputTokens: 1, MaxOutputTokens: 2}); got != wanted {
		t.Errorf("asked for: %s %+v", string(got.Origin), got)
	}
}

func TestSpecificationATopicMustNotRedirectTheOrigin(t *testing.T) {
	t.Parallel()
	asked := &topic.Inference{BaseURL: ptr("http://evil.invalid")}
	for _, c := range []struct {
		name          string
		offer         *offer.Inference
		pinned        string
		secret, wants offer.Origin
	}{
		{"the offer first", inference(), "http://pin.invalid", "http://secret.invalid", origin},
		{"then the pin", inference(func(i *offer.Inference) { i.BaseURL = "" }), "http://pin.invalid", "http://secret.invalid", "http://pin.invalid"},
		{"then the secret of the host", nil, "", " http://secret.invalid\n", "http://secret.invalid"},
		{"and else nothing", nil, "", "", ""},
	} {
		p := committedPin()
		p.Inference.BaseURL = c.pinned
		if got := c.offer.Resolve(p, asked, c.secret); got.Origin != c.wants {
			t.Errorf("%s: %s, want %s", c.name, string(got.Origin), string(c.wants))
		}
	}
}

func TestR7AJudgeIsReadyWithModelCapsAndOrigin(t *testing.T) {
	t.Parallel()
	const incomplete = "resolved inference config is incomplete; refuse scoring"
	sound := offer.Judge{Provider: pin.OpenAICompatible, Origin: origin, Model: "m", Mode: pin.Chat, MaxInputTokens: 1, MaxOutputTokens: 1}
	want(t, sound.Ready(), "")
	for _, edit := range []func(*offer.Judge){
		func(j *offer.Judge) { j.Model = " " }, func(j *offer.Judge) { j.MaxInputTokens = 0 },
		func(j *offer.Judge) { j.MaxOutputTokens = 0 }, func(j *offer.Judge) { j.Origin = "" }, func(j *offer.Judge) { j.Origin = "http:/x" },
	} {
		j := sound
		edit(&j)
		want(t, j.Ready(), incomplete)
	}
	want(t, offer.RequireKey(" \n"), "inference API key missing; refuse scoring")
	want(t, offer.RequireKey("k"), "")
}
