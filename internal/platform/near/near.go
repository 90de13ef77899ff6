package near

import "strings"

// maxWord is the length in bytes of the longest word that is compared; a key of
// a hostile document must not cost more than reading it.
const maxWord = 64

// Word returns the known word that may have been meant, or "": one that differs
// in case or in hyphens for underscores alone comes first, then the one with the
// fewest edits. Among equals the first of known wins.
func Word(word string, known []string) string {
	if len(word) > maxWord {
		return ""
	}
	for _, k := range known {
		if plain(word) == plain(k) {
			return k
		}
	}
	most := 1 // edits; two letters that changed places are two of them
	if len(word) >= 4 {
		most = max(2, len(word)/4)
	}
	best, distance := "", 1+most
	for _, k := range known {
		if d := edits(plain(word), plain(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// plain is a word without case, hyphens, underscores and spaces.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
}

// edits counts the insertions, deletions and replacements between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			corner, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, corner+cost)
		}
	}
	return row[len(b)]
}
