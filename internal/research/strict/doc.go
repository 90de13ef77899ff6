// Package strict reads the documents of the research challenge into typed
// values and refuses whatever is not exactly what was meant, with the path of
// the fault (R§3 "JSON input rules", design decision 8): a key that is unknown,
// twice there or in the wrong case, a null for what is not optional, a number
// with a point for an integer, an integer that does not fit.
//
// [JSON], [YAML] and [TOML] bring a text to the value model of canonjson, in
// which integers and other numbers are apart; a [Reader] takes such a value into
// a Go variable. A key that is missing leaves its variable as it is, so the
// caller fills in the defaults first:
//
//	d := defaults()
//	err := strict.Object(
//		strict.Key("name", strict.String(&d.Name)),
//		strict.Key("until", strict.Optional(&d.Until, strict.Uint[uint64])),
//	)(value, "")
//
// Every error is an [*Error]; Syntax tells a text that is no document of its
// format at all (status 400) from one whose content is refused (422).
package strict
