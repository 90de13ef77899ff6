package judge

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/pin"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string // system, user or assistant
	Content string
}

// Prompt is one question to a chat judge.
type Prompt struct {
	Messages []Message
	// MaxTokens of the answer; 0 and anything over the cap stand for the cap.
	MaxTokens uint32
	Seed      *uint64
	JSON      bool // ask the backend for a JSON object
}

// Usage is what a call came to, in tokens, as the backend counted.
type Usage struct{ Input, Output uint64 }

// Reply is the answer of a judge, whole and within its caps.
type Reply struct {
	Text  string
	Model string // as the backend named it
	Usage Usage
}

// perMessage is what the template of a chat model adds to a message, at most.
const perMessage = 16

// Chat asks a judge of mode chat. The error is an *[Error].
func (c *Client) Chat(ctx context.Context, p Prompt) (*Reply, error) {
	if err := c.mode(pin.Chat); err != nil {
		return nil, err
	}
	if len(p.Messages) == 0 {
		return nil, fault(BadPrompt, "a prompt needs a message")
	}
	messages, texts := make([]any, 0, len(p.Messages)), make([]string, 0, len(p.Messages))
	for _, m := range p.Messages {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return nil, fault(BadPrompt, "the role of a message must be system, user or assistant")
		}
		messages = append(messages, canonjson.NewObject("role", m.Role, "content", m.Content))
		texts = append(texts, m.Content)
	}
	if err := c.fits(texts, perMessage*(len(texts)+1)); err != nil {
		return nil, err
	}
	most := c.output(p.MaxTokens)
	body := canonjson.NewObject("model", c.o.Judge.Model, "messages", messages, "stream", false, "n", canonjson.Int("1"),
		"max_tokens", number(uint64(most)))
	c.sample(body, p.Seed)
	if p.JSON {
		body.Set("response_format", canonjson.NewObject("type", "json_object"))
	}
	answer, err := c.call(ctx, "chat/completions", canonjson.Compact(body))
	if err != nil {
		return nil, err
	}
	choice, reply, err := c.choice(answer, most)
	if err != nil {
		return nil, err
	}
	message, ok := member[*canonjson.Object](choice, "message")
	if !ok {
		return nil, fault(NotJSON, "the answer has no choices[0].message")
	}
	if reply.Text, ok = member[string](message, "content"); !ok || reply.Text == "" {
		return nil, fault(Unfinished, "the answer has no text")
	}
	return reply, nil
}

// Complete asks a judge of mode completions to continue a text. maxTokens and seed
// are those of a [Prompt]. The error is an *[Error].
func (c *Client) Complete(ctx context.Context, prompt string, maxTokens uint32, seed *uint64) (*Reply, error) {
	if err := c.mode(pin.Completions); err != nil {
		return nil, err
	}
	if prompt == "" {
		return nil, fault(BadPrompt, "there is nothing to continue")
	}
	if err := c.fits([]string{prompt}, 1); err != nil {
		return nil, err
	}
	most := c.output(maxTokens)
	body := canonjson.NewObject("model", c.o.Judge.Model, "prompt", prompt, "stream", false, "n", canonjson.Int("1"),
		"max_tokens", number(uint64(most)))
	c.sample(body, seed)
	answer, err := c.call(ctx, "completions", canonjson.Compact(body))
	if err != nil {
		return nil, err
	}
	choice, reply, err := c.choice(answer, most)
	if err != nil {
		return nil, err
	}
	var ok bool
	if reply.Text, ok = member[string](choice, "text"); !ok || reply.Text == "" {
		return nil, fault(Unfinished, "the answer has no text")
	}
	return reply, nil
}

// Embed asks a judge of mode embeddings for one vector a text, in the order of the
// texts, all of one length. The error is an *[Error].
func (c *Client) Embed(ctx context.Context, texts ...string) ([][]float64, Usage, error) {
	if err := c.mode(pin.Embeddings); err != nil {
		return nil, Usage{}, err
	}
	if len(texts) == 0 || slices.Contains(texts, "") {
		return nil, Usage{}, fault(BadPrompt, "there is an empty text, or none")
	}
	if err := c.fits(texts, 2*len(texts)); err != nil {
		return nil, Usage{}, err
	}
	input := make([]any, len(texts))
	for i, text := range texts {
		input[i] = text
	}
	answer, err := c.call(ctx, "embeddings", canonjson.Compact(
		canonjson.NewObject("model", c.o.Judge.Model, "input", input, "encoding_format", "float")))
	if err != nil {
		return nil, Usage{}, err
	}
	if _, err := c.model(answer); err != nil {
		return nil, Usage{}, err
	}
	usage, err := c.usage(answer, false, 0)
	if err != nil {
		return nil, Usage{}, err
	}
	vectors, err := vectors(answer, len(texts))
	return vectors, usage, err
}

func (c *Client) mode(asked pin.Mode) error {
	if c.o.Judge.Mode != asked {
		return fault(WrongMode, "the judge serves "+string(c.o.Judge.Mode)+", not "+string(asked))
	}
	return nil
}

