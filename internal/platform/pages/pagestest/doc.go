// Package pagestest holds the catalogues of a site against each other, against the
// sources that use them and against the vocabulary of the house, and opens a browser
// on its pages.
package pagestest
