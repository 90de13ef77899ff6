package offer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

type planCase struct {
	offered  uint64
	topic    *uint64
	override offer.Overrides
}

func (c planCase) plan() (*offer.Plan, error) {
	e := executor(func(e *offer.Executor) { e.MaxProofDeadlineS = c.offered })
	return e.Plan(committedPin(), openTopic(func(d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = c.topic }), c.override)
}

func TestSpecificationADeadlineOutOfItsCeilingRefusesTheRentRatherThanClamping(t *testing.T) {
	t.Parallel()
	const over = "eval executor offer: max_proof_deadline_s = 7201 must be 1..=7200"
	for _, c := range []struct {
		name string
		planCase
		want uint64
		err  string
	}{
		{"the offer's", planCase{7200, nil, offer.Overrides{}}, 7200, ""},
		{"a topic shortens it", planCase{7200, ptr(uint64(900)), offer.Overrides{}}, 900, ""},
		{"a topic never lengthens it", planCase{600, ptr(uint64(900)), offer.Overrides{}}, 600, ""},
		{"an override may be longer than the offer", planCase{600, nil, offer.Overrides{DeadlineS: ptr(uint64(7200))}}, 7200, ""},
		{"an override may be shorter", planCase{7200, nil, offer.Overrides{DeadlineS: ptr(uint64(3600))}}, 3600, ""},
		{"an override over the ceiling refuses", planCase{7200, nil, offer.Overrides{DeadlineS: ptr(uint64(7201))}}, 0, over},
		{"an override of nothing refuses", planCase{7200, nil, offer.Overrides{DeadlineS: ptr(uint64(0))}}, 0, "eval executor offer: max_proof_deadline_s = 0 must be 1..=7200"},
		{"a topic shortens an override", planCase{600, ptr(uint64(300)), offer.Overrides{DeadlineS: ptr(uint64(7200))}}, 300, ""},
		{"a topic does not hide an override over the ceiling", planCase{600, ptr(uint64(300)), offer.Overrides{DeadlineS: ptr(uint64(7201))}}, 0, over},
		{"a topic of no time refuses", planCase{600, ptr(uint64(0)), offer.Overrides{}}, 0, "eval executor offer: max_proof_deadline_s = 0 must be 1..=7200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan, err := c.plan()
			want(t, err, c.err)
			if err == nil && plan.DeadlineS != c.want {
				t.Errorf("%d s, want %d", plan.DeadlineS, c.want)
			}
		})
	}
}

func TestSpecificationARentThatWouldUpsizeAbortsBeforeTheRent(t *testing.T) {
	t.Parallel()
	for _, n := range []uint32{0, 2, 8} {
		_, err := planCase{offered: 7200, override: offer.Overrides{GPUCount: ptr(n)}}.plan()
		want(t, err, fmt.Sprintf("eval executor offer: abort: executor would rent %dx GPUs; the Proof executor is exactly 1x", n))
	}
	plan, err := planCase{offered: 7200, override: offer.Overrides{GPUCount: ptr(uint32(1))}}.plan()
	want(t, err, "")
	if plan.GPUCount != 1 {
		t.Errorf("%+v", plan)
	}
}

func TestR8_1APlanNamesWhatRuns(t *testing.T) {
	t.Parallel()
	e := executor(func(e *offer.Executor) { c, _ := e.Commitment(); e.ConfigCommitment = strings.ToUpper(c) })
	plan, err := e.Plan(committedPin(), openTopic(), offer.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	const derived = "3c1247e1ebebcd1693525215b617a86889df342f15d05ada70dea503845a6b56"
	if wanted := `{"offer_id":"exec-a","topic_id":"topic-a","template_id":"proof-eval-78b614a1f51c","gpu_count":1,"deadline_s":7200,"offer_commitment":"` + derived + `","config_commitment":"` + derived + `"}`; string(text) != wanted {
		t.Errorf("%s\nwant %s", text, wanted)
	}
}

func TestSpecificationARunStampsTheCommitmentOfTheConfigurationThatActuallyRan(t *testing.T) {
	t.Parallel()
	const offered = "3c1247e1ebebcd1693525215b617a86889df342f15d05ada70dea503845a6b56"
	for _, c := range []struct {
		name string
		planCase
		want string
	}{
		{"a topic that tightens nothing", planCase{7200, ptr(uint64(7200)), offer.Overrides{}}, offered},
		{"a topic that tightens the deadline", planCase{7200, ptr(uint64(900)), offer.Overrides{}}, "b6988b2da274efc29a255379330f7e42365544a8ef4e558c30e8c8cb98bc0be8"},
		{"an override of template and deadline", planCase{7200, nil, offer.Overrides{TemplateID: ptr("proof-eval-78b614a1f51c-hotfix"), DeadlineS: ptr(uint64(3600))}}, "ce1d51f0e38dd26a621d3805e8c7f5a60fd3188edb8ae819cf6d39feac3b9586"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan, err := c.plan()
			if err != nil {
				t.Fatal(err)
			}
			if plan.OfferCommitment != offered || plan.ConfigCommitment != c.want {
				t.Errorf("%+v", plan)
			}
		})
	}
	e := executor(func(e *offer.Executor) { e.EvalImageDigest = "" })
	plan, err := e.Plan(committedPin(), openTopic(), offer.Overrides{})
	if err != nil || plan.ConfigCommitment != plan.OfferCommitment {
		t.Errorf("an offer without an image: %+v, %v", plan, err)
	}
}

