package offer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/offer"
)

// TestLiteralCases plays every case of testdata/cases.json by its area.
func TestLiteralCases(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Area            string
			Input, Expected json.RawMessage
		}
	}
	load(t, "cases.json", &file)
	areas := map[string]func(t *testing.T, input, expected json.RawMessage){
		"template_allow": templateCase, "template_uuid": uuidCase, "executor_plan_deadline": deadlineCase,
		"executor_plan_gpu": gpuCase, "harvest_overrides_parse": overridesCase, "executor_offer_parse": parseCase,
	}
	played := map[string]int{}
	for _, c := range file.Cases {
		play, ok := areas[c.Area]
		if !ok {
			t.Errorf("nothing plays the area %s", c.Area)
			continue
		}
		played[c.Area]++
		t.Run(c.Area+" "+string(c.Input), func(t *testing.T) {
			t.Parallel()
			play(t, c.Input, c.Expected)
		})
	}
	if len(file.Cases) != 11 || len(played) != len(areas) {
		t.Errorf("%d cases of %d areas", len(file.Cases), len(played))
	}
}

func decode[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func templateCase(t *testing.T, input, expected json.RawMessage) {
	in := decode[struct {
		Prefixes []string
		ID       string
	}](t, input)
	p := committedPin()
	p.AllowedLiumTemplatePrefixes = in.Prefixes
	if err := offer.CheckTemplate(p, in.ID); (err == nil) != decode[bool](t, expected) {
		t.Error(err)
	}
}

func uuidCase(t *testing.T, input, expected json.RawMessage) {
	if !strings.HasPrefix(decode[string](t, expected), "refused in the seed era under any allowlist") {
		t.Fatalf("another expectation: %s", expected)
	}
	for _, prefixes := range [][]string{nil, {"proof-eval-"}, {"f2f5"}} {
		p := committedPin()
		p.AllowedLiumTemplatePrefixes = prefixes
		if offer.CheckTemplate(p, decode[string](t, input)) == nil {
			t.Errorf("accepted under %q", prefixes)
		}
	}
}

func deadlineCase(t *testing.T, input, expected json.RawMessage) {
	in := decode[struct {
		Offer           uint64
		Topic, Override *uint64
	}](t, input)
	plan, err := planCase{in.Offer, in.Topic, offer.Overrides{DeadlineS: in.Override}}.plan()
	got := fmt.Sprint(err)
	if err == nil {
		got = fmt.Sprint(plan.DeadlineS)
	}
	wanted := strings.Trim(string(expected), `"`)
	var value, ceiling int
	if n, _ := fmt.Sscanf(wanted, "BadDeadline(%d,%d)", &value, &ceiling); n == 2 {
		wanted = fmt.Sprintf("eval executor offer: max_proof_deadline_s = %d must be 1..=%d", value, ceiling)
	}
	if got != wanted {
		t.Errorf("%s, want %s", got, wanted)
	}
}

func gpuCase(t *testing.T, input, expected json.RawMessage) {
	gpus := decode[uint32](t, input)
	_, err := planCase{offered: 7200, override: offer.Overrides{GPUCount: &gpus}}.plan()
	switch decode[string](t, expected) {
	case "ok":
		want(t, err, "")
	case fmt.Sprintf("GpuCount(%d,1)", gpus):
		want(t, err, fmt.Sprintf("eval executor offer: abort: executor would rent %dx GPUs; the Proof executor is exactly 1x", gpus))
	default:
		t.Errorf("another expectation: %s", expected)
	}
}

func overridesCase(t *testing.T, input, expected json.RawMessage) {
	values := decode[[]*string](t, input)
	o, err := offer.ParseOverrides(func(name string) string {
		for n, variable := range []string{offer.TemplateVariable, offer.GPUVariable, offer.DeadlineVariable} {
			if name == variable && values[n] != nil {
				return *values[n]
			}
		}
		return ""
	})
	if strings.HasPrefix(string(expected), `"BadOverride `) {
		variable := strings.TrimPrefix(decode[string](t, expected), "BadOverride ")
		want(t, err, "eval executor offer: "+variable+" is set but not a usable harvest override")
		return
	}
	wanted := decode[struct {
		Template string `json:"template_id"`
		GPUs     uint32 `json:"gpu_count"`
		Deadline uint64 `json:"deadline_secs"`
	}](t, expected)
	if err != nil || *o.TemplateID != wanted.Template || *o.GPUCount != wanted.GPUs || *o.DeadlineS != wanted.Deadline {
		t.Errorf("%+v, %v", o, err)
	}
}

func parseCase(t *testing.T, input, expected json.RawMessage) {
	key, ok := strings.CutPrefix(decode[string](t, expected), "parse error naming ")
	_, err := offer.ParseExecutor([]byte(decode[string](t, input)))
	if !ok || err == nil || !strings.Contains(err.Error(), key) {
		t.Errorf("%v, want %s", err, expected)
	}
}
