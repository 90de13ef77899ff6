// Package rlmtest is a topic-VM orchestrator inside a test: it keeps the rules of the
// real boundary (one VM a topic, one job at a time, evidence bound and stamped by the
// host) and does in its guests what a test scripts for each artefact. Nothing is
// isolated and nothing runs.
package rlmtest
