package timestamp

import (
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// onePEM reads exactly one PEM block of a type, without headers, with nothing
// but white space around it. It never quotes the text, which may be a key.
func onePEM(text, typ string) ([]byte, error) {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "-----BEGIN ") {
		return nil, fmt.Errorf("timestamp: PEM: does not begin with a block of type %s", typ)
	}
	block, rest := pem.Decode([]byte(trimmed))
	if block == nil {
		return nil, errors.New("timestamp: PEM: the block is damaged")
	}
	if len(strings.TrimSpace(string(rest))) > 0 || strings.Count(trimmed, "-----BEGIN ") != 1 {
		return nil, errors.New("timestamp: PEM: more than one block")
	}
	if block.Type != typ || len(block.Headers) > 0 {
		return nil, fmt.Errorf("timestamp: PEM: block of type %q, want a bare %s", block.Type, typ)
	}
	return block.Bytes, nil
}
