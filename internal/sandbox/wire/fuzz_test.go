package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// FuzzDecode holds every body of the agent's API to this: what is read is written
// again, read once more to the same bytes, and refusals are DecodeErrors.
func FuzzDecode(f *testing.F) {
	kinds := []any{
		wire.CreateRequest{}, wire.Record{}, wire.Health{}, wire.JobRequest{}, wire.JobResponse{}, wire.TeardownRequest{},
		wire.TeardownResponse{}, wire.Error{}, wire.SisterRequest{}, wire.RunRequest{}, wire.RuleSet{}, wire.Spec{},
	}
	add := func(kind int, v any) {
		text, err := wire.Encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(kind), text)
	}
	for _, j := range jobs() {
		add(3, wire.JobRequest{TopicID: "dp-opt-01", Job: j})
	}
	for _, o := range outputs() {
		add(4, wire.JobResponse{TopicID: "dp-opt-01", VMID: "dp-opt-01-0001", Output: o, Sister: attestation()})
	}
	for i, kind := range kinds {
		if i != 3 && i != 4 {
			add(i, kind)
		}
	}
	f.Add(uint8(4), []byte(`{"topic_id":"a","vm_id":"b","output":{"body":[{"id":"x","text":"y"}],"output":"rules"},"sister":null}`))
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		typ := reflect.TypeOf(kinds[int(kind)%len(kinds)])
		v := reflect.New(typ)
		if err := wire.Decode(text, v.Interface()); err != nil {
			var fault *wire.DecodeError
			if !errors.As(err, &fault) || fault.Reason == "" || len(err.Error()) > 2048 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		first, err := wire.Encode(v.Interface())
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", text, err)
		}
		w := reflect.New(typ)
		if err := wire.Decode(first, w.Interface()); err != nil {
			t.Fatalf("%s is written and cannot be read: %v", first, err)
		}
		second, err := wire.Encode(w.Interface())
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v: %s became %s", err, first, second)
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	decoders := []decode{wire.DecodeToRLM, wire.DecodeFromRLM, wire.DecodeSisterAnswer, wire.DecodeToMiner, wire.DecodeFromMiner}
	for _, text := range []string{
		`{"type":"hello","api_version":1,"topic_id":"ab","vm_id":"ab-0001"}`, `{"type":"staged","count":1}`, `{"result":{},"type":"result"}`,
		`{"type":"stage_secrets","files":[{"name":"judge.json","bytes_b64":"e30="}]}`, `{"type":"run","job":{"job":"archive","topic_id":"ab"}}`,
		`{"type":"run","api_version":1,"artifact_tar":{"name":"artifact.tar","bytes_b64":""},"entrypoint":["a"],"deadline_s":1,"declared_flops":1,"seed":1,"params":{"a":"b"}}`,
		`{"type":"done","exit_code":null,"timed_out":false,"stdout_tail":"","flops_used":null,"outputs":[]}`, `{"type":"done","output":{"output":"archived"}}`,
	} {
		for i := range decoders {
			f.Add(uint8(i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, port uint8, text []byte) {
		read := decoders[int(port)%len(decoders)]
		m, err := read(text)
		if err != nil {
			return
		}
		first, err := wire.EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		m, err = read(first)
		if err != nil {
			t.Fatalf("%s is written and cannot be read: %v", first, err)
		}
		if second, err := wire.EncodeMessage(m); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v: %s became %s", err, first, second)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x03abc\x00\x00\x00\x01x"))
	f.Add([]byte("\x0f\xff\xff\xffabc"))
	f.Add([]byte("\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		var again bytes.Buffer
		for {
			payload, err := wire.ReadFrame(r, 1<<16)
			if err != nil {
				break
			}
			if err := wire.WriteFrame(&again, payload); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(stream, again.Bytes()) {
			t.Fatalf("%q became %q", stream, again.Bytes())
		}
	})
}

func BenchmarkArtifact(b *testing.B) {
	o := wire.Output{Kind: wire.InspectedOutput, Checklist: checklist(), Artifact: []wire.File{{Path: "a", Bytes: wire.Bytes(strings.Repeat("0123456789abcdef", 1<<16))}}}
	text, err := wire.Encode(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var got wire.Output
			if err := wire.Decode(text, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := wire.Encode(o); err != nil {
				b.Fatal(err)
			}
		}
	})
}
