package timestamp_test

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"time"

	"github.com/prova-dev/prova/evidence/timestamp"
)

// A token that freetsa.org issued in 2026 over the chain hash of a real proof,
// verified without network. It carries no certificate, so the signer's is
// supplied beside the root.
func ExampleVerify() {
	read := func(name string) *x509.Certificate {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			panic(err)
		}
		c, err := timestamp.ParseCertificatePEM(string(text))
		if err != nil {
			panic(err)
		}
		return c
	}
	freetsa := timestamp.Authority{
		Provider:     "freetsa.org",
		Independent:  true,
		Roots:        []*x509.Certificate{read("freetsa-cacert.pem")},
		Certificates: []*x509.Certificate{read("freetsa-tsa.pem")},
	}
	tsr, err := os.ReadFile("testdata/freetsa-2026-07.tsr")
	if err != nil {
		panic(err)
	}
	chain, err := hex.DecodeString("3f9f344d45f3ab1444a7d4d268e917a8f8c93e5c0b218820a948f1b1743d28fc")
	if err != nil {
		panic(err)
	}
	tok, err := timestamp.Verify(tsr, chain, freetsa)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tok.Time.Format(time.RFC3339), "policy", tok.Policy, "serial", tok.Serial)

	_, err = timestamp.Verify(tsr, []byte("something else"), freetsa)
	fmt.Println("other message accepted:", err == nil)
	// Output:
	// 2026-07-23T05:57:36Z policy 1.2.3.4.1 serial 108027661
	// other message accepted: false
}

// A pool that asks a network authority first and the embedded one when that
// fails. The embedded one is also served over HTTP here, to play the network.
func ExamplePool() {
	opening := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	clock := func() time.Time { return opening }
	id, err := timestamp.NewLocalIdentity(nil, opening)
	if err != nil {
		panic(err)
	}
	local, err := id.Open(clock)
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(local)
	client := &timestamp.Client{HTTP: server.Client()}
	network := timestamp.Provider{Name: "tsa.example", URL: server.URL, Authority: local.Authority("tsa.example"), CertReq: true}
	pool := timestamp.Pool{client.Stamper(network), local.Stamper("local")}

	root := []byte("32 raw bytes of a batch's root..")
	stamp, err := pool.Stamp(context.Background(), root)
	if err != nil {
		panic(err)
	}
	fmt.Println(stamp.Provider, stamp.Token.Time.Format(time.RFC3339))

	server.Close()
	stamp, err = pool.Stamp(context.Background(), root)
	if err != nil {
		panic(err)
	}
	fmt.Println(stamp.Provider, stamp.Token.Time.Format(time.RFC3339))
	// Output:
	// tsa.example 2026-11-01T08:00:00Z
	// local 2026-11-01T08:00:00Z
}

// What the embedded authority answers to bytes that are no request.
func ExampleLocal_Respond() {
	now := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	id, err := timestamp.NewLocalIdentity(nil, now)
	if err != nil {
		panic(err)
	}
	local, err := id.Open(func() time.Time { return now })
	if err != nil {
		panic(err)
	}
	response, err := local.Respond([]byte("hello"))
	if err != nil {
		panic(err)
	}
	_, err = timestamp.Parse(response)
	if refusal, ok := errors.AsType[*timestamp.StatusError](err); ok {
		fmt.Println(refusal.Status, refusal.Failures)
	}
	// Output: 2 [badDataFormat]
}
