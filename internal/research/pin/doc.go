// Package pin reads proof-pin.toml: the floors and ceilings of the research
// challenge that git carries and no topic may loosen (specification "Product
// rules", reference §4, "R§4" in comments).
//
// A [Pin] has every default filled in. [Parse] reads the file strictly: an
// unknown key, a key twice or a wrong type is refused with the key's name,
// because a misspelt floor that is silently ignored would be a loosened one.
// [Pin.Validate] checks it in the reference's order with its texts.
package pin