func TestSpecificationATopicThatPinsAnOfferRefusesAnyOverrideThatChangesTemplateOrDeadline(t *testing.T) {
	t.Parallel()
	pinned := openTopic(func(d *topic.Document) { d.EvalExecutor.RequireOfferCommitment = ptr(executor().ConfigCommitment) })
	const text = "eval executor offer: %s changes the configuration, and the topic pins the offer it approved (require_offer_commitment); unset it"
	for _, c := range []struct {
		name string
		o    offer.Overrides
		want string
	}{
		{"no override", offer.Overrides{}, ""},
		{"overrides that change nothing", offer.Overrides{TemplateID: ptr("proof-eval-78b614a1f51c"), DeadlineS: ptr(uint64(7200)), GPUCount: ptr(uint32(1))}, ""},
		{"another template", offer.Overrides{TemplateID: ptr("proof-eval-78b614a1f51c-hotfix")}, fmt.Sprintf(text, "PROOF_HARVEST_TEMPLATE_ID")},
		{"a template that would be refused anyway", offer.Overrides{TemplateID: ptr("x y")}, fmt.Sprintf(text, "PROOF_HARVEST_TEMPLATE_ID")},
		{"a shorter deadline", offer.Overrides{DeadlineS: ptr(uint64(60))}, fmt.Sprintf(text, "PROOF_HARVEST_DEADLINE_SECS")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := executor().Plan(committedPin(), pinned, c.o)
			want(t, err, c.want)
		})
	}
}

func TestSpecificationARawTemplateUUIDIsRefusedInOfferAndOverrideUnderAnyAllowlist(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"f2f5e84c-3b09-4090-be83-1913eabd009e", "prism-recipe-v10", "proof-eval-000000000000", "proof-eval-78b614a1f51c x"} {
		for _, prefixes := range [][]string{nil, {"proof-eval-"}} {
			p := committedPin()
			p.AllowedLiumTemplatePrefixes = prefixes
			if err := executor(func(e *offer.Executor) { e.LiumTemplateID = id }).Validate(p); err == nil || !strings.HasPrefix(err.Error(), "lium_template_id ") {
				t.Errorf("offered, %s under %q: %v", id, prefixes, err)
			}
			_, err := executor().Plan(p, openTopic(), offer.Overrides{TemplateID: &id})
			if err == nil || !strings.HasPrefix(err.Error(), "eval executor offer: lium_template_id ") {
				t.Errorf("%s under %q: %v", id, prefixes, err)
			}
		}
	}
}

func TestR8_1TheOfferIsCheckedFirst(t *testing.T) {
	t.Parallel()
	bad := offer.Overrides{GPUCount: ptr(uint32(8))}
	elsewhere := openTopic(func(d *topic.Document) { d.EvalExecutor.RequireOfferCommitment = ptr(strings.Repeat("a", 64)) })
	_, err := (*offer.Executor)(nil).Plan(committedPin(), elsewhere, bad)
	want(t, err, "eval executor offer missing; refuse scoring")
	_, err = executor(func(e *offer.Executor) { e.Status = offer.Closed }).Plan(committedPin(), elsewhere, bad)
	want(t, err, "eval executor offer is closed; refuse scoring")
	_, err = executor().Plan(committedPin(), elsewhere, bad)
	want(t, err, "eval executor offer: open eval executor offer cannot serve topic eval_executor constraints")
	_, err = executor().Plan(&pin.Pin{GPUClass: "1x", MaxProofDeadlineSCeiling: 7200}, openTopic(), bad)
	want(t, err, "eval executor offer: the pin carries no eval_image_digest; it binds no executor")
	want(t, (*offer.Executor)(nil).Serves(elsewhere), "eval executor offer missing; refuse scoring")
	want(t, executor(func(e *offer.Executor) { e.Status = offer.Closed }).Serves(elsewhere), "eval executor offer is closed; refuse scoring")
}

