package intake

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/strict"
)

const (
	hk  = `"miner_hotkey":"a","artifact_digest":"b"`
	end = `}`
)

func TestSection11Point1MissingMembersHaveTheirDefaults(t *testing.T) {
	r, err := Parse([]byte("{" + hk + end))
	if err != nil {
		t.Fatal(err)
	}
	if want := (&Request{MinerHotkey: "a", ArtifactDigest: "b"}); !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v", r)
	}
}

func TestSection11Point1EveryMemberIsReadAsItWasSent(t *testing.T) {
	r, err := Parse([]byte(`{"miner_hotkey":" 0xA ","artifact_digest":"b","topic_id":" t ","artifact_uri":" u ","claim":"é\n",
		"declared_flops":18446744073709551615,"architecture":"x","unknown":{"a":[1.5,null]},"hotkey_signature":"s","submit_nonce":"",
		"manifest":{"train_content_hashes":["b","a","a"],"train_dataset_ids":[" d "],"unknown":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Request{
		" 0xA ", "b", " t ", ptr(" u "), "é\n", 18446744073709551615, "x",
		Manifest{[]string{"b", "a", "a"}, []string{" d "}}, ptr("s"), ptr(""),
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

func TestDecision8RefusalsNameTheMember(t *testing.T) {
	for name, c := range map[string]struct {
		body, text string
		syntax     bool
	}{
		"empty body":                     {"", "invalid JSON at byte 0: ", true},
		"two documents":                  {"{" + hk + "}{}", "invalid JSON at byte 42: ", true},
		"an array":                       {"[]", "is an array, want an object", false},
		"no hotkey":                      {`{"artifact_digest":"b"}`, "miner_hotkey: is missing", false},
		"no digest":                      {`{"miner_hotkey":"b"}`, "artifact_digest: is missing", false},
		"null for a string":              {`{"claim":null,` + hk + end, "claim: is null, want a string", false},
		"null for the manifest":          {`{"manifest":null,` + hk + end, "manifest: is null, want an object", false},
		"number for a string":            {`{"topic_id":7,` + hk + end, "topic_id: is an integer, want a string", false},
		"float for an integer":           {`{"declared_flops":2e18,` + hk + end, "declared_flops: is the number 2e+18 with a point or exponent", false},
		"negative integer":               {`{"declared_flops":-1,` + hk + end, "declared_flops: is -1, want an integer from 0 to 18446744073709551615", false},
		"integer that does not fit":      {`{"declared_flops":18446744073709551616,` + hk + end, "declared_flops: is 18446744073709551616, want", false},
		"wrong case":                     {`{"Topic_ID":"t",` + hk + end, "Topic_ID: unknown member; did you mean topic_id?", false},
		"wrong case beside the right":    {`{"topic_id":"t","TOPIC_ID":"u",` + hk + end, "TOPIC_ID: unknown member; did you mean topic_id?", false},
		"hyphen":                         {`{"artifact-uri":"t",` + hk + end, "artifact-uri: unknown member; did you mean artifact_uri?", false},
		"camel case":                     {`{"declaredFlops":1,` + hk + end, "declaredFlops: unknown member; did you mean declared_flops?", false},
		"twin in the manifest":           {`{"manifest":{"trainDatasetIds":[]},` + hk + end, "manifest.trainDatasetIds: unknown member; did you mean train_dataset_ids?", false},
		"duplicate":                      {`{"claim":"a","claim":"a",` + hk + end, `claim: member name "claim" appears twice`, false},
		"duplicate in the manifest":      {`{"manifest":{"train_dataset_ids":[],"train_dataset_ids":[]},` + hk + end, "manifest.train_dataset_ids: member name", false},
		"duplicate in an unknown member": {`{"x":{"y":1,"y":1},` + hk + end, `x.y: member name "y" appears twice`, false},
		"list that is none":              {`{"manifest":{"train_dataset_ids":"d"},` + hk + end, "manifest.train_dataset_ids: is a string, want an array of strings", false},
		"entry that is no string":        {`{"manifest":{"train_content_hashes":["a",null]},` + hk + end, "manifest.train_content_hashes[1]: is null, want a string", false},
		"U+0000":                         {`{"claim":"a\u0000",` + hk + end, "claim: holds the character U+0000; leave it out", false},
		"U+0000 in a list":               {`{"manifest":{"train_content_hashes":["\u0000"]},` + hk + end, "manifest.train_content_hashes[0]: holds the character U+0000", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.body))
			var fault *strict.Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), c.text) || fault.Syntax != c.syntax {
				t.Errorf("got %q, syntax %v\nwant  %q", err, fault.Syntax, c.text)
			}
		})
	}
}

func TestLoneSurrogatesAreRefused(t *testing.T) {
	if _, err := Parse([]byte(`{"claim":"\ud800",` + hk + end)); err == nil {
		t.Error("a text that is no UTF-8 is read")
	}
}

func TestManyUnknownMembersCostNoMoreThanTheirBytes(t *testing.T) {
	var b strings.Builder
	b.WriteString("{" + hk)
	for i := 0; b.Len() < MaxBody-64; i++ {
		b.WriteString(`,"artifact_` + strings.Repeat("-", i%3) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576%26)) + `":0`)
	}
	b.WriteString(end)
	start := time.Now()
	if _, err := Parse([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("%d bytes of unknown members took %v", b.Len(), took)
	}
}

func TestSection11Point1ContentTypes(t *testing.T) {
	for contentType, json := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true, "application/merge-patch+json": true,
		"": false, "text/json": false, "application/x-www-form-urlencoded": false, "application/jsonp": false, "json": false, "text/x+json": false,
	} {
		if isJSON(contentType) != json {
			t.Errorf("%q is JSON: %v", contentType, !json)
		}
	}
}

func TestSection11Point1StoredFormOfHashes(t *testing.T) {
	for sent, ok := range map[string]bool{
		artifact: true, "0x" + artifact: true, " 0x" + strings.ToUpper(artifact) + "\n": true, strings.ToUpper(artifact): true,
		"": false, "0x": false, artifact[1:]: false, artifact + "a": false, "0x0x" + artifact: false, "0X" + artifact: false,
		"0x " + artifact: false, strings.Repeat("g", 64): false, "0x" + artifact[2:]: false,
	} {
		got, is := Hex64(sent)
		if is != ok || is && got != artifact || !is && got != "" {
			t.Errorf("%q reads as %q, %v", sent, got, is)
		}
	}
}

var anyText = rapid.StringOfN(rapid.RuneFrom([]rune("ab é\U0001F600\"\\\n|0")), 0, 8, -1)

// anyRequest draws a request of arbitrary text.
func anyRequest(t *rapid.T) Request {
	optional := rapid.Ptr(anyText, true)
	lists := rapid.SliceOfN(anyText, 0, 4)
	return Request{
		anyText.Draw(t, "hotkey"), anyText.Draw(t, "artifact"), anyText.Draw(t, "topic"), optional.Draw(t, "uri"),
		anyText.Draw(t, "claim"), rapid.Uint64().Draw(t, "flops"), anyText.Draw(t, "architecture"),
		Manifest{lists.Draw(t, "hashes"), lists.Draw(t, "datasets")}, optional.Draw(t, "signature"), optional.Draw(t, "nonce"),
	}
}

// wire is a request as a client writes it.
func wire(r Request) []byte {
	r = normal(r)
	text, _ := json.Marshal(map[string]any{
		"miner_hotkey": r.MinerHotkey, "artifact_digest": r.ArtifactDigest, "topic_id": r.TopicID, "artifact_uri": r.ArtifactURI,
		"claim": r.Claim, "declared_flops": r.DeclaredFLOPs, "architecture": r.Architecture,
		"hotkey_signature": r.HotkeySignature, "submit_nonce": r.SubmitNonce,
		"manifest": map[string]any{"train_content_hashes": r.Manifest.ContentHashes, "train_dataset_ids": r.Manifest.DatasetIDs},
		"ignored":  []any{map[string]any{"claim": 1}},
	})
	return text
}

func TestPropertyParseReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		got, err := Parse(wire(r))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(normal(*got), normal(r)) {
			t.Fatalf("got  %+v\nwant %+v", *got, r)
		}
	})
}

func FuzzParseSubmission(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "{" + hk + end, `{"claim":"\ud800\u0000",` + hk + end, `{"Claim":"",` + hk + end, `{"declared_flops":2e18,` + hk + end,
		`{"manifest":{"train_content_hashes":["a"],"train_dataset_ids":[]},"artifact_uri":null,"x":[[[]]],` + hk + end,
		"\xef\xbb\xbf{}", `{"a":{"a":1,"a":2}}`, `{"hotkey_signature":"0","submit_nonce":"1",` + hk + end,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Parse(body)
		if err != nil {
			var fault *strict.Error
			if !errors.As(err, &fault) || r != nil {
				t.Fatalf("got %+v and %T %v", r, err, err)
			}
			if text := err.Error(); len(text) > 1000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\x00") {
				t.Fatalf("unfit text of an error: %q", text)
			}
			return
		}
		for _, s := range append(append([]string{r.MinerHotkey, r.ArtifactDigest, r.TopicID, value(r.ArtifactURI), r.Claim, r.Architecture,
			value(r.HotkeySignature), value(r.SubmitNonce)}, r.Manifest.ContentHashes...), r.Manifest.DatasetIDs...) {
			if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
				t.Fatalf("no store keeps %q", s)
			}
		}
		again, err := Parse(wire(*r))
		if err != nil || !reflect.DeepEqual(normal(*again), normal(*r)) {
			t.Fatalf("%+v reads back as %+v, %v", r, again, err)
		}
		// Whatever was read, the gate answers it.
		g := newFixture(func(f *fixture) { f.raw = body })
		if out, refusal := g.decide(); (out == nil) == (refusal == nil) {
			t.Fatalf("outcome %v and refusal %v", out, refusal)
		}
	})
}

// normal makes empty lists alike, of which Go's encoder writes nil ones as null.
func normal(r Request) Request {
	r.Manifest = Manifest{append([]string{}, r.Manifest.ContentHashes...), append([]string{}, r.Manifest.DatasetIDs...)}
	return r
}
