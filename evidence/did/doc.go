// Package did reads the two DID methods of the challenge (reference §12.3):
// did:key, whose text is an Ed25519 key, and did:web, whose key stands in a
// document on the web.
//
// [ParseKey] and [FormatKey] are each other's reverse: one key has one DID, and
// one DID names one key. [WebURL] gives the address of a did:web document without
// fetching it. [Resolve] gives the key of either method; it fetches through a
// [Fetcher] of the caller, who guards which addresses may be reached, how long it
// may take and how much may come back.
//
// Invariants: no key of small order comes out of this package, because the
// standard library's Ed25519 accepts forged signatures under such a key; a URL
// from WebURL has scheme https, a host without port or user, and a path that
// stays what it is under cleaning.
package did
