package timestamp

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	stdasn1 "encoding/asn1"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// namedBy reports whether a GeneralName is one of the certificate's: its
// subject, or one of its alternative names (RFC 3161 §2.4.2, tsa).
func namedBy(c *x509.Certificate, general []byte) bool {
	in := cryptobyte.String(general)
	var dir cryptobyte.String
	if in.PeekASN1Tag(tagDirectory) && in.ReadASN1(&dir, tagDirectory) && sameName(dir, c.RawSubject) {
		return true
	}
	for _, e := range c.Extensions {
		if e.Id.String() != oidSubjectAltName {
			continue
		}
		value := cryptobyte.String(e.Value)
		var names, one cryptobyte.String
		var tag asn1.Tag
		if !value.ReadASN1(&names, asn1.SEQUENCE) {
			return false
		}
		for names.ReadAnyASN1Element(&one, &tag) {
			if bytes.Equal(one, general) {
				return true
			}
		}
	}
	return false
}

// sameName compares two DER Names: by octets, else attribute by attribute with
// case and runs of white space folded, because authorities re-encode the
// string types of their own subject.
func sameName(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y pkix.RDNSequence
	if rest, err := stdasn1.Unmarshal(a, &x); err != nil || len(rest) > 0 {
		return false
	}
	if rest, err := stdasn1.Unmarshal(b, &y); err != nil || len(rest) > 0 {
		return false
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if len(x[i]) != len(y[i]) {
			return false
		}
		for j := range x[i] {
			if !sameAttribute(x[i][j], y[i][j]) {
				return false
			}
		}
	}
	return true
}

func sameAttribute(a, b pkix.AttributeTypeAndValue) bool {
	s, ok := a.Value.(string)
	t, also := b.Value.(string)
	return ok && also && a.Type.Equal(b.Type) &&
		strings.EqualFold(strings.Join(strings.Fields(s), " "), strings.Join(strings.Fields(t), " "))
}
