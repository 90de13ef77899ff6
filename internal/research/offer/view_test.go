package offer_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/offer"
)

func TestR7ThePublicViewOfTheJudgeNeverHoldsItsOrigin(t *testing.T) {
	t.Parallel()
	i := inference(func(i *offer.Inference) { i.Temperature = ptr(0.0) })
	text, err := json.Marshal(i.Public())
	if err != nil {
		t.Fatal(err)
	}
	const wanted = `{"offer_id":"judge-a","provider_kind":"openai_compatible","mode":"chat","model_ref":"master-proxy-v0","max_input_tokens":32768,"max_output_tokens":8192,"config_commitment":"0eb065e3cd3ef43cf8e0a66c7facddaade53ba3f42951e702753c60553ec6f0c","status":"open"}`
	if string(text) != wanted {
		t.Errorf("%s\nwant %s", text, wanted)
	}
	if (*offer.Inference)(nil).Public() != nil {
		t.Error("a missing offer has a view")
	}
}

func TestR8ThePublicViewOfTheExecutorIsAllOfIt(t *testing.T) {
	t.Parallel()
	for shape, gpus := range map[string]string{"1x": "1", "8x": "8", "big": "null"} {
		text, err := json.Marshal(executor(func(e *offer.Executor) { e.MachineShape, e.ConfigCommitment = shape, "c" }).Public())
		if err != nil {
			t.Fatal(err)
		}
		wanted := `{"offer_id":"exec-a","lium_template_id":"proof-eval-78b614a1f51c","machine_shape":"` + shape + `","gpu_count":` + gpus + `,"max_proof_deadline_s":7200,"eval_image_digest":"` + pinnedDigest + `","config_commitment":"c","status":"open"}`
		if string(text) != wanted {
			t.Errorf("%s\nwant %s", text, wanted)
		}
	}
	if (*offer.Executor)(nil).Public() != nil {
		t.Error("a missing offer has a view")
	}
}

// TestSpecificationNeverLeakOrigins plants an origin and looks for it in every
// text that offers and their errors leave.
func TestSpecificationNeverLeakOrigins(t *testing.T) {
	t.Parallel()
	const planted = "http://planted-origin.invalid/v1?key=planted-key"
	i := inference(func(i *offer.Inference) { i.BaseURL = planted })
	judge := i.Resolve(committedPin(), &openTopic().Inference, planted)
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "offer", i, "judge", judge, "origin", i.BaseURL, "view", i.Public())
	texts := []string{log.String()}
	for _, v := range []any{i, *i, judge, &judge, i.BaseURL, []offer.Origin{planted}, i.Public()} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
		text, err := json.Marshal(v)
		texts = append(texts, string(text), fmt.Sprint(err))
	}
	for _, edit := range []func(*offer.Inference){
		func(i *offer.Inference) { i.BaseURL = "ftp://planted" }, func(i *offer.Inference) { i.ConfigCommitment = "x" },
		func(i *offer.Inference) { i.BaseURL = "http://planted\xff" },
	} {
		bad := inference(func(i *offer.Inference) { i.BaseURL = planted }, edit)
		_, err := bad.Commitment()
		texts = append(texts, fmt.Sprint(bad.Validate(committedPin()), bad.RequireOpen(committedPin()), err))
	}
	for _, text := range texts {
		if strings.Contains(text, "planted") || strings.Contains(text, fmt.Sprintf("%x", "planted")) {
			t.Errorf("the origin is in %s", text)
		}
	}
	if string(i.BaseURL) != planted || string(judge.Origin) != planted {
		t.Error("asked for, the origin is not there")
	}
}
