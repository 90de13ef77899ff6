// Package tlogtest checks that an implementation of tlog.Store keeps that interface's promises, as far as they can be
// seen without pulling a plug. Every store runs it, the two of package tlog and those over a database elsewhere.
package tlogtest
