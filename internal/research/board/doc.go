// Package board shows the research challenge to readers, in English and French:
// topics with what a run has to beat, the champions, every stored row with the
// reason of its state in words, closed epochs with who is paid what and from which
// figures, and what all of this does not prove (specification "HTTP" and "Payout";
// decisions 3, 4, 12 and 13 of the design).
//
// # Invariants
//
//   - A page shows what the host gives to anyone, and nothing else: claim and address
//     of an artefact are not there until the epoch of their row is closed.
//   - What it takes to pass and what it takes to be crowned are two figures, each with
//     where it comes from; a topic that is closed or expired asks for neither.
//   - A pass is never said to be paid before its epoch is closed; then its page says
//     whether it is the run that counted.
//   - Whatever makes a figure worth less is a label on every page: a simulated
//     backend, a stand-in, a driver that isolates nothing, unsigned submissions; a
//     run outside a sandbox is labelled on its row.
//   - Every sentence stands in the catalogues (en*.go, fr*.go) under one key in both
//     languages.
//   - Text that an operator, a miner or a guest wrote is escaped and shown with its
//     invisible characters written out; it is never a link.
//   - No page needs a script; links are relative; each page names its JSON twin
//     among the routes.
package board
