package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Manifest is corpora/<track>/manifest.json (§5).
type Manifest struct {
	Entries []ManifestEntry // by resource, in code point order

	bytes  []byte // as found: the manifest's hash is over these (D6)
	byName map[string]int
}

// ManifestEntry is one frozen resource.
type ManifestEntry struct {
	Resource       string
	URL            *string // nil for /_systeme/*
	RequestSHA256  *string // nil for /_systeme/*
	ResponseSHA256 string
	File           string
}

// SystemPrefix starts the resources that are in a manifest but never served.
const SystemPrefix = "/_systeme/"

// Entry finds a resource by its exact path.
func (m *Manifest) Entry(resource string) (ManifestEntry, bool) {
	i, ok := m.byName[resource]
	if !ok {
		return ManifestEntry{}, false
	}
	return m.Entries[i], true
}

// SHA256 is the manifest hash: over the file's bytes, in hex.
func (m *Manifest) SHA256() string { return hexSum(m.bytes) }

// ParseManifest reads a manifest; path names the file in faults. It checks the
// forms of §5; whether urls and hashes are right is check 9 of the freeze.
func ParseManifest(path string, data []byte) (*Manifest, error) {
	d, v := parseDocument(path, data)
	if d.Failed() {
		return nil, d.result()
	}
	list := d.Array("", v)
	m := &Manifest{Entries: make([]ManifestEntry, 0, len(list)), byName: make(map[string]int, len(list)), bytes: data}
	for i, v := range list {
		at := strict.Index("", i)
		o := d.Object(at, v)
		e := ManifestEntry{
			Resource:       d.TextOf(at, o, "resource"),
			ResponseSHA256: d.HashOf(at, o, "response_sha256"),
			File:           d.TextOf(at, o, "file"),
		}
		if url, ok := d.TextOrNull(at, o, "url"); ok {
			e.URL = &url
		}
		if sum, ok := d.TextOrNull(at, o, "request_sha256"); ok {
			d.Hash(at+"/request_sha256", sum)
			e.RequestSHA256 = &sum
		}
		if !strings.HasPrefix(e.Resource, "/") {
			d.Fail(at+"/resource", "must start with /, is %s", strict.Quote(e.Resource))
		}
		if !validCorpusFile(e.File) {
			d.Fail(at+"/file", "must be a relative path of segments of A-Z, a-z, 0-9, '.', '_' and '-', is %s", strict.Quote(e.File))
		}
		// Byte order of UTF-8 is code point order.
		if i > 0 && !d.Failed() && m.Entries[i-1].Resource >= e.Resource {
			d.Fail(at+"/resource", "%s must come once and in code point order", strict.Quote(e.Resource))
		}
		if d.Failed() {
			return nil, d.result()
		}
		m.byName[e.Resource] = i
		m.Entries = append(m.Entries, e)
	}
	return m, d.result()
}

// RequestHash is the request hash of a GET of url with an empty payload, as the
// proxy computes it (§5, T§4.3), in hex.
func RequestHash(url string) string {
	return hexSum(canonjson.Marshal(requestData("GET", url, canonjson.NewObject())))
}

func requestData(method, target string, payload any) *canonjson.Object {
	return canonjson.NewObject("target", target, "method", method, "payload", payload,
		"amount", float64(0), "currency", "eur")
}

// ResponseHash is the response hash that the proxy computes for a body (T§4.8),
// in hex; the error says why the bytes are not JSON to the proxy. A body that
// Python holds for false is hashed as {"error":null}, as the proxy does.
func ResponseHash(body []byte) (string, error) {
	v, err := canonjson.Parse(body)
	if err != nil {
		return "", err
	}
	if falsy(v) {
		v = canonjson.NewObject("error", nil)
	}
	return hexSum(canonjson.Marshal(v)), nil
}

func falsy(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case canonjson.Int:
		return v == "0"
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case *canonjson.Object:
		return v.Len() == 0
	}
	return false
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
