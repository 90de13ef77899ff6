package pagestest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// Browser opens a real browser. tab is what its steps run in, each with a bound of
// its own; console gives the messages that pages have left in its console.
func Browser(t *testing.T) (tab context.Context, console func() []string) {
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
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	var mu sync.Mutex
	var said []string
	messages := chromedp.Console(tab)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			mu.Lock()
			said = append(said, m.String()+" "+m.URL)
			mu.Unlock()
		}
	}()
	if err := chromedp.Do(tab); err != nil { // The first use starts the browser and must have no bound of its own.
		t.Fatal(err)
	}
	return tab, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(said)
	}
}
