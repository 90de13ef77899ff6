package issuer

import (
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/ianaindex"

	"github.com/prova-dev/prova/evidence/canonjson"
)

const maxRawText = 1_000_000

// responseData is what T§4.8 makes of a body: the value that is hashed, and the
// value that goes back to the caller before stamp and scrubbing. They differ for
// a falsy body only, which hashes as {"error":null} and returns as {}.
func responseData(body []byte, contentType string) (hashed, returned any) {
	v, err := canonjson.Parse(body)
	if err != nil {
		raw := canonjson.NewObject("_raw_text", rawText(body, contentType))
		return raw, raw
	}
	if falsy(v) {
		return canonjson.NewObject("error", nil), canonjson.NewObject()
	}
	return v, v
}

// rawText decodes a body that is not JSON: the charset of Content-Type, else
// UTF-8; what does not decode becomes U+FFFD; the first million characters.
func rawText(body []byte, contentType string) string {
	return cutChars(decodeText(body, contentType), maxRawText)
}

func decodeText(body []byte, contentType string) string {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return decodeUTF8(body)
	}
	name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(params["charset"]), "_", "-"))
	switch name {
	case "", "utf-8", "utf8", "u8":
		return decodeUTF8(body)
	case "iso-8859-1", "latin-1", "latin1", "l1", "iso8859-1":
		return latin1(string(body))
	case "ascii", "us-ascii":
		return decodeASCII(body)
	}
	enc, err := ianaindex.IANA.Encoding(name)
	if err != nil || enc == nil {
		return decodeUTF8(body)
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return decodeUTF8(body)
	}
	return string(out)
}

func decodeASCII(body []byte) string {
	var b strings.Builder
	b.Grow(len(body))
	for _, c := range body {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			b.WriteRune(utf8.RuneError)
		}
	}
	return b.String()
}

// decodeUTF8 replaces each maximal part of an ill-formed sequence by one U+FFFD,
// as CPython's decoder does; a Go conversion would write one for each byte.
func decodeUTF8(body []byte) string {
	if utf8.Valid(body) {
		return string(body)
	}
	var b strings.Builder
	b.Grow(len(body) + 16)
	for i := 0; i < len(body); {
		if r, n := utf8.DecodeRune(body[i:]); r != utf8.RuneError || n > 1 {
			b.Write(body[i : i+n])
			i += n
			continue
		}
		b.WriteRune(utf8.RuneError)
		i += maximalPart(body[i:])
	}
	return b.String()
}

// maximalPart is the length of the ill-formed sequence at the start of p that
// one replacement character stands for (Unicode, table 3-7).
func maximalPart(p []byte) int {
	low, high, more := byte(0x80), byte(0xBF), 0
	switch c := p[0]; {
	case c >= 0xC2 && c <= 0xDF:
		more = 1
	case c == 0xE0:
		low, more = 0xA0, 2
	case c == 0xED:
		high, more = 0x9F, 2
	case c >= 0xE1 && c <= 0xEF:
		more = 2
	case c == 0xF0:
		low, more = 0x90, 3
	case c == 0xF4:
		high, more = 0x8F, 3
	case c >= 0xF1 && c <= 0xF3:
		more = 3
	default:
		return 1
	}
	n := 1
	for n <= more && n < len(p) && p[n] >= low && p[n] <= high {
		low, high = 0x80, 0xBF
		n++
	}
	return n
}

func cutChars(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// stampBody adds the digital stamp of T§4.10 to an object that is not raw text.
// It is called after hashing.
func stampBody(body any, proofID, url string) any {
	o, ok := body.(*canonjson.Object)
	if !ok || o.Has("_raw_text") {
		return body
	}
	out := o.Clone()
	out.Set("_arkforge_attestation", canonjson.NewObject(
		"id", proofID,
		"seal", url,
		"status", "VERIFIED_TRANSACTION",
		"msg", "Payment confirmed, execution anchored."))
	return out
}
