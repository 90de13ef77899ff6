package meter

// Opcodes that this package knows apart from the tables.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI64LtS       = 0x53
	opI64Sub       = 0x7d
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opV128Const    = 12
	emptyBlock     = 0x40
)

// Steps are what a module may do between two questions to its host: one for each
// turn of a loop and call of a function, and many for an instruction that may touch
// all of a memory or table.
const (
	stepsPerPoll = 1 << 16
	bulkSteps    = 1 << 8
)

// code transcribes the bodies of all functions.
func (m *module) code() {
	at := m.pos
	n := m.count("bodies")
	if want := m.funcs - m.importedFuncs; m.fault == nil && uint32(n) != want {
		m.refuse(at, "it has %d bodies for %d functions", n, want)
	}
	var body []byte
	for range n {
		at := m.pos
		size := m.readU32("the size of a body")
		if m.fault != nil {
			return
		}
		if size > MaxBody {
			m.refuse(at, "a function has %d bytes, at most %d are allowed", size, MaxBody)
			return
		}
		if int(size) > m.end-m.pos {
			m.refuse(at, "a function has %d bytes, %d are left", size, m.end-m.pos)
			return
		}
		all, section := m.out, m.end
		m.out, m.end = body[:0], m.pos+int(size)
		m.locals()
		m.expression()
		if m.fault == nil && m.pos != m.end {
			m.refuse(m.pos, "a function has %d bytes after its end", m.end-m.pos)
		}
		body, m.end = m.out, section
		m.out = append(appendU32(all, uint32(len(body))), body...)
		if len(m.out) > MaxMetered {
			m.refuse(at, "with its counters the code would have more than %d bytes", MaxMetered)
			return
		}
	}
}

func (m *module) locals() {
	total := uint64(0)
	for range m.count("groups of locals") {
		at := m.pos
		total += uint64(m.u32("the number of locals"))
		if total > MaxLocals {
			m.refuse(at, "a function has more than %d locals", MaxLocals)
		}
		m.byte("the type of a local", valueTypes...)
	}
	if m.allLocals += total; m.allLocals > MaxAllLocals {
		m.refuse(m.pos, "its functions have more than %d locals together", MaxAllLocals)
	}
}

// frame is an open block. A loop is written as two, so that labels are counted
// anew.
type frame struct {
	base uint32 // labels outside of it, as they are written
	loop bool
}

func (f frame) size() uint32 {
	if f.loop {
		return 2
	}
	return 1
}

// expression transcribes the instructions of a function to its end. It puts a
// charge before each block that counts as anything, and polls where the function
// could go on without end.
//
// A block here is what runs from its first instruction to its last unless it
// traps: it begins where a branch may arrive or one may have been left (at the
// start, after loop, if, else, end and br_if) and behind each call, from which the
// function need not come back. "block" itself begins none: no branch arrives
// there.
func (m *module) expression() {
	entry := len(m.out)
	start, ops := entry, int64(0)
	first, calls, looped := true, false, false
	cut := func() {
		if ops > 0 {
			m.charge(start, ops)
		}
		start, ops, first = len(m.out), 0, false
	}
	m.frames = append(m.frames[:0], frame{})
	for len(m.frames) > 0 && m.fault == nil {
		at, from := m.pos, len(m.out)
		code := m.next("an instruction")
		o := m.instruction(at, code)
		if m.fault != nil {
			return
		}
		ops += int64(o.ops)
		switch code {
		case opBlock, opLoop, opIf:
			if len(m.frames) > MaxNesting {
				m.refuse(at, "blocks are nested more than %d deep", MaxNesting)
				return
			}
			last := m.frames[len(m.frames)-1]
			m.frames = append(m.frames, frame{base: last.base + last.size(), loop: code == opLoop})
			if code == opLoop {
				looped = looped || first
				m.loop(from)
			}
			if code != opBlock {
				cut()
			}
		case opEnd:
			if m.frames[len(m.frames)-1].loop {
				m.out = append(m.out, opEnd)
			}
			m.frames = m.frames[:len(m.frames)-1]
			cut()
		case opCall, opCallIndirect:
			calls = true
			cut()
		case opElse, opBr, opBrIf, opBrTable, opReturn, opUnreachable:
			cut()
		}
	}
	if calls && !looped {
		m.insert(entry, m.poll(1))
	}
}

// charge puts before the block that was written from start on: take its
// operations off what is left, and stop when that is less than none.
func (m *module) charge(start int, ops int64) {
	c := m.subtract(nil, m.counter(), ops)
	m.insert(start, append(c, opIf, emptyBlock, opUnreachable, opEnd))
}

// subtract takes n off a global and leaves whether it is below zero.
func (m *module) subtract(c []byte, global uint32, n int64) []byte {
	c = appendU32(append(c, opGlobalGet), global)
	c = append(appendSigned(append(c, opI64Const), n), opI64Sub, opGlobalSet)
	c = appendU32(c, global)
	return m.negative(c, global)
}

func (m *module) negative(c []byte, global uint32) []byte {
	return append(appendU32(append(c, opGlobalGet), global), opI64Const, 0, opI64LtS)
}

