package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// decimal is the value of a flag that counts something: digits alone. A library's
// own integers are read as Go literals, where 01000 is 512 and 0x3e8 and 1_000 are
// numbers; who declares a budget so means another one.
type decimal[T int | uint32 | uint64] struct{ to *T }

// decimalVar adds a flag that takes a decimal number from 0 to the most that T holds.
func decimalVar[T int | uint32 | uint64](flags *pflag.FlagSet, to *T, name string, value T, usage string) {
	*to = value
	flags.Var(&decimal[T]{to}, name, usage)
}

// decimalError is text that is no such number. [wrapUsage] puts the flag before it.
type decimalError struct{ why string }

func (e *decimalError) Error() string { return e.why }

// Set reads the number.
func (d *decimal[T]) Set(text string) error {
	wrong := &decimalError{"want an integer in digits without a leading zero, such as 1000"}
	if text == "" || len(text) > 1 && text[0] == '0' {
		return wrong
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return wrong
		}
	}
	most := uint64(^T(0)) // all bits of an unsigned type
	if ^T(0) < 0 {
		most = 1<<(strconv.IntSize-1) - 1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		return &decimalError{fmt.Sprintf("want an integer of at most %d", most)}
	}
	*d.to = T(n)
	return nil
}

// String is the number in digits.
func (d *decimal[T]) String() string {
	if d.to == nil {
		return "0"
	}
	return fmt.Sprint(*d.to)
}

// Type names the value in the help of a command.
func (d *decimal[T]) Type() string { return "int" }

// flagFault says what is wrong with a flag, for a decimal one in one short sentence.
func flagFault(err error) error {
	var value *pflag.InvalidValueError
	var wrong *decimalError
	if errors.As(err, &value) && errors.As(err, &wrong) {
		return fmt.Errorf("--%s %.80q: %w", value.GetFlag().Name, value.GetValue(), wrong)
	}
	return err
}
