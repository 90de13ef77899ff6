package pages

import (
	"html/template"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"
)

func catalogues(texts map[string]string) (en, fr *Catalogue) {
	return NewCatalogue(English, texts), NewCatalogue(French, texts)
}

func TestTheReaderGetsTheLanguageAskedForFirst(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]Language{"": English, "fr": French, "de, fr-CA;q=0.8, en;q=0.5": French, "en-GB,fr": English, "de": English, "FR": French, ",;q=": English} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept-Language", accept)
		if got := Preferred(r); got != want {
			t.Errorf("%q: %s", accept, got)
		}
	}
	if Language("de").Known() || Language("").Known() {
		t.Error("a language that no site has is known")
	}
}

func TestACatalogueWithoutATextSaysSo(t *testing.T) {
	t.Parallel()
	en, fr := catalogues(map[string]string{"a": "%s of %d", "state.open": "Open !"})
	if got, err := en.T("a", "x", 2); got != "x of 2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := fr.T("b"); err == nil || !strings.Contains(err.Error(), `catalogue fr has no text "b"`) {
		t.Errorf("%v", err)
	}
	for got, want := range map[string]string{
		fr.Must("b"): "b", fr.Word("state", "open"): "Open\u202f!", fr.Word("state", "a_later_word"): "a_later_word", en.Word("state", "\u202ex"): "⟨U+202E⟩x",
		en.Plural("n", 0): "n.many", fr.Plural("n", 0): "n.one", en.Plural("n", 1): "n.one", fr.Plural("n", 2): "n.many",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if _, ok := fr.Lookup("b"); ok {
		t.Error("a key without a text is found")
	}
	en.Texts()["a"] = "changed"
	if got, _ := en.Lookup("a"); got != "%s of %d" {
		t.Errorf("a catalogue changed to %q", got)
	}
}

func TestNumbersAndTimesReadAsInEachLanguage(t *testing.T) {
	t.Parallel()
	en, fr := catalogues(nil)
	half := 0.5
	var none *float64
	at := time.Date(2026, 8, 1, 9, 5, 7, 0, time.FixedZone("", 7200))
	for _, c := range [][2]string{
		{en.Number(1234567.5), "1,234,567.5"}, {fr.Number(1234567.5), "1\u202f234\u202f567,5"}, {en.Number(uint64(1 << 63)), "9,223,372,036,854,775,808"},
		{en.Number(-1234), "\u22121,234"}, {en.Number(2e18), "2e+18"}, {en.Number(1e-9), "1e-09"}, {fr.Number(&half), "0,5"}, {en.Number(none), "–"}, {en.Number(nil), "–"},
		{en.Number(math.NaN()), "NaN"}, {en.About(0.5 - 0.4), "0.1"}, {en.About(0.56 * 1.05), "0.588"}, {en.Percent("6.3"), "6.3%"}, {fr.Percent("6.3"), "6,3\u202f%"},
		{en.Instant(at), "1 August 2026, 07:05:07 UTC"}, {fr.Instant(at), "1er août 2026, 07:05:07 UTC"}, {fr.Instant(at.AddDate(0, 0, 1)), "2 août 2026, 07:05:07 UTC"}, {en.Instant(time.Time{}), ""},
		{typeset("« a » : b ? 5 %, %s et %d ; %s %%"), "«\u00a0a\u00a0»\u00a0: b\u202f? 5\u202f%, %s et %d\u202f; %s\u202f%%"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

func TestForeignTextShowsWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\u202eb": "a⟨U+202E⟩b", "\u200f": "⟨U+200F⟩", "a\u200db": "a⟨U+200D⟩b", "\x1b[31m": "⟨U+001B⟩[31m", "\xff": "⟨FF⟩", "été\n2": "été\n2", "\U000E0041": "⟨U+E0041⟩", "\u2028": "⟨U+2028⟩",
		strings.Repeat("é", maxShown): strings.Repeat("é", maxShown), strings.Repeat("é", maxShown+1): strings.Repeat("é", maxShown) + "…",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%.40q: %.60q", in, got)
		}
	}
	if got := PlainLine("a\r\nb\tc\nd"); got != "a b c d" {
		t.Errorf("%q", got)
	}
}

func FuzzForeignTextIsValidAndHasNoDirectionMark(f *testing.F) {
	for _, s := range []string{"", "a\u202eb", "\xff\xfe", "<script>", "\u2066x\u2069", strings.Repeat("x", maxShown+5)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := PlainLine(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\n\r\t\x00\x7f") {
			t.Errorf("%q → %q", s, got)
		}
	})
}

// sheet is a page with what the frame asks for.
type sheet struct {
	*Catalogue
	site  *Site
	Title string
}

func (s sheet) Languages() []Language   { return []Language{English, French} }
func (s sheet) Style() string           { return s.site.Style.Path }
func (s sheet) Icon() string            { return s.site.Icon.Path }
func (s sheet) Home() string            { return "./" }
func (s sheet) Twin() string            { return "page.json" }
func (s sheet) Other(l Language) string { return "../" + string(l) + "/" }

func files(edits ...string) fstest.MapFS {
	out := fstest.MapFS{
		"style.css":              {Data: []byte("/* A site. */\n/* base.css */\n.own { margin: 0; }\n")},
		"templates/layout.html":  {Data: []byte(`{{define "nav"}}<li>{{.Title}}</li>{{end}}{{define "footer"}}<p></p>{{end}}`)},
		"templates/parts.html":   {Data: []byte(`{{define "part"}}{{.Page.T "nav.main"}} {{shout (line .Item)}} {{safe .Item}}{{end}}`)},
		"templates/plain.html":   {Data: []byte(`{{define "content"}}{{template "part" pair . "<i>\u202e"}}{{end}}`)},
		"templates/lacking.html": {Data: []byte(`{{define "content"}}begun {{.T "nowhere"}}{{end}}`)},
	}
	for i := 0; i < len(edits); i += 2 {
		out[edits[i]] = &fstest.MapFile{Data: []byte(edits[i+1])}
	}
	return out
}

func look(fsys fstest.MapFS) Look {
	return Look{Files: fsys, Style: "style", Icon: "mark", Kinds: []string{"plain", "lacking"}, Funcs: template.FuncMap{"shout": strings.ToUpper}}
}

func TestAPageIsEscapedAndRenderedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	site, err := Open(look(files()))
	if err != nil {
		t.Fatal(err)
	}
	_, fr := catalogues(map[string]string{"site.name": "Prova", "nav.skip": "skip", "nav.main": "main", "nav.languages": "tongues"})
	page := sheet{fr, site, "<b>"}
	got, err := site.Render("plain", page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>&lt;b&gt; · Prova</title>", `<html lang="fr">`, "main &lt;I&gt;⟨U&#43;202E⟩ &lt;i&gt;⟨U&#43;202E⟩", `href="` + site.Style.Path + `"`, `src="` + site.Icon.Path + `"`,
		`<a href="../fr/" lang="fr" hreflang="fr" aria-current="true">Français</a>`, `<link rel="alternate" hreflang="en" href="../en/">`, "</header>\n<main",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(string(got), "<script") {
		t.Error("the frame has a script")
	}
	if got, err := site.Render("lacking", page); err == nil || got != nil || !strings.Contains(err.Error(), `no text "nowhere"`) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := site.Render("other", page); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("%v", err)
	}
}

