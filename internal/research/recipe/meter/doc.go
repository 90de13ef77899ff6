// Package meter runs a recipe's module and counts the floating-point operations
// that it executes (design §3): exactly, and the same on every machine, driver and
// engine.
//
// # How
//
// [Instrument] writes the module anew with a charge before each basic block that
// has such operations; [Run] executes it in wazero, without anything of the machine
// that could change what it does, and reads the count. docs/metering.md is the
// method for readers of a result; [Table] is the table in it.
//
// # Invariants
//
//   - A runtime sees only what this package understood: each instruction is written
//     again in the shortest encoding, so there are no two readings of a module.
//   - No code of the module can name the counter, the steps or the question to the
//     host: every index in it is checked against what the module itself has.
//   - A block is charged whole before its first instruction. Calls end blocks, so a
//     figure counts more than was executed only when a block ended in a trap, and
//     then by the rest of that one block.
//   - The count, the outputs and the exit code are a function of module and options
//     alone. Payloads of NaN and the depth at which a stack ends are the runtime's.
//   - No input makes Instrument panic, loop, or use more memory than a multiple of
//     [MaxMetered].
package meter
