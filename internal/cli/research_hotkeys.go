package cli

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
)

// plural is a number of things with their name.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// readHotkeys reads one hotkey a line, with # comments, or a JSON array of them.
// One that is twice there is refused: it would have two weights. So is what is no
// public key, and no refusal shows what stands there: it may be a secret.
func readHotkeys(path string) ([]payout.Hotkey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	texts, err := hotkeyTexts(path, data)
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s names no hotkey", path)
	}
	seen := map[payout.Hotkey]int{}
	keys := make([]payout.Hotkey, 0, len(texts))
	for i, text := range texts {
		stored, ok := intake.Hex64(text)
		if !ok {
			return nil, fmt.Errorf("%s: hotkey %d is not 64 hexadecimal digits", path, i+1)
		}
		if _, err := sr25519.ParsePublicKey(stored); err != nil {
			if len(texts) == 1 {
				return nil, fmt.Errorf("%s holds no sr25519 public key; it looks like a secret of 'prova keys new', whose public key that command printed", path)
			}
			return nil, fmt.Errorf("%s: hotkey %d is no sr25519 public key", path, i+1)
		}
		h, err := payout.ParseHotkey(stored)
		if err != nil {
			return nil, fmt.Errorf("%s: hotkey %d is no hotkey", path, i+1)
		}
		if first, twice := seen[h]; twice {
			return nil, fmt.Errorf("%s: hotkey %d is there twice, first as hotkey %d", path, i+1, first)
		}
		seen[h] = i + 1
		keys = append(keys, h)
	}
	return keys, nil
}

func hotkeyTexts(path string, data []byte) ([]string, error) {
	var texts []string
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		if json.Unmarshal(data, &texts) != nil { // its text may show a value
			return nil, fmt.Errorf("%s: want an array of hotkeys, each a text of 64 hexadecimal digits", path)
		}
		return texts, nil
	}
	for text := range strings.Lines(string(data)) {
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// refuseLoneSecret refuses a file that looks in every way like a secret: its owner's
// alone, exactly the line that 'prova keys new' writes, and of no miner of the epoch.
// One secret in sixteen or so is a public key too, and a report would print it.
func refuseLoneSecret(path string, keys, miners []payout.Hotkey) error {
	if len(keys) != 1 || slices.Contains(miners, keys[0]) {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	const form = 2*sr25519.SecretSize + 1 // hexadecimal digits and a line feed
	if info.Mode().Perm()&0o077 != 0 || info.Size() != form {
		return nil
	}
	return fmt.Errorf("%s may be a secret of 'prova keys new': it holds one line, is readable by you alone, and names no miner of the epoch; hotkeys are public: 'chmod 644 %s' says that it is one", path, path)
}