func TestTheBaseSheetStandsWhereTheSiteSays(t *testing.T) {
	t.Parallel()
	site, err := Open(look(files()))
	if err != nil {
		t.Fatal(err)
	}
	if want := "/* A site. */\n" + baseSheet + ".own { margin: 0; }\n"; string(site.Style.Data) != want {
		t.Errorf("%.80q", site.Style.Data)
	}
	other, err := Open(look(files("style.css", baseLine)))
	if err != nil {
		t.Fatal(err)
	}
	if other.Style.Path == site.Style.Path || other.Icon.Path != site.Icon.Path || !strings.HasPrefix(other.Icon.Path, "mark-") {
		t.Errorf("%q, %q: a name is not that of its content", other.Style.Path, other.Icon.Path)
	}
	for name, text := range map[string]string{"style.css": "body {}", "templates/layout.html": "{{", "templates/plain.html": "{{nowhere}}"} {
		if _, err := Open(look(files(name, text))); err == nil || !strings.Contains(err.Error(), name[strings.LastIndex(name, "/")+1:]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(Look{Files: fstest.MapFS{}}); err == nil || !strings.Contains(err.Error(), "style.css") {
		t.Errorf("%v", err)
	}
}

func TestEveryAnswerForbidsScriptsAndRedirectsStayRelative(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Secure(w.Header())
	Redirect(w, http.StatusFound, "fr/")
	h := w.Header()
	if h.Get("Content-Security-Policy") != Policy || strings.Contains(Policy, "unsafe") || !strings.HasPrefix(Policy, "default-src 'none'; style-src 'self'") || strings.Contains(Policy, "script-src") {
		t.Errorf("policy %q", h.Get("Content-Security-Policy"))
	}
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Location") != "fr/" || w.Code != http.StatusFound {
		t.Errorf("%d %v", w.Code, h)
	}
}
