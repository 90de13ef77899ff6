package canonjson

import (
	"math"
	"strconv"
	"strings"
)

// Boxed once: converting a float to an interface allocates.
var (
	notANumber any = math.NaN()
	infinity   any = math.Inf(1)
)

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?. A point or an
// exponent makes it a float.
func (p *parser) number() (any, bool) {
	start := p.at
	i := start
	if p.data[i] == '-' {
		i++
		if i < len(p.data) && p.data[i] == 'I' {
			p.at = i
			if !p.constant("Infinity") {
				return nil, false
			}
			return math.Inf(-1), true
		}
	}
	first := i
	i = digitsEnd(p.data, i)
	switch {
	case i == first:
		return nil, p.fail(start, "'-' without a digit behind it")
	case p.data[first] == '0' && i > first+1:
		return nil, p.fail(start, "number with a leading zero")
	}
	digits := i - first
	float := false
	if i < len(p.data) && p.data[i] == '.' {
		float = true
		if i = p.digits(i + 1); i < 0 {
			return nil, p.fail(start, "number without a digit after the point")
		}
	}
	mantissa := i
	if i < len(p.data) && p.data[i]|0x20 == 'e' {
		float = true
		i++
		if i < len(p.data) && (p.data[i] == '+' || p.data[i] == '-') {
			i++
		}
		if i = p.digits(i); i < 0 {
			return nil, p.fail(start, "number without a digit in its exponent")
		}
	}
	p.at = i
	literal := p.text[start:i]
	if float {
		return toFloat(literal, mantissa-start), true
	}
	if digits > MaxIntDigits {
		return nil, p.fail(start, "integer of %d digits; at most %d are accepted", digits, MaxIntDigits)
	}
	if literal == "-0" {
		literal = "0"
	}
	return Int(literal), true
}

// digits returns the end of the digits at i, or -1 when there are none.
func (p *parser) digits(i int) int {
	end := digitsEnd(p.data, i)
	if end == i {
		return -1
	}
	return end
}

func digitsEnd(data []byte, i int) int {
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

// toFloat converts a literal that follows the grammar; its mantissa ends at the
// given place. Out of range is ±Inf or ±0, as in Python.
func toFloat(literal string, mantissa int) float64 {
	if len(literal)-mantissa > len("e-9999") {
		return toFloatFar(literal[:mantissa], literal[mantissa+1:])
	}
	f, _ := strconv.ParseFloat(literal, 64) // the only error left is the range, with ±Inf as value
	return f
}

// toFloatFar handles exponents of five digits and more. strconv cuts those off at
// 10000 or so, which is wrong when as many zeros in the mantissa make up for it;
// so the literal is brought to d.ddd × 10^n first.
func toFloatFar(mantissa, exponent string) float64 {
	sign := ""
	if mantissa[0] == '-' {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		f, _ := strconv.ParseFloat(sign+"0", 64)
		return f
	}
	const beyond = math.MaxInt64 / 4 // far more than any document has digits
	n, err := strconv.ParseInt(exponent, 10, 64)
	if err != nil || n > beyond || n < -beyond {
		n = beyond
		if exponent[0] == '-' {
			n = -beyond
		}
	}
	n += int64(len(whole) - 1 - (len(digits) - len(significant)))
	n = min(max(n, -9999), 9999)
	f, _ := strconv.ParseFloat(sign+significant[:1]+"."+significant[1:]+"e"+strconv.FormatInt(n, 10), 64)
	return f
}