// fits refuses a prompt that may come to more tokens than the cap.
func (c *Client) fits(texts []string, overhead int) error {
	count := overhead
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fault(BadPrompt, "a text is not UTF-8")
		}
		n := c.o.Tokens(text)
		if n < 0 || n > math.MaxInt32 {
			n = math.MaxInt32
		}
		count = min(count+n, math.MaxInt32)
	}
	if most := c.o.Judge.MaxInputTokens; uint64(count) > uint64(most) {
		return fault(TooLong, "the prompt may come to "+strconv.Itoa(count)+" tokens, "+
			strconv.FormatUint(uint64(most), 10)+" are allowed; shorten it")
	}
	return nil
}

func (c *Client) output(asked uint32) uint32 {
	if most := c.o.Judge.MaxOutputTokens; asked == 0 || asked > most {
		return most
	}
	return asked
}

func (c *Client) sample(body *canonjson.Object, seed *uint64) {
	if c.o.Temperature != nil {
		body.Set("temperature", *c.o.Temperature)
	}
	if c.o.TopP != nil {
		body.Set("top_p", *c.o.TopP)
	}
	if seed != nil {
		body.Set("seed", number(*seed))
	}
}

// choice checks what the interfaces for text have in common, and returns the one
// choice that was asked for.
func (c *Client) choice(answer *canonjson.Object, most uint32) (*canonjson.Object, *Reply, error) {
	model, err := c.model(answer)
	if err != nil {
		return nil, nil, err
	}
	usage, err := c.usage(answer, true, most)
	if err != nil {
		return nil, nil, err
	}
	choices, _ := member[[]any](answer, "choices")
	if len(choices) != 1 {
		return nil, nil, fault(NotJSON, "the answer must have one choice, it has "+strconv.Itoa(len(choices)))
	}
	choice, ok := choices[0].(*canonjson.Object)
	if !ok {
		return nil, nil, fault(NotJSON, "choices[0] is not an object")
	}
	switch reason, _ := member[string](choice, "finish_reason"); reason {
	case "stop":
	case "length":
		return nil, nil, fault(Unfinished, "the answer was cut at "+strconv.FormatUint(uint64(most), 10)+" tokens")
	default:
		return nil, nil, fault(Unfinished, "the model did not come to its end")
	}
	return choice, &Reply{Model: model, Usage: usage}, nil
}

// model refuses the answer of another model. Its name is not repeated: it is the
// backend's text.
func (c *Client) model(answer *canonjson.Object) (string, error) {
	model, _ := member[string](answer, "model")
	if model = strings.TrimSpace(model); model != c.o.Judge.Model && !slices.Contains(c.o.AlsoModels, model) {
		return "", fault(OtherModel, "another model answered than "+strconv.Quote(c.o.Judge.Model))
	}
	return model, nil
}

// usage reads what was used and holds it against both caps.
func (c *Client) usage(answer *canonjson.Object, text bool, most uint32) (Usage, error) {
	object, ok := member[*canonjson.Object](answer, "usage")
	if !ok {
		return Usage{}, fault(BadUsage, "the answer has no usage")
	}
	var u Usage
	if u.Input, ok = count(object, "prompt_tokens"); !ok {
		return Usage{}, fault(BadUsage, "usage.prompt_tokens is not a count")
	}
	if u.Input > uint64(c.o.Judge.MaxInputTokens) {
		return Usage{}, fault(BadUsage, "usage.prompt_tokens is over the cap of "+strconv.FormatUint(uint64(c.o.Judge.MaxInputTokens), 10))
	}
	if !text {
		return u, nil
	}
	if u.Output, ok = count(object, "completion_tokens"); !ok {
		return Usage{}, fault(BadUsage, "usage.completion_tokens is not a count")
	}
	if u.Output > uint64(most) {
		return Usage{}, fault(BadUsage, "usage.completion_tokens is over max_tokens, "+strconv.FormatUint(uint64(most), 10))
	}
	return u, nil
}

func vectors(answer *canonjson.Object, n int) ([][]float64, error) {
	data, _ := member[[]any](answer, "data")
	if len(data) != n {
		return nil, fault(NotJSON, "the answer must have "+strconv.Itoa(n)+" vectors, it has "+strconv.Itoa(len(data)))
	}
	out := make([][]float64, n)
	for _, v := range data {
		entry, _ := v.(*canonjson.Object)
		if entry == nil {
			return nil, fault(NotJSON, "an entry of data is not an object")
		}
		i, ok := count(entry, "index")
		if !ok || i >= uint64(n) || out[i] != nil {
			return nil, fault(NotJSON, "the indices of data are not those of the texts")
		}
		list, _ := member[[]any](entry, "embedding")
		vector := make([]float64, 0, len(list))
		for _, v := range list {
			f, ok := float(v)
			if !ok {
				return nil, fault(NotJSON, "a vector holds something else than finite numbers")
			}
			vector = append(vector, f)
		}
		if len(vector) == 0 {
			return nil, fault(NotJSON, "a vector is empty")
		}
		out[i] = vector
	}
	for _, vector := range out {
		if len(vector) != len(out[0]) {
			return nil, fault(NotJSON, "the vectors differ in length")
		}
	}
	return out, nil
}

func member[T any](o *canonjson.Object, name string) (T, bool) {
	v, _ := o.Get(name)
	t, ok := v.(T)
	return t, ok
}

func count(o *canonjson.Object, name string) (uint64, bool) {
	i, ok := member[canonjson.Int](o, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(string(i), 10, 63)
	return n, err == nil
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	case canonjson.Int:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	}
	return 0, false
}

func number(n uint64) canonjson.Int { return canonjson.Int(strconv.FormatUint(n, 10)) }
