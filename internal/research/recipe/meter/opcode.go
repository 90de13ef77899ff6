package meter

// immediate says what follows an opcode in the code of a function.
type immediate uint8

const (
	none        immediate = iota
	u32                   // an index
	u32u32                // two indexes
	blockType             // of block, loop and if
	label                 // of br and br_if
	labels                // of br_table
	types                 // of select with types
	memArg                // alignment and offset
	memArgLane            // alignment, offset and lane
	lane                  // one byte
	lanes                 // sixteen bytes
	zero                  // the byte 0: memory 0
	zerozero              // the bytes 0 0: memory 0 twice
	u32zero               // an index, then memory 0
	typeTable             // of call_indirect
	globalIndex           // an index of a global
	funcIndex             // an index of a function
	sleb32                // of i32.const
	sleb64                // of i64.const
	bytes4                // of f32.const
	bytes8                // of f64.const
	refType               // of ref.null
)

// opcode is an instruction that this package takes. One without a name does not
// exist, or belongs to a feature that is refused.
type opcode struct {
	name string
	imm  immediate
	ops  uint8 // floating-point operations it counts as
	bulk bool  // it may touch all of a memory or table
}

// table is the instructions of one prefix by their number.
type table []opcode

// The prefixes of instructions that have more than one byte.
const (
	prefixMisc = 0xfc
	prefixSIMD = 0xfd
)

// put lists instructions that follow each other; "" leaves a number free.
func (t table) put(at int, imm immediate, ops uint8, names ...string) {
	for i, name := range names {
		if name != "" {
			t[at+i] = opcode{name: name, imm: imm, ops: ops}
		}
	}
}

// instructions returns the tables of the method: every instruction that a module
// may have, and what each counts as. They are made anew for each caller, so that
// nothing can change them for another.
func instructions() (plain, misc, simd table) {
	return plainTable(), miscTable(), simdTable()
}

func plainTable() table {
	t := make(table, 256)
	t.put(0x00, none, 0, "unreachable", "nop")
	t.put(0x02, blockType, 0, "block", "loop", "if")
	t.put(0x05, none, 0, "else")
	t.put(0x0b, none, 0, "end")
	t.put(0x0c, label, 0, "br", "br_if")
	t.put(0x0e, labels, 0, "br_table")
	t.put(0x0f, none, 0, "return")
	t.put(0x10, funcIndex, 0, "call")
	t.put(0x11, typeTable, 0, "call_indirect")
	t.put(0x1a, none, 0, "drop", "select")
	t.put(0x1c, types, 0, "select t")
	t.put(0x20, u32, 0, "local.get", "local.set", "local.tee")
	t.put(0x23, globalIndex, 0, "global.get", "global.set")
	t.put(0x25, u32, 0, "table.get", "table.set")
	t.put(0x28, memArg, 0, "i32.load", "i64.load", "f32.load", "f64.load",
		"i32.load8_s", "i32.load8_u", "i32.load16_s", "i32.load16_u",
		"i64.load8_s", "i64.load8_u", "i64.load16_s", "i64.load16_u", "i64.load32_s", "i64.load32_u",
		"i32.store", "i64.store", "f32.store", "f64.store",
		"i32.store8", "i32.store16", "i64.store8", "i64.store16", "i64.store32")
	t.put(0x3f, zero, 0, "memory.size", "memory.grow")
	t.put(0x41, sleb32, 0, "i32.const")
	t.put(0x42, sleb64, 0, "i64.const")
	t.put(0x43, bytes4, 0, "f32.const")
	t.put(0x44, bytes8, 0, "f64.const")
	t.put(0x45, none, 0, "i32.eqz", "i32.eq", "i32.ne", "i32.lt_s", "i32.lt_u", "i32.gt_s", "i32.gt_u", "i32.le_s", "i32.le_u", "i32.ge_s", "i32.ge_u",
		"i64.eqz", "i64.eq", "i64.ne", "i64.lt_s", "i64.lt_u", "i64.gt_s", "i64.gt_u", "i64.le_s", "i64.le_u", "i64.ge_s", "i64.ge_u",
		"f32.eq", "f32.ne", "f32.lt", "f32.gt", "f32.le", "f32.ge",
		"f64.eq", "f64.ne", "f64.lt", "f64.gt", "f64.le", "f64.ge")
	t.put(0x67, none, 0, "i32.clz", "i32.ctz", "i32.popcnt", "i32.add", "i32.sub", "i32.mul", "i32.div_s", "i32.div_u", "i32.rem_s", "i32.rem_u",
		"i32.and", "i32.or", "i32.xor", "i32.shl", "i32.shr_s", "i32.shr_u", "i32.rotl", "i32.rotr",
		"i64.clz", "i64.ctz", "i64.popcnt", "i64.add", "i64.sub", "i64.mul", "i64.div_s", "i64.div_u", "i64.rem_s", "i64.rem_u",
		"i64.and", "i64.or", "i64.xor", "i64.shl", "i64.shr_s", "i64.shr_u", "i64.rotl", "i64.rotr")
	for at, f := range map[int]string{0x8b: "f32", 0x99: "f64"} {
		t.put(at, none, 0, f+".abs", f+".neg", f+".ceil", f+".floor", f+".trunc", f+".nearest")
		t.put(at+6, none, 1, f+".sqrt", f+".add", f+".sub", f+".mul", f+".div", f+".min", f+".max")
		t.put(at+13, none, 0, f+".copysign")
	}
	t.put(0xa7, none, 0, "i32.wrap_i64", "i32.trunc_f32_s", "i32.trunc_f32_u", "i32.trunc_f64_s", "i32.trunc_f64_u",
		"i64.extend_i32_s", "i64.extend_i32_u", "i64.trunc_f32_s", "i64.trunc_f32_u", "i64.trunc_f64_s", "i64.trunc_f64_u",
		"f32.convert_i32_s", "f32.convert_i32_u", "f32.convert_i64_s", "f32.convert_i64_u", "f32.demote_f64",
		"f64.convert_i32_s", "f64.convert_i32_u", "f64.convert_i64_s", "f64.convert_i64_u", "f64.promote_f32",
		"i32.reinterpret_f32", "i64.reinterpret_f64", "f32.reinterpret_i32", "f64.reinterpret_i64",
		"i32.extend8_s", "i32.extend16_s", "i64.extend8_s", "i64.extend16_s", "i64.extend32_s")
	t[0x40].bulk = true // memory.grow copies
	t.put(0xd0, refType, 0, "ref.null")
	t.put(0xd1, none, 0, "ref.is_null")
	t.put(0xd2, funcIndex, 0, "ref.func")
	return t
}

