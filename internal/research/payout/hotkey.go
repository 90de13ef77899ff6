package payout

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// Hotkey is a miner's public key. Keys sort as their hex texts do.
type Hotkey [32]byte

// ParseHotkey reads the stored form of a hotkey, 64 lower-case hex digits.
func ParseHotkey(s string) (Hotkey, error) {
	var h Hotkey
	if len(s) != 64 || strings.ToLower(s) != s {
		return h, fmt.Errorf("hotkey %.80q is not 64 lower-case hex digits", s)
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return h, fmt.Errorf("hotkey %q is not 64 lower-case hex digits", s)
	}
	return h, nil
}

func (h Hotkey) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the stored form.
func (h Hotkey) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the stored form.
func (h *Hotkey) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHotkey(string(text))
	return err
}

func compareHotkeys(a, b Hotkey) int { return bytes.Compare(a[:], b[:]) }