func TestR8_1OverridesAreReadFromTheirVariables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, template, gpus, deadline, want, err string
	}{
		{"none", "", "", "", `{null null null}`, ""},
		{"blank is unset", " ", "\t", "\n", `{null null null}`, ""},
		{"all three, trimmed", " tmpl-1 ", "1 ", " 600", `{"tmpl-1" 1 600}`, ""},
		{"a GPU count that is no number", "", "one", "", "", "eval executor offer: PROOF_HARVEST_GPU_COUNT is set but not a usable harvest override"},
		{"a GPU count of 33 bits", "", "4294967296", "", "", "eval executor offer: PROOF_HARVEST_GPU_COUNT is set but not a usable harvest override"},
		{"a negative deadline", "", "", "-5", "", "eval executor offer: PROOF_HARVEST_DEADLINE_SECS is set but not a usable harvest override"},
		{"a deadline with a unit", "", "", "600s", "", "eval executor offer: PROOF_HARVEST_DEADLINE_SECS is set but not a usable harvest override"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := offer.ParseOverrides(func(name string) string {
				return map[string]string{"PROOF_HARVEST_TEMPLATE_ID": c.template, "PROOF_HARVEST_GPU_COUNT": c.gpus, "PROOF_HARVEST_DEADLINE_SECS": c.deadline}[name]
			})
			want(t, err, c.err)
			if err != nil {
				return
			}
			shown := func(v any) string { text, _ := json.Marshal(v); return string(text) }
			if got := fmt.Sprintf("{%s %s %s}", shown(o.TemplateID), shown(o.GPUCount), shown(o.DeadlineS)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestR8_1NoPlanLeavesThePinsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Uint64Range(0, 8000)
		c := planCase{offered: seconds.Draw(t, "offered")}
		if rapid.Bool().Draw(t, "topic tightens") {
			c.topic = ptr(seconds.Draw(t, "topic"))
		}
		if rapid.Bool().Draw(t, "override") {
			c.override.DeadlineS = ptr(seconds.Draw(t, "seconds"))
		}
		plan, err := c.plan()
		if err != nil {
			return
		}
		if plan.DeadlineS < 1 || plan.DeadlineS > 7200 || plan.GPUCount != 1 {
			t.Fatalf("%+v", plan)
		}
		if c.topic != nil && plan.DeadlineS > *c.topic {
			t.Fatalf("the topic allows %d s, the plan takes %d", *c.topic, plan.DeadlineS)
		}
		if changed := plan.DeadlineS != c.offered; changed != (plan.ConfigCommitment != plan.OfferCommitment) {
			t.Fatalf("%+v of an offer of %d s", plan, c.offered)
		}
	})
}

func FuzzParseOverrides(f *testing.F) {
	f.Add(" tmpl-1 ", "1", "600")
	f.Add("", "4294967296", "-5")
	f.Fuzz(func(t *testing.T, template, gpus, deadline string) {
		values := map[string]string{offer.TemplateVariable: template, offer.GPUVariable: gpus, offer.DeadlineVariable: deadline}
		o, err := offer.ParseOverrides(func(name string) string { return values[name] })
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") || o != (offer.Overrides{}) {
				t.Fatalf("%q with %+v", err, o)
			}
			return
		}
		set := func(value string) bool { return strings.TrimSpace(value) != "" }
		if set(template) != (o.TemplateID != nil) || set(gpus) != (o.GPUCount != nil) || set(deadline) != (o.DeadlineS != nil) {
			t.Fatalf("%q reads as %+v", values, o)
		}
		plan, err := executor().Plan(committedPin(), openTopic(), o)
		if err == nil && (plan.GPUCount != 1 || plan.DeadlineS < 1 || plan.DeadlineS > 7200 || !strings.Contains(plan.TemplateID, "78b614a1f51c")) {
			t.Fatalf("%+v", plan)
		}
	})
}
