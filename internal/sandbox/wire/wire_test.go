package wire_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func ptr[T any](v T) *T { return &v }

func request() *wire.RunRequest {
	return &wire.RunRequest{
		SchemaVersion: 1, TopicID: "dp-opt-01", CustomID: "holdout_error", Primary: "holdout_error", Direction: "min", EpsilonRel: 0.0003,
		SubmissionDigest: strings.Repeat("5", 64), ArtifactDigest: strings.Repeat("a", 64), ArtifactURI: ptr("https://example.org/a.tar"),
		Claim: "better & <faster>", FlopsBudget: 2000000000000000000, DeclaredFlops: 18446744073709551615,
		Constraints: jsontext.Value(`{"no_nvlink":true}`), RulesVersion: 1, RulesDigest: strings.Repeat("1", 64), Seed: 42,
		Judge:   wire.JudgeRef{OfferID: "judge-1", ModelRef: "vendor/model", ConfigCommitment: strings.Repeat("c", 64)},
		Sandbox: wire.Sandbox{FirecrackerRequired: true, DeadlineS: 600},
	}
}

func rules() *wire.RuleSet {
	return &wire.RuleSet{TopicID: "dp-opt-01", Version: 1, Source: "topic_document", Rules: []wire.Rule{{ID: "same_seed", Text: "The seed is the topic's."}}}
}

func checklist() *wire.Checklist {
	return &wire.Checklist{
		SchemaVersion: 1, TopicID: "dp-opt-01", RulesVersion: 1, RulesDigest: strings.Repeat("1", 64), SubmissionDigest: strings.Repeat("5", 64),
		ArtifactDigest: strings.Repeat("a", 64), Items: []wire.ChecklistItem{{ID: "same_seed", Pass: true, Evidence: "seed 42 in main.go"}},
	}
}

func report() *wire.RunReport {
	return &wire.RunReport{
		SchemaVersion: 1, TopicID: "dp-opt-01", CustomID: "holdout_error", SubmissionDigest: strings.Repeat("5", 64), ArtifactDigest: strings.Repeat("a", 64),
		RulesVersion: 1, PrimaryValue: ptr(0.125), ClaimHolds: true, Sandboxed: true, FlopsUsed: ptr[uint64](9007199254740993), Evidence: jsontext.Value(`{"loss":[1,0.5]}`),
	}
}

func attestation() *wire.Attestation {
	return &wire.Attestation{
		SisterVMID: "dp-opt-01-0001-s1", ImageDigest: "sha256:" + strings.Repeat("e", 64), TopicID: "dp-opt-01", SubmissionDigest: strings.Repeat("5", 64),
		ArtifactDigest: strings.Repeat("a", 64), Sandboxed: true, Network: "none", FlopsUsed: ptr[uint64](9007199254740993), WallMS: 1500, ExitCode: ptr[int32](0),
	}
}

func jobs() map[string]wire.Job {
	return map[string]wire.Job{
		"propose_rules without rules yet": {Kind: wire.ProposeRules, Topic: jsontext.Value(`{"id":"dp-opt-01"}`)},
		"propose_rules over version 3":    {Kind: wire.ProposeRules, Topic: jsontext.Value(`{"id":"dp-opt-01"}`), CurrentVersion: ptr[uint32](3)},
		"baseline":                        {Kind: wire.Baseline, RunRequest: request()},
		"inspect":                         {Kind: wire.Inspect, RunRequest: request(), Rules: rules()},
		"evaluate":                        {Kind: wire.Evaluate, RunRequest: request(), ChecklistDigest: strings.Repeat("d", 64), RulesVersion: 1},
		"archive":                         {Kind: wire.Archive, TopicID: "dp-opt-01"},
	}
}

