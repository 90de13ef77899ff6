package meter

import (
	"fmt"
	"slices"
	"strings"
)

// Method names this way to count, in reports, attestations and rows. Whoever
// changes what a module's figure is gives it another name.
const Method = "wasm-metered/1"

// Table is the table of docs/metering.md: every instruction that a module may have,
// in Markdown, by what it counts as.
func Table() string {
	plain, misc, simd := instructions()
	byOps := map[uint8][]string{}
	for _, t := range []table{plain, misc, simd} {
		for _, o := range t {
			if o.name != "" {
				byOps[o.ops] = append(byOps[o.ops], "`"+o.name+"`")
			}
		}
	}
	var b strings.Builder
	b.WriteString("| counts as | instructions |\n| --- | --- |\n")
	for _, ops := range []uint8{1, 2, 4, 0} {
		slices.Sort(byOps[ops])
		fmt.Fprintf(&b, "| %d | %s |\n", ops, strings.Join(byOps[ops], " "))
	}
	return b.String()
}
