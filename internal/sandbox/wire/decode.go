package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The limits of what is read, whoever sent it.
const (
	maxList  = 65536 // elements of a list and members of a map
	maxDepth = 512   // nesting of a raw value; readers above stop at 1000
)

// DecodeError says where a text was refused and why. It repeats no value.
type DecodeError struct {
	Pointer string // RFC 6901; empty for the whole document
	Reason  string
}

func (e *DecodeError) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Encode writes a value of this package as one line of JSON; equal values give
// equal bytes. It fails for text that is not UTF-8, for a NaN and for a [Job], an
// [Output] or a [Message] that lacks what its kind needs.
func Encode(v any) ([]byte, error) {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return data, nil
}

// Decode reads exactly one JSON text of at most [MaxFrame] bytes into a pointer
// to a type of this package. The error is a [*DecodeError]; the target may then
// be half filled.
func Decode(data []byte, v any) error {
	if len(data) > MaxFrame {
		return &DecodeError{Reason: fmt.Sprintf("%d bytes; at most %d are read", len(data), MaxFrame)}
	}
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("decode into %T: want a pointer", v)
	}
	return (&decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(data))}).only(p.Elem())
}

// only reads a value that nothing follows.
func (d *decoder) only(v reflect.Value) error {
	if err := d.value(v, false); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &DecodeError{Reason: fmt.Sprintf("something follows the JSON text at byte %d", d.InputOffset())}
	}
	return nil
}

// decoder reads values by the shape of their Go types. A member may be missing
// when it is a pointer, raw JSON or marked omitzero, wire:"optional" or
// wire:"null"; it may be null when it is a pointer, raw JSON or marked wire:"null".
type decoder struct {
	*jsontext.Decoder
	base  string // where the text stands in a larger one
	tag   string // member of the outermost object that the caller has read
	plans map[reflect.Type][]member
}

type member struct {
	name     string
	index    int
	optional bool
	nullable bool
}

// reader is implemented by types that read themselves; checker by those that
// have a word to say about what was read.
type (
	reader  interface{ read(d *decoder) error }
	checker interface{ check() (reason string) }
)

func (d *decoder) fail(format string, args ...any) error {
	return &DecodeError{Pointer: d.base + string(d.StackPointer()), Reason: fmt.Sprintf(format, args...)}
}

// broken turns an error of the tokenizer into ours.
func (d *decoder) broken(err error) error {
	var fault *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &DecodeError{Reason: "invalid JSON: the text ends before its value does"}
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &fault):
		return &DecodeError{Pointer: d.base + cut(string(fault.JSONPointer)), Reason: "member is there twice"}
	case errors.As(err, &fault):
		return &DecodeError{Pointer: d.base + cut(string(fault.JSONPointer)), Reason: fmt.Sprintf("invalid JSON at byte %d", fault.ByteOffset)}
	}
	return &DecodeError{Reason: "invalid JSON"}
}

func (d *decoder) token() (jsontext.Token, error) {
	t, err := d.ReadToken()
	if err != nil {
		return t, d.broken(err)
	}
	return t, nil
}

func (d *decoder) raw() (jsontext.Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, d.broken(err)
	}
	if deep(v) {
		return nil, d.fail("is nested deeper than %d levels", maxDepth)
	}
	return v.Clone(), nil
}

var (
	rawType   = reflect.TypeFor[jsontext.Value]()
	bytesType = reflect.TypeFor[[]byte]()
)

func (d *decoder) value(v reflect.Value, nullable bool) error {
	if d.PeekKind() == 'n' && (nullable || v.Kind() == reflect.Pointer || v.Type() == rawType) {
		v.SetZero()
		if _, err := d.token(); err != nil {
			return err
		}
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem(), false)
	}
	if err := d.present(v); err != nil {
		return err
	}
	if c, ok := v.Addr().Interface().(checker); ok {
		if reason := c.check(); reason != "" {
			return d.fail("%s", reason)
		}
	}
	return nil
}

func (d *decoder) present(v reflect.Value) error {
	if r, ok := v.Addr().Interface().(reader); ok {
		return r.read(d)
	}
	if v.Type() == rawType {
		raw, err := d.raw()
		v.SetBytes(raw)
		return err
	}
	switch v.Kind() {
	case reflect.Struct:
		_, err := d.object(v, false)
		return err
	case reflect.Map:
		return d.texts(v)
	case reflect.Slice:
		if v.Type() == bytesType {
			return d.base64(v)
		}
		return d.list(v)
	}
	t, err := d.token()
	if err != nil {
		return err
	}
	switch kind := t.Kind(); v.Kind() {
	case reflect.String:
		if kind != '"' {
			return d.fail("is %s, want a string", kindName(kind))
		}
		v.SetString(t.String())
	case reflect.Bool:
		if kind != 't' && kind != 'f' {
			return d.fail("is %s, want true or false", kindName(kind))
		}
		v.SetBool(t.Bool())
	case reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(t.String(), 10, v.Type().Bits())
		if kind != '0' || err != nil {
			return d.fail("is %s, want an integer from 0 to %d", kindName(kind), uint64(math.MaxUint64)>>(64-v.Type().Bits()))
		}
		v.SetUint(n)
	case reflect.Int32, reflect.Int:
		n, err := strconv.ParseInt(t.String(), 10, 32)
		if kind != '0' || err != nil {
			return d.fail("is %s, want an integer of 32 bits", kindName(kind))
		}
		v.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(t.String(), 64)
		if kind != '0' || err != nil {
			return d.fail("is %s, want a finite number", kindName(kind))
		}
		v.SetFloat(n)
	default:
		return d.fail("cannot be read into %s", v.Type())
	}
	return nil
}

