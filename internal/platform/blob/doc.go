// Package blob puts files into S3-compatible storage under names that say their
// content, and makes addresses under which others fetch them.
//
// Invariants:
//
//   - When Put returns without an error, exactly these bytes are at the key: they
//     were written now, or they were there already and were read back and compared.
//   - An object that is there is never overwritten: writes carry If-None-Match "*".
//   - Credentials are in no error. What a server says is in none either, but for its
//     status and error code: a text of its own could repeat what a request carried.
//   - A presigned address is itself a secret of whoever made it, until it ends; it is
//     in no error.
//   - Every read is bounded by what is expected, every call by its context.
package blob