// poll returns the code that asks the host whether to go on when n steps use up
// what it allowed before.
func (m *module) poll(n int64) []byte { return m.ask(m.subtract(nil, m.steps(), n)) }

// ask appends: if so, ask the host, trap if it says to stop, and allow as many steps
// again.
func (m *module) ask(c []byte) []byte {
	c = appendU32(append(c, opIf, emptyBlock, opCall), m.importedFuncs)
	c = append(c, opIf, emptyBlock, opUnreachable, opEnd)
	c = append(appendSigned(append(c, opI64Const), stepsPerPoll), opGlobalSet)
	return append(appendU32(c, m.steps()), opEnd)
}

// loop turns a loop that was written from a place on into two: the inner one
// leaves for the start of the outer one when its steps are used up, and that asks
// the host. A call in the loop itself would cost its every turn, because a
// compiler keeps nothing in registers over a call.
func (m *module) loop(from int) {
	head := m.out[from:]
	c := m.ask(m.negative(append([]byte(nil), head...), m.steps()))
	c = m.subtract(append(c, head...), m.steps(), 1)
	m.out = append(m.out[:from], append(c, opBrIf, 1)...)
}

// label copies the label of a branch.
func (m *module) label(what string) {
	at := m.pos
	v := m.readU32(what)
	if uint64(v) >= uint64(len(m.frames)) {
		m.refuse(at, "the label of %s is %d, there are %d", what, v, len(m.frames))
		return
	}
	last, to := m.frames[len(m.frames)-1], m.frames[len(m.frames)-1-int(v)]
	m.out = appendU32(m.out, last.base+last.size()-to.base-to.size())
}

// insert puts code in the middle of what was written.
func (m *module) insert(at int, c []byte) {
	end := len(m.out)
	m.out = append(m.out, c...)
	copy(m.out[at+len(c):], m.out[at:end])
	copy(m.out[at:], c)
}

// instruction transcribes an instruction whose first byte was read.
func (m *module) instruction(at int, code byte) opcode {
	set, number := m.plain, uint32(code)
	switch code {
	case prefixMisc:
		set, number = m.misc, m.readU32("an instruction")
	case prefixSIMD:
		set, number = m.simd, m.readU32("an instruction")
	}
	if m.fault != nil {
		return opcode{}
	}
	if uint64(number) >= uint64(len(set)) || set[number].name == "" {
		if code == prefixMisc || code == prefixSIMD {
			m.refuse(at, "the instruction %#02x %d does not exist, or is of a feature that this method does not take", code, number)
		} else {
			m.refuse(at, "the instruction %#02x does not exist, or is of a feature that this method does not take", code)
		}
		return opcode{}
	}
	o := set[number]
	if o.bulk {
		m.out = append(m.out, m.poll(bulkSteps)...)
	}
	m.out = append(m.out, code)
	if code == prefixMisc || code == prefixSIMD {
		m.out = appendU32(m.out, number)
	}
	m.immediate(o)
	return o
}

// immediate transcribes what follows an opcode. The code comes after all sections
// that define types, globals and functions, so that their numbers are known: an
// index beyond would be what the method brings.
func (m *module) immediate(o opcode) {
	switch o.imm {
	case none:
	case u32:
		m.u32(o.name)
	case label:
		m.label(o.name)
	case u32u32:
		m.u32(o.name)
		m.u32(o.name)
	case typeTable:
		m.below("the type of "+o.name, m.types)
		m.u32(o.name)
	case globalIndex:
		m.below("the global of "+o.name, m.globals)
	case funcIndex:
		m.function("the function of " + o.name)
	case blockType:
		m.blockType(o.name)
	case labels:
		for range m.count("labels") {
			m.label(o.name)
		}
		m.label(o.name)
	case types:
		m.valueTypes("values")
	case memArg, memArgLane:
		m.below("the alignment of "+o.name, 32)
		m.u32("the offset of " + o.name)
		if o.imm == memArgLane {
			m.copy("the lane of "+o.name, 1)
		}
	case lane:
		m.copy("the lane of "+o.name, 1)
	case lanes:
		m.copy("the lanes of "+o.name, 16)
	case zero:
		m.byte("the memory of "+o.name, 0)
	case zerozero:
		m.byte("the memory of "+o.name, 0)
		m.byte("the memory of "+o.name, 0)
	case u32zero:
		m.u32(o.name)
		m.byte("the memory of "+o.name, 0)
	case sleb32:
		m.signed(o.name, 32)
	case sleb64:
		m.signed(o.name, 64)
	case bytes4:
		m.copy(o.name, 4)
	case bytes8:
		m.copy(o.name, 8)
	case refType:
		m.byte("the type of "+o.name, refTypes...)
	}
}

// blockType copies the type of a block: nothing, one value, or an index of a type.
func (m *module) blockType(of string) {
	if m.more() && m.in[m.pos] >= 0x40 && m.in[m.pos] < 0x80 {
		m.byte("the type of "+of, append([]byte{emptyBlock}, valueTypes...)...)
		return
	}
	at := m.pos
	if v := m.signed("the type of "+of, 33); v < 0 || v >= int64(m.types) {
		m.refuse(at, "the type of %s is %d, the module has %d", of, v, m.types)
	}
}
