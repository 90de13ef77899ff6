package wire_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestSection23BindEvidence(t *testing.T) {
	type evidence struct {
		job    wire.Job
		output wire.Output
		sister *wire.Attestation
	}
	good := func() *evidence {
		return &evidence{wire.Job{Kind: wire.Evaluate, RunRequest: request(), RulesVersion: 1}, wire.Output{Kind: wire.EvaluatedOutput, Report: report()}, attestation()}
	}
	for name, c := range map[string]struct {
		change func(*evidence)
		want   string
	}{
		"a report and a sister of the job bind":              {func(*evidence) {}, ""},
		"a report without a sister binds":                    {func(e *evidence) { e.sister = nil }, ""},
		"white space and case of the artefact do not matter": {func(e *evidence) { e.output.Report.ArtifactDigest = " " + strings.Repeat("A", 64) + "\n" }, ""},
		"white space of the submission does not matter":      {func(e *evidence) { e.sister.SubmissionDigest = strings.Repeat("5", 64) + " " }, ""},
		"case of the submission matters": {func(e *evidence) {
			e.job.RunRequest.SubmissionDigest, e.sister = "ab", nil
			e.output.Report.SubmissionDigest = "AB"
		}, `report names submission_digest "AB", the paid job names "ab"`},
		"white space of the topic matters":            {func(e *evidence) { e.output.Report.TopicID = "dp-opt-01 " }, `report names topic_id "dp-opt-01 ", the paid job names "dp-opt-01"`},
		"a report of another artefact is named":       {func(e *evidence) { e.output.Report.ArtifactDigest = "bb" }, `report names artifact_digest "bb", the paid job names "` + strings.Repeat("a", 64) + `"`},
		"a sister that ran another artefact is named": {func(e *evidence) { e.sister.ArtifactDigest = "bb" }, `sister evidence names artifact_digest "bb", the paid job names "` + strings.Repeat("a", 64) + `"`},
		"a sister of another submission is named":     {func(e *evidence) { e.sister.SubmissionDigest = "66" }, `sister evidence names submission_digest "66", the paid job names "` + strings.Repeat("5", 64) + `"`},
		"a sister of another topic is named":          {func(e *evidence) { e.sister.TopicID = "other" }, `sister evidence names topic_id "other", the paid job names "dp-opt-01"`},
		"the report is looked at before the sister":   {func(e *evidence) { e.output.Report.ArtifactDigest, e.sister.TopicID = "bb", "other" }, `report names artifact_digest`},
		"the topic is looked at first":                {func(e *evidence) { e.sister.ArtifactDigest, e.sister.TopicID = "bb", "other" }, `sister evidence names topic_id`},
		"a baseline binds as well": {func(e *evidence) {
			e.job.Kind, e.output.Kind, e.output.Report.TopicID = wire.Baseline, wire.BaselineOutput, "x"
		}, `report names topic_id`},
		"an output of another kind binds nothing":                {func(e *evidence) { e.output.Kind = wire.BaselineOutput }, "topic-vm returned the wrong output for evaluate"},
		"an output without its report binds nothing":             {func(e *evidence) { e.output.Report = nil }, "topic-vm returned the wrong output for evaluate"},
		"a job without a request binds nothing":                  {func(e *evidence) { e.job.RunRequest = nil }, "topic-vm returned the wrong output for evaluate"},
		"an inspection with a sister is refused":                 {func(e *evidence) { e.job.Kind = wire.Inspect }, "job inspect runs no miner code, and comes with sister evidence"},
		"a proposal of rules with a sister is refused":           {func(e *evidence) { e.job.Kind = wire.ProposeRules }, "job propose_rules runs no miner code"},
		"an archive with a sister is refused":                    {func(e *evidence) { e.job.Kind = wire.Archive }, "job archive runs no miner code"},
		"an inspection without a sister binds whatever it holds": {func(e *evidence) { e.job.Kind, e.sister = wire.Inspect, nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := good()
			c.change(e)
			err := wire.BindEvidence(&e.job, &e.output, e.sister)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSection22StampIsTheHostsWord(t *testing.T) {
	for name, c := range map[string]struct {
		sister    *wire.Attestation
		sandboxed bool
		flops     *uint64
	}{
		"a sister that ran sandboxed":         {attestation(), true, ptr[uint64](9007199254740993)},
		"no sister":                           {nil, false, nil},
		"a sister that was not isolated":      {&wire.Attestation{FlopsUsed: ptr[uint64](7)}, false, ptr[uint64](7)},
		"a sister that measured nothing":      {&wire.Attestation{Sandboxed: true}, true, nil},
		"a sister that measured that nothing": {&wire.Attestation{Sandboxed: true, FlopsUsed: ptr[uint64](0)}, true, ptr[uint64](0)},
	} {
		for _, kind := range []wire.OutputKind{wire.BaselineOutput, wire.EvaluatedOutput} {
			t.Run(name+" over a claim of the other, "+string(kind), func(t *testing.T) {
				r := report()
				r.Sandboxed, r.FlopsUsed = !c.sandboxed, ptr[uint64](1)
				wire.Stamp(&wire.Output{Kind: kind, Report: r}, c.sister)
				if r.Sandboxed != c.sandboxed || (r.FlopsUsed == nil) != (c.flops == nil) || c.flops != nil && *r.FlopsUsed != *c.flops {
					t.Errorf("sandboxed %v, flops %v", r.Sandboxed, r.FlopsUsed)
				}
			})
		}
	}
	t.Run("the report does not share the attestation's memory", func(t *testing.T) {
		r, sister := report(), attestation()
		wire.Stamp(&wire.Output{Kind: wire.EvaluatedOutput, Report: r}, sister)
		*sister.FlopsUsed = 1
		if *r.FlopsUsed == 1 {
			t.Error("it does")
		}
	})
	t.Run("an output without a report is left alone", func(t *testing.T) {
		o := wire.Output{Kind: wire.ArchivedOutput}
		wire.Stamp(&o, attestation())
		if o.Report != nil {
			t.Error("it is not")
		}
	})
}

func TestSection21EachJobHasItsOutput(t *testing.T) {
	pairs := map[wire.JobKind]wire.OutputKind{
		wire.ProposeRules: "rules", wire.Baseline: "baseline", wire.Inspect: "inspected", wire.Evaluate: "evaluated", wire.Archive: "archived",
	}
	for job, output := range pairs {
		for _, other := range pairs {
			err := wire.CheckOutput(&wire.Job{Kind: job}, &wire.Output{Kind: other})
			if (err == nil) != (other == output) {
				t.Errorf("%s with output %s: %v", job, other, err)
			}
			if err != nil && err.Error() != "topic-vm returned the wrong output for "+string(job) {
				t.Error(err)
			}
		}
		if paid := (&wire.Job{Kind: job}).Paid(); paid != (job == "baseline" || job == "evaluate") {
			t.Errorf("%s: paid is %v", job, paid)
		}
	}
	if err := wire.CheckOutput(&wire.Job{}, &wire.Output{}); err == nil {
		t.Error("no job and no output match")
	}
}

func TestSection22CodesHaveTheirStatus(t *testing.T) {
	for code, status := range map[wire.Code]int{
		"unauthorized": 401, "bad_spec": 400, "not_found": 404, "topic_mismatch": 409, "already_exists": 409, "busy": 409,
		"backend": 502, "wrong_output": 502, "evidence_mismatch": 502, "not_ready": 503, "teapot": 0,
	} {
		if got := code.Status(); got != status {
			t.Errorf("%s: %d %s, want %d", code, got, http.StatusText(got), status)
		}
	}
}

func TestSection21SpecIsValidated(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wire.Spec)
		field  string
	}{
		"the smallest is good": {func(s *wire.Spec) { s.TopicID, s.Template.VCPUs, s.Template.MemMiB = "ab", 1, 512 }, ""},
		"the largest is good": {func(s *wire.Spec) {
			s.TopicID, s.Template.VCPUs, s.Template.MemMiB = strings.Repeat("a", 63), 64, 131072
		}, ""},
		"no policy is destroy":          {func(s *wire.Spec) { s.Retain = "" }, ""},
		"a topic of one letter":         {func(s *wire.Spec) { s.TopicID = "a" }, "topic_id"},
		"a topic of 64 letters":         {func(s *wire.Spec) { s.TopicID = strings.Repeat("a", 64) }, "topic_id"},
		"a topic that climbs":           {func(s *wire.Spec) { s.TopicID = "../a" }, "topic_id"},
		"a topic in upper case":         {func(s *wire.Spec) { s.TopicID = "Ab" }, "topic_id"},
		"a topic with a hyphen first":   {func(s *wire.Spec) { s.TopicID = "-ab" }, "topic_id"},
		"no image":                      {func(s *wire.Spec) { s.Template.ImageDigest = "" }, "image_digest"},
		"an image without its hash":     {func(s *wire.Spec) { s.Template.ImageDigest = strings.Repeat("0", 64) }, "image_digest"},
		"an image in upper case":        {func(s *wire.Spec) { s.Template.ImageDigest = "sha256:" + strings.Repeat("A", 64) }, "image_digest"},
		"an image one digit short":      {func(s *wire.Spec) { s.Template.ImageDigest = "sha256:" + strings.Repeat("0", 63) }, "image_digest"},
		"no processor":                  {func(s *wire.Spec) { s.Template.VCPUs = 0 }, "vcpus"},
		"65 processors":                 {func(s *wire.Spec) { s.Template.VCPUs = 65 }, "vcpus"},
		"511 MiB":                       {func(s *wire.Spec) { s.Template.MemMiB = 511 }, "mem_mib"},
		"131073 MiB":                    {func(s *wire.Spec) { s.Template.MemMiB = 131073 }, "mem_mib"},
		"a policy that is none":         {func(s *wire.Spec) { s.Retain = "keep" }, "retain"},
		"the topic before the template": {func(s *wire.Spec) { s.TopicID, s.Template = "", wire.Template{} }, "topic_id"},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.Spec{TopicID: "dp-opt-01", Template: wire.Template{ImageDigest: "sha256:" + strings.Repeat("0", 64), VCPUs: 4, MemMiB: 8192}, Retain: wire.Keep}
			c.change(&s)
			err := s.Validate()
			if c.field == "" && err != nil || c.field != "" && (err == nil || err.Error() != "topic-vm spec: "+c.field+" is missing or out of range") {
				t.Errorf("got %v, want a refusal of %q", err, c.field)
			}
		})
	}
	t.Run("a spec without a policy reads as destroy, and is written so", func(t *testing.T) {
		var s wire.Spec
		text := `{"topic_id":"ab","template":{"image_digest":"x","vcpus":4,"mem_mib":8192},"sandbox":{"firecracker_required":false,"deadline_s":0}}`
		if err := wire.Decode([]byte(text), &s); err != nil || s.Retain != wire.Destroy {
			t.Fatal(err, s.Retain)
		}
		s.Retain = ""
		if got := encoded(t, s); !strings.HasSuffix(got, `,"retain":"destroy"}`) {
			t.Error(got)
		}
	})
}

