package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

type decode func([]byte) (wire.Message, error)

func TestSection23MessagesComeBackAsTheyWere(t *testing.T) {
	tar := wire.StagedFile{Name: wire.ArtifactTar, Bytes: []byte("tar\x00\xff")}
	for name, c := range map[string]struct {
		message wire.Message
		decode  decode
		text    string // how it is spelled, in full or from its start
	}{
		"hello":         {wire.Hello{APIVersion: 1, TopicID: "ab", VMID: "ab-0001"}, wire.DecodeToRLM, `{"type":"hello","api_version":1,"topic_id":"ab","vm_id":"ab-0001"}`},
		"stage_secrets": {wire.StageSecrets{Files: []wire.StagedFile{{Name: "judge.json", Bytes: []byte("{}")}}}, wire.DecodeToRLM, `{"type":"stage_secrets","files":[{"name":"judge.json","bytes_b64":"e30="}]}`},
		"run":           {wire.RunJob{Job: jobs()["evaluate"]}, wire.DecodeToRLM, `{"type":"run","job":{"job":"evaluate","request":`},
		"ready":         {wire.Ready{Agent: "prova-guest", APIVersion: 1}, wire.DecodeFromRLM, `{"type":"ready","agent":"prova-guest","api_version":1}`},
		"staged":        {wire.Staged{Count: 2}, wire.DecodeFromRLM, `{"type":"staged","count":2}`},
		"done":          {wire.Done{Output: outputs()["archived"]}, wire.DecodeFromRLM, `{"type":"done","output":{"output":"archived"}}`},
		"failed":        {wire.Failed{Error: "no such module"}, wire.DecodeFromRLM, `{"type":"failed","error":"no such module"}`},
		"result": {wire.Result{Result: wire.SisterResult{SisterVMID: "ab-0001-s1", ImageDigest: "sha256:0", TimedOut: true, Outputs: []wire.StagedFile{}}}, wire.DecodeSisterAnswer,
			`{"type":"result","result":{"sister_vm_id":"ab-0001-s1","image_digest":"sha256:0","exit_code":null,"timed_out":true,"stdout_tail":"","flops_used":null,"wall_ms":0,"outputs":[]}}`},
		"refused": {wire.Refused{Error: "not a tar"}, wire.DecodeSisterAnswer, `{"type":"refused","error":"not a tar"}`},
		"miner run": {wire.MinerRun{APIVersion: 1, ArtifactTar: tar, Entrypoint: []string{"recipe.wasm"}, DeadlineS: 600, DeclaredFlops: 2000000000000000000, Seed: 42, Params: map[string]string{"b": "2", "a": "1"}}, wire.DecodeToMiner,
			`{"type":"run","api_version":1,"artifact_tar":{"name":"artifact.tar","bytes_b64":"dGFyAP8="},"entrypoint":["recipe.wasm"],"deadline_s":600,"declared_flops":2000000000000000000,"seed":42,"params":{"a":"1","b":"2"}}`},
		"miner ready":  {wire.Ready{Agent: "prova-guest", APIVersion: 1}, wire.DecodeFromMiner, `{"type":"ready"`},
		"miner done":   {wire.MinerDone{ExitCode: ptr[int32](-9), StdoutTail: "ok", FlopsUsed: ptr[uint64](5), FlopsMethod: "wasm-metered/1", Outputs: []wire.StagedFile{tar}}, wire.DecodeFromMiner, `{"type":"done","exit_code":-9,`},
		"miner failed": {wire.Failed{Error: "no entry"}, wire.DecodeFromMiner, `{"type":"failed"`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := wire.EncodeMessage(c.message)
			if err != nil || !strings.HasPrefix(string(text), c.text) {
				t.Fatalf("%v: got\n%s, want\n%s", err, text, c.text)
			}
			got, err := c.decode(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.message, got); diff != "" {
				t.Error(diff)
			}
			moved := strings.TrimSuffix(strings.Replace(string(text), `{"type":"`+between(string(text), `{"type":"`, `"`)+`",`, `{`, 1), "}") + `,"type":"` + between(string(text), `{"type":"`, `"`) + `"}`
			if got, err = c.decode([]byte(moved)); err != nil || cmp.Diff(c.message, got) != "" {
				t.Errorf("with its tag at the end: %v, %v", got, err)
			}
		})
	}
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

