package offer_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
)

func TestR7InferenceCommitmentsAreTheDerivedOnes(t *testing.T) {
	t.Parallel()
	var file struct {
		Vectors []struct {
			Input struct {
				BaseURL         string   `json:"base_url"`
				MaxInputTokens  uint32   `json:"max_input_tokens"`
				MaxOutputTokens uint32   `json:"max_output_tokens"`
				Mode            pin.Mode `json:"mode"`
				ModelRef        string   `json:"model_ref"`
				Temperature     *float64 `json:"temperature"`
			}
			Canonical  string
			Commitment string `json:"config_commitment"`
		} `json:"inference_offer_commitments"`
	}
	load(t, "derived_digests.json", &file)
	if len(file.Vectors) != 2 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for n, v := range file.Vectors {
		t.Run(fmt.Sprintf("vector %d", n), func(t *testing.T) {
			t.Parallel()
			i := &offer.Inference{
				BaseURL: offer.Origin(" " + v.Input.BaseURL + "\n"), MaxInputTokens: v.Input.MaxInputTokens, MaxOutputTokens: v.Input.MaxOutputTokens,
				Mode: v.Input.Mode, ModelRef: v.Input.ModelRef + " ", Temperature: v.Input.Temperature,
			}
			text, err := i.Canonical()
			if err != nil || string(text) != v.Canonical {
				t.Errorf("%s, %v\nwant %s", text, err, v.Canonical)
			}
			got, err := i.Commitment()
			if err != nil || got != v.Commitment {
				t.Errorf("%s, %v, want %s", got, err, v.Commitment)
			}
		})
	}
}

func TestR8ExecutorCommitmentsAreTheDerivedOnes(t *testing.T) {
	t.Parallel()
	var file struct {
		Vectors []struct {
			Input struct {
				Digest    string `json:"eval_image_digest"`
				Template  string `json:"lium_template_id"`
				Shape     string `json:"machine_shape"`
				DeadlineS uint64 `json:"max_proof_deadline_s"`
			}
			Canonical  string
			Commitment string `json:"config_commitment"`
		} `json:"executor_offer_commitments"`
	}
	load(t, "derived_digests.json", &file)
	if len(file.Vectors) != 6 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		t.Run(fmt.Sprintf("%s for %d s of %s", v.Input.Template, v.Input.DeadlineS, v.Input.Digest), func(t *testing.T) {
			t.Parallel()
			e := &offer.Executor{
				EvalImageDigest: " " + v.Input.Digest, LiumTemplateID: v.Input.Template + "\t", MachineShape: v.Input.Shape + " ",
				MaxProofDeadlineS: v.Input.DeadlineS,
			}
			text, err := e.Canonical()
			if err != nil || string(text) != v.Canonical {
				t.Errorf("%s, %v\nwant %s", text, err, v.Canonical)
			}
			got, err := e.Commitment()
			if err != nil || got != v.Commitment {
				t.Errorf("%s, %v, want %s", got, err, v.Commitment)
			}
		})
	}
}

func TestR7SamplingAndTimeEnterTheCommitmentOnlyWhenSet(t *testing.T) {
	t.Parallel()
	i := inference(func(i *offer.Inference) { i.Temperature, i.TopP, i.TimeoutMS = ptr(0.7), ptr(1.0), ptr(uint64(1<<63)) })
	text, err := i.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	const wanted = `{"base_url":"http://127.0.0.1:8000/v1","max_input_tokens":32768,"max_output_tokens":8192,"mode":"chat","model_ref":"master-proxy-v0","temperature":0.7,"timeout_ms":9223372036854775808,"top_p":1.0}`
	if string(text) != wanted {
		t.Errorf("%s\nwant %s", text, wanted)
	}
}

func TestR7ProviderOfferIDAndStatusStayOutOfTheCommitment(t *testing.T) {
	t.Parallel()
	one, _ := inference().Commitment()
	two, _ := inference(func(i *offer.Inference) { i.OfferID, i.Provider, i.Status = "other", pin.VLLM, offer.Closed }).Commitment()
	if one != two {
		t.Errorf("%s and %s", one, two)
	}
	one, _ = executor().Commitment()
	two, _ = executor(func(e *offer.Executor) { e.OfferID, e.Status = "other", offer.Closed }).Commitment()
	if one != two {
		t.Errorf("%s and %s", one, two)
	}
}

func TestR7R8EveryChangedKnobChangesTheCommitment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		i := inference(func(i *offer.Inference) {
			i.BaseURL = offer.Origin("http://" + rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "host"))
			i.ModelRef = rapid.StringMatching(`[a-z"\\é-]{1,9}`).Draw(t, "model")
			i.Temperature = ptr(rapid.Float64Range(0, 2).Draw(t, "temperature"))
			i.TimeoutMS = ptr(rapid.Uint64().Draw(t, "timeout"))
		})
		changed := *i
		switch rapid.IntRange(0, 6).Draw(t, "knob") {
		case 0:
			changed.BaseURL += "x"
		case 1:
			changed.ModelRef += "x"
		case 2:
			changed.MaxInputTokens ^= 1 << rapid.IntRange(0, 31).Draw(t, "bit")
		case 3:
			changed.MaxOutputTokens ^= 1 << rapid.IntRange(0, 31).Draw(t, "bit")
		case 4:
			changed.Temperature = nil
		case 5:
			changed.TimeoutMS = ptr(*i.TimeoutMS ^ 1<<rapid.IntRange(0, 63).Draw(t, "bit"))
		case 6:
			changed.TopP = ptr(0.0)
		}
		got, err := changed.Commitment()
		if err != nil || got == i.ConfigCommitment {
			t.Fatalf("%s, %v", got, err)
		}
		e := executor(func(e *offer.Executor) { e.MaxProofDeadlineS = rapid.Uint64().Draw(t, "deadline") })
		moved := *e
		switch rapid.IntRange(0, 3).Draw(t, "executor knob") {
		case 0:
			moved.LiumTemplateID += "x"
		case 1:
			moved.MachineShape = "2x"
		case 2:
			moved.MaxProofDeadlineS ^= 1 << rapid.IntRange(0, 63).Draw(t, "bit")
		case 3:
			moved.EvalImageDigest = ""
		}
		if got, err := moved.Commitment(); err != nil || got == e.ConfigCommitment {
			t.Fatalf("%s, %v", got, err)
		}
	})
}