func outputs() map[string]wire.Output {
	return map[string]wire.Output{
		"rules":     {Kind: wire.RulesOutput, Rules: rules().Rules},
		"baseline":  {Kind: wire.BaselineOutput, Report: report()},
		"inspected": {Kind: wire.InspectedOutput, Checklist: checklist(), Artifact: []wire.File{{Path: "a/b.go", Bytes: wire.Bytes("pa\x00\xff"), Executable: true}, {Path: "empty", Bytes: wire.Bytes{}}}},
		"evaluated": {Kind: wire.EvaluatedOutput, Report: report(), Logs: []wire.Log{{Name: "stdout.log", Bytes: wire.Bytes("ok\n")}}},
		"archived":  {Kind: wire.ArchivedOutput},
	}
}

// again encodes a value, reads it back strictly and leniently, and encodes it once more.
func again[T any](t *testing.T, in T) string {
	t.Helper()
	text, err := wire.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	var out, plain T
	if err := wire.Decode(text, &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Fatal(diff)
	}
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, plain); diff != "" {
		t.Fatal("json.Unmarshal: " + diff)
	}
	second, err := wire.Encode(out)
	if err != nil || string(second) != string(text) {
		t.Fatalf("%v: encoded again it is\n%s, not\n%s", err, second, text)
	}
	return string(text)
}

func TestSection21JobsComeBackAsTheyWere(t *testing.T) {
	for name, job := range jobs() {
		t.Run(name, func(t *testing.T) {
			text := again(t, wire.JobRequest{TopicID: "dp-opt-01", Job: job})
			if !strings.HasPrefix(text, `{"topic_id":"dp-opt-01","job":{"job":"`+string(job.Kind)+`",`) {
				t.Error(text)
			}
			if job.TopicOf() != "dp-opt-01" {
				t.Errorf("topic is %q", job.TopicOf())
			}
		})
	}
}

func TestSection21OutputsComeBackAsTheyWere(t *testing.T) {
	for name, output := range outputs() {
		t.Run(name, func(t *testing.T) {
			again(t, wire.JobResponse{TopicID: "dp-opt-01", VMID: "dp-opt-01-0001", Output: output, Sister: attestation()})
			again(t, wire.JobResponse{TopicID: "dp-opt-01", VMID: "dp-opt-01-0001", Output: output})
		})
	}
}

func TestSection22BodiesComeBackAsTheyWere(t *testing.T) {
	spec := wire.Spec{TopicID: "dp-opt-01", Template: wire.Template{ImageDigest: "sha256:" + strings.Repeat("0", 64), VCPUs: 4, MemMiB: 8192}, Sandbox: wire.Sandbox{DeadlineS: 600}, Retain: wire.Keep}
	again(t, wire.CreateRequest{Spec: spec})
	again(t, wire.Record{Handle: wire.Handle{TopicID: "dp-opt-01", VMID: "dp-opt-01-0001"}, ImageDigest: spec.Template.ImageDigest, VCPUs: 4, MemMiB: 8192, Retain: wire.Destroy, State: wire.Running})
	again(t, wire.TeardownRequest{TopicID: "dp-opt-01", Policy: wire.Destroy})
	again(t, wire.TeardownResponse{TopicID: "dp-opt-01", VMID: "dp-opt-01-0001", State: wire.Destroyed, Confirmed: true})
	again(t, wire.Health{APIVersion: 1, Ready: false, Reason: "kernel missing", Hypervisor: "firecracker", VMs: 2})
	again(t, wire.Error{Code: wire.CodeBusy, Text: "another job holds the VM"})
}

func TestSection16FieldOrderAndSpelling(t *testing.T) {
	r := request()
	r.ArtifactURI, r.Sandbox.FirecrackerRequired = nil, false
	text, err := wire.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema_version":1,"topic_id":"dp-opt-01","custom_id":"holdout_error","primary":"holdout_error","direction":"min","epsilon_rel":0.0003,` +
		`"submission_digest":"` + strings.Repeat("5", 64) + `","artifact_digest":"` + strings.Repeat("a", 64) + `","artifact_uri":null,"claim":"better & <faster>",` +
		`"flops_budget":2000000000000000000,"declared_flops":18446744073709551615,"constraints":{"no_nvlink":true},"rules_version":1,"rules_digest":"` + strings.Repeat("1", 64) +
		`","seed":42,"judge":{"offer_id":"judge-1","model_ref":"vendor/model","config_commitment":"` + strings.Repeat("c", 64) + `"},"sandbox":{"firecracker_required":false,"deadline_s":600},"executor_commitment":null}`
	if string(text) != want {
		t.Errorf("got\n%s, want\n%s", text, want)
	}
	text, err = wire.Encode(outputs()["inspected"])
	if err != nil || !strings.Contains(string(text), `"artifact":[{"path":"a/b.go","bytes":[112,97,0,255],"executable":true},{"path":"empty","bytes":[]}]`) {
		t.Errorf("%v %s", err, text)
	}
}

