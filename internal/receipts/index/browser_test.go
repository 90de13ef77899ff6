package index

import (
	"bytes"
	"context"
	"image"
	_ "image/png" // the screenshot's format
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is a real browser on a served site. Every step has its own bound.
type browser struct {
	t    *testing.T
	ctx  context.Context
	site string

	mu      sync.Mutex
	console []string
}

func openBrowser(t *testing.T, x *Index) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is missing: run make deps")
	}
	// A profile of its own, outside t.TempDir: the browser may still write while it ends.
	profile, err := os.MkdirTemp("", "prova-browser-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.UserDataDir(profile), chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true))
	server := httptest.NewServer(x.Handler())
	t.Cleanup(server.Close)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, site: server.URL}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.console = append(b.console, m.String()+" "+m.URL)
			b.mu.Unlock()
		}
	}()
	if err := chromedp.Do(ctx); err != nil { // The first use starts the browser and must have no bound of its own.
		t.Fatal(err)
	}
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
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.console {
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