func miscTable() table {
	t := make(table, 18)
	t.put(0, none, 0, "i32.trunc_sat_f32_s", "i32.trunc_sat_f32_u", "i32.trunc_sat_f64_s", "i32.trunc_sat_f64_u",
		"i64.trunc_sat_f32_s", "i64.trunc_sat_f32_u", "i64.trunc_sat_f64_s", "i64.trunc_sat_f64_u")
	t.put(8, u32zero, 0, "memory.init")
	t.put(9, u32, 0, "data.drop")
	t.put(10, zerozero, 0, "memory.copy")
	t.put(11, zero, 0, "memory.fill")
	t.put(12, u32u32, 0, "table.init")
	t.put(13, u32, 0, "elem.drop")
	t.put(14, u32u32, 0, "table.copy")
	t.put(15, u32, 0, "table.grow", "table.size", "table.fill")
	for _, i := range []int{8, 10, 11, 12, 14, 15, 17} {
		t[i].bulk = true
	}
	return t
}

func simdTable() table {
	t := make(table, 256)
	t.put(0, memArg, 0, "v128.load", "v128.load8x8_s", "v128.load8x8_u", "v128.load16x4_s", "v128.load16x4_u", "v128.load32x2_s", "v128.load32x2_u",
		"v128.load8_splat", "v128.load16_splat", "v128.load32_splat", "v128.load64_splat", "v128.store")
	t.put(12, lanes, 0, "v128.const", "i8x16.shuffle")
	t.put(14, none, 0, "i8x16.swizzle", "i8x16.splat", "i16x8.splat", "i32x4.splat", "i64x2.splat", "f32x4.splat", "f64x2.splat")
	t.put(21, lane, 0, "i8x16.extract_lane_s", "i8x16.extract_lane_u", "i8x16.replace_lane", "i16x8.extract_lane_s", "i16x8.extract_lane_u", "i16x8.replace_lane",
		"i32x4.extract_lane", "i32x4.replace_lane", "i64x2.extract_lane", "i64x2.replace_lane",
		"f32x4.extract_lane", "f32x4.replace_lane", "f64x2.extract_lane", "f64x2.replace_lane")
	at := 35
	for _, shape := range []string{"i8x16", "i16x8", "i32x4"} {
		for _, rel := range []string{"eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"} {
			t.put(at, none, 0, shape+"."+rel)
			at++
		}
	}
	for _, shape := range []string{"f32x4", "f64x2"} {
		for _, rel := range []string{"eq", "ne", "lt", "gt", "le", "ge"} {
			t.put(at, none, 0, shape+"."+rel)
			at++
		}
	}
	t.put(77, none, 0, "v128.not", "v128.and", "v128.andnot", "v128.or", "v128.xor", "v128.bitselect", "v128.any_true")
	t.put(84, memArgLane, 0, "v128.load8_lane", "v128.load16_lane", "v128.load32_lane", "v128.load64_lane",
		"v128.store8_lane", "v128.store16_lane", "v128.store32_lane", "v128.store64_lane")
	t.put(92, memArg, 0, "v128.load32_zero", "v128.load64_zero")
	t.put(94, none, 0, "f32x4.demote_f64x2_zero", "f64x2.promote_low_f32x4")
	t.put(96, none, 0, "i8x16.abs", "i8x16.neg", "i8x16.popcnt", "i8x16.all_true", "i8x16.bitmask", "i8x16.narrow_i16x8_s", "i8x16.narrow_i16x8_u",
		"f32x4.ceil", "f32x4.floor", "f32x4.trunc", "f32x4.nearest",
		"i8x16.shl", "i8x16.shr_s", "i8x16.shr_u", "i8x16.add", "i8x16.add_sat_s", "i8x16.add_sat_u", "i8x16.sub", "i8x16.sub_sat_s", "i8x16.sub_sat_u",
		"f64x2.ceil", "f64x2.floor", "i8x16.min_s", "i8x16.min_u", "i8x16.max_s", "i8x16.max_u", "f64x2.trunc", "i8x16.avgr_u",
		"i16x8.extadd_pairwise_i8x16_s", "i16x8.extadd_pairwise_i8x16_u", "i32x4.extadd_pairwise_i16x8_s", "i32x4.extadd_pairwise_i16x8_u")
	t.put(128, none, 0, "i16x8.abs", "i16x8.neg", "i16x8.q15mulr_sat_s", "i16x8.all_true", "i16x8.bitmask", "i16x8.narrow_i32x4_s", "i16x8.narrow_i32x4_u",
		"i16x8.extend_low_i8x16_s", "i16x8.extend_high_i8x16_s", "i16x8.extend_low_i8x16_u", "i16x8.extend_high_i8x16_u",
		"i16x8.shl", "i16x8.shr_s", "i16x8.shr_u", "i16x8.add", "i16x8.add_sat_s", "i16x8.add_sat_u", "i16x8.sub", "i16x8.sub_sat_s", "i16x8.sub_sat_u",
		"f64x2.nearest", "i16x8.mul", "i16x8.min_s", "i16x8.min_u", "i16x8.max_s", "i16x8.max_u", "", "i16x8.avgr_u",
		"i16x8.extmul_low_i8x16_s", "i16x8.extmul_high_i8x16_s", "i16x8.extmul_low_i8x16_u", "i16x8.extmul_high_i8x16_u")
	t.put(160, none, 0, "i32x4.abs", "i32x4.neg", "", "i32x4.all_true", "i32x4.bitmask", "", "",
		"i32x4.extend_low_i16x8_s", "i32x4.extend_high_i16x8_s", "i32x4.extend_low_i16x8_u", "i32x4.extend_high_i16x8_u",
		"i32x4.shl", "i32x4.shr_s", "i32x4.shr_u", "i32x4.add", "", "", "i32x4.sub", "", "", "", "i32x4.mul",
		"i32x4.min_s", "i32x4.min_u", "i32x4.max_s", "i32x4.max_u", "i32x4.dot_i16x8_s", "",
		"i32x4.extmul_low_i16x8_s", "i32x4.extmul_high_i16x8_s", "i32x4.extmul_low_i16x8_u", "i32x4.extmul_high_i16x8_u")
	t.put(192, none, 0, "i64x2.abs", "i64x2.neg", "", "i64x2.all_true", "i64x2.bitmask", "", "",
		"i64x2.extend_low_i32x4_s", "i64x2.extend_high_i32x4_s", "i64x2.extend_low_i32x4_u", "i64x2.extend_high_i32x4_u",
		"i64x2.shl", "i64x2.shr_s", "i64x2.shr_u", "i64x2.add", "", "", "i64x2.sub", "", "", "", "i64x2.mul",
		"i64x2.eq", "i64x2.ne", "i64x2.lt_s", "i64x2.gt_s", "i64x2.le_s", "i64x2.ge_s",
		"i64x2.extmul_low_i32x4_s", "i64x2.extmul_high_i32x4_s", "i64x2.extmul_low_i32x4_u", "i64x2.extmul_high_i32x4_u")
	for _, f := range []struct {
		at    int
		shape string
		lanes uint8
	}{{224, "f32x4", 4}, {236, "f64x2", 2}} {
		t.put(f.at, none, 0, f.shape+".abs", f.shape+".neg")
		t.put(f.at+3, none, f.lanes, f.shape+".sqrt", f.shape+".add", f.shape+".sub", f.shape+".mul", f.shape+".div",
			f.shape+".min", f.shape+".max", f.shape+".pmin", f.shape+".pmax")
	}
	t.put(248, none, 0, "i32x4.trunc_sat_f32x4_s", "i32x4.trunc_sat_f32x4_u", "f32x4.convert_i32x4_s", "f32x4.convert_i32x4_u",
		"i32x4.trunc_sat_f64x2_s_zero", "i32x4.trunc_sat_f64x2_u_zero", "f64x2.convert_low_i32x4_s", "f64x2.convert_low_i32x4_u")
	return t
}