func TestDecodeRefusesWithPointerAndReason(t *testing.T) {
	const handle = `"handle":{"topic_id":"ab","vm_id":"ab-0001"}`
	for name, c := range map[string]struct {
		into    any
		text    string
		pointer string
		reason  string
	}{
		"a member that is unknown":            {new(wire.Handle), `{"topic_id":"ab","vm_id":"x","host":"/srv"}`, "/host", "unknown member"},
		"a member in the wrong case":          {new(wire.Handle), `{"topic_id":"ab","VM_ID":"x"}`, "/VM_ID", "did you mean vm_id?"},
		"a member twice":                      {new(wire.Handle), `{"topic_id":"ab","topic_id":"cd","vm_id":"x"}`, "/topic_id", "twice"},
		"a member that is missing":            {new(wire.Handle), `{"topic_id":"ab"}`, "", "lacks the member vm_id"},
		"a null that is not optional":         {new(wire.Handle), `{"topic_id":null,"vm_id":"x"}`, "/topic_id", "is null, want a string"},
		"a number for a string":               {new(wire.Handle), `{"topic_id":7,"vm_id":"x"}`, "/topic_id", "want a string"},
		"a string for a number":               {new(wire.Template), `{"image_digest":"x","vcpus":"4","mem_mib":1}`, "/vcpus", "is a string, want an integer"},
		"an integer with a point":             {new(wire.Template), `{"image_digest":"x","vcpus":4.0,"mem_mib":1}`, "/vcpus", "want an integer"},
		"an integer with an exponent":         {new(wire.Sandbox), `{"firecracker_required":true,"deadline_s":1e3}`, "/deadline_s", "want an integer"},
		"an integer below zero":               {new(wire.Template), `{"image_digest":"x","vcpus":-4,"mem_mib":1}`, "/vcpus", "want an integer from 0 to 4294967295"},
		"an integer that does not fit":        {new(wire.Template), `{"image_digest":"x","vcpus":4,"mem_mib":4294967296}`, "/mem_mib", "want an integer"},
		"an integer beyond 64 bits":           {new(wire.Sandbox), `{"firecracker_required":true,"deadline_s":18446744073709551616}`, "/deadline_s", "to 18446744073709551615"},
		"a word for true":                     {new(wire.Sandbox), `{"firecracker_required":"true","deadline_s":1}`, "/firecracker_required", "want true or false"},
		"a state that is none":                {new(wire.Record), `{` + handle + `,"image_digest":"x","vcpus":1,"mem_mib":1,"sandbox":{"firecracker_required":true,"deadline_s":1},"retain":"destroy","state":"paused"}`, "/state", "want running"},
		"a policy that is none":               {new(wire.TeardownRequest), `{"topic_id":"ab","policy":"Retain"}`, "/policy", "want destroy or retain"},
		"an empty policy":                     {new(wire.TeardownRequest), `{"topic_id":"ab","policy":""}`, "/policy", "want destroy or retain"},
		"an array for an object":              {new(wire.Handle), `[]`, "", "is an array, want an object"},
		"an object for an array":              {new(wire.RuleSet), `{"topic_id":"ab","version":1,"source":"rlm","rules":{}}`, "/rules", "is an object, want an array"},
		"a fault deep inside":                 {new(wire.RuleSet), `{"topic_id":"ab","version":1,"source":"rlm","rules":[{"id":"a","text":"t"},{"id":"b","text":3}]}`, "/rules/1/text", "want a string"},
		"two texts":                           {new(wire.Handle), `{"topic_id":"ab","vm_id":"x"}{}`, "", "something follows"},
		"a text cut short":                    {new(wire.Handle), `{"topic_id":"ab","vm_`, "", "ends before its value"},
		"no text":                             {new(wire.Handle), ``, "", "ends before its value"},
		"no JSON":                             {new(wire.Handle), `{"topic_id":nope}`, "/topic_id", "invalid JSON at byte"},
		"text that is not UTF-8":              {new(wire.Handle), "{\"topic_id\":\"\xff\",\"vm_id\":\"x\"}", "/topic_id", "invalid JSON"},
		"a job without its tag":               {new(wire.Job), `{"topic_id":"ab"}`, "", "lacks the member job"},
		"a job of no kind":                    {new(wire.Job), `{"job":"shell","topic_id":"ab"}`, "/job", "want propose_rules"},
		"a job with a member of another":      {new(wire.Job), `{"job":"archive","topic_id":"ab","rules_version":1}`, "", "a job archive has no member rules_version"},
		"a job that lacks a member":           {new(wire.Job), `{"job":"archive"}`, "", "a job archive lacks the member topic_id"},
		"a job whose request is null":         {new(wire.Job), `{"job":"baseline","request":null}`, "", "request is null"},
		"a job whose topic is a string":       {new(wire.Job), `{"job":"propose_rules","topic":"ab"}`, "", "topic is not a document"},
		"an output without its tag":           {new(wire.Output), `{"body":[]}`, "", "lacks the member output"},
		"an output of no kind":                {new(wire.Output), `{"output":"shell","body":[]}`, "/output", "want rules"},
		"an output without its body":          {new(wire.Output), `{"output":"rules"}`, "", "an output rules lacks the member body"},
		"an archived output with a body":      {new(wire.Output), `{"output":"archived","body":{}}`, "/body", "has no body"},
		"an output with a third member":       {new(wire.Output), `{"output":"archived","bodies":{}}`, "/bodies", "unknown member"},
		"a body before its tag":               {new(wire.Output), `{"body":[{"id":"a"}],"output":"rules"}`, "/body/0", "lacks the member text"},
		"a byte above 255":                    {new(wire.File), `{"path":"a","bytes":[1,256]}`, "/bytes", "element 1 is not an integer from 0 to 255"},
		"a byte below 0":                      {new(wire.File), `{"path":"a","bytes":[-1]}`, "/bytes", "element 0"},
		"a byte with a point":                 {new(wire.File), `{"path":"a","bytes":[1.0]}`, "/bytes", "element 0"},
		"a byte that is null":                 {new(wire.File), `{"path":"a","bytes":[3,null]}`, "/bytes", "element 1"},
		"bytes within bytes":                  {new(wire.File), `{"path":"a","bytes":[3,[4]]}`, "/bytes", "element 1"},
		"bytes as base64":                     {new(wire.File), `{"path":"a","bytes":"YQ=="}`, "/bytes", "want an array of integers"},
		"evidence nested without end":         {new(wire.RunReport), `{"evidence":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, "/evidence", "nested deeper"},
		"a request of another schema":         {new(wire.RunRequest), strings.Replace(encoded(t, request()), `"schema_version":1`, `"schema_version":2`, 1), "", "schema_version 2, this build reads 1"},
		"a request with no direction":         {new(wire.RunRequest), strings.Replace(encoded(t, request()), `"min"`, `"up"`, 1), "", "direction"},
		"a request whose constraints are not": {new(wire.RunRequest), strings.Replace(encoded(t, request()), `{"no_nvlink":true}`, `null`, 1), "", "constraints"},
	} {
		t.Run(name, func(t *testing.T) {
			err := wire.Decode([]byte(c.text), c.into)
			var fault *wire.DecodeError
			if !errors.As(err, &fault) || fault.Pointer != c.pointer || !strings.Contains(fault.Reason, c.reason) {
				t.Errorf("got %q, want %q at %q", err, c.reason, c.pointer)
			}
		})
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := wire.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
