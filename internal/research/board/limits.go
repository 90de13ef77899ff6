package board

// limitKeys are the points of the page of limits, in their order.
func limitKeys() []string {
	return []string{"hotkeys", "measure", "sandboxed", "agent", "duplicates", "withheld", "address", "epochs", "offers", "store"}
}

type limit struct{ Title, Text string }

func (b *Board) limits(l language) *page {
	p := b.newPage(l, "limits", "limits")
	p.Title, p.Twin = p.words.must("limits.title"), "v1/status"
	var list []limit
	for _, key := range limitKeys() {
		list = append(list, limit{p.words.must("limits." + key + ".title"), p.words.must("limits." + key)})
	}
	p.Content = list
	return p
}
