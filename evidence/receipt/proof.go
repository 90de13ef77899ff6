package receipt

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Proof is one proof document of any spec version: a public view, an owner's
// full view or a stored record. It is immutable after Parse and keeps every
// member it was given, known or not.
type Proof struct {
	doc     *canonjson.Object
	id      string
	version Version
}

// Parse reads a proof document: strict JSON (bundle-format §1: UTF-8 without
// BOM, one value, no duplicate member, no lone surrogate, bounded depth) whose
// value is an object. It judges no member; Admit and Verify do.
func Parse(data []byte) (*Proof, error) {
	value, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	doc, ok := value.(*canonjson.Object)
	if !ok {
		return nil, fmt.Errorf("proof: the document is %s, want a JSON object as GET /v1/proof/{id} answers", canonjson.Kind(value))
	}
	return newProof(doc), nil
}

func newProof(doc *canonjson.Object) *Proof {
	p := &Proof{doc: doc}
	p.id, _ = text(doc, "proof_id")
	switch v, _ := doc.Get("spec_version"); v := v.(type) {
	case nil:
		p.version = Version{absent: true}
	case string:
		p.version = ParseVersion(v)
	default:
		p.version = Version{text: string(canonjson.Compact(v))}
	}
	return p
}

// Object returns the whole document. It must not be changed.
func (p *Proof) Object() *canonjson.Object { return p.doc }

// ID returns proof_id, empty when it is missing or no string. ValidID tells
// whether it has the form of an id.
func (p *Proof) ID() string { return p.id }

// SpecVersion returns the version the proof names. A spec_version that is
// neither a string nor null gives a Version that is not Valid.
func (p *Proof) SpecVersion() Version { return p.version }

// Chain returns the chain hash of hashes.chain; ok is false unless that member
// is "sha256:" and 64 lower-case hex digits.
func (p *Proof) Chain() (hash [32]byte, ok bool) {
	s, _ := text(p.doc, "hashes", "chain")
	return parseHash(s)
}

// LogUUID returns transparency_log.uuid when it has the form of an entry id, 64
// or 80 lower-case hex digits.
func (p *Proof) LogUUID() (uuid string, ok bool) {
	s, _ := text(p.doc, "transparency_log", "uuid")
	return s, validUUID(s)
}

// LogURL returns transparency_log.log_url, empty when it is missing or no string.
// It is the issuer's word: whoever follows it decides first whether to.
func (p *Proof) LogURL() string {
	s, _ := text(p.doc, "transparency_log", "log_url")
	return s
}

// Pending reports that the proof waits for its batch: batch_anchor.status is
// "pending". Such a proof is neither valid nor invalid yet.
func Pending(p *Proof) bool {
	status, _ := text(p.doc, "batch_anchor", "status")
	return status == "pending"
}

// ValidID reports whether s is a proof id: prf_YYYYMMDD_HHMMSS_ and six
// lower-case hex digits, nothing around it (T§1).
func ValidID(s string) bool {
	return len(s) == 26 && s[:4] == "prf_" && isDigits(s[4:12]) && s[12] == '_' &&
		isDigits(s[13:19]) && s[19] == '_' && isHex(s[20:])
}

func validUUID(s string) bool { return (len(s) == 64 || len(s) == 80) && isHex(s) }

// member walks down objects by name. A null is a value like any other.
func member(doc *canonjson.Object, path ...string) (any, bool) {
	value, ok := doc.Get(path[0])
	for _, name := range path[1:] {
		next, isObject := value.(*canonjson.Object)
		if !isObject {
			return nil, false
		}
		value, ok = next.Get(name)
	}
	return value, ok
}

func text(doc *canonjson.Object, path ...string) (string, bool) {
	value, _ := member(doc, path...)
	s, ok := value.(string)
	return s, ok
}

func object(doc *canonjson.Object, path ...string) (*canonjson.Object, bool) {
	value, _ := member(doc, path...)
	o, ok := value.(*canonjson.Object)
	return o, ok
}

// parseHash reads "sha256:" and 64 lower-case hex digits.
func parseHash(s string) (hash [32]byte, ok bool) {
	bare, found := strings.CutPrefix(s, "sha256:")
	if !found {
		return hash, false
	}
	return parseHex32(bare)
}

const hexDigits = "0123456789abcdef"

// hexValue is 1 + the value of a lower-case hex digit, 0 for any other byte.
var hexValue = func() (t [256]byte) {
	for i := range len(hexDigits) {
		t[hexDigits[i]] = byte(i + 1)
	}
	return t
}()

func parseHex32(s string) (hash [32]byte, ok bool) {
	if len(s) != 64 {
		return hash, false
	}
	for i := range hash {
		hi, lo := hexValue[s[2*i]], hexValue[s[2*i+1]]
		if hi == 0 || lo == 0 {
			return [32]byte{}, false
		}
		hash[i] = (hi-1)<<4 | (lo - 1)
	}
	return hash, true
}

func isHex(s string) bool {
	for i := range len(s) {
		if hexValue[s[i]] == 0 {
			return false
		}
	}
	return s != ""
}

func prefixed(hash [32]byte) string { return "sha256:" + hex.EncodeToString(hash[:]) }
