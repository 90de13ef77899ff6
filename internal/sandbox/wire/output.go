package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"reflect"
	"strconv"
)

// ChecklistItem says whether a submission keeps one rule, and by what evidence.
type ChecklistItem struct {
	ID       string `json:"id"`
	Pass     bool   `json:"pass"`
	Evidence string `json:"evidence"`
}

// Checklist is what an inspection found, a tick or a cross for each rule
// (R§16.3). Whether it is worth anything is decided where the rules are known.
type Checklist struct {
	SchemaVersion    uint32          `json:"schema_version"`
	TopicID          string          `json:"topic_id"`
	RulesVersion     uint32          `json:"rules_version"`
	RulesDigest      string          `json:"rules_digest"`
	SubmissionDigest string          `json:"submission_digest"`
	ArtifactDigest   string          `json:"artifact_digest"`
	Items            []ChecklistItem `json:"items"`
}

// RunReport is what a paid run says of itself (R§16.5). Sandboxed and FlopsUsed
// are the host's, see [Stamp].
type RunReport struct {
	SchemaVersion    uint32 `json:"schema_version"`
	TopicID          string `json:"topic_id"`
	CustomID         string `json:"custom_id"`
	SubmissionDigest string `json:"submission_digest"`
	ArtifactDigest   string `json:"artifact_digest"`
	RulesVersion     uint32 `json:"rules_version"`

	// PrimaryValue is nil for a recipe that ran, was measured and failed.
	PrimaryValue *float64 `json:"primary_value"`
	ClaimHolds   bool     `json:"claim_holds"`
	Sandboxed    bool     `json:"sandboxed"`
	FlopsUsed    *uint64  `json:"flops_used"` // nil: nothing measured it

	Evidence jsontext.Value `json:"evidence"` // any JSON
	// Failure says how the recipe failed, such as exit status 1.
	Failure string `json:"failure,omitzero"`
}

// Bytes are written and read as an array of integers, the spelling of R§16.6.
type Bytes []byte

// MarshalJSONTo writes the array.
func (b Bytes) MarshalJSONTo(to *jsontext.Encoder) error {
	text := make([]byte, 0, 2+4*len(b))
	text = append(text, '[')
	for i, c := range b {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, uint64(c), 10)
	}
	return to.WriteValue(append(text, ']'))
}

// UnmarshalJSONFrom reads the array.
func (b *Bytes) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	return b.read(&decoder{Decoder: from})
}

func (b *Bytes) read(d *decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return d.broken(err)
	}
	if text.Kind() != '[' {
		return d.fail("is %s, want an array of integers from 0 to 255", kindName(text.Kind()))
	}
	*b = make(Bytes, 0, bytes.Count(text, []byte(","))+1)
	n, digits := 0, 0
	for _, c := range text[1:] {
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case c >= '0' && c <= '9' && digits < 3:
			n, digits = 10*n+int(c-'0'), digits+1
		case (c == ',' || c == ']') && digits > 0 && n <= 255:
			*b = append(*b, byte(n))
			n, digits = 0, 0
		case c == ']' && len(*b) == 0 && digits == 0: // an empty array
		default:
			return d.fail("element %d is not an integer from 0 to 255", len(*b))
		}
	}
	return nil
}

// File is one file of an inspected artefact. Path is relative, with slashes; it
// is checked where the file is put somewhere.
type File struct {
	Path       string `json:"path"`
	Bytes      Bytes  `json:"bytes"`
	Executable bool   `json:"executable,omitzero"` // tells trees apart that differ in modes
}

// Log is one log of a run.
type Log struct {
	Name  string `json:"name"`
	Bytes Bytes  `json:"bytes"`
}

// OutputKind is the tag of an [Output].
type OutputKind string

// The outputs of R§21.1, one for each job.
const (
	RulesOutput     OutputKind = "rules"
	BaselineOutput  OutputKind = "baseline"
	InspectedOutput OutputKind = "inspected"
	EvaluatedOutput OutputKind = "evaluated"
	ArchivedOutput  OutputKind = "archived"
)

// ForJob returns the kind of output that a job must give, and "" for no job.
func ForJob(k JobKind) OutputKind {
	switch k {
	case ProposeRules:
		return RulesOutput
	case Baseline:
		return BaselineOutput
	case Inspect:
		return InspectedOutput
	case Evaluate:
		return EvaluatedOutput
	case Archive:
		return ArchivedOutput
	}
	return ""
}

