package tlog

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

const checkpointText = "log.test - 42\n7\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"

func TestC2SPCheckpointForms(t *testing.T) {
	line := noteLine("log.test", testKey(11), checkpointText)
	for name, tc := range map[string]struct {
		note, fault string
	}{
		"as it should be":                          {checkpointText + "\n" + line, ""},
		"extension lines":                          {checkpointText + "a\nb c\n" + "\n" + line, ""},
		"three signature lines":                    {checkpointText + "\n" + line + line + line, ""},
		"a name with a dash and dots":              {checkpointText + "\n— a-b.c/d AAAAAAA=\n", ""},
		"nothing":                                  {"", "no blank line"},
		"no blank line":                            {checkpointText + line, "no blank line"},
		"no signature":                             {checkpointText + "\n", "at least one signature"},
		"a last line without newline":              {checkpointText + "\n" + strings.TrimSuffix(line, "\n"), "ended by a newline"},
		"a blank line among the signatures":        {checkpointText + "\n" + line + "\n" + line, "signature line 2"},
		"two lines of text":                        {"log\n7\n\n" + line, "2 lines"},
		"an empty origin":                          {"\n7\nAAAA\n\n" + line, "origin"},
		"a size with a sign":                       {strings.Replace(checkpointText, "\n7\n", "\n+7\n", 1) + "\n" + line, "tree size"},
		"a size with a leading zero":               {strings.Replace(checkpointText, "\n7\n", "\n07\n", 1) + "\n" + line, "tree size"},
		"a size of 65 bits":                        {strings.Replace(checkpointText, "\n7\n", "\n18446744073709551616\n", 1) + "\n" + line, "tree size"},
		"an empty size":                            {strings.Replace(checkpointText, "\n7\n", "\n \n", 1) + "\n" + line, "tree size"},
		"a root of 31 bytes":                       {"log\n7\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==\n\n" + line, "root"},
		"a root with other trailing bits":          {strings.Replace(checkpointText, "Hh8=", "Hh9=", 1) + "\n" + line, "root"},
		"a carriage return":                        {strings.ReplaceAll(checkpointText, "\n", "\r\n") + "\n" + line, "control character"},
		"a control character":                      {"lo\x00g" + checkpointText + "\n" + line, "control character"},
		"bytes that are not UTF-8":                 {"\xff" + checkpointText + "\n" + line, "UTF-8"},
		"a signature line with a hyphen":           {checkpointText + "\n- log.test AAAAAAA=\n", "signature line 1"},
		"a signature line without name":            {checkpointText + "\n—  AAAAAAA=\n", "signature line 1"},
		"a signature line with a plus in it":       {checkpointText + "\n— a+b AAAAAAA=\n", "signature line 1"},
		"a signature line with a hint alone":       {checkpointText + "\n— a AAAAAA==\n", "key hint"},
		"a signature line that is not base64":      {checkpointText + "\n— a ????\n", "key hint"},
		"a signature line with a third word":       {checkpointText + "\n— a AAAAAAA= b\n", "key hint"},
		"more than a checkpoint can be":            {checkpointText + strings.Repeat("x", maxCheckpoint) + "\n\n" + line, "at most"},
		"something that is not a checkpoint, JSON": {`{"treeSize":7}`, "no blank line"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := ParseCheckpoint(tc.note)
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Fatalf("got %v, want an error about %q", err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Origin != "log.test - 42" || c.Size != 7 || c.Root[31] != 31 {
				t.Errorf("read %+v", c)
			}
			if id, err := c.TreeID(); err != nil || id != 42 {
				t.Errorf("tree id %d, %v", id, err)
			}
		})
	}
}

