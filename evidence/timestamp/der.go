package timestamp

import (
	"crypto/x509"
	"fmt"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// Context-specific tags of the structures read here.
const (
	tag0         = asn1.Tag(0xa0) // [0] constructed.
	tag1         = asn1.Tag(0xa1) // [1] constructed.
	tagDirectory = asn1.Tag(0xa4) // directoryName of GeneralName.
	tagKeyID     = asn1.Tag(0x80) // subjectKeyIdentifier of SignerIdentifier.
	tagMillis    = asn1.Tag(0x80) // Of Accuracy; the next too.
	tagMicros    = asn1.Tag(0x81)
)

// malformed builds the error of a field that is not as RFC 3161, RFC 5652 or
// DER wants it.
func malformed(field, format string, args ...any) error {
	return fmt.Errorf("timestamp: %s: %s", field, fmt.Sprintf(format, args...))
}

// element takes one element of the given tag off s and returns its content.
// cryptobyte refuses indefinite and non-minimal lengths, so what passes here
// has one encoding.
func element(s *cryptobyte.String, tag asn1.Tag, field string) (cryptobyte.String, error) {
	var out cryptobyte.String
	if s.Empty() {
		return nil, malformed(field, "missing")
	}
	found := (*s)[0] // A failed read may have consumed it.
	if !s.ReadASN1(&out, tag) {
		return nil, malformed(field, "is not a DER element with tag 0x%02x (found 0x%02x)", byte(tag), found)
	}
	return out, nil
}

// rawElement takes one element of the given tag off s, header included.
func rawElement(s *cryptobyte.String, tag asn1.Tag, field string) (cryptobyte.String, error) {
	var out cryptobyte.String
	if s.Empty() {
		return nil, malformed(field, "missing")
	}
	found := (*s)[0] // A failed read may have consumed it.
	if !s.ReadASN1Element(&out, tag) {
		return nil, malformed(field, "is not a DER element with tag 0x%02x (found 0x%02x)", byte(tag), found)
	}
	return out, nil
}

// end refuses what is left in s once everything known was read.
func end(s cryptobyte.String, field string) error {
	if !s.Empty() {
		return malformed(field, "%d unexpected bytes after the last known element", len(s))
	}
	return nil
}

// oid takes an OBJECT IDENTIFIER off s and returns its content octets, checked
// for minimal arcs.
func oid(s *cryptobyte.String, field string) (string, error) {
	c, err := element(s, asn1.OBJECT_IDENTIFIER, field)
	if err != nil {
		return "", err
	}
	var o x509.OID
	if err := o.UnmarshalBinary(c); err != nil {
		return "", malformed(field, "is not a canonical OBJECT IDENTIFIER")
	}
	return string(c), nil
}

// algorithm takes an AlgorithmIdentifier off s. Parameters are refused unless
// absent or, where the algorithm's definition allows it, NULL.
func algorithm(s *cryptobyte.String, field string, null bool) (string, error) {
	seq, err := element(s, asn1.SEQUENCE, field)
	if err != nil {
		return "", err
	}
	id, err := oid(&seq, field+".algorithm")
	if err != nil {
		return "", err
	}
	if seq.Empty() {
		return id, nil
	}
	params, err := element(&seq, asn1.NULL, field+".parameters")
	if err != nil {
		return "", err
	}
	if !null || !params.Empty() {
		return "", malformed(field+".parameters", "are not allowed for %s", dotted(id))
	}
	return id, end(seq, field)
}

// integer takes an INTEGER of any size off s.
func integer(s *cryptobyte.String, field string) (*big.Int, error) {
	n := new(big.Int)
	if !s.ReadASN1Integer(n) {
		return nil, malformed(field, "is not a DER INTEGER")
	}
	return n, nil
}

// smallInteger takes an INTEGER that must fit 64 bits off s.
func smallInteger(s *cryptobyte.String, field string) (int64, error) {
	var n int64
	if !s.ReadASN1Integer(&n) {
		return 0, malformed(field, "is not a small DER INTEGER")
	}
	return n, nil
}

// optional reports whether the next element of s has the given tag, and then
// takes its content off s.
func optional(s *cryptobyte.String, tag asn1.Tag, field string) (cryptobyte.String, bool, error) {
	if !s.PeekASN1Tag(tag) {
		return nil, false, nil
	}
	c, err := element(s, tag, field)
	return c, true, err
}
