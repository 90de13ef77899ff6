package receipt

import (
	"strconv"
	"strings"
)

// Version is the spec_version of a proof. Its value decides how the chain hash
// is computed (T§6) and whether an identity is anchored; it is compared by
// numbers, so 3.10 is later than 3.9.
type Version struct {
	text         string
	absent       bool
	major, minor string // digits without leading zeros, empty unless well formed
}

// ParseVersion reads the text of a spec_version. Any text gives a Version; ask
// Valid whether it has the form "<major>.<minor>" in ASCII digits.
func ParseVersion(text string) Version {
	v := Version{text: text}
	major, minor, found := strings.Cut(text, ".")
	if found && isDigits(major) && isDigits(minor) {
		v.major, v.minor = trimZeros(major), trimZeros(minor)
	}
	return v
}

// String returns the text as the proof has it, empty when it has none.
func (v Version) String() string { return v.text }

// Absent reports that the proof has no spec_version, or null: the first format.
func (v Version) Absent() bool { return v.absent }

// Valid reports that the text is "<major>.<minor>" in digits.
func (v Version) Valid() bool { return v.major != "" }

// AtLeast reports that v is well formed and, by numbers, not before major.minor.
func (v Version) AtLeast(major, minor int) bool {
	if !v.Valid() {
		return false
	}
	if c := compareDigits(v.major, strconv.Itoa(major)); c != 0 {
		return c > 0
	}
	return compareDigits(v.minor, strconv.Itoa(minor)) >= 0
}

// concatenates reports whether this version hashes the plain concatenation of
// the chain values; every other version before 3.0 hashes canonical JSON (T§6).
func (v Version) concatenates() bool {
	if v.absent {
		return true
	}
	switch v.text {
	case "1.0", "1.1", "2.0":
		return true
	}
	return false
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func trimZeros(digits string) string {
	if t := strings.TrimLeft(digits, "0"); t != "" {
		return t
	}
	return "0"
}

// compareDigits compares two decimal numbers of any length without leading zeros.
func compareDigits(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
