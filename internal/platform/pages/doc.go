// Package pages is what sites of pages in French and English share: the choice of
// the language, catalogues of sentences, foreign text made safe to read, figures and
// times in words, the frame of a page, its base style sheet and its mark.
//
// It knows no challenge: what a page says, where it stands and what its navigation
// leads to are its site's.
//
// # Invariants
//
//   - A page is rendered whole or not at all; a sentence that the catalogue of the
//     reader's language lacks is an error.
//   - Everything is escaped by html/template, and no page needs a script: [Policy]
//     forbids them.
//   - A file that pages refer to is named by its content ([Asset]), so that it may be
//     kept for ever.
package pages
