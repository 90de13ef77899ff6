package timestamp

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// MaxResponse is the largest TimeStampResp, in bytes, that is read at all.
// Tokens in use are 1 to 8 KB.
const MaxResponse = 64 << 10

// FailureInfo is a bit of PKIFailureInfo (RFC 3161 §2.4.2): why an authority
// did not grant a request.
type FailureInfo int

// The failures of RFC 3161 §2.4.2.
const (
	BadAlg              FailureInfo = 0
	BadRequest          FailureInfo = 2
	BadDataFormat       FailureInfo = 5
	TimeNotAvailable    FailureInfo = 14
	UnacceptedPolicy    FailureInfo = 15
	UnacceptedExtension FailureInfo = 16
	AddInfoNotAvailable FailureInfo = 17
	SystemFailure       FailureInfo = 25
)

// String is the name that RFC 3161 gives the bit.
func (f FailureInfo) String() string {
	switch f {
	case BadAlg:
		return "badAlg"
	case BadRequest:
		return "badRequest"
	case BadDataFormat:
		return "badDataFormat"
	case TimeNotAvailable:
		return "timeNotAvailable"
	case UnacceptedPolicy:
		return "unacceptedPolicy"
	case UnacceptedExtension:
		return "unacceptedExtension"
	case AddInfoNotAvailable:
		return "addInfoNotAvailable"
	case SystemFailure:
		return "systemFailure"
	}
	return fmt.Sprintf("failure bit %d", int(f))
}

// StatusError is a well-formed response whose PKIStatus is neither granted (0)
// nor grantedWithMods (1): the authority answered and gave no token.
type StatusError struct {
	Status   int64         // PKIStatus of RFC 3161 §2.4.2; 2 is rejection.
	Failures []FailureInfo // Bits of failInfo, ascending; may be empty.
	Text     string        // The authority's own words, unverified; may be empty.
}

// Error names the status, the failures and the authority's words.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "timestamp: PKIStatus is %d, want 0 (granted) or 1 (granted with modifications)", e.Status)
	for i, f := range e.Failures {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		b.WriteString(f.String())
	}
	if e.Text != "" {
		fmt.Fprintf(&b, ": the authority says %.200q", e.Text)
	}
	return b.String()
}

// parseResponse reads one DER TimeStampResp that grants a token, down to the
// last byte. A refusal of the authority is a *StatusError.
func parseResponse(tsr []byte) (*signedData, error) {
	if len(tsr) > MaxResponse {
		return nil, malformed("TimeStampResp", "has %d bytes, at most %d are read", len(tsr), MaxResponse)
	}
	in := cryptobyte.String(tsr)
	s, err := element(&in, asn1.SEQUENCE, "TimeStampResp")
	if err != nil {
		return nil, err
	}
	if err := end(in, "TimeStampResp"); err != nil {
		return nil, err
	}
	info, err := element(&s, asn1.SEQUENCE, "PKIStatusInfo")
	if err != nil {
		return nil, err
	}
	status, err := parseStatus(info)
	if err != nil {
		return nil, err
	}
	if status.Status != 0 && status.Status != 1 {
		return nil, status
	}
	if len(status.Failures) > 0 {
		return nil, malformed("PKIStatusInfo.failInfo", "is present although the status is %d", status.Status)
	}
	content, err := element(&s, asn1.SEQUENCE, "TimeStampResp.timeStampToken")
	if err != nil {
		return nil, err
	}
	if err := end(s, "TimeStampResp"); err != nil {
		return nil, err
	}
	return parseContentInfo(content)
}

// parseStatus reads the content of PKIStatusInfo.
func parseStatus(s cryptobyte.String) (*StatusError, error) {
	n, err := smallInteger(&s, "PKIStatusInfo.status")
	if err != nil {
		return nil, err
	}
	out := &StatusError{Status: n}
	free, ok, err := optional(&s, asn1.SEQUENCE, "PKIStatusInfo.statusString")
	if err != nil {
		return nil, err
	}
	if ok {
		var texts []string
		for !free.Empty() {
			text, err := element(&free, asn1.UTF8String, "PKIStatusInfo.statusString")
			if err != nil {
				return nil, err
			}
			if !utf8.Valid(text) {
				return nil, malformed("PKIStatusInfo.statusString", "is not UTF-8")
			}
			texts = append(texts, string(text))
		}
		if len(texts) == 0 {
			return nil, malformed("PKIStatusInfo.statusString", "is an empty list")
		}
		out.Text = strings.Join(texts, "; ")
	}
	if s.PeekASN1Tag(asn1.BIT_STRING) {
		bits, err := element(&s, asn1.BIT_STRING, "PKIStatusInfo.failInfo")
		if err != nil {
			return nil, err
		}
		if out.Failures, err = parseFailures(bits); err != nil {
			return nil, err
		}
	}
	return out, end(s, "PKIStatusInfo")
}

// parseFailures reads the content of a BIT STRING of named bits.
func parseFailures(bits cryptobyte.String) ([]FailureInfo, error) {
	const field = "PKIStatusInfo.failInfo"
	if len(bits) < 2 || len(bits) > 5 || bits[0] > 7 {
		return nil, malformed(field, "is not a BIT STRING of 1 to 32 bits")
	}
	var out []FailureInfo
	for i, b := range bits[1:] {
		for bit := range 8 {
			if b&(0x80>>bit) != 0 {
				out = append(out, FailureInfo(i*8+bit))
			}
		}
	}
	if len(out) == 0 {
		return nil, malformed(field, "has no bit set")
	}
	return out, nil
}

// appendRejection writes a TimeStampResp of status rejection with one failure
// and a sentence for the human at the other end.
func appendRejection(f FailureInfo, text string) ([]byte, error) {
	octets := make([]byte, int(f)/8+1)
	octets[int(f)/8] = 0x80 >> (int(f) % 8)
	unused := byte(7 - int(f)%8)
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1Int64(2)
			b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1(asn1.UTF8String, func(b *cryptobyte.Builder) { b.AddBytes([]byte(text)) })
			})
			b.AddASN1(asn1.BIT_STRING, func(b *cryptobyte.Builder) {
				b.AddBytes(slices.Concat([]byte{unused}, octets))
			})
		})
	})
	return b.Bytes()
}
