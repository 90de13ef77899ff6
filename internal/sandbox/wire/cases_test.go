package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// TestLiteralCases plays every case of testdata/cases.json by its area.
func TestLiteralCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Area            string
			Input, Expected json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	areas := map[string]func(t *testing.T, input, expected json.RawMessage){
		"frame": frameCase, "api_version": versionCase, "sister_request": sisterCase, "agent_error_status": statusCase,
	}
	played := map[string]int{}
	for _, c := range file.Cases {
		play, ok := areas[c.Area]
		if !ok {
			t.Errorf("nothing plays the area %s", c.Area)
			continue
		}
		played[c.Area]++
		t.Run(c.Area+" "+string(c.Input), func(t *testing.T) { play(t, c.Input, c.Expected) })
	}
	if len(file.Cases) != 11 || len(played) != len(areas) {
		t.Errorf("%d cases of %d areas", len(file.Cases), len(played))
	}
}

func scan[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func frameCase(t *testing.T, input, expected json.RawMessage) {
	if want := "u32 big-endian length then JSON; over 268435456 bytes refused"; scan[string](t, expected) != want {
		t.Fatalf("another expectation: %s", expected)
	}
	in := scan[struct {
		Type, TopicID, VMID string
		APIVersion          uint32
	}](t, bytes.ReplaceAll(input, []byte("_"), nil))
	message := wire.Hello{APIVersion: in.APIVersion, TopicID: in.TopicID, VMID: in.VMID}
	text, err := wire.EncodeMessage(message)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, input); err != nil || string(text) != want.String() {
		t.Errorf("%s, want %s, %v", text, want.String(), err)
	}
	var stream bytes.Buffer
	if err := wire.WriteFrame(&stream, text); err != nil {
		t.Fatal(err)
	}
	raw := stream.Bytes()
	if binary.BigEndian.Uint32(raw) != uint32(len(text)) || !bytes.Equal(raw[4:], text) {
		t.Errorf("framed as %q", raw)
	}
	body, err := wire.ReadFrame(&stream, wire.MaxFrame)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wire.DecodeToRLM(body); err != nil || got != wire.Message(message) {
		t.Errorf("read as %v, %v", got, err)
	}
	long := binary.BigEndian.AppendUint32(nil, 268435456+1)
	if _, err := wire.ReadFrame(bytes.NewReader(long), wire.MaxFrame); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("one byte too long: %v", err)
	}
}

func versionCase(t *testing.T, input, expected json.RawMessage) {
	want, found := strings.CutPrefix(scan[string](t, expected), "refused: ")
	if err := wire.CheckAPIVersion(scan[uint32](t, input)); !found || err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func statusCase(t *testing.T, input, expected json.RawMessage) {
	if got := wire.Code(scan[string](t, input)).Status(); got != scan[int](t, expected) {
		t.Errorf("%d, want %s", got, expected)
	}
}

// sisterCase plays what the wire and the binding of evidence decide of a request
// for a sister; what becomes of its bytes is the hypervisor's.
func sisterCase(t *testing.T, input, expected json.RawMessage) {
	want := scan[string](t, expected)
	if want != "refused" && want != `refused, text contains "the paid job names"` {
		t.Fatalf("another expectation: %s", want)
	}
	job, output := &wire.Job{Kind: wire.Evaluate, RunRequest: request(), RulesVersion: 1}, &wire.Output{Kind: wire.EvaluatedOutput, Report: report()}
	sister := attestation()
	if err := wire.BindEvidence(job, output, sister); err != nil {
		t.Fatal(err)
	}
	var err error
	switch in := scan[string](t, input); in {
	case "other topic":
		sister.TopicID += "-other"
		err = wire.BindEvidence(job, output, sister)
	case "artifact_digest other than the job":
		sister.ArtifactDigest = strings.Repeat("b", 64)
		err = wire.BindEvidence(job, output, sister)
	case "bad base64":
		good := again(t, wire.SisterRequest{
			TopicID: "ab", SubmissionDigest: "5", ArtifactDigest: "a", ArtifactTar: wire.StagedFile{Name: wire.ArtifactTar, Bytes: []byte{1}},
			Entrypoint: []string{"e"}, DeadlineS: 1, Params: map[string]string{},
		})
		for _, bad := range []string{"AQ", "AQ=", "A===", "A-_=", " AQ==", "AR=="} {
			var r wire.SisterRequest
			if err = wire.Decode([]byte(strings.Replace(good, `"AQ=="`, `"`+bad+`"`, 1)), &r); err == nil || !strings.Contains(err.Error(), "/artifact_tar/bytes_b64") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	default:
		t.Fatalf("nothing plays %q", in)
	}
	if err == nil || strings.Contains(want, "names") && !strings.Contains(err.Error(), "the paid job names") {
		t.Errorf("%v, want it %s", err, want)
	}
}