func TestC2SPTreeIDForms(t *testing.T) {
	for origin, want := range map[string]string{
		"log.test - 7":                         "7",
		"a - b - 18446744073709551615":         "18446744073709551615",
		"log.test":                             "",
		"log.test - ":                          "",
		"log.test - 07":                        "",
		"log.test -7":                          "",
		"log.test - 18446744073709551616":      "",
		"log.test - 7 ":                        "",
		"log.test - 108e9186e8c5677a":          "",
		"rekor.sigstore.dev - -1":              "",
		"rekor.sigstore.dev - 119305095991665": "119305095991665",
	} {
		id, err := (&Checkpoint{Origin: origin}).TreeID()
		if (err != nil) != (want == "") {
			t.Errorf("%q: %d, %v", origin, id, err)
		}
		if got := strconv.FormatUint(id, 10); err == nil && got != want {
			t.Errorf("%q: got %s, want %s", origin, got, want)
		}
	}
}

// noteVerifier is a Rekor v1 key as golang.org/x/mod sees one, an independent reader of notes.
type noteVerifier struct {
	name string
	key  *ecdsa.PublicKey
}

func (v noteVerifier) Name() string { return v.name }

func (v noteVerifier) KeyHash() uint32 {
	sum, err := keySum(v.key)
	if err != nil {
		panic(err)
	}
	return binary.BigEndian.Uint32(sum[:])
}

func (v noteVerifier) Verify(msg, sig []byte) bool {
	digest := sha256.Sum256(msg)
	return ecdsa.VerifyASN1(v.key, digest[:], sig)
}

func TestC2SPCheckpointsAreNotesToAnIndependentReader(t *testing.T) {
	_, document, _, logs := realEntry(t)
	var entries map[string]struct {
		Verification struct{ InclusionProof struct{ Checkpoint string } }
	}
	if err := json.Unmarshal(document, &entries); err != nil {
		t.Fatal(err)
	}
	ours, err := signCheckpoint(testKey(3), "log.prova.local", "log.prova.local - 5", 12, [32]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	notes := map[string]noteVerifier{ours: {"log.prova.local", &testKey(3).PublicKey}}
	for _, e := range entries {
		notes[e.Verification.InclusionProof.Checkpoint] = noteVerifier{"rekor.sigstore.dev", logs[0].Key}
	}
	if len(notes) != 2 {
		t.Fatalf("%d notes", len(notes))
	}
	for text, v := range notes {
		if _, err := note.Open([]byte(text), note.VerifierList(v)); err != nil {
			t.Errorf("x/mod: %v in\n%s", err, text)
		}
		c, err := ParseCheckpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SignedBy(v.key); err != nil {
			t.Error(err)
		}
		if err := c.SignedBy(&testKey(4).PublicKey); err == nil {
			t.Error("signed by a key that has nothing to do with it")
		}
		if err := c.SignedBy(nil); err == nil {
			t.Error("signed by no key")
		}
	}
}

func TestCheckpointSignaturesAreDeterministic(t *testing.T) {
	sign := func() string {
		s, err := signCheckpoint(testKey(3), "l", "l - 1", 1, [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b := sign(), sign(); a != b {
		t.Errorf("two signatures of one tree differ:\n%s\n%s", a, b)
	}
}

func TestECDSASignaturesAreStrictDER(t *testing.T) {
	var groups []struct {
		Key   string
		Tests [][5]any
	}
	if err := json.Unmarshal(readTestdata(t, "wycheproof-ecdsa-p256-sha256.json"), &groups); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, g := range groups {
		key, _, err := ParsePublicKeyPEM(g.Key)
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range g.Tests {
			message, err := hex.DecodeString(tc[2].(string))
			if err != nil {
				t.Fatal(err)
			}
			signature, err := hex.DecodeString(tc[3].(string))
			if err != nil {
				t.Fatal(err)
			}
			h := &hashedRekord{hash: sha256.Sum256(message), signature: signature, key: key}
			if err := h.verify(); (err == nil) != (tc[4] == "valid") {
				t.Errorf("case %v (%v): %v, want %v", tc[0], tc[1], err, tc[4])
			}
			count[tc[4].(string)]++
		}
	}
	if count["valid"] < 100 || count["invalid"] < 300 {
		t.Errorf("cases run: %v", count)
	}
}