// object reads the members of a struct and returns the names that were there.
// Loose asks for no member to be there: the caller knows which.
func (d *decoder) object(v reflect.Value, loose bool) ([]string, error) {
	if err := d.open('{', "an object"); err != nil {
		return nil, err
	}
	at := string(d.StackPointer())
	plan := d.plan(v.Type())
	var seen []string
	for d.PeekKind() != '}' {
		t, err := d.token()
		if err != nil {
			return nil, err
		}
		name := t.String()
		if d.tag != "" && name == d.tag && at == "" {
			if _, err := d.token(); err != nil {
				return nil, err
			}
			continue
		}
		i := slices.IndexFunc(plan, func(m member) bool { return m.name == name })
		if i < 0 {
			return nil, unknown(d.base+at, name, plan)
		}
		seen = append(seen, name)
		if err := d.value(v.Field(plan[i].index), plan[i].nullable); err != nil {
			return nil, err
		}
	}
	if _, err := d.token(); err != nil {
		return nil, err
	}
	for _, m := range plan {
		if !loose && !m.optional && !slices.Contains(seen, m.name) {
			return nil, d.fail("lacks the member %s", m.name)
		}
	}
	return seen, nil
}

func (d *decoder) open(kind jsontext.Kind, want string) error {
	t, err := d.token()
	if err != nil {
		return err
	}
	if t.Kind() != kind {
		return d.fail("is %s, want %s", kindName(t.Kind()), want)
	}
	return nil
}

func (d *decoder) list(v reflect.Value) error {
	if err := d.open('[', "an array"); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for d.PeekKind() != ']' {
		if v.Len() == maxList {
			return d.fail("has more elements than the %d that are read", maxList)
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(element, false); err != nil {
			return err
		}
		v.Set(reflect.Append(v, element))
	}
	_, err := d.token()
	return err
}

func (d *decoder) texts(v reflect.Value) error {
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for d.PeekKind() != '}' {
		if v.Len() == maxList {
			return d.fail("has more members than the %d that are read", maxList)
		}
		t, err := d.token()
		if err != nil {
			return err
		}
		name := t.String()
		text := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(text, false); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), text)
	}
	_, err := d.token()
	return err
}

// base64 reads standard base64 with its padding and no line breaks.
func (d *decoder) base64(v reflect.Value) error {
	t, err := d.token()
	if err != nil {
		return err
	}
	if t.Kind() != '"' {
		return d.fail("is %s, want a string of base64", kindName(t.Kind()))
	}
	text := t.String()
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return d.fail("is not standard base64 with padding")
	}
	v.SetBytes(data)
	return nil
}

// plan lists the members of a struct as its tags name them.
func (d *decoder) plan(t reflect.Type) []member {
	if p, ok := d.plans[t]; ok {
		return p
	}
	plan := make([]member, t.NumField())
	for i := range plan {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		rule := f.Tag.Get("wire")
		m := member{name: name, index: i, nullable: rule == "null"}
		m.optional = rule != "" || options == "omitzero" || f.Type.Kind() == reflect.Pointer || f.Type == rawType
		plan[i] = m
	}
	if d.plans == nil {
		d.plans = map[reflect.Type][]member{}
	}
	d.plans[t] = plan
	return plan
}

// unknown refuses a member and names the one that may have been meant.
func unknown(at, name string, plan []member) error {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	at += "/" + cut(string(jsontext.Pointer("").AppendToken(name))[1:])
	names := make([]string, len(plan))
	for i, m := range plan {
		if plain(m.name) == plain(name) {
			return &DecodeError{Pointer: at, Reason: "unknown member; did you mean " + m.name + "?"}
		}
		names[i] = m.name
	}
	return &DecodeError{Pointer: at, Reason: "unknown member; known here: " + strings.Join(names, ", ")}
}

// cut keeps a pointer short enough for a log line.
func cut(s string) string {
	if len(s) <= 256 {
		return s
	}
	return strings.ToValidUTF8(s[:256], "") + "…"
}

// deep reports whether a valid JSON text is nested beyond maxDepth.
func deep(v []byte) bool {
	depth, text := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number that does not fit"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "nothing"
}
