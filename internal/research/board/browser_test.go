package board_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/pages/pagestest"
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
	tab, console := pagestest.Browser(t)
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
	require.Empty(t, console())
}
