// Package api serves the control plane of the research challenge over HTTP
// (specification "HTTP"; reference §§11 and 14, "R§14" in comments; decisions 4, 6,
// 7, 8, 18 and 19 of the design). It decides nothing: package host does, and this
// package brings requests to it and its answers back.
//
// The way of a request:
//
//	request id, security headers, access log, panics, rest of a refused body
//	  -> a place among the requests that are served at once, else 503
//	  -> route -> for admin routes: transport, throttle, bearer, and then the body
//	  -> host -> status, headers and JSON
//
// # Invariants
//
//   - Every error is {"error": text} with the status of R§14, also the ones of the
//     routes themselves: 404, 405, 408, 413, 500 and 503.
//   - An admin route reads no byte of a body before the bearer was found good, and
//     reads the bearer only where the way to it is private: TLS, loopback, or a
//     trusted proxy that does not say otherwise. What an admin changed is in the
//     audit, with the label of the token and never the token.
//   - The address of a client is what X-Forwarded-For says only as far as trusted
//     proxies wrote it.
//   - A submission that waits for its run holds no place among the requests, and no
//     timeout of the server ends it. The run does not depend on it.
//   - No header, query or body of a request is logged.
package api
