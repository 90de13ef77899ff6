package board

import "github.com/prova-dev/prova/internal/platform/pages"

// limitKeys are the points of the page of limits, in their order.
func limitKeys() []string {
	return []string{"hotkeys", "measure", "sandboxed", "agent", "duplicates", "withheld", "declaration", "address", "epochs", "offers", "store"}
}

type limit struct{ Title, Text string }

func (b *Board) limits(l pages.Language) *page {
	p := b.newPage(l, "limits", "limits")
	p.Title, p.twin = p.Must("limits.title"), "v1/status"
	var list []limit
	for _, key := range limitKeys() {
		list = append(list, limit{p.Must("limits." + key + ".title"), p.Must("limits." + key)})
	}
	p.Content = list
	return p
}
