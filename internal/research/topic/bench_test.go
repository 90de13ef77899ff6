package topic_test

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/sr25519"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/topic"
)

// signedTopic is a topic with its key, and the same signature as the library
// takes it.
func signedTopic(b *testing.B) (verify, bare func()) {
	b.Helper()
	key, err := sr25519.ParseSecret([]byte(strings.Repeat("07", 32)))
	if err != nil {
		b.Fatal(err)
	}
	d := vector(b, "custom-draft-generic-bindings")
	if err := d.Sign(nil, key); err != nil {
		b.Fatal(err)
	}
	payload, err := d.Payload()
	if err != nil {
		b.Fatal(err)
	}
	raw, err := hex.DecodeString(d.Signature)
	if err != nil {
		b.Fatal(err)
	}
	public := key.Public().Bytes()
	bareKey, err := voi.NewPublicKeyFromBytes(public[:])
	if err != nil {
		b.Fatal(err)
	}
	bareSignature, err := voi.NewSignatureFromBytes(raw)
	if err != nil {
		b.Fatal(err)
	}
	context, message := voi.NewSigningContext([]byte(sr25519.Context)), sr25519.Message(topic.Domain, payload)
	return func() {
			if err := d.VerifyKey(key.Public()); err != nil {
				b.Fatal(err)
			}
		}, func() {
			if !bareKey.Verify(context.NewTranscriptBytes(message), bareSignature) {
				b.Fatal("the signature is good")
			}
		}
}

// BenchmarkVerifyOfBare is the rate of verifying a parsed topic, its signed bytes
// written anew, over that of the library's check of the same message and
// signature. The two take turns, so that neighbours on the machine disturb both
// alike.
func BenchmarkVerifyOfBare(b *testing.B) {
	verify, bare := signedTopic(b)
	const turn = 20
	var ratios []float64
	for b.Loop() {
		start := time.Now()
		for range turn {
			bare()
		}
		middle := time.Now()
		for range turn {
			verify()
		}
		ratios = append(ratios, float64(middle.Sub(start))/float64(time.Since(middle)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "verify/bare")
}

func BenchmarkVerify(b *testing.B) {
	verify, _ := signedTopic(b)
	for b.Loop() {
		verify()
	}
}

func BenchmarkParse(b *testing.B) {
	text, err := vector(b, "custom-draft-generic-bindings").JSON()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := topic.ParseJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPayload(b *testing.B) {
	d := vector(b, "custom-draft-generic-bindings")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Payload(); err != nil {
			b.Fatal(err)
		}
	}
}
