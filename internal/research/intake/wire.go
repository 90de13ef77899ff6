package intake

import (
	"errors"
	"mime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/strict"
)

// MaxBody is the size in bytes of the longest body that is read (R§11.3 row 1).
const MaxBody = 2 << 20

// Request is a submission as it was sent (R§11.1). Nothing in it is trimmed or
// checked beyond its type.
type Request struct {
	MinerHotkey     string
	ArtifactDigest  string
	TopicID         string
	ArtifactURI     *string // nil: null or not sent
	Claim           string
	DeclaredFLOPs   uint64
	Architecture    string // a label, never looked at
	Manifest        Manifest
	HotkeySignature *string // nil: null or not sent
	SubmitNonce     *string // nil: null or not sent
}

// Manifest is the training data that a miner declares, as it was sent.
type Manifest struct {
	ContentHashes []string
	DatasetIDs    []string
}

// Parse reads the body of a submission. Unknown members are ignored, unless one
// may be meant for a known member and would be silently lost: artifact-uri and
// declaredFlops are refused as topic_ID is (decision 8). A member that is twice
// there, a null for what is not optional and a number with a point for an integer
// are refused with their path, and so is text that no store keeps or no signature
// covers as it stands: U+0000 and lone surrogates. Missing members are empty, but
// for miner_hotkey and artifact_digest, which have no default.
//
// The error is a *[strict.Error], whose Syntax tells a text that is no JSON (400)
// from one whose content is refused (422).
func Parse(body []byte) (*Request, error) {
	v, err := canonjson.ParseStrict(body)
	if err != nil {
		return nil, syntax(err)
	}
	r := &Request{}
	seen := map[string]bool{}
	err = readMembers(v, "", seen, map[string]strict.Reader{
		"miner_hotkey":     text(&r.MinerHotkey),
		"artifact_digest":  text(&r.ArtifactDigest),
		"topic_id":         text(&r.TopicID),
		"artifact_uri":     strict.Optional(&r.ArtifactURI, text),
		"claim":            text(&r.Claim),
		"declared_flops":   strict.Uint(&r.DeclaredFLOPs),
		"architecture":     text(&r.Architecture),
		"manifest":         r.Manifest.read,
		"hotkey_signature": strict.Optional(&r.HotkeySignature, text),
		"submit_nonce":     strict.Optional(&r.SubmitNonce, text),
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"miner_hotkey", "artifact_digest"} {
		if !seen[name] {
			return nil, &strict.Error{Path: name, Reason: "is missing"}
		}
	}
	return r, nil
}

func (m *Manifest) read(v any, path string) error {
	return readMembers(v, path, nil, map[string]strict.Reader{
		"train_content_hashes": texts(&m.ContentHashes),
		"train_dataset_ids":    texts(&m.DatasetIDs),
	})
}

// readMembers reads an object of known members among others. It marks the known
// ones in seen.
func readMembers(v any, path string, seen map[string]bool, known map[string]strict.Reader) error {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return &strict.Error{Path: path, Reason: "is " + canonjson.Kind(v) + ", want an object"}
	}
	for name, value := range o.All() {
		read, ok := known[name]
		if !ok {
			if meant := twin(name, known); meant != "" {
				return &strict.Error{Path: join(path, name), Reason: "unknown member; did you mean " + meant + "?"}
			}
			continue
		}
		if err := read(value, join(path, name)); err != nil {
			return err
		}
		if seen != nil {
			seen[name] = true
		}
	}
	return nil
}

// twin returns the known member that a name differs from in case or separators
// alone, or "". It stops at the first difference and allocates nothing: a body may
// hold a hundred thousand unknown members.
func twin(name string, known map[string]strict.Reader) string {
	for k := range known {
		if sameLetters(name, k) {
			return k
		}
	}
	return ""
}

// sameLetters compares ASCII without regard to case, hyphens, underscores and
// spaces.
func sameLetters(a, b string) bool {
	for {
		a, b = strings.TrimLeft(a, "-_ "), strings.TrimLeft(b, "-_ ")
		if a == "" || b == "" {
			return a == b
		}
		if lower(a[0]) != lower(b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func join(path, name string) string {
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "…"
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '"' || !strconv.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// text reads a string that a store keeps and a signature covers as it stands.
func text(dst *string) strict.Reader {
	return func(v any, path string) error {
		if err := strict.String(dst)(v, path); err != nil {
			return err
		}
		return clean(*dst, path)
	}
}

func clean(s, path string) error {
	switch {
	case !utf8.ValidString(s):
		return &strict.Error{Path: path, Reason: "holds a lone surrogate, which is no character"}
	case strings.IndexByte(s, 0) >= 0:
		return &strict.Error{Path: path, Reason: "holds the character U+0000; leave it out"}
	}
	return nil
}

// texts reads an array of such strings. Their paths are made for errors only: an
// array may have half a million.
func texts(dst *[]string) strict.Reader {
	return func(v any, path string) error {
		items, ok := v.([]any)
		if !ok {
			return &strict.Error{Path: path, Reason: "is " + canonjson.Kind(v) + ", want an array of strings"}
		}
		out := make([]string, len(items))
		for i, item := range items {
			s, ok := item.(string)
			if !ok {
				return &strict.Error{Path: index(path, i), Reason: "is " + canonjson.Kind(item) + ", want a string"}
			}
			if clean(s, "") != nil {
				return clean(s, index(path, i))
			}
			out[i] = s
		}
		*dst = out
		return nil
	}
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// syntax brings an error of the parser into the words of this package. A name
// that is twice there is a fault of content.
func syntax(err error) error {
	var fault *canonjson.SyntaxError
	if !errors.As(err, &fault) {
		return &strict.Error{Reason: err.Error(), Syntax: true}
	}
	path := ""
	for token := range strings.SplitSeq(strings.TrimPrefix(fault.Pointer, "/"), "/") {
		if token = canonjson.UnescapeToken(token); token != "" {
			path = join(path, token)
		}
	}
	if errors.Is(err, canonjson.ErrDuplicate) {
		return &strict.Error{Path: path, Reason: fault.Reason}
	}
	return &strict.Error{Path: path, Reason: "invalid JSON at byte " + strconv.FormatInt(fault.Offset, 10) + ": " + fault.Reason, Syntax: true}
}

// isJSON reports whether a Content-Type says JSON: application/json or a type
// ending in +json, whatever its parameters.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}