func TestVMIDsMayBecomeAPath(t *testing.T) {
	for id, good := range map[string]bool{
		"dp-opt-01-0001": true, "dp-opt-01-0001-s1": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "..": false, "a/b": false, "-a": false, "a b": false, "a\n": false, "é": false,
	} {
		if wire.VMID(id) != good {
			t.Errorf("%q: want %v", id, good)
		}
	}
	if got := wire.RunPath("a/b?c"); got != "/v1/vms/a%2Fb%3Fc/jobs" {
		t.Error(got)
	}
}

func TestJobsAreCoherent(t *testing.T) {
	for name, job := range jobs() {
		if err := job.Coherent(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	other, older := rules(), rules()
	other.TopicID, older.Version = "other", 9
	for name, job := range map[string]wire.Job{
		"rules of another topic":        {Kind: wire.Inspect, RunRequest: request(), Rules: other},
		"rules of another version":      {Kind: wire.Inspect, RunRequest: request(), Rules: older},
		"evaluation of another version": {Kind: wire.Evaluate, RunRequest: request(), RulesVersion: 2},
	} {
		if job.Coherent() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTopicOfAJobThatNamesNone(t *testing.T) {
	for name, job := range map[string]wire.Job{
		"no kind":                       {TopicID: "ab"},
		"no request":                    {Kind: wire.Evaluate},
		"a document without id":         {Kind: wire.ProposeRules, Topic: []byte(`{"topic":{"id":"ab"}}`)},
		"a document whose id is number": {Kind: wire.ProposeRules, Topic: []byte(`{"id":3}`)},
		"a document cut short":          {Kind: wire.ProposeRules, Topic: []byte(`{"a":[1`)},
		"no document":                   {Kind: wire.ProposeRules},
	} {
		if got := job.TopicOf(); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestEncodeRefusesHalfAJobOrOutput(t *testing.T) {
	for name, v := range map[string]any{
		"a job of no kind":           wire.Job{Kind: "shell"},
		"a job without request":      wire.Job{Kind: wire.Baseline},
		"a job without rules":        wire.Job{Kind: wire.Inspect, RunRequest: request()},
		"a job without topic":        wire.Job{Kind: wire.ProposeRules},
		"an output of no kind":       wire.Output{},
		"an output without report":   wire.Output{Kind: wire.EvaluatedOutput},
		"an output with no tree":     wire.Output{Kind: wire.InspectedOutput},
		"a message with half an end": wire.Done{},
	} {
		if text, err := wire.Encode(v); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
	if _, err := wire.EncodeMessage(wire.RunJob{}); err == nil {
		t.Error("a message with no job is written")
	}
}
