// Package obs makes what an operator sees of a running service: structured
// logs that carry the request's id, and a registry of metrics. It knows no
// challenge, and never receives a secret: callers log names and counts.
package obs
