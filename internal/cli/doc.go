// Package cli is the command line of prova: one file per command, each a thin
// layer that reads flags, calls one use case of the rooms below and renders its
// answer. It decides nothing that a room could decide.
//
// Every error a user sees is one line on standard error that says what failed,
// on which input and what to do. Exit statuses are a command's own contract
// (see its help); wrong usage is 64 everywhere.
package cli