func (k *OutputKind) check() string {
	switch *k {
	case RulesOutput, BaselineOutput, InspectedOutput, EvaluatedOutput, ArchivedOutput:
		return ""
	}
	return "want rules, baseline, inspected, evaluated or archived"
}

// Output is what a job gave. Which fields are set follows from its kind; the
// others are zero, and not written.
type Output struct {
	Kind      OutputKind
	Rules     []Rule     // rules
	Report    *RunReport // baseline, evaluated
	Checklist *Checklist // inspected
	Artifact  []File     // inspected: the tree as it was inspected
	Logs      []Log      // evaluated
}

// The bodies of the outputs that have an object for one.
type (
	baselineBody struct {
		Report RunReport `json:"report"`
	}
	inspectedBody struct {
		Checklist Checklist `json:"checklist"`
		Artifact  []File    `json:"artifact"`
	}
	evaluatedBody struct {
		Report RunReport `json:"report"`
		Logs   []Log     `json:"logs"`
	}
)

// body reads the body of an output whose kind is known.
func (o *Output) body(d *decoder) error {
	switch o.Kind {
	case RulesOutput:
		return d.value(reflect.ValueOf(&o.Rules).Elem(), false)
	case BaselineOutput:
		var b baselineBody
		err := d.value(reflect.ValueOf(&b).Elem(), false)
		o.Report = &b.Report
		return err
	case InspectedOutput:
		var b inspectedBody
		err := d.value(reflect.ValueOf(&b).Elem(), false)
		o.Checklist, o.Artifact = &b.Checklist, b.Artifact
		return err
	case EvaluatedOutput:
		var b evaluatedBody
		err := d.value(reflect.ValueOf(&b).Elem(), false)
		o.Report, o.Logs = &b.Report, b.Logs
		return err
	}
	t, err := d.token()
	if err == nil && t.Kind() != 'n' {
		err = d.fail("an output archived has no body")
	}
	return err
}

// read takes tag and body in either order. A body before its tag is read twice.
func (o *Output) read(d *decoder) error {
	*o = Output{}
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	at := d.base + string(d.StackPointer())
	var early jsontext.Value
	body := false
	for d.PeekKind() != '}' {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch name := t.String(); {
		case name == "output":
			err = d.value(reflect.ValueOf(&o.Kind).Elem(), false)
		case name == "body" && o.Kind == "":
			body = true
			var v jsontext.Value
			if v, err = d.ReadValue(); err != nil {
				return d.broken(err)
			}
			early = v.Clone()
		case name == "body":
			body = true
			err = o.body(d)
		default:
			return unknown(at, name, []member{{name: "output"}, {name: "body"}})
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.token(); err != nil {
		return err
	}
	switch {
	case o.Kind == "":
		return d.fail("lacks the member output")
	case early != nil:
		return o.body(&decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(early)), base: at + "/body"})
	case !body && o.Kind != ArchivedOutput:
		return d.fail("an output %s lacks the member body", o.Kind)
	}
	return nil
}

// UnmarshalJSONFrom reads an output as strictly as [Decode] does.
func (o *Output) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	return o.read(&decoder{Decoder: from})
}

// MarshalJSONTo writes the tag and the body of the output's kind.
func (o Output) MarshalJSONTo(to *jsontext.Encoder) error {
	type tagged struct {
		Kind OutputKind `json:"output"`
		Body any        `json:"body"`
	}
	switch {
	case o.Kind == RulesOutput:
		return json.MarshalEncode(to, tagged{o.Kind, o.Rules})
	case o.Kind == BaselineOutput && o.Report != nil:
		return json.MarshalEncode(to, tagged{o.Kind, baselineBody{*o.Report}})
	case o.Kind == InspectedOutput && o.Checklist != nil:
		return json.MarshalEncode(to, tagged{o.Kind, inspectedBody{*o.Checklist, o.Artifact}})
	case o.Kind == EvaluatedOutput && o.Report != nil:
		return json.MarshalEncode(to, tagged{o.Kind, evaluatedBody{*o.Report, o.Logs}})
	case o.Kind == ArchivedOutput:
		return json.MarshalEncode(to, struct {
			Kind OutputKind `json:"output"`
		}{o.Kind})
	}
	return fmt.Errorf("output %q lacks its report or checklist, or is of no known kind", o.Kind)
}
