package pages

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // what every site has
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"strings"
)

//go:embed base.css
var baseSheet string

//go:embed icon.svg
var iconImage string

//go:embed frame.html
var frame string

// baseLine stands in a site's style sheet where base.css goes.
const baseLine = "/* base.css */\n"

// Policy forbids everything that pages do not use: scripts first.
const Policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// CacheForever is the Cache-Control of an [Asset].
const CacheForever = "public, max-age=31536000, immutable"

// Secure sets the headers of every answer of a site.
func Secure(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

// Redirect leads to a relative address, so that a prefix in front of a site stays.
func Redirect(w http.ResponseWriter, status int, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(status)
}

// Asset is a file that pages refer to. Its name holds its hash, so it can be cached
// for ever.
type Asset struct {
	Path, ContentType string
	Data              []byte
}

func newAsset(stem, ext, contentType, data string) Asset {
	sum := sha256.Sum256([]byte(data))
	return Asset{stem + "-" + hex.EncodeToString(sum[:6]) + ext, contentType, []byte(data)}
}

// Site is the look of one site. It is safe for concurrent use.
type Site struct {
	Style, Icon Asset
	templates   map[string]*template.Template
}

// Look describes a site for [Open].
type Look struct {
	// Files hold style.css, in which the line "/* base.css */" stands for the base
	// sheet; templates/layout.html and parts.html, which every kind of page sees and
	// which define the "nav" and "footer" of the frame, and its "banner" and "trail"
	// where the site has them; and templates/KIND.html, which defines the "content".
	Files       fs.FS
	Style, Icon string // how the names of the two files begin
	Kinds       []string
	Funcs       template.FuncMap // beside pair, safe and line
}

// Open reads the style sheet and the templates of a site.
func Open(l Look) (*Site, error) {
	own, err := fs.ReadFile(l.Files, "style.css")
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	before, after, found := strings.Cut(string(own), baseLine)
	if !found {
		return nil, errors.New("pages: style.css has no line /* base.css */, where the base sheet goes")
	}
	funcs := template.FuncMap{
		// pair hands a template the page beside one item of it.
		"pair": func(page, item any) Pair { return Pair{page, item} },
		"safe": Plain,
		"line": PlainLine,
	}
	maps.Copy(funcs, l.Funcs)
	shared, err := template.New("frame.html").Funcs(funcs).Parse(frame)
	if err == nil {
		_, err = shared.ParseFS(l.Files, "templates/layout.html", "templates/parts.html")
	}
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	s := &Site{
		Style:     newAsset(l.Style, ".css", "text/css; charset=utf-8", before+baseSheet+after),
		Icon:      newAsset(l.Icon, ".svg", "image/svg+xml", iconImage),
		templates: map[string]*template.Template{},
	}
	for _, kind := range l.Kinds {
		set, err := shared.Clone()
		if err == nil {
			_, err = set.ParseFS(l.Files, "templates/"+kind+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
		s.templates[kind] = set
	}
	return s, nil
}

// Pair is an item for a template that needs the page, too.
type Pair struct{ Page, Item any }

// Render writes a page of a kind whole. The frame asks the page for Lang, Title,
// Languages (in the order of the switch) and T, and for addresses as links write
// them: Style, Icon, Home, Twin (the same as JSON) and Other, the page in another
// language.
func (s *Site) Render(kind string, page any) ([]byte, error) {
	t, ok := s.templates[kind]
	if !ok {
		return nil, fmt.Errorf("pages: there is no kind of page %q", kind)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return b.Bytes(), nil
}
