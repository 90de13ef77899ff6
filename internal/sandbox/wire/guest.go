package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
)

// The vsock ports of the guest protocol (R§23.1).
const (
	RLMPort    = 5000 // the host speaks to the topic VM
	SisterPort = 5001 // the topic VM asks the host for a sister
	MinerPort  = 5002 // the host speaks to a sister, which speaks first
)

// ArtifactTar is the name of the one file that a [SisterRequest] and a
// [MinerRun] carry.
const ArtifactTar = "artifact.tar"

// StagedFile is a file on its way into or out of a guest. Its bytes may be an
// owner's key: printed or logged, it shows its name and length only.
type StagedFile struct {
	Name  string `json:"name"`
	Bytes []byte `json:"bytes_b64"` // standard base64 with padding
}

// String shows no content.
func (f StagedFile) String() string { return fmt.Sprintf("%q (%d bytes)", f.Name, len(f.Bytes)) }

// GoString shows no content.
func (f StagedFile) GoString() string { return f.String() }

// LogValue shows no content.
func (f StagedFile) LogValue() slog.Value { return slog.StringValue(f.String()) }

// LogValue shows no content, also to handlers that write JSON.
func (m StageSecrets) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(m.Files)) }

// Message is one message of the guest protocol; its tag is the member type.
type Message interface{ tag() string }

// The messages of [RLMPort], host to guest.
type (
	// Hello opens a connection to a topic VM.
	Hello struct {
		APIVersion uint32 `json:"api_version"`
		TopicID    string `json:"topic_id"`
		VMID       string `json:"vm_id"`
	}
	// StageSecrets hands over the owner's files.
	StageSecrets struct {
		Files []StagedFile `json:"files"`
	}
	// RunJob gives the VM a job.
	RunJob struct {
		Job Job `json:"job"`
	}
)

// The messages of [RLMPort], guest to host.
type (
	// Ready answers Hello; on [MinerPort] it is the guest's first word.
	Ready struct {
		Agent      string `json:"agent"` // name and version of what runs in the guest
		APIVersion uint32 `json:"api_version"`
	}
	// Staged answers StageSecrets.
	Staged struct {
		Count uint32 `json:"count"`
	}
	// Done answers RunJob.
	Done struct {
		Output Output `json:"output"`
	}
	// Failed answers anything that could not be done, on MinerPort too.
	Failed struct {
		Error string `json:"error"`
	}
)

// SisterRequest asks the host to run the artefact of the paid job in a sister.
// It carries no tag.
type SisterRequest struct {
	TopicID          string            `json:"topic_id"`
	SubmissionDigest string            `json:"submission_digest"`
	ArtifactDigest   string            `json:"artifact_digest"`
	ArtifactTar      StagedFile        `json:"artifact_tar"`
	Entrypoint       []string          `json:"entrypoint"`
	DeadlineS        uint64            `json:"deadline_s"`
	DeclaredFlops    uint64            `json:"declared_flops"`
	Seed             uint64            `json:"seed"`
	Params           map[string]string `json:"params"`
}

// SisterResult is what came of a sister run.
type SisterResult struct {
	SisterVMID  string       `json:"sister_vm_id"`
	ImageDigest string       `json:"image_digest"`
	ExitCode    *int32       `json:"exit_code"` // nil: cut off, or never ran
	TimedOut    bool         `json:"timed_out"`
	StdoutTail  string       `json:"stdout_tail"`
	FlopsUsed   *uint64      `json:"flops_used"` // nil: nothing was measured
	FlopsMethod string       `json:"flops_method,omitzero"`
	WallMS      uint64       `json:"wall_ms"`
	Outputs     []StagedFile `json:"outputs"`
}

// The messages of [SisterPort], host to guest.
type (
	// Result answers a SisterRequest that was run.
	Result struct {
		Result SisterResult `json:"result"`
	}
	// Refused answers one that was not; nothing was booted.
	Refused struct {
		Error string `json:"error"`
	}
)

