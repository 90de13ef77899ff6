package holdout_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/holdout"
)

const oneRecord = `{"id":1,"split":"web_ood","dataset_id":"d","content_sha256":"aa","token_count":5}`

func TestR25TheThreeShapesOfAHoldoutFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		topics     []string
		found      map[string]bool
	}{
		{"an array serves whichever topic it matches", "[" + oneRecord + "]", nil, map[string]bool{"topic-a": true, "any-other": true}},
		{"an object by topic id", `{"topic-a":[` + oneRecord + `]}`, []string{"topic-a"}, map[string]bool{"topic-a": true, "topic-b": false}},
		{"the same under topics", `{"topics":{"topic-b":[` + oneRecord + `],"topic-a":[]}}`, []string{"topic-a", "topic-b"}, map[string]bool{"topic-a": true, "topic-b": true, "topic-c": false}},
		{"a topic may be named topics", `{"topics":[` + oneRecord + `]}`, []string{"topics"}, map[string]bool{"topics": true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := holdout.ParseFile([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(f.Topics(), c.topics) || !slices.Equal(f.IDs(), []uint32{1}) {
				t.Errorf("topics %q, ids %v", f.Topics(), f.IDs())
			}
			for topic, want := range c.found {
				if _, ok := f.For(topic); ok != want {
					t.Errorf("records for %s: %v", topic, ok)
				}
			}
		})
	}
}

func TestR3AHoldoutFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	record := func(old, new string) string { return "[" + strings.Replace(oneRecord, old, new, 1) + "]" }
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", `[`, "holdout file is not strict JSON (byte 1): check for a duplicate member, a stray comma or a cut end"},
		{"a member twice", record(`"id":1`, `"id":1,"id":2`), "is not strict JSON"},
		{"text", `"x"`, "holdout file must be an array of records or an object of such arrays by topic id, is a string"},
		{"an unknown member", record(`"id":1`, `"id":1,"extra":2`), "holdout file: /0 has an unknown member; a record has id, split, dataset_id, content_sha256, token_count"},
		{"a member in the wrong case", record(`"id"`, `"ID"`), `holdout file: /0 has an unknown member; did you mean "id"`},
		{"a hyphen for an underscore", record(`dataset_id`, `dataset-id`), `holdout file: /0 has an unknown member; did you mean "dataset_id"`},
		{"a missing member", record(`,"token_count":5`, ``), "holdout file: /0 /token_count is missing"},
		{"null", record(`"d"`, `null`), "holdout file: /0 /dataset_id must be a string, is null"},
		{"a float for an integer", record(`"id":1`, `"id":1.0`), "holdout file: /0 /id must be an integer, is a number with a fraction or exponent"},
		{"a negative id", record(`"id":1`, `"id":-1`), "holdout file: /0 /id must be 0..=4294967295"},
		{"an id of 33 bits", record(`"id":1`, `"id":4294967296`), "holdout file: /0 /id must be 0..=4294967295"},
		{"an id of a hundred digits", record(`"id":1`, `"id":1`+strings.Repeat("0", 100)), "holdout file: /0 /id must be 0..=4294967295"},
		{"a split of no name", record(`web_ood`, `web-ood`), "holdout file: /0 /split is not one of web_ood, code_ood, math_ood, longctx, multilingual_ood, canary_offpath"},
		{"a record that is none", `[[]]`, "holdout file: /0 must be an object, is an array"},
		{"a topic's records that are none", `{"topic-a":{}}`, "holdout file: /topic-a must be an array of records, is an object"},
		{"a record of the second topic", `{"topics":{"aa":[],"bb":[` + oneRecord + `,{}]}}`, "holdout file: /topics/bb/1 /id is missing"},
		{"a name that is no topic id", `{"topic_a":[]}`, "holdout file: the name of member 1 of the document is no topic id ([a-z0-9][a-z0-9-]{1,62})"},
		{"members beside topics", `{"topics":{},"x1":[]}`, `holdout file: beside "topics" there must be no other member`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := holdout.ParseFile([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestAWrittenFileReadsBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOfN(plainRecord, 0, 5).Draw(t, "records")
		var records []holdout.Record
		for _, p := range plain {
			records = append(records, holdout.Seal(p))
		}
		data, err := holdout.Write("topic-a", records)
		if err != nil {
			t.Fatal(err)
		}
		f, err := holdout.ParseFile(data)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		back, _ := f.For("topic-a")
		if len(back) != len(records) || commitment(back) != commitment(records) {
			t.Fatalf("%s", data)
		}
	})
	if _, err := holdout.Write("Not A Topic", nil); fmt.Sprint(err) != `topic id "Not A Topic" must match [a-z0-9][a-z0-9-]{1,62}` {
		t.Error(err)
	}
}

func TestPutKeepsTheRecordsOfEveryOtherTopic(t *testing.T) {
	t.Parallel()
	records := synthetic(t, 1)
	other, err := holdout.Write("topic-b", records[:3])
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"under topics": string(other), "by id": `{"topic-b":[` + oneRecord + `]}`, "no topic": "{}", "nothing": "\n",
	} {
		data, err := holdout.Put([]byte(file), "topic-a", records)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, err := holdout.ParseFile(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _ := f.For("topic-a"); commitment(got) != commitment(records) {
			t.Errorf("%s: other records than were put", name)
		}
		if !strings.Contains(file, "topic-b") {
			continue
		}
		before, err := holdout.ParseFile([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		was, _ := before.For("topic-b")
		if is, _ := f.For("topic-b"); commitment(is) != commitment(was) {
			t.Errorf("%s: the other topic's records are not what they were", name)
		}
	}
	if _, err := holdout.Put(other, "topic-b", records); !errors.Is(err, holdout.ErrHasTopic) {
		t.Errorf("the same topic's records: %v", err)
	}
	for _, file := range []string{"{", "[" + oneRecord + "]", "[]", `{"Topic":[]}`, `{"topic-b":1}`} {
		if _, err := holdout.Put([]byte(file), "topic-a", records); err == nil || strings.Contains(err.Error(), `"d"`) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	data, err := holdout.Write("topic-a", synthetic(f, 1)[70:75])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("[" + oneRecord + "]"))
	f.Add([]byte(`{"topics":{"aa":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := holdout.ParseFile(data)
		if err != nil {
			if bytes.ContainsAny([]byte(err.Error()), "\r\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		for _, topic := range append(file.Topics(), "topic-a") {
			records, ok := file.For(topic)
			if !ok {
				continue
			}
			written, err := holdout.Write(topic, records)
			if err != nil {
				t.Fatal(err)
			}
			again, err := holdout.ParseFile(written)
			if err != nil {
				t.Fatalf("a written file is refused: %v", err)
			}
			if back, _ := again.For(topic); commitment(back) != commitment(records) {
				t.Fatal("a written file holds other records")
			}
		}
	})
}
