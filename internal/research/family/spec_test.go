package family

import (
	"strings"
	"testing"
)

// TestDecision21CodesThatThisBuildDoesNotKnowAreOther: a document of a newer image is
// read, its unknown codes as other, which is recorded and fails no gate; a known code
// beside them still does.
func TestDecision21CodesThatThisBuildDoesNotKnowAreOther(t *testing.T) {
	for _, c := range []struct{ codes, want string }{
		{`["brand_new"]`, ""},
		{`["brand_new","Fake_Optimizer","other"]`, ""},
		{`["brand_new","fake_optimizer"]`, "Cheat { code: FakeOptimizer }"},
	} {
		d, err := ParseDocument([]byte(strings.Replace(document, `"cheat_codes":[]`, `"cheat_codes":`+c.codes, 1)))
		if err != nil {
			t.Fatalf("%s: %v", c.codes, err)
		}
		if codes := d.Agent.CheatCodes; len(codes) == 0 || codes[len(codes)-1] != Other {
			t.Errorf("%s is read as %v", c.codes, codes)
		}
		in := nllInput(2.9)
		in.Topic.FlopsBudget, in.Agent = d.Agent.FlopsUsed, d.Agent
		if got := failed(Judge(in)); got != c.want {
			t.Errorf("%s fails %q, want %q", c.codes, got, c.want)
		}
	}
}

// TestSpecificationAnAgentsVerdictIsTheImagesAndDecidesNoFigure: the verdict of the
// agent may reject a run and can win none. What wins is measured by the harness.
func TestSpecificationAnAgentsVerdictIsTheImagesAndDecidesNoFigure(t *testing.T) {
	for name, in := range map[string]Input{"nll": nllInput(2.99), "throughput": throughputInput(3, 104), "custom": customInput(ptr(0.52))} {
		in.Agent.ClaimHoldsPublic, in.Agent.Rationale = true, "the claim holds: 1.0"
		if v := Judge(in); v.Pass || v.Lattice != 0 {
			t.Errorf("%s: a clean agent wins what the harness measured as a miss", name)
		}
	}
}
