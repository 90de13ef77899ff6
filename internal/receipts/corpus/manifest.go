package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// filePath is the form of a manifest's file member (bundle format §5).
var filePath = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

func validFile(name string) bool {
	if !filePath.MatchString(name) {
		return false
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// ManifestFor computes manifest.json from the frozen files, whose names are paths
// below files/ and whose bodies carry their resource path. Each absent resource
// must be among them, with the body of an absent reference. The bytes are sorted
// by resource, one entry a line; their SHA-256 is the manifest hash (D6).
func ManifestFor(files map[string][]byte, host string, absent []string) ([]byte, error) {
	// By resource: its file and its response hash.
	resources := make(map[string]string, len(files))
	hashes := make(map[string]string, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !validFile(name) {
			return nil, fmt.Errorf("files/%s: a file's name must be segments of A-Z a-z 0-9 . _ - only", name)
		}
		v, err := canonjson.Parse(files[name])
		if err != nil {
			return nil, fmt.Errorf("files/%s: no JSON: %w", name, err)
		}
		o, ok := v.(*canonjson.Object)
		if !ok {
			return nil, fmt.Errorf("files/%s: a body must be an object with its resource path", name)
		}
		resource, _ := o.Get("resource")
		if path, ok := resource.(string); !ok || fileOf("/"+strings.TrimPrefix(path, "/")) != name || path[0] != '/' {
			return nil, fmt.Errorf("files/%s: /resource must be %q", name, "/"+strings.TrimSuffix(name, ".json"))
		}
		resources[resource.(string)] = name
		hashes[resource.(string)] = hexSum(v)
	}
	for _, resource := range absent {
		if name, ok := resources[resource]; !ok || !bytes.Equal(files[name], absentBody(resource)) {
			return nil, fmt.Errorf("%s is cited and does not exist: its file must answer existe: false", resource)
		}
	}
	out := []byte("[")
	for i, resource := range slices.Sorted(maps.Keys(resources)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '\n')
		out = canonjson.AppendCompact(out, manifestEntry(resource, resources[resource], hashes[resource], host))
	}
	return append(out, "\n]\n"...), nil
}

func manifestEntry(resource, file, responseHash, host string) *canonjson.Object {
	var url, request any
	if !strings.HasPrefix(resource, systemPrefix) {
		url, request = host+resource, RequestHash(host+resource)
	}
	return canonjson.NewObject(
		"resource", resource,
		"url", url,
		"request_sha256", request,
		"response_sha256", responseHash,
		"file", file,
	)
}

// RequestHash is the request hash of a GET through the proxy under the
// constraints of §2.4: empty payload, currency eur, no extra headers, amount 0.0.
func RequestHash(url string) string {
	return hexSum(canonjson.NewObject("amount", 0.0, "currency", "eur", "method", "GET", "payload", canonjson.NewObject(), "target", url))
}

// hexSum is the SHA-256 of the canonical text of a value, in hex. A corpus body is
// never falsy, so the proxy's substitute for such bodies does not arise.
func hexSum(value any) string {
	sum := canonjson.Sum(value)
	return hex.EncodeToString(sum[:])
}

// ManifestHash is the hash of a manifest's bytes.
func ManifestHash(manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return hex.EncodeToString(sum[:])
}

const systemPrefix = "/_systeme/"

// entryOf is one entry of a manifest as read back.
type entryOf struct{ resource, url, file string }

// readManifest reads the resources of a manifest and their files.
func readManifest(data []byte) ([]entryOf, error) {
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("manifest.json: it must be an array")
	}
	out := make([]entryOf, len(list))
	for i, item := range list {
		o, ok := item.(*canonjson.Object)
		if !ok {
			return nil, fmt.Errorf("manifest.json: /%d must be an object", i)
		}
		resource, _ := o.Get("resource")
		file, _ := o.Get("file")
		url, _ := o.Get("url")
		var e entryOf
		if e.resource, ok = resource.(string); !ok || !strings.HasPrefix(e.resource, "/") {
			return nil, fmt.Errorf("manifest.json: /%d/resource must be a path that starts with /", i)
		}
		if e.file, ok = file.(string); !ok || !validFile(e.file) {
			return nil, fmt.Errorf("manifest.json: /%d/file must be a path below files/", i)
		}
		e.url, _ = url.(string)
		out[i] = e
	}
	return out, nil
}
