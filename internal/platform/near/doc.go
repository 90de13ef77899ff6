// Package near finds the known word that a misspelt one may have been meant for:
// the "did you mean" of every refusal of an unknown key.
package near
