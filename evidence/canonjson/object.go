package canonjson

import (
	"fmt"
	"iter"
	"strconv"
)

// indexFrom is the number of members from which an Object keeps a name index.
// Below it, comparing names one after the other is faster than a map.
const indexFrom = 48

// Int is an integer of any size as its exact decimal text in canonical form:
// an optional minus sign, no leading zeros, and "0" for zero.
type Int string

// NewInt returns n as an Int.
func NewInt(n int64) Int { return Int(strconv.FormatInt(n, 10)) }

// Int64 returns the integer when it is between −2^63 and 2^63−1.
func (i Int) Int64() (int64, bool) {
	n, err := strconv.ParseInt(string(i), 10, 64)
	return n, err == nil
}

// canonical reports whether the text is the one canonical form of an integer.
func (i Int) canonical() bool {
	digits := string(i)
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
		if digits == "0" {
			return false
		}
	}
	if digits == "" || len(digits) > 1 && digits[0] == '0' {
		return false
	}
	for j := range len(digits) {
		if digits[j] < '0' || digits[j] > '9' {
			return false
		}
	}
	return true
}

type member struct {
	name  string
	value any
}

// Object is a JSON object: members in the order in which their names were first
// set, as in CPython's dict. The zero value is an empty object. An Object that
// nobody changes may be read by several goroutines at once.
type Object struct {
	members []member
	index   map[string]int // name → place in members; nil while there are few
}

// NewObject builds an object from alternating names and values:
//
//	NewObject("method", "GET", "amount", 0.0)
//
// Values are taken as by [Object.Set]. An odd number of arguments or a name that
// is not a string is a programming error and panics.
func NewObject(nameValue ...any) *Object {
	if len(nameValue)%2 != 0 {
		panic(fmt.Sprintf("canonjson.NewObject: %d arguments, want pairs of name and value", len(nameValue))) //nolint:forbidigo // A programming error, as documented.
	}
	o := &Object{members: make([]member, 0, len(nameValue)/2)}
	for i := 0; i < len(nameValue); i += 2 {
		name, ok := nameValue[i].(string)
		if !ok {
			panic(fmt.Sprintf("canonjson.NewObject: argument %d is a %T, want a member name (string)", i, nameValue[i])) //nolint:forbidigo // A programming error, as documented.
		}
		o.Set(name, nameValue[i+1])
	}
	return o
}

// find returns the place of a name in members, or -1.
func (o *Object) find(name string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if at, ok := o.index[name]; ok {
			return at
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].name == name {
			return i
		}
	}
	return -1
}

// Get returns the value of a member and whether there is one.
func (o *Object) Get(name string) (any, bool) {
	at := o.find(name)
	if at < 0 {
		return nil, false
	}
	return o.members[at].value, true
}

// Has reports whether the object has a member of this name.
func (o *Object) Has(name string) bool { return o.find(name) >= 0 }

// Set gives a member its value. A new name goes to the end; a known one keeps its
// place. A value outside the package's model is converted as by [FromGo]; one
// that cannot be converted is a programming error and panics.
func (o *Object) Set(name string, v any) {
	switch v.(type) {
	case nil, bool, string, Int, float64, []any:
	default:
		converted, err := FromGo(v)
		if err != nil {
			panic(fmt.Sprintf("canonjson: member %q: %v", name, err)) //nolint:forbidigo // A programming error, as documented.
		}
		v = converted
	}
	if at := o.find(name); at >= 0 {
		o.members[at].value = v
		return
	}
	o.members = append(o.members, member{name, v})
	switch {
	case o.index != nil:
		o.index[name] = len(o.members) - 1
	case len(o.members) >= indexFrom:
		o.index = indexOf(o.members)
	}
}

// Delete removes a member; the others keep their order. Deleting a name that is
// not there does nothing.
func (o *Object) Delete(name string) {
	at := o.find(name)
	if at < 0 {
		return
	}
	o.members = append(o.members[:at], o.members[at+1:]...)
	clear(o.members[len(o.members):cap(o.members)][:1]) // let go of the value that moved
	if o.index != nil {
		o.index = indexOf(o.members)
	}
}

// Len returns the number of members.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.members)
}

// Names returns the member names in order.
func (o *Object) Names() []string {
	names := make([]string, 0, o.Len())
	for name := range o.All() {
		names = append(names, name)
	}
	return names
}

// All ranges over names and values in order. The object must not be changed
// meanwhile.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for i := range o.members {
			if !yield(o.members[i].name, o.members[i].value) {
				return
			}
		}
	}
}

// Clone returns a shallow copy: its members can be set and deleted without
// changing the original, the values are the same.
func (o *Object) Clone() *Object {
	c := &Object{}
	if o == nil {
		return c
	}
	c.members = append(make([]member, 0, len(o.members)+1), o.members...)
	if len(c.members) >= indexFrom {
		c.index = indexOf(c.members)
	}
	return c
}

func indexOf(members []member) map[string]int {
	if len(members) < indexFrom {
		return nil
	}
	index := make(map[string]int, len(members))
	for i := range members {
		index[members[i].name] = i
	}
	return index
}
