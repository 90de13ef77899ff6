// Package timestamp obtains, verifies and issues RFC 3161 timestamp tokens.
package timestamp
