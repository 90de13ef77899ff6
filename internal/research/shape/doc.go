// Package shape holds the small forms that several documents of the research
// challenge share: slugs, custom ids, model names, hashes in hex and origins
// (reference §§ notation, 4 and 5.2). Each function says whether a text has the
// form, and nothing else.
package shape
