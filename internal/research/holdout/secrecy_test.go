package holdout_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/holdout"
)

// planted are values that must turn up nowhere.
var planted = []string{"planted-dataset", strings.Repeat("ab", 31) + "cd", "31337"}

func plantedRecord() holdout.Record {
	return holdout.Seal(holdout.Plain{ID: 7, Split: holdout.MathOOD, DatasetID: planted[0], ContentSHA256: planted[1], TokenCount: 31337})
}

func plantedSet(t *testing.T) *holdout.Set {
	t.Helper()
	records := spoil(t, 48, func(p *holdout.Plain) {
		p.DatasetID, p.ContentSHA256, p.TokenCount = planted[0], planted[1], 31337
	})
	set, err := holdout.Verify(records, 120, commitment(records))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func leaks(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range planted {
		if strings.Contains(strings.ToLower(text), secret) {
			t.Errorf("%s shows %q: %.300s", what, secret, text)
		}
	}
}

// outer holds its secrets in unexported fields, where fmt calls no method.
type outer struct {
	record  holdout.Record
	records []holdout.Record
	set     *holdout.Set
	byTopic map[string]*holdout.Set
	value   holdout.Set
}

func TestR6_4NothingPrintsARecord(t *testing.T) {
	t.Parallel()
	set := plantedSet(t)
	record := plantedRecord()
	values := map[string]any{
		"record": record, "pointer to a record": &record, "list": []holdout.Record{record}, "map": map[string]holdout.Record{"a": record},
		"set": set, "set by value": *set, "file": parsed(t),
		"outer": outer{record, []holdout.Record{record}, set, map[string]*holdout.Set{"a": set}, *set},
		"exported": struct {
			R holdout.Record
			S *holdout.Set
			V holdout.Set
		}{record, set, *set},
	}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			leaks(t, name+" by "+verb, fmt.Sprintf(verb, v))
		}
		leaks(t, name+" in an error", fmt.Errorf("cannot score: %v", v).Error())
		if text, err := json.Marshal(v); err == nil {
			leaks(t, name+" in JSON", string(text))
		} else {
			leaks(t, name+" in a JSON error", err.Error())
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		leaks(t, name+" in a log", log.String())
	}
	if got := fmt.Sprint(record, set); got != "[holdout record withheld] [holdout of 120 records withheld]" {
		t.Error(got)
	}
	if got := record.Reveal().DatasetID; got != planted[0] {
		t.Errorf("asked for, the record says %q", got)
	}
	if got := fmt.Sprint((*holdout.Set)(nil), &holdout.Set{}); got != "<nil> [no holdout]" {
		t.Error(got)
	}
	if got := (holdout.Record{}).Reveal(); got != (holdout.Plain{}) {
		t.Errorf("the zero record holds %+v", got)
	}
}

func parsed(t *testing.T) *holdout.File {
	t.Helper()
	data, err := holdout.Write("topic-a", []holdout.Record{plantedRecord()})
	if err != nil {
		t.Fatal(err)
	}
	f, err := holdout.ParseFile(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestR6_4NoErrorShowsAValueOfARecord(t *testing.T) {
	t.Parallel()
	good := plantedRecord().Reveal()
	for name, edit := range map[string]func(*holdout.Plain){
		"canary": func(p *holdout.Plain) { p.Split = holdout.Canary }, "split": func(p *holdout.Plain) { p.Split = holdout.Split(planted[0]) },
		"dataset": func(p *holdout.Plain) { p.DatasetID = "" }, "hash": func(p *holdout.Plain) { p.ContentSHA256 = planted[1] + "0" },
		"tokens": func(p *holdout.Plain) { p.TokenCount = 0 }, "whole": func(*holdout.Plain) {},
	} {
		p := good
		edit(&p)
		records := []holdout.Record{holdout.Seal(p), holdout.Seal(p)}
		_, err := holdout.Verify(records, 120, "")
		leaks(t, name, fmt.Sprint(err))
		_, err = holdout.Select(records, "planted-dataset", 120, nil)
		leaks(t, "selecting "+name, fmt.Sprint(err))
	}
	for _, salt := range []string{"", "cortex-t2i-dev-holdout-v0"} {
		if err := holdout.CheckSalt(salt); err == nil || strings.Contains(err.Error(), "cortex") {
			t.Errorf("%q: %v", salt, err)
		}
	}
}

// TestR6_4NoParseErrorShowsAValueOfTheFile breaks one byte of a file at a time.
func TestR6_4NoParseErrorShowsAValueOfTheFile(t *testing.T) {
	t.Parallel()
	data, err := holdout.Write("topic-a", []holdout.Record{plantedRecord()})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := range data {
		for _, b := range []byte{'"', ',', '{', 'x', 0, '.'} {
			broken := bytes.Clone(data)
			broken[at] = b
			if _, err := holdout.ParseFile(broken); err != nil {
				refused++
				leaks(t, fmt.Sprintf("byte %d as %q", at, b), err.Error())
			}
		}
	}
	if refused < 500 {
		t.Errorf("only %d broken files were refused", refused)
	}
	for _, text := range []string{
		`{"` + planted[1] + `":[]}`, `{"topics":{"` + planted[1] + `":[]}}`,
		`[{"` + planted[0] + `":1}]`, `[{"` + planted[0] + `":1,"` + planted[0] + `":2}]`, `["` + planted[1] + `"]`, `"` + planted[1] + `"`,
	} {
		_, err := holdout.ParseFile([]byte(text))
		if err == nil {
			t.Errorf("%s was accepted", text)
		}
		leaks(t, text, fmt.Sprint(err))
	}
}
