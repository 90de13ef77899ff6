// Package store is the one place where the services meet a database: SQLite
// for one machine, PostgreSQL for many, through the same calls and the same
// SQL text.
//
// Invariants, the same on both databases:
//
//   - A write is durable when Tx or Batch returns nil: SQLite runs in WAL mode
//     with synchronous=FULL, PostgreSQL with synchronous_commit=on, whatever the
//     server's default says. A caller may therefore acknowledge it.
//   - One write transaction runs at a time (SQLite's lock, an advisory lock of
//     PostgreSQL), so a check and the write that depends on it are safe inside
//     one function, on one host or on many.
//   - A failed write left nothing behind, with one exception that has its own
//     name: ErrUncertain, the commit whose outcome nobody can tell.
//   - Reader connections never write.
//
// SQL is written once: placeholders are $1, $2, …; instants are RFC 3339 text
// or Unix integers; migrations may use the words of Migrate's template for what
// the two databases name differently. See the architecture page, "Rules that
// keep it natural", 9 and 10.
package store
