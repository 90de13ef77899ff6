package meter

import "strings"

// Bytes of the format.
const (
	typeI32    = 0x7f
	typeI64    = 0x7e
	typeFunc   = 0x60
	funcRef    = 0x70
	externRef  = 0x6f
	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
)

var (
	valueTypes = []byte{typeI32, typeI64, 0x7d, 0x7c, 0x7b, funcRef, externRef}
	refTypes   = []byte{funcRef, externRef}
)

// section transcribes the content of a section.
func (m *module) section(id byte) {
	switch id {
	case secType:
		n := m.count("types")
		m.types = uint32(n)
		for range n {
			m.byte("the form of a type", typeFunc)
			m.valueTypes("parameters")
			m.valueTypes("results")
		}
	case secImport:
		n := m.count("imports")
		for range n {
			m.imported()
		}
		m.imports = uint32(n)
	case secFunction:
		n := m.count("functions")
		m.funcs += uint32(n)
		for range n {
			m.below("the type of a function", m.types)
		}
	case secTable:
		for range m.count("tables") {
			m.table()
		}
	case secMemory:
		for range m.count("memories") {
			m.memory()
		}
	case secGlobal:
		n := m.count("globals")
		for range n {
			m.byte("the type of a global", valueTypes...)
			m.byte("whether a global can change", 0, 1)
			m.constant()
			m.globals++
		}
		m.newGlobals = uint32(n)
	case secExport:
		n := m.count("exports")
		for range n {
			m.export()
		}
		m.exports = uint32(n)
	case secStart:
		m.start = int64(m.function("the start function"))
	case secElement:
		for range m.count("element segments") {
			m.element()
		}
	case secDataCount:
		m.u32("the number of data segments")
	case secCode:
		m.code()
	case secData:
		for range m.count("data segments") {
			m.data()
		}
	}
}

// function copies the index of a function. The one that asks the host stands
// between the imported ones and the module's own, and has no index that a module
// could write.
func (m *module) function(what string) uint32 {
	at := m.pos
	v := m.readU32(what)
	if m.fault == nil && v >= m.funcs {
		m.refuse(at, "%s is %d, the module has %d", what, v, m.funcs)
		return 0
	}
	if v >= m.importedFuncs {
		v++
	}
	m.out = appendU32(m.out, v)
	return v
}

func (m *module) valueTypes(what string) {
	for range m.count(what) {
		m.byte("a type of "+what, valueTypes...)
	}
}

func (m *module) imported() {
	at := m.pos
	if name := m.name("the module of an import"); name == hostName {
		m.refuse(at, "it imports from %q, a name of the method", name)
	}
	m.name("the name of an import")
	switch m.byte("the kind of an import", kindFunc, kindTable, kindMemory, kindGlobal) {
	case kindFunc:
		m.below("the type of an imported function", m.types)
		m.importedFuncs++
		m.funcs++
	case kindTable:
		m.table()
	case kindMemory:
		m.memory()
	case kindGlobal:
		m.byte("the type of an imported global", valueTypes...)
		m.byte("whether a global can change", 0, 1)
		m.globals++
	}
}

// table copies a type of tables. Its growth is bounded; that it fails is what a
// module must expect of any runtime.
func (m *module) table() {
	at := m.pos
	m.byte("the type of a table", refTypes...)
	if m.tables++; m.tables > MaxTables {
		m.refuse(at, "it has more than %d tables", MaxTables)
	}
	at = m.pos
	limits := m.next("the limits of a table")
	if limits > 1 {
		m.refuse(at, "the limits of a table have the form %#02x, which this method does not take", limits)
	}
	least, most := m.readU32("the size of a table"), uint32(MaxTableSize)
	if limits == 1 {
		at = m.pos
		most = m.readU32("the largest size of a table")
		if least > most {
			m.refuse(at, "the largest size of a table is %d, its size %d", most, least)
		}
		most = min(most, MaxTableSize)
	}
	if least > MaxTableSize {
		m.refuse(at, "a table has %d entries, at most %d are allowed", least, MaxTableSize)
	}
	m.out = appendU32(appendU32(append(m.out, 1), least), most)
}

// memory copies a type of memories. The runtime bounds it.
func (m *module) memory() {
	limits := m.byte("the limits of a memory", 0, 1)
	m.u32("the size of a memory")
	if limits == 1 {
		m.u32("the largest size of a memory")
	}
}

func (m *module) export() {
	at := m.pos
	if name := m.name("the name of an export"); strings.HasPrefix(name, hostName) {
		m.refuse(at, "it exports %q; names that begin with %q are the method's", name, hostName)
	}
	switch m.byte("the kind of an export", kindFunc, kindTable, kindMemory, kindGlobal) {
	case kindFunc:
		m.function("an exported function")
	case kindGlobal:
		m.below("an exported global", m.globals)
	default:
		m.u32("the index of an export")
	}
}

// constant copies an expression that can be computed before the module runs: one
// instruction and its end.
func (m *module) constant() {
	switch m.byte("a constant", opI32Const, opI64Const, opF32Const, opF64Const, opGlobalGet, opRefNull, opRefFunc, prefixSIMD) {
	case opI32Const:
		m.signed("a constant", 32)
	case opI64Const:
		m.signed("a constant", 64)
	case opF32Const:
		m.copy("a constant", 4)
	case opF64Const:
		m.copy("a constant", 8)
	case opGlobalGet:
		m.below("the global of a constant", m.globals)
	case opRefNull:
		m.byte("the type of a reference", refTypes...)
	case opRefFunc:
		m.function("the function of a constant")
	case prefixSIMD:
		at := m.pos
		if op := m.u32("a constant"); op != opV128Const {
			m.refuse(at, "the instruction 0xfd %d is no constant", op)
		}
		m.copy("a constant", 16)
	}
	m.byte("the end of a constant", opEnd)
}

func (m *module) element() {
	at := m.pos
	form := m.u32("the form of an element segment")
	if form > 7 {
		m.refuse(at, "the form of an element segment is %d, which does not exist", form)
		return
	}
	if form&3 == 2 { // active, with its table
		m.u32("the table of an element segment")
	}
	if form&1 == 0 { // active
		m.constant()
	}
	expressions := form&4 != 0
	if form&3 != 0 {
		if expressions {
			m.byte("the type of an element segment", refTypes...)
		} else {
			m.byte("the kind of an element segment", 0)
		}
	}
	for range m.count("elements") {
		if expressions {
			m.constant()
		} else {
			m.function("the function of an element")
		}
	}
}

func (m *module) data() {
	at := m.pos
	form := m.u32("the form of a data segment")
	switch form {
	case 0, 2:
		if form == 2 {
			m.byte("the memory of a data segment", 0)
		}
		m.constant()
	case 1:
	default:
		m.refuse(at, "the form of a data segment is %d, which does not exist", form)
	}
	m.copy("a data segment", m.count("bytes of a data segment"))
}
