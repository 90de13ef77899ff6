package tlog

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCheckpoint bounds the text of a checkpoint: real ones have a few hundred bytes, one with many witnesses a few
// thousand.
const maxCheckpoint = 64 << 10

// hintSize is the number of bytes of a key's SHA-256 that a note signature starts with.
const hintSize = 4

// Checkpoint is a signed statement about a log's tree: a C2SP signed note whose text is a tlog-checkpoint.
type Checkpoint struct {
	// Origin is the first line. Rekor's ends in " - " and the decimal tree id.
	Origin string
	// Size is the number of leaves.
	Size uint64
	// Root is the RFC 6962 root of the first Size leaves.
	Root [32]byte
	// Extensions are the lines after the root, if any. They are signed but mean nothing here.
	Extensions []string
	// Signatures are the signature lines in order: the log's and those of witnesses.
	Signatures []NoteSignature

	text string
}

// NoteSignature is one signature line of a signed note.
type NoteSignature struct {
	// Name is the key name on the line. It is not signed and proves nothing.
	Name string
	// Hint is the first four bytes of an identifier of the key. For a Rekor v1 key that is the SHA-256 of its DER.
	Hint [hintSize]byte
	// Signature is the rest, for ECDSA keys a DER signature.
	Signature []byte
}

// ParseCheckpoint reads a signed checkpoint: origin, size and root lines, optional extension lines, a blank line, and
// at least one signature line, each line ended by a newline. No signature is verified, see [Checkpoint.SignedBy].
func ParseCheckpoint(note string) (*Checkpoint, error) {
	if len(note) > maxCheckpoint {
		return nil, fmt.Errorf("checkpoint: %d bytes, at most %d are read", len(note), maxCheckpoint)
	}
	if !utf8.ValidString(note) {
		return nil, errors.New("checkpoint: not UTF-8")
	}
	if i := strings.IndexFunc(note, func(r rune) bool { return r != '\n' && (r < 0x20 || r == 0x7f) }); i >= 0 {
		return nil, fmt.Errorf("checkpoint: control character %q at byte %d", note[i], i)
	}
	body, signatures, found := strings.Cut(note, "\n\n")
	if !found {
		return nil, errors.New("checkpoint: no blank line between text and signatures")
	}
	lines := strings.Split(body, "\n")
	if len(lines) < 3 {
		return nil, fmt.Errorf("checkpoint: %d lines of text, want origin, size and root", len(lines))
	}
	c := &Checkpoint{Origin: lines[0], Extensions: lines[3:], text: body + "\n"}
	if c.Origin == "" {
		return nil, errors.New("checkpoint: empty origin line")
	}
	var err error
	if c.Size, err = parseDecimal(lines[1]); err != nil {
		return nil, fmt.Errorf("checkpoint: tree size %q: %w", lines[1], err)
	}
	root, err := decodeBase64(lines[2])
	if err != nil || len(root) != sha256.Size {
		return nil, fmt.Errorf("checkpoint: root %q is not the canonical base64 of 32 bytes", lines[2])
	}
	c.Root = [32]byte(root)
	if c.Signatures, err = parseSignatures(signatures); err != nil {
		return nil, err
	}
	return c, nil
}

func parseSignatures(text string) ([]NoteSignature, error) {
	text, ended := strings.CutSuffix(text, "\n")
	if !ended || text == "" {
		return nil, errors.New("checkpoint: want at least one signature line, each ended by a newline")
	}
	var out []NoteSignature
	for i, line := range strings.Split(text, "\n") {
		rest, dash := strings.CutPrefix(line, "— ")
		name, encoded, spaced := strings.Cut(rest, " ")
		if !dash || !spaced || !validKeyName(name) {
			return nil, fmt.Errorf("checkpoint: signature line %d is not \"— name base64\"", i+1)
		}
		raw, err := decodeBase64(encoded)
		if err != nil || len(raw) <= hintSize {
			return nil, fmt.Errorf("checkpoint: signature line %d (%s): not the canonical base64 of a key hint and a signature", i+1, name)
		}
		out = append(out, NoteSignature{Name: name, Hint: [hintSize]byte(raw[:hintSize]), Signature: raw[hintSize:]})
	}
	return out, nil
}

// SignedBy reports whether one of the signature lines with key's hint is an ECDSA signature by key over the text. Lines
// of other keys are passed over, and so is a bad line when a good one follows.
func (c *Checkpoint) SignedBy(key *ecdsa.PublicKey) error {
	sum, err := keySum(key)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	digest := sha256.Sum256([]byte(c.text))
	hinted := 0
	for _, s := range c.Signatures {
		if !bytes.Equal(s.Hint[:], sum[:hintSize]) {
			continue
		}
		if ecdsa.VerifyASN1(key, digest[:], s.Signature) {
			return nil
		}
		hinted++
	}
	if hinted == 0 {
		return fmt.Errorf("checkpoint: none of %d signature lines has the log's key hint %x", len(c.Signatures), sum[:hintSize])
	}
	return fmt.Errorf("checkpoint: the log's signature does not verify (%d lines with key hint %x)", hinted, sum[:hintSize])
}

// TreeID returns the decimal number after the last " - " of the origin line, which Rekor uses as the prefix of its
// uuids.
func (c *Checkpoint) TreeID() (uint64, error) {
	i := strings.LastIndex(c.Origin, " - ")
	if i < 0 {
		return 0, fmt.Errorf("checkpoint: origin %q does not end in \" - \" and a tree id", c.Origin)
	}
	id, err := parseDecimal(c.Origin[i+len(" - "):])
	if err != nil {
		return 0, fmt.Errorf("checkpoint: tree id of origin %q: %w", c.Origin, err)
	}
	return id, nil
}

// signCheckpoint writes a checkpoint of one signature. The signature is deterministic (RFC 6979).
func signCheckpoint(key *ecdsa.PrivateKey, keyName, origin string, size uint64, root [32]byte) (string, error) {
	text := origin + "\n" + strconv.FormatUint(size, 10) + "\n" + base64.StdEncoding.EncodeToString(root[:]) + "\n"
	sum, err := keySum(&key.PublicKey)
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	digest := sha256.Sum256([]byte(text))
	signature, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("checkpoint: sign: %w", err)
	}
	line := base64.StdEncoding.EncodeToString(append(sum[:hintSize:hintSize], signature...))
	return text + "\n— " + keyName + " " + line + "\n", nil
}

// validKeyName applies the rule of C2SP signed notes: not empty, no Unicode space, no plus.
func validKeyName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsRune(name, '+') && strings.IndexFunc(name, unicode.IsSpace) < 0
}

// parseDecimal reads an unsigned number in its one canonical form.
func parseDecimal(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, errors.New("not a decimal number below 2^64 without sign and leading zeros")
	}
	return n, nil
}

// decodeBase64 reads canonical padded base64: the one text that the bytes encode to. The standard decoder would pass
// over line breaks, and one that is not strict over trailing bits, so that several texts would stand for one value.
func decodeBase64(s string) ([]byte, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("not canonical padded base64: %w", err)
	}
	if base64.StdEncoding.EncodedLen(len(raw)) != len(s) {
		return nil, errors.New("not canonical padded base64: line breaks inside")
	}
	return raw, nil
}
