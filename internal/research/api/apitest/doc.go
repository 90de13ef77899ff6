// Package apitest is a whole control plane inside a test: host, ledger, engine, an
// orchestrator that is scripted, and the operator's files with secrets planted in
// them. Tests of the routes and of the pages run over it.
package apitest
