package topic_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func tree(t testing.TB, name string) any {
	t.Helper()
	v, err := canonjson.ParseStrict(read(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func at[T any](t testing.TB, v any, pointer string) T {
	t.Helper()
	found, _ := canonjson.Resolve(v, pointer)
	out, ok := found.(T)
	if !ok {
		t.Fatalf("%s is %s", pointer, canonjson.Kind(found))
	}
	return out
}

// vector is the document of a case, read as from a file.
func vector(t testing.TB, name string) *topic.Document {
	t.Helper()
	for _, c := range at[[]any](t, tree(t, "topic_documents.json"), "/topics") {
		if at[string](t, c, "/case") == name {
			d, err := topic.ParseJSON(canonjson.Compact(at[*canonjson.Object](t, c, "/document")))
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatalf("no case %s", name)
	return nil
}

func TestR57SignedBytesOfEveryTopicDocument(t *testing.T) {
	t.Parallel()
	cases := at[[]any](t, tree(t, "topic_documents.json"), "/topics")
	if len(cases) < 5 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(at[string](t, c, "/case"), func(t *testing.T) {
			t.Parallel()
			text := canonjson.Compact(at[*canonjson.Object](t, c, "/document"))
			d, err := topic.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			payload, err := d.Payload()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(at[string](t, c, "/canonical_utf8"), string(payload)); diff != "" {
				t.Fatal(diff)
			}
			sum, message := sha256.Sum256(payload), sha256.Sum256(sr25519.Message(topic.Domain, payload))
			if hex.EncodeToString(sum[:]) != at[string](t, c, "/canonical_sha256") || canonjson.NewInt(int64(len(payload))) != at[canonjson.Int](t, c, "/canonical_len") {
				t.Errorf("sha256 %x, %d bytes", sum, len(payload))
			}
			if hex.EncodeToString(message[:]) != at[string](t, c, "/signed_message_sha256") {
				t.Errorf("signed message %x", message)
			}
			framed := hex.EncodeToString(sr25519.Message(topic.Domain, payload))
			if !strings.HasPrefix(framed, at[string](t, c, "/scale_prefix_domain")+hex.EncodeToString([]byte(topic.Domain))+at[string](t, c, "/scale_prefix_payload")) {
				t.Errorf("framed as %.60s", framed)
			}

			// The signed bytes are a document themselves, with the same signed bytes.
			again, err := topic.ParseJSON(payload)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := again.Payload(); err != nil || string(twice) != string(payload) {
				t.Errorf("not a fixed point: %s, %v", twice, err)
			}

			signature := at[*canonjson.Object](t, c, "/derived_signature")
			d.Signature = at[string](t, signature, "/signature")
			p := pin.Default()
			p.TopicPubkey = at[string](t, signature, "/public")
			if err := d.Verify(p); err != nil {
				t.Error(err)
			}
			p.TopicPubkey = at[string](t, signature, "/public_of_wrong_key")
			if err := d.Verify(p); !errors.Is(err, topic.ErrSignature) {
				t.Errorf("under the wrong key: %v", err)
			}
		})
	}
}

// TestR57AYAMLDraftAndItsJSONTwinSignAlike writes each document as YAML by the
// encoder of a library and reads it back.
func TestR57AYAMLDraftAndItsJSONTwinSignAlike(t *testing.T) {
	t.Parallel()
	for _, c := range at[[]any](t, tree(t, "topic_documents.json"), "/topics") {
		d := vector(t, at[string](t, c, "/case"))
		want, err := d.Payload()
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(strings.NewReader(string(want)))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Dump(plainNumbers(value))
		if err != nil {
			t.Fatal(err)
		}
		twin, err := topic.ParseYAML(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if got, err := twin.Payload(); err != nil || string(got) != string(want) {
			t.Errorf("%s\n%s, %v", want, got, err)
		}
		if diff := cmp.Diff(d, twin); diff != "" {
			t.Error(diff)
		}
	}
}

// plainNumbers turns json.Number into what a YAML encoder writes as a number.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

func TestR57KeysThatAreUnsetVanishFromTheSignedBytes(t *testing.T) {
	t.Parallel()
	want, err := topic.New().Payload()
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"signature", "eval_executor", "checklist", "firecracker_required", "model_pin", "task_slice", "params", "require_offer_commitment", "max_proof_deadline_s"} {
		if strings.Contains(string(want), `"`+absent+`"`) {
			t.Errorf("%s is in %s", absent, want)
		}
	}
	for _, present := range []string{`"max_inter_node_gbps":null`, `"proxy_model":null`, `"valid_until_epoch":null`, `"base_url":null`, `"max_input_tokens":null`, `"max_output_tokens":null`, `"mode":null`, `"model":null`, `"provider":null`, `"require_judge_offer_commitment":null`} {
		if strings.Count(string(want), present) != 1 {
			t.Errorf("no %s in %s", present, want)
		}
	}
	for _, draft := range []string{
		`{}`, `{"constraints":{"params":{},"firecracker_required":false,"model_pin":null,"task_slice":null}}`,
		`{"eval_executor":{"require_offer_commitment":null,"max_proof_deadline_s":null}}`, `{"eval_executor":{}}`, `{"checklist":[]}`,
		`{"inference":{"model":null},"proxy_model":null,"valid_until_epoch":null,"signature":"ab"}`,
		`{"epsilon_nll":2e-2,"baseline":{"lr":0.00030,"eps":0.00000001}}`,
	} {
		d, err := topic.ParseJSON([]byte(draft))
		if err != nil {
			t.Fatalf("%s: %v", draft, err)
		}
		if got, err := d.Payload(); err != nil || string(got) != string(want) {
			t.Errorf("%s signs to %s, %v", draft, got, err)
		}
	}
	d, err := topic.ParseJSON([]byte(`{"eval_executor":{"require_offer_commitment":null,"max_proof_deadline_s":3600},"constraints":{"max_inter_node_gbps":100},"proxy_model":""}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Payload()
	for _, part := range []string{`"eval_executor":{"max_proof_deadline_s":3600}`, `"max_inter_node_gbps":100.0`, `"proxy_model":""`} {
		if err != nil || !strings.Contains(string(got), part) {
			t.Errorf("no %s in %s, %v", part, got, err)
		}
	}
}

func TestR57SignThenVerify(t *testing.T) {
	t.Parallel()
	key, err := sr25519.ParseSecret([]byte(strings.Repeat("07", 32)))
	if err != nil {
		t.Fatal(err)
	}
	p := pin.Default()
	d := vector(t, "custom-draft-generic-bindings")
	if err := d.Verify(p); !errors.Is(err, pin.ErrNoTopicKey) || err.Error() != "pin carries no topic_pubkey; no topic can be verified" {
		t.Errorf("without a key: %v", err)
	}
	p.TopicPubkey = strings.ToUpper(key.Public().String())
	for _, signature := range []string{"", "ab", strings.Repeat("z", 128), strings.Repeat("a", 126), strings.Repeat("a", 130)} {
		d.Signature = signature
		if err := d.Verify(p); !errors.Is(err, topic.ErrSignatureEncoding) || err.Error() != "signature must be 128 hex chars" {
			t.Errorf("%q: %v", signature, err)
		}
	}
	if err := d.Sign(nil, key); err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(p); err != nil {
		t.Error(err)
	}
	unmarked := []byte(d.Signature)
	unmarked[126] = '0' + (unmarked[126] & 7)
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := topic.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Error(diff)
	}
	again.Signature = string(unmarked)
	if err := again.Verify(p); !errors.Is(err, topic.ErrSignature) || err.Error() != "topic signature does not verify under the proof trust-root key" {
		t.Errorf("without the mark: %v", err)
	}
	d.FLOPsBudget--
	if err := d.Verify(p); !errors.Is(err, topic.ErrSignature) {
		t.Errorf("one operation less: %v", err)
	}
	p.TopicPubkey = strings.Repeat("0", 64)
	if err := d.Verify(p); !errors.Is(err, pin.ErrNoTopicKey) {
		t.Errorf("the identity as key: %v", err)
	}
}
