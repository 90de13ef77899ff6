package corpus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// Corpus is a track's frozen world with everything that a season publishes or
// seals about it. The bytes are what counts; nothing is printed again.
type Corpus struct {
	// Track and Season say whose corpus it is, Host its canonical host.
	Track  string
	Season int
	Host   string
	// Practice says that anyone can compute the key: a season with this corpus is
	// a practice season.
	Practice bool
	// Files are the frozen bodies by their path below files/.
	Files map[string][]byte
	// Manifest, Tasks, Rules and RulesText are manifest.json, tasks.json,
	// rules.json and rules.md. The manifest's bytes stay closed during a season: a
	// response hash tells an absent reference from an existing one. Its hash and the
	// catalogue are what is published before.
	Manifest, Tasks, Rules, RulesText []byte
	// Key is key.json without a salt: secret until the season is closed. It is nil
	// where the folder holds no key, as on a host that only serves.
	Key []byte
}

// Catalogue returns the canonical URLs, sorted: every resource served and every
// absent reference that a record or a question cites, with nothing that tells the
// two apart.
func (c *Corpus) Catalogue() ([]string, error) {
	entries, err := readManifest(c.Manifest)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, e := range entries {
		if !strings.HasPrefix(e.resource, systemPrefix) {
			urls = append(urls, e.url)
		}
	}
	slices.Sort(urls)
	return urls, nil
}

// View gives the frozen values of the resources that the manifest lists. It is not
// safe for concurrent use.
func (c *Corpus) View() (*View, error) {
	entries, err := readManifest(c.Manifest)
	if err != nil {
		return nil, err
	}
	v := &View{files: make(map[string][]byte, len(entries)), parsed: map[string]any{}}
	for _, e := range entries {
		body, ok := c.Files[e.file]
		if !ok {
			return nil, fmt.Errorf("manifest.json: %s: files/%s is missing", e.resource, e.file)
		}
		v.files[e.resource] = body
		v.resources = append(v.resources, e.resource)
	}
	return v, nil
}

// View is a corpus as values; it is a [track.Corpus]. Pages of common lists are long
// and read again for every task, so they are kept once parsed; records are short and
// many, so they are not.
type View struct {
	files     map[string][]byte
	resources []string
	parsed    map[string]any
}

var _ track.Corpus = (*View)(nil)

// Value returns the value of a resource that the manifest lists, parsed as the
// proxy parses a response body. A body that is not JSON has no value.
func (v *View) Value(resource string) (any, bool) {
	if value, ok := v.parsed[resource]; ok {
		return value, true
	}
	body, ok := v.files[resource]
	if !ok {
		return nil, false
	}
	value, err := canonjson.Parse(body)
	if err != nil {
		return nil, false
	}
	if strings.HasPrefix(resource, "/listes/") || strings.HasPrefix(resource, "/mesures-restrictives/") {
		v.parsed[resource] = value
	}
	return value, true
}

// Resources are the resources of the manifest in its order.
func (v *View) Resources() []string { return slices.Clone(v.resources) }

// Referentiel reads the evaluation rules that the corpus publishes.
func (v *View) Referentiel() (conformite.Referentiel, error) {
	value, ok := v.Value(conformite.ReferentielPath)
	if !ok {
		return conformite.Referentiel{}, fmt.Errorf("%s is not in the manifest", conformite.ReferentielPath)
	}
	return conformite.ParseReferentiel(value)
}
