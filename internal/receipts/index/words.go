package index

import "fmt"

// Words returns the texts of the bundle format's words (states, reasons, causes,
// details) in one language, "fr" or "en", for a report outside the pages. A word
// that is not known comes back as it is.
func Words(lang string) (func(family, word string) string, error) {
	for _, l := range languages() {
		if string(l) == lang {
			return newCatalogue(l).Word, nil
		}
	}
	return nil, fmt.Errorf("index: language %q: want fr or en", lang)
}
