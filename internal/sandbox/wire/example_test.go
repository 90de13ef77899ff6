package wire_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func ExampleDecode() {
	var h wire.Handle
	fmt.Println(wire.Decode([]byte(`{"topic_id":"dp-opt-01","vm-id":"dp-opt-01-0001"}`), &h))
	fmt.Println(wire.Decode([]byte(`{"topic_id":"dp-opt-01","vm_id":"dp-opt-01-0001"}`), &h), h)
	// Output:
	// /vm-id: unknown member; did you mean vm_id?
	// <nil> {dp-opt-01 dp-opt-01-0001}
}

// A host that ran artefact A cannot score artefact B with it.
func ExampleBindEvidence() {
	job := wire.Job{Kind: wire.Evaluate, RunRequest: &wire.RunRequest{TopicID: "dp-opt-01", SubmissionDigest: "5e", ArtifactDigest: "bb"}}
	output := wire.Output{Kind: wire.EvaluatedOutput, Report: &wire.RunReport{TopicID: "dp-opt-01", SubmissionDigest: "5e", ArtifactDigest: "BB"}}
	sister := wire.Attestation{TopicID: "dp-opt-01", SubmissionDigest: "5e", ArtifactDigest: "aa", Sandboxed: true}
	fmt.Println(wire.BindEvidence(&job, &output, &sister))
	// Output:
	// sister evidence names artifact_digest "aa", the paid job names "bb"
}
