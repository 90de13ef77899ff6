package offer_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/offer"
)

// TestSpecificationTheTwoOffersAreNeverOneDocument: neither is read as the other, and a
// document that holds the members of both passes for neither.
func TestSpecificationTheTwoOffersAreNeverOneDocument(t *testing.T) {
	t.Parallel()
	judge, executor := inferenceText(t), executorText(t)
	members := map[string]any{}
	for _, text := range []string{judge, executor} {
		var one map[string]any
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		maps.Copy(members, one)
	}
	both, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"an executor offer": executor, "members of both": string(both)} {
		if _, err := offer.ParseInference([]byte(text)); err == nil || !strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s as an inference offer: %v", name, err)
		}
	}
	for name, text := range map[string]string{"an inference offer": judge, "members of both": string(both)} {
		if _, err := offer.ParseExecutor([]byte(text)); err == nil || !strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s as an executor offer: %v", name, err)
		}
	}
}