func TestSection23MessagesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		decode  decode
		text    string
		pointer string
		reason  string
	}{
		"a guest that says hello":        {wire.DecodeFromRLM, `{"type":"hello","api_version":1,"topic_id":"ab","vm_id":"x"}`, "/type", "want ready or staged or done or failed"},
		"a host that says done":          {wire.DecodeToRLM, `{"type":"done","output":{"output":"archived"}}`, "/type", "want hello"},
		"a sister that gives outputs":    {wire.DecodeFromMiner, `{"type":"done","output":{"output":"archived"}}`, "/output", "unknown member"},
		"no tag":                         {wire.DecodeToRLM, `{"api_version":1}`, "", "lacks the member type"},
		"a tag twice":                    {wire.DecodeFromRLM, `{"type":"staged","count":1,"type":"staged"}`, "/type", "twice"},
		"a tag that is a number":         {wire.DecodeToRLM, `{"type":1}`, "/type", "want a string"},
		"a tag in the wrong case":        {wire.DecodeToRLM, `{"Type":"hello"}`, "", "lacks the member type"},
		"an unknown member":              {wire.DecodeFromRLM, `{"type":"staged","count":1,"path":"/etc"}`, "/path", "unknown member"},
		"a tag of something within":      {wire.DecodeFromMiner, `{"type":"failed","error":"x","outputs":[]}`, "/outputs", "unknown member"},
		"a tag inside a file":            {wire.DecodeToRLM, `{"type":"stage_secrets","files":[{"type":"x","name":"a","bytes_b64":""}]}`, "/files/0/type", "unknown member"},
		"base64 without padding":         {wire.DecodeToRLM, `{"type":"stage_secrets","files":[{"name":"a","bytes_b64":"YQ"}]}`, "/files/0/bytes_b64", "not standard base64"},
		"base64 for addresses":           {wire.DecodeToRLM, `{"type":"stage_secrets","files":[{"name":"a","bytes_b64":"_-8="}]}`, "/files/0/bytes_b64", "not standard base64"},
		"base64 with a line break":       {wire.DecodeToRLM, `{"type":"stage_secrets","files":[{"name":"a","bytes_b64":"YW\nJj"}]}`, "/files/0/bytes_b64", "not standard base64"},
		"base64 with bits to spare":      {wire.DecodeToRLM, `{"type":"stage_secrets","files":[{"name":"a","bytes_b64":"YR=="}]}`, "/files/0/bytes_b64", "not standard base64"},
		"two messages in one frame":      {wire.DecodeFromRLM, `{"type":"staged","count":1}{"type":"staged","count":1}`, "", "something follows"},
		"a fault of a job within":        {wire.DecodeToRLM, `{"type":"run","job":{"job":"archive"}}`, "/job", "a job archive lacks the member topic_id"},
		"a parameter that is no string":  {wire.DecodeToMiner, `{"type":"run","params":{"a":1}}`, "/params/a", "want a string"},
		"an exit code beyond 32 bits":    {wire.DecodeFromMiner, `{"type":"done","exit_code":2147483648}`, "/exit_code", "want an integer of 32 bits"},
		"an array":                       {wire.DecodeSisterAnswer, `["result"]`, "", "want an object"},
		"nothing":                        {wire.DecodeSisterAnswer, ``, "", "ends before its value"},
		"a frame cut within its members": {wire.DecodeSisterAnswer, `{"error":"x"`, "", "ends before its value"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := c.decode([]byte(c.text))
			var fault *wire.DecodeError
			if !errors.As(err, &fault) || fault.Pointer != c.pointer || !strings.Contains(fault.Reason, c.reason) {
				t.Errorf("got %v, %q, want %q at %q", m, err, c.reason, c.pointer)
			}
		})
	}
}

func TestSecretsAreNeitherPrintedNorNamedInErrors(t *testing.T) {
	const secret = "sk-planted-secret"
	m := wire.StageSecrets{Files: []wire.StagedFile{{Name: "judge.json", Bytes: []byte(secret)}}}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("staging", "message", m, "file", m.Files[0])
	slog.New(slog.NewJSONHandler(&log, nil)).Info("staging", "message", m, "file", m.Files[0])
	fmt.Fprintf(&log, "%v %+v %#v %s %q", m, m, m, m, m)
	_, err := wire.DecodeToRLM([]byte(`{"type":"stage_secrets","files":[{"name":"judge.json","bytes_b64":"` + secret + `"}]}`))
	fmt.Fprintln(&log, err)
	_, err = wire.DecodeToRLM([]byte(`{"type":"stage_secrets","files":"` + secret + `"}`))
	fmt.Fprintln(&log, err)
	encoded := fmt.Sprintf("%d", []byte(secret))
	for _, form := range []string{secret, encoded[1 : len(encoded)-1], base64.StdEncoding.EncodeToString([]byte(secret)), fmt.Sprintf("%x", secret)} {
		if strings.Contains(log.String(), form) {
			t.Errorf("%q is in\n%s", form, log.String())
		}
	}
	if !strings.Contains(log.String(), "judge.json") {
		t.Error("the name of the file is gone as well")
	}
}

func TestSection23APIVersion(t *testing.T) {
	if err := wire.CheckAPIVersion(1); err != nil {
		t.Error(err)
	}
	if err := wire.CheckAPIVersion(2); err == nil || err.Error() != "peer api_version 2, this build speaks 1" {
		t.Error(err)
	}
}

