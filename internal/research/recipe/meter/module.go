package meter

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// The most that a module may be. What is beyond is refused before it is compiled;
// the figures are those of the browsers' engines where these have one.
const (
	MaxModule    = 32 << 20  // bytes of a module
	MaxMetered   = 128 << 20 // bytes of what is made of it
	MaxBody      = 8 << 20   // bytes of one function
	MaxLocals    = 50_000    // of one function
	MaxAllLocals = 4_000_000 // of all functions; a few bytes can declare many
	MaxNesting   = 1 << 15   // of blocks in one function
	MaxTables    = 16
	MaxTableSize = 1 << 20 // entries of one table; a larger growth fails in the module
)

// Names of the method, which a module may not use.
const (
	hostName    = "prova:meter"       // the module of the import
	pollName    = "poll"              // the import: whether to stop
	counterName = "prova:meter/left"  // exported: what is left of the limit; below zero: stopped
	startName   = "prova:meter/start" // exported: the start function, to be called before anything else
)

// Ids of sections.
const (
	secCustom, secType, secImport, secFunction = 0, 1, 2, 3
	secTable, secMemory, secGlobal, secExport  = 4, 5, 6, 7
	secStart, secElement, secCode, secData     = 8, 9, 10, 11
	secDataCount                               = 12
)

// order is the order of sections in a module.
var order = [...]byte{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData}

var sectionNames = [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count"}

var header = []byte("\x00asm\x01\x00\x00\x00")

// module is what is known of the module that is transcribed.
type module struct {
	transcriber
	plain, misc, simd table
	frames            []frame

	types, imports       uint32
	importedFuncs, funcs uint32 // funcs with the imported ones
	globals              uint32
	tables               uint32
	allLocals            uint64
	exports              uint32
	start                int64 // -1: none
	newGlobals           uint32
}

// Instrument returns a module that does what another does and counts the
// floating-point operations that it executes, by the rules of [Method]. Before a
// block would carry the count over limit, it traps instead. A limit beyond
// [math.MaxInt64] is that number.
//
// The module counts in a global that no code of it can name, exported as
// "prova:meter/left": limit less the count, below zero after a stop. A start
// function is taken off and exported as "prova:meter/start", because its count
// would be lost with an instantiation that fails; the caller runs it first. The
// module imports "poll" of "prova:meter", a function without parameters that it
// calls after each 65536 turns of loops and calls, and the first time soon: when it
// returns another number than 0, the module traps.
// Names, debug data and other custom sections are dropped.
//
// It takes WebAssembly 1.0 with sign extension, saturating conversion, multiple
// values, bulk memory, reference types and SIMD of 128 bits, so release 2.0. It
// reads strictly but leaves types to the validator of the runtime: what it returns
// is valid only if the module was. A fault is an *[Error].
func Instrument(wasm []byte, limit uint64) ([]byte, error) {
	if len(wasm) > MaxModule {
		return nil, &Error{Offset: MaxModule, Reason: fmt.Sprintf("the module has %d bytes, at most %d are allowed", len(wasm), MaxModule)}
	}
	m := &module{transcriber: transcriber{in: wasm, end: len(wasm)}, start: -1}
	m.plain, m.misc, m.simd = instructions()
	if len(wasm) < len(header) || !bytes.Equal(wasm[:4], header[:4]) {
		return nil, &Error{Reason: "it is no WebAssembly: the first bytes are not \\0asm"}
	}
	if !bytes.Equal(wasm[4:8], header[4:]) {
		return nil, &Error{Offset: 4, Reason: "it is not version 1 of the binary format of modules"}
	}
	m.pos = len(header)
	sections, err := m.sections()
	if err != nil {
		return nil, err
	}
	m.add(sections, int64(min(limit, math.MaxInt64)))
	out := slices.Clone(header)
	for _, id := range order {
		if body := sections[id]; body != nil {
			out = append(appendU32(append(out, id), uint32(len(body))), body...)
		}
	}
	if len(out) > MaxMetered {
		return nil, &Error{Offset: len(wasm), Reason: fmt.Sprintf("with its counters it would have %d bytes, at most %d are allowed", len(out), MaxMetered)}
	}
	return out, nil
}

// sections transcribes each section and returns them by their ids.
func (m *module) sections() ([][]byte, error) {
	sections := make([][]byte, len(sectionNames))
	last := -1
	for m.more() {
		at := m.pos
		id := m.next("a section")
		size := m.readU32("the size of a section")
		if m.fault != nil {
			break
		}
		if int(id) >= len(sectionNames) {
			m.refuse(at, "section %d does not exist", id)
			break
		}
		if int64(size) > int64(m.end-m.pos) {
			m.refuse(at, "the %s section has %d bytes, %d are left", sectionNames[id], size, m.end-m.pos)
			break
		}
		whole := m.end
		m.out, m.end = nil, m.pos+int(size)
		if id == secCustom {
			m.name("the name of a custom section")
			m.pos = m.end
		} else {
			rank := slices.Index(order[:], id)
			if rank <= last {
				m.refuse(at, "the %s section stands after the %s section", sectionNames[id], sectionNames[order[last]])
			}
			last = rank
			m.out = []byte{} // an empty section is one
			m.section(id)
			sections[id] = m.out
		}
		if m.fault == nil && m.pos != m.end {
			m.refuse(m.pos, "the %s section has %d bytes more than it says", sectionNames[id], m.end-m.pos)
		}
		m.end = whole
	}
	if m.fault == nil && sections[secCode] == nil && m.funcs != m.importedFuncs {
		m.refuse(m.pos, "it names %d functions and has no code", m.funcs-m.importedFuncs)
	}
	if m.fault != nil {
		return nil, m.fault
	}
	return sections, nil
}

// counter and steps are the globals behind those of the module.
func (m *module) counter() uint32 { return m.globals }
func (m *module) steps() uint32   { return m.globals + 1 }

// add puts what the method brings behind what the module has.
func (m *module) add(sections [][]byte, limit int64) {
	sections[secType] = grow(sections[secType], m.types, 1, []byte{typeFunc, 0, 1, typeI32})
	sections[secImport] = grow(sections[secImport], m.imports, 1,
		appendU32(append(appendName(appendName(nil, hostName), pollName), kindFunc), m.types))
	globals := append(appendSigned([]byte{typeI64, 1, opI64Const}, limit), opEnd, typeI64, 1, opI64Const, 0, opEnd)
	sections[secGlobal] = grow(sections[secGlobal], m.newGlobals, 2, globals)
	exports, n := exported(nil, counterName, kindGlobal, m.counter()), uint32(1)
	if m.start >= 0 {
		exports, n = exported(exports, startName, kindFunc, uint32(m.start)), 2
	}
	sections[secExport] = grow(sections[secExport], m.exports, n, exports)
	sections[secStart] = nil
}

// grow appends n items to a vector of count items, which may be absent.
func grow(vector []byte, count, n uint32, items []byte) []byte {
	if vector != nil {
		vector = vector[len(appendU32(nil, count)):]
	}
	return append(append(appendU32(nil, count+n), vector...), items...)
}

func appendName(out []byte, name string) []byte {
	return append(appendU32(out, uint32(len(name))), name...)
}

func exported(out []byte, name string, kind byte, index uint32) []byte {
	return appendU32(append(appendName(out, name), kind), index)
}
