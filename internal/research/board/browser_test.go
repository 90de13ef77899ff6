package board_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api/apitest"
)

// TestABrowserReadsEveryPageAtADeskAndOnAPhone looks at each kind of page in both
// languages: it is styled, no script and no message of the console is there, and
// nothing sticks out of the window.
func TestABrowserReadsEveryPageAtADeskAndOnAPhone(t *testing.T) {
	s := lived(t)
	s.CloseEpoch()
	srv := httptest.NewServer(s.handler)
	t.Cleanup(srv.Close)
	program, err := exec.LookPath("chromium")
	require.NoError(t, err, "chromium is missing: run make deps")
	// A profile of its own, outside t.TempDir: the browser may still write while it ends.
	profile, err := os.MkdirTemp("", "prova-browser-*")
	require.NoError(t, err)
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
	var console []string
	messages := chromedp.Console(tab)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			mu.Lock()
			console = append(console, m.String()+" "+m.URL)
			mu.Unlock()
		}
	}()
	require.NoError(t, chromedp.Do(tab)) // the first use starts the browser and must have no bound of its own
	for _, width := range []int64{1280, 390} {
		for _, l := range []string{"en", "fr"} {
			for _, name := range []string{"", "rows", "topics/" + apitest.OpenID, "rows/" + s.rows["over"], "rows/" + s.rows["champion"], "epochs", "epochs/0", "limits"} {
				ctx, done := context.WithTimeout(tab, time.Minute)
				require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 844), chromedp.Navigate(srv.URL+"/"+l+"/"+name), chromedp.WaitVisible(chromedp.CSS("main h1"))), name)
				wide, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`))
				require.NoError(t, err)
				require.False(t, wide, "%s/%s is wider than %d", l, name, width)
				style, err := chromedp.Run(ctx, chromedp.Evaluate[string](`getComputedStyle(document.querySelector(".brand")).display + " " + document.scripts.length`))
				require.NoError(t, err)
				require.Equal(t, "flex 0", style)
				done()
			}
		}
	}
	ctx, done := context.WithTimeout(tab, time.Minute)
	defer done()
	require.NoError(t, chromedp.Do(ctx,
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(srv.URL+"/en/"),
		chromedp.Click(chromedp.CSS("article.topic h3 a")), chromedp.WaitVisible(chromedp.CSS("table.rows")),
		chromedp.Click(chromedp.CSS("table.rows tbody tr:last-child th a")), chromedp.WaitVisible(chromedp.CSS(".verdict")),
		chromedp.Click(chromedp.CSS(`nav.tongues a[hreflang="fr"]`)), chromedp.WaitVisible(chromedp.CSS(`html[lang="fr"] .verdict`)),
	))
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, console)
}