// The messages of [MinerPort] beside Ready and Failed.
type (
	// MinerRun tells a sister what to run.
	MinerRun struct {
		APIVersion    uint32            `json:"api_version"`
		ArtifactTar   StagedFile        `json:"artifact_tar"`
		Entrypoint    []string          `json:"entrypoint"`
		DeadlineS     uint64            `json:"deadline_s"`
		DeclaredFlops uint64            `json:"declared_flops"`
		Seed          uint64            `json:"seed"`
		Params        map[string]string `json:"params"`
	}
	// MinerDone tells what came of it.
	MinerDone struct {
		ExitCode    *int32       `json:"exit_code"`
		TimedOut    bool         `json:"timed_out"`
		StdoutTail  string       `json:"stdout_tail"`
		FlopsUsed   *uint64      `json:"flops_used"`
		FlopsMethod string       `json:"flops_method,omitzero"`
		Outputs     []StagedFile `json:"outputs"`
	}
)

func (Hello) tag() string        { return "hello" }
func (StageSecrets) tag() string { return "stage_secrets" }
func (RunJob) tag() string       { return "run" }
func (Ready) tag() string        { return "ready" }
func (Staged) tag() string       { return "staged" }
func (Done) tag() string         { return "done" }
func (Failed) tag() string       { return "failed" }
func (Result) tag() string       { return "result" }
func (Refused) tag() string      { return "refused" }
func (MinerRun) tag() string     { return "run" }
func (MinerDone) tag() string    { return "done" }

// EncodeMessage writes a message with its tag in front.
func EncodeMessage(m Message) ([]byte, error) {
	body, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode message %s: %w", m.tag(), err)
	}
	text := append([]byte(`{"type":"`), m.tag()...)
	return append(append(text, `",`...), body[1:]...), nil
}

// DecodeToRLM reads what a host says to a topic VM: a Hello, StageSecrets or
// RunJob. The error is a [*DecodeError], as for the four below.
func DecodeToRLM(frame []byte) (Message, error) {
	return decodeMessage(frame, Hello{}, StageSecrets{}, RunJob{})
}

// DecodeFromRLM reads what a topic VM answers: Ready, Staged, Done or Failed.
func DecodeFromRLM(frame []byte) (Message, error) {
	return decodeMessage(frame, Ready{}, Staged{}, Done{}, Failed{})
}

// DecodeSisterAnswer reads what a host answers to a [SisterRequest]: Result or
// Refused.
func DecodeSisterAnswer(frame []byte) (Message, error) {
	return decodeMessage(frame, Result{}, Refused{})
}

// DecodeToMiner reads what a host says to a sister: MinerRun.
func DecodeToMiner(frame []byte) (Message, error) { return decodeMessage(frame, MinerRun{}) }

// DecodeFromMiner reads what a sister says: Ready, MinerDone or Failed.
func DecodeFromMiner(frame []byte) (Message, error) {
	return decodeMessage(frame, Ready{}, MinerDone{}, Failed{})
}

// decodeMessage reads a message that is one of a few, and returns its value.
func decodeMessage(frame []byte, known ...Message) (Message, error) {
	if len(frame) > MaxFrame {
		return nil, &DecodeError{Reason: fmt.Sprintf("%d bytes; at most %d are read", len(frame), MaxFrame)}
	}
	tag, err := tagOf(frame)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(known, func(m Message) bool { return m.tag() == tag })
	if i < 0 {
		tags := make([]string, len(known))
		for i, m := range known {
			tags[i] = m.tag()
		}
		return nil, &DecodeError{Pointer: "/type", Reason: "want " + strings.Join(tags, " or ")}
	}
	m := reflect.New(reflect.TypeOf(known[i]))
	d := &decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(frame)), tag: "type"}
	if err := d.only(m.Elem()); err != nil {
		return nil, err
	}
	message, _ := m.Elem().Interface().(Message)
	return message, nil
}

// tagOf reads the member type of an object and nothing after it.
func tagOf(frame []byte) (string, error) {
	d := &decoder{Decoder: jsontext.NewDecoder(bytes.NewReader(frame))}
	if err := d.open('{', "an object"); err != nil {
		return "", err
	}
	for d.PeekKind() != '}' {
		t, err := d.token()
		if err != nil {
			return "", err
		}
		if t.String() != "type" {
			if err := d.SkipValue(); err != nil {
				return "", d.broken(err)
			}
			continue
		}
		var tag string
		err = d.value(reflect.ValueOf(&tag).Elem(), false)
		return tag, err
	}
	return "", &DecodeError{Reason: "lacks the member type"}
}