func TestSection23SisterRequestComesBackAsItWas(t *testing.T) {
	text := again(t, wire.SisterRequest{TopicID: "ab", SubmissionDigest: "5", ArtifactDigest: "a", ArtifactTar: wire.StagedFile{Name: wire.ArtifactTar, Bytes: []byte{1}}, Entrypoint: []string{"e"}, DeadlineS: 1, Params: map[string]string{}})
	if !strings.HasPrefix(text, `{"topic_id":"ab",`) {
		t.Error("it has a tag", text)
	}
}

func TestSection23Frames(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 200<<10)
	t.Run("come back as they were, however the stream is cut", func(t *testing.T) {
		var stream bytes.Buffer
		for _, payload := range [][]byte{[]byte("{}"), long, []byte("1")} {
			if err := wire.WriteFrame(&stream, payload); err != nil {
				t.Fatal(err)
			}
		}
		r := iotest.HalfReader(&stream)
		for _, want := range [][]byte{[]byte("{}"), long, []byte("1")} {
			got, err := wire.ReadFrame(r, wire.MaxFrame)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatal(err, len(got))
			}
		}
		if _, err := wire.ReadFrame(r, wire.MaxFrame); err != io.EOF {
			t.Error(err)
		}
	})
	t.Run("have their length in front, big end first", func(t *testing.T) {
		var stream bytes.Buffer
		if err := wire.WriteFrame(&stream, []byte("abc")); err != nil || stream.String() != "\x00\x00\x00\x03abc" {
			t.Errorf("%v %q", err, stream.String())
		}
	})
	for name, c := range map[string]struct {
		stream string
		max    int
		want   error
	}{
		"longer than the caller takes":      {"\x00\x00\x00\x04abcd", 3, wire.ErrFrame},
		"as long as the caller takes":       {"\x00\x00\x00\x03abc", 3, nil},
		"longer than any":                   {"\x10\x00\x00\x01", 1 << 30, wire.ErrFrame},
		"as long as announced at the most":  {"\xff\xff\xff\xff", wire.MaxFrame, wire.ErrFrame},
		"empty":                             {"\x00\x00\x00\x00", 9, wire.ErrFrame},
		"cut in their length":               {"\x00\x00", 9, io.ErrUnexpectedEOF},
		"cut in their body":                 {"\x00\x00\x00\x03ab", 9, io.ErrUnexpectedEOF},
		"cut between":                       {"", 9, io.EOF},
		"announced large, with little sent": {"\x0f\xff\xff\xffab", wire.MaxFrame, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			var err error
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err = wire.ReadFrame(strings.NewReader(c.stream), c.max)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %q, %v; want %v", got, err, c.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
				t.Errorf("it took %d bytes for the %d that came", took, len(c.stream))
			}
		})
	}
	t.Run("that no reader takes are not written", func(t *testing.T) {
		for _, payload := range [][]byte{nil, make([]byte, wire.MaxFrame+1)} {
			var stream bytes.Buffer
			if err := wire.WriteFrame(&stream, payload); !errors.Is(err, wire.ErrFrame) || stream.Len() > 0 {
				t.Error(err, stream.Len())
			}
		}
	})
	t.Run("give the error of the stream", func(t *testing.T) {
		broken := errors.New("broken")
		if _, err := wire.ReadFrame(io.MultiReader(strings.NewReader("\x00\x00\x00\x03a"), iotest.ErrReader(broken)), 9); !errors.Is(err, broken) {
			t.Error(err)
		}
		if err := wire.WriteFrame(failing{broken}, long); !errors.Is(err, broken) {
			t.Error(err)
		}
		if err := wire.WriteFrame(failing{broken}, []byte("1")); !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestListsAreBounded(t *testing.T) {
	item := `{"id":"a","text":""},`
	text := `{"output":"rules","body":[` + strings.TrimSuffix(strings.Repeat(item, 65537), ",") + `]}`
	var o wire.Output
	if err := wire.Decode([]byte(text), &o); err == nil || !strings.Contains(err.Error(), "more elements than the 65536") {
		t.Error(err)
	}
	var m map[string]string
	var members strings.Builder
	for i := range 65537 {
		fmt.Fprintf(&members, `,"%d":""`, i)
	}
	if err := wire.Decode([]byte("{"+members.String()[1:]+"}"), &m); err == nil || !strings.Contains(err.Error(), "more members than the 65536") {
		t.Error(err)
	}
}

func TestPlainDecodingIsAsStrict(t *testing.T) {
	var o wire.Output
	if err := json.Unmarshal([]byte(`{"output":"archived","host":1}`), &o); err == nil {
		t.Error("an unknown member of an output was taken")
	}
	var j wire.Job
	if err := json.Unmarshal([]byte(`{"job":"archive"}`), &j); err == nil {
		t.Error("half a job was taken")
	}
	var b wire.Bytes
	if err := json.Unmarshal([]byte(`[300]`), &b); err == nil {
		t.Error("300 was taken for a byte")
	}
	if err := wire.Decode([]byte(`{}`), wire.Handle{}); err == nil {
		t.Error("a value that cannot be filled was taken")
	}
}
