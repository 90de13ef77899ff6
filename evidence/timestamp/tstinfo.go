package timestamp

import (
	"crypto"
	"math/big"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// tstInfo is TSTInfo of RFC 3161 §2.4.2, the content under the signature.
type tstInfo struct {
	policy   string
	hash     crypto.Hash
	imprint  []byte
	serial   *big.Int
	time     time.Time
	accuracy time.Duration
	nonce    *big.Int
	name     []byte // The GeneralName of tsa, DER, nil when absent.
}

// parseTSTInfo reads one DER TSTInfo with nothing after it.
func parseTSTInfo(der []byte) (*tstInfo, error) {
	in := cryptobyte.String(der)
	s, err := element(&in, asn1.SEQUENCE, "TSTInfo")
	if err != nil {
		return nil, err
	}
	if err := end(in, "TSTInfo"); err != nil {
		return nil, err
	}
	version, err := smallInteger(&s, "TSTInfo.version")
	if err != nil {
		return nil, err
	}
	if version != 1 {
		return nil, malformed("TSTInfo.version", "is %d, want 1", version)
	}
	policy, err := oid(&s, "TSTInfo.policy")
	if err != nil {
		return nil, err
	}
	t := &tstInfo{policy: dotted(policy)}
	if t.hash, t.imprint, err = parseImprint(&s, "TSTInfo.messageImprint"); err != nil {
		return nil, err
	}
	if t.serial, err = integer(&s, "TSTInfo.serialNumber"); err != nil {
		return nil, err
	}
	gen, err := element(&s, asn1.GeneralizedTime, "TSTInfo.genTime")
	if err != nil {
		return nil, err
	}
	if t.time, err = parseGenTime(string(gen)); err != nil {
		return nil, err
	}
	return t, parseTSTInfoTail(t, s)
}

// parseTSTInfoTail reads the members that are optional.
func parseTSTInfoTail(t *tstInfo, s cryptobyte.String) error {
	acc, ok, err := optional(&s, asn1.SEQUENCE, "TSTInfo.accuracy")
	if err != nil {
		return err
	}
	if ok {
		if t.accuracy, err = parseAccuracy(acc); err != nil {
			return err
		}
	}
	if s.PeekASN1Tag(asn1.BOOLEAN) {
		var ordering bool
		if !s.ReadASN1Boolean(&ordering) {
			return malformed("TSTInfo.ordering", "is not a DER BOOLEAN")
		}
		if !ordering {
			return malformed("TSTInfo.ordering", "spells out its default FALSE, which DER forbids")
		}
	}
	if s.PeekASN1Tag(asn1.INTEGER) {
		if t.nonce, err = integer(&s, "TSTInfo.nonce"); err != nil {
			return err
		}
	}
	name, ok, err := optional(&s, tag0, "TSTInfo.tsa")
	if err != nil {
		return err
	}
	if ok {
		var general cryptobyte.String
		var tag asn1.Tag
		if !name.ReadAnyASN1Element(&general, &tag) || !name.Empty() {
			return malformed("TSTInfo.tsa", "is not one GeneralName")
		}
		t.name = general
	}
	ext, ok, err := optional(&s, tag1, "TSTInfo.extensions")
	if err != nil {
		return err
	}
	if ok {
		if err := parseExtensions(ext); err != nil {
			return err
		}
	}
	return end(s, "TSTInfo")
}

// parseImprint takes a MessageImprint off s: a known hash and as many bytes as
// that hash has.
func parseImprint(s *cryptobyte.String, field string) (crypto.Hash, []byte, error) {
	seq, err := element(s, asn1.SEQUENCE, field)
	if err != nil {
		return 0, nil, err
	}
	id, err := algorithm(&seq, field+".hashAlgorithm", true)
	if err != nil {
		return 0, nil, err
	}
	sum, err := element(&seq, asn1.OCTET_STRING, field+".hashedMessage")
	if err != nil {
		return 0, nil, err
	}
	if err := end(seq, field); err != nil {
		return 0, nil, err
	}
	h, ok := strongHash(id)
	if !ok {
		return 0, nil, &imprintAlgorithmError{field: field + ".hashAlgorithm", oid: dotted(id)}
	}
	if len(sum) != h.Size() {
		return 0, nil, malformed(field+".hashedMessage", "has %d bytes, want the %d of %v", len(sum), h.Size(), h)
	}
	return h, sum, nil
}

// imprintAlgorithmError marks an imprint whose hash is not one of SHA-256,
// SHA-384 and SHA-512, for which the authority has an answer of its own.
type imprintAlgorithmError struct{ field, oid string }

func (e *imprintAlgorithmError) Error() string {
	return "timestamp: " + e.field + ": " + e.oid + " is not SHA-256, SHA-384 or SHA-512"
}

// parseGenTime reads the DER form of GeneralizedTime that RFC 3161 §2.4.2 asks
// for: YYYYMMDDhhmmss, an optional fraction without trailing zeros, and Z. At
// most nine decimals, because a longer fraction could not be kept and a cut
// one could move a token over the bound of a window.
func parseGenTime(s string) (time.Time, error) {
	const field = "TSTInfo.genTime"
	digits, ok := strings.CutSuffix(s, "Z")
	if !ok {
		return time.Time{}, malformed(field, "%q does not end in Z", s)
	}
	whole, fraction, dot := strings.Cut(digits, ".")
	if len(whole) != len("20060102150405") || !allDigits(whole) {
		return time.Time{}, malformed(field, "%q is not YYYYMMDDhhmmss with an optional fraction and Z", s)
	}
	if dot && (fraction == "" || len(fraction) > 9 || !allDigits(fraction) || strings.HasSuffix(fraction, "0")) {
		return time.Time{}, malformed(field, "%q: the fraction must have 1 to 9 digits and not end in 0", s)
	}
	t, err := time.Parse("20060102150405", whole)
	if err != nil {
		return time.Time{}, malformed(field, "%q is not a date and time", s)
	}
	nanos := int64(0)
	for _, c := range (fraction + "000000000")[:9] {
		nanos = nanos*10 + int64(c-'0')
	}
	return t.Add(time.Duration(nanos)), nil
}

func allDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// parseAccuracy reads the content of Accuracy; absent members count as zero.
func parseAccuracy(s cryptobyte.String) (time.Duration, error) {
	var d time.Duration
	if s.PeekASN1Tag(asn1.INTEGER) {
		n, err := smallInteger(&s, "TSTInfo.accuracy.seconds")
		if err != nil {
			return 0, err
		}
		if n < 0 || n > int64(10*365*24*time.Hour/time.Second) {
			return 0, malformed("TSTInfo.accuracy.seconds", "is %d, want 0 to ten years", n)
		}
		d = time.Duration(n) * time.Second
	}
	for _, part := range []struct {
		tag   asn1.Tag
		unit  time.Duration
		field string
	}{
		{tagMillis, time.Millisecond, "TSTInfo.accuracy.millis"},
		{tagMicros, time.Microsecond, "TSTInfo.accuracy.micros"},
	} {
		if !s.PeekASN1Tag(part.tag) {
			continue
		}
		var n int64
		if !s.ReadASN1Int64WithTag(&n, part.tag) || n < 1 || n > 999 {
			return 0, malformed(part.field, "is not an INTEGER from 1 to 999")
		}
		d += time.Duration(n) * part.unit
	}
	return d, end(s, "TSTInfo.accuracy")
}

// parseExtensions reads the content of Extensions and refuses a critical one,
// because none is understood here (RFC 3161 §2.4.2).
func parseExtensions(s cryptobyte.String) error {
	const field = "TSTInfo.extensions"
	if s.Empty() {
		return malformed(field, "is empty")
	}
	for !s.Empty() {
		ext, err := element(&s, asn1.SEQUENCE, field)
		if err != nil {
			return err
		}
		id, err := oid(&ext, field+".extnID")
		if err != nil {
			return err
		}
		if ext.PeekASN1Tag(asn1.BOOLEAN) {
			var critical bool
			if !ext.ReadASN1Boolean(&critical) || !critical {
				return malformed(field+".critical", "is not TRUE, and FALSE is not written in DER")
			}
			return malformed(field, "critical extension %s is not understood", dotted(id))
		}
		if _, err := element(&ext, asn1.OCTET_STRING, field+".extnValue"); err != nil {
			return err
		}
		if err := end(ext, field); err != nil {
			return err
		}
	}
	return nil
}
