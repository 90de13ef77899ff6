package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/shape"
)

// Hex64 returns the stored form of a hotkey or an artefact digest: white space and
// one leading 0x taken off, in lower case. ok is false for anything but 64
// hexadecimal digits (R§11.1).
func Hex64(sent string) (stored string, ok bool) {
	s := strings.TrimPrefix(strings.TrimSpace(sent), "0x")
	if len(s) != 64 || !shape.Hex64(s) {
		return "", false
	}
	return strings.ToLower(s), true
}

// Nonce is the nonce of a submission (R§11.2): 64 lower-case hex. The arguments
// are in their stored form.
func Nonce(hotkey, topicID, artifact string) string {
	return digest("proof-nonce-v1" + hotkey + topicID + artifact)
}

// Digest is the digest of a submission (R§11.2): 64 lower-case hex, the same for
// each time that a miner submits an artefact to a topic. The arguments are in
// their stored form.
func Digest(hotkey, topicID, artifact string) string {
	return digest(hotkey + sep + topicID + sep + artifact + sep + Nonce(hotkey, topicID, artifact))
}

// sep separates hashed and signed fields; no UTF-8 text holds it.
const sep = "\xff"

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Canonical is the text of a manifest in a signature (R§11.5): for each of both
// lists its length and then its entries sorted by bytes, as they were sent, with
// repetitions.
func (m Manifest) Canonical() []byte {
	dst := appendList(nil, m.ContentHashes)
	return appendList(append(dst, sep...), m.DatasetIDs)
}

func appendList(dst []byte, list []string) []byte {
	dst = strconv.AppendInt(dst, int64(len(list)), 10)
	for _, entry := range slices.Sorted(slices.Values(list)) {
		dst = append(append(dst, sep...), entry...)
	}
	return dst
}
