package index

import (
	"bytes"
	"context"
	"image"
	_ "image/png" // the screenshot's format
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/prova-dev/prova/internal/platform/pages/pagestest"
)

// browser is a real browser on a served site. Every step has its own bound.
type browser struct {
	t    *testing.T
	ctx  context.Context
	site string

	console func() []string
}

func openBrowser(t *testing.T, x *Index) *browser {
	t.Helper()
	server := httptest.NewServer(x.Handler())
	t.Cleanup(server.Close)
	b := &browser{t: t, site: server.URL}
	b.ctx, b.console = pagestest.Browser(t)
	return b
}

// do runs steps and fails the test with what they were for.
func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// visible is the text of an element as a reader sees it.
func (b *browser) visible(selector string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		b.t.Fatalf("%s: %v", selector, err)
	}
	return fold(text)
}

func (b *browser) screenshot(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || config.Width < 800 || config.Height < 800 {
		b.t.Errorf("screenshot of %d × %d: %v", config.Width, config.Height, err)
	}
	path := filepath.Join(b.t.TempDir(), name+".png")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func TestABrowserReadsTheIndexInBothLanguagesWithoutAScript(t *testing.T) {
	x := planted(t)
	b := openBrowser(t, x.Index)
	for _, c := range []struct{ lang, other, table, label, heading, cause, verdict, proofHeading string }{
		{"en", "fr", "Best constant answer", "Declared stack, not verified", "Individual report", "Value mismatch", "Valid.", "What the receipt shows"},
		{"fr", "en", "Meilleure réponse constante", "Pile déclarée, non vérifiée", "Rapport individuel", "Valeur différente", "Valide.", "Ce que montre le reçu"},
	} {
		b.do("open the home page and follow the links to the tables",
			chromedp.Navigate(b.site+"/"+c.lang+"/"),
			chromedp.Click(chromedp.CSS("article.season h3 a")), chromedp.WaitVisible(chromedp.CSS("nav.big-links")),
			chromedp.Click(chromedp.CSS("nav.big-links a")), chromedp.WaitVisible(chromedp.CSS("#community table.index")))
		if got := b.visible("#community table.index tbody.fixed"); !strings.HasPrefix(got, c.table) {
			t.Errorf("%s: first row %q", c.lang, got)
		}
		if got := b.visible("#community table.index"); strings.Count(got, c.label) < 42 {
			t.Errorf("%s: the label is visible %d times", c.lang, strings.Count(got, c.label))
		}
		b.screenshot("index-" + c.lang)

		b.do("order by a click", chromedp.Click(chromedp.CSS("#community th.c-overclaim a")), chromedp.WaitVisible(chromedp.CSS("#community th.c-overclaim[aria-sort]")))
		if got := b.visible("#community tr.group"); !strings.Contains(got, "6/10") {
			t.Errorf("%s: the first group of equal success is %q", c.lang, got)
		}

		report := "/" + c.lang + "/" + reportPage(2, "conformite", didOf(t, x.Index, `<script>alert("n")</script>\u202e`+"\u202exyz' onload=")) + ".html"
		b.do("open a report", chromedp.Click(chromedp.CSS(`#community a.report[href$="`+filepath.Base(report)+`"]`)), chromedp.WaitVisible(chromedp.CSS("table.causes")))
		if got := b.visible("h1"); !strings.HasPrefix(got, c.heading) {
			t.Errorf("%s: heading %q", c.lang, got)
		}
		if got := b.visible("#conf-01 .cause"); got != c.cause {
			t.Errorf("%s: cause %q", c.lang, got)
		}
		b.do("open a proof", chromedp.Click(chromedp.CSS("#conf-01 a.proof")), chromedp.WaitVisible(chromedp.CSS("table.witnesses")))
		if got := b.visible("p.verdict"); !strings.HasPrefix(got, c.verdict) {
			t.Errorf("%s: %q", c.lang, got)
		}
		if got := b.visible("main"); !strings.Contains(got, c.proofHeading) || !strings.Contains(got, "prova verify --trust trust.json") {
			t.Errorf("%s: the proof's page shows %.200q", c.lang, got)
		}
		b.screenshot("proof-" + c.lang)

		b.do("change the language", chromedp.Click(chromedp.CSS(`nav.tongues a[hreflang="`+c.other+`"]`)), chromedp.WaitVisible(chromedp.CSS(`html[lang="`+c.other+`"] table.witnesses`)))
		style, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`getComputedStyle(document.querySelector("header.site")).display + " " + document.scripts.length`))
		if err != nil || style != "block 0" {
			t.Errorf("style and scripts: %q, %v", style, err)
		}
	}
	b.narrow()
	for _, m := range b.console() {
		t.Errorf("console: %s", m)
	}
}

// narrow looks at the tables as a phone does: nothing may stick out.
func (b *browser) narrow() {
	b.t.Helper()
	b.do("narrow the window", chromedp.EmulateViewport(390, 844), chromedp.Navigate(b.site+"/fr/seasons/2/conformite.html"), chromedp.WaitVisible(chromedp.CSS("#community table.index")))
	wide, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`))
	if err != nil || wide {
		b.t.Errorf("the page is wider than a phone: %v", err)
	}
}
