package sr25519_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/sr25519"

	"github.com/prova-dev/prova/evidence/sr25519"
)

type vectors struct {
	Domain  string
	Vectors []struct {
		PayloadLen int    `json:"payload_len"`
		Seed       string `json:"seed_hex"`
		Public     string
		Signature  string
	}
	FixedNonce struct {
		Seed      string `json:"seed_hex"`
		Payload   string `json:"payload_ascii"`
		Domain    string
		Signature string
	} `json:"fixed_nonce_vector"`
	Leaf struct {
		Body      string `json:"body_scale"`
		Signature string
		Domain    string
		Seed      string `json:"signer_seed_hex"`
		Public    string `json:"signer_public"`
	}
}

func load(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func secret(t testing.TB, seedHex string) *sr25519.SecretKey {
	t.Helper()
	key, err := sr25519.ParseSecret([]byte(seedHex))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// payload is payload[i] = i mod 251, as the vectors say.
func payload(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i % 251)
	}
	return p
}

// both checks that a stored signature verifies under the key of its seed, that a
// fresh one does, and that neither does under another domain, payload or key.
func both(t *testing.T, seed, public, domain string, message, signature []byte) {
	t.Helper()
	key := secret(t, seed)
	if public != "" && key.Public().String() != public {
		t.Fatalf("public key %s, want %s", key.Public(), public)
	}
	other := secret(t, "ff"+seed[2:]).Public()
	fresh, err := key.Sign(nil, domain, message)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(fresh[:], signature) {
		t.Error("signing is not randomised")
	}
	for name, sig := range map[string][]byte{"stored": signature, "fresh": fresh[:]} {
		if err := key.Public().Verify(domain, message, sig); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for what, err := range map[string]error{
			"domain":    key.Public().Verify(domain+"x", message, sig),
			"payload":   key.Public().Verify(domain, append([]byte{0}, message...), sig),
			"key":       other.Verify(domain, message, sig),
			"boundary":  key.Public().Verify(domain[:len(domain)-1], append([]byte{domain[len(domain)-1]}, message...), sig),
			"signature": key.Public().Verify(domain, message, flipped(sig, 3)),
			"scalar":    key.Public().Verify(domain, message, flipped(sig, 40)),
		} {
			if !errors.Is(err, sr25519.ErrInvalid) {
				t.Errorf("%s with another %s: %v", name, what, err)
			}
		}
	}
}

func flipped(sig []byte, at int) []byte {
	out := bytes.Clone(sig)
	out[at] ^= 1
	return out
}

func TestR21SignaturesOfRustSchnorrkel(t *testing.T) {
	t.Parallel()
	var v vectors
	load(t, "signature_vectors.json", &v)
	for _, c := range v.Vectors {
		t.Run(fmt.Sprintf("payload of %d bytes", c.PayloadLen), func(t *testing.T) {
			t.Parallel()
			message := payload(c.PayloadLen)
			both(t, c.Seed, c.Public, v.Domain, message, unhex(t, c.Signature))

			// The same bytes are no signature under the context of wallets.
			key, err := voi.NewPublicKeyFromBytes(unhex(t, c.Public))
			if err != nil {
				t.Fatal(err)
			}
			sig, err := voi.NewSignatureFromBytes(unhex(t, c.Signature))
			if err != nil {
				t.Fatal(err)
			}
			if key.Verify(voi.NewSigningContext([]byte("substrate")).NewTranscriptBytes(sr25519.Message(v.Domain, message)), sig) {
				t.Error("verifies under the context substrate")
			}
		})
	}
	t.Run("fixed nonce", func(t *testing.T) {
		t.Parallel()
		both(t, v.FixedNonce.Seed, "", v.FixedNonce.Domain, []byte(v.FixedNonce.Payload), unhex(t, v.FixedNonce.Signature))
	})
	t.Run("weight leaf", func(t *testing.T) {
		t.Parallel()
		both(t, v.Leaf.Seed, v.Leaf.Public, v.Leaf.Domain, unhex(t, v.Leaf.Body), unhex(t, v.Leaf.Signature))
	})
	if len(v.Vectors) < 7 {
		t.Errorf("only %d vectors", len(v.Vectors))
	}
}

func TestR115SignatureOfASubmission(t *testing.T) {
	t.Parallel()
	var v struct {
		Domain string
		Trip   struct {
			Seed      string
			Pub       string
			OtherSeed string `json:"other_seed"`
			OtherPub  string `json:"other_pub"`
			Payload   string `json:"payload_hex"`
			Sig       string
		} `json:"derived_round_trip"`
	}
	load(t, "submit_signature.json", &v)
	both(t, v.Trip.Seed, v.Trip.Pub, v.Domain, unhex(t, v.Trip.Payload), unhex(t, v.Trip.Sig))
	other := secret(t, v.Trip.OtherSeed).Public()
	if other.String() != v.Trip.OtherPub {
		t.Errorf("other key %s", other)
	}
	if err := other.Verify(v.Domain, unhex(t, v.Trip.Payload), unhex(t, v.Trip.Sig)); !errors.Is(err, sr25519.ErrInvalid) {
		t.Errorf("under the other key: %v", err)
	}
}

func TestR21SCALELengths(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{
		0: "00", 1: "04", 19: "4c", 63: "fc", 64: "0101", 69: "1501", 1535: "fd17", 1<<14 - 1: "fdff", 1 << 14: "02000100",
		1<<30 - 1: "feffffff", 1 << 30: "0300000040", 1<<32 - 1: "03ffffffff", 1 << 32: "070000000001", 1 << 40: "0b000000000001",
		1<<64 - 1: "13ffffffffffffffff",
	} {
		if got := hex.EncodeToString(sr25519.AppendLength(nil, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := sr25519.Message("ab", []byte("c")); string(got) != "\x08ab\x04c" {
		t.Errorf("message %q", got)
	}
}
