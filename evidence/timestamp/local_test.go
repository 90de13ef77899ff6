package timestamp

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func TestT9RequestIsTheFiftySixBytesOfTheReference(t *testing.T) {
	// Root and query of a real batch, computed from the documented layout.
	root := unhex(t, "01a5b72c92007b3ff0be9696c325dd1828738173d8a76780c81b3e56e35823b6")
	want := unhex(t, "30360201013031300d06096086480165030402010500042060aa84070bf39358acdf4e3c40e20424c6f714a21291955bb82b989b163800d1")
	got, err := NewRequest(root, RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || len(got) != 56 {
		t.Errorf("request %x, want %x", got, want)
	}
}

func TestLocalHonoursWhatTheRequestAsks(t *testing.T) {
	l := newLocal(t)
	a := l.Authority("local")
	if a.Independent || a.Provider != "local" {
		t.Errorf("authority %+v: an embedded one is never independent", a)
	}
	big160, _ := new(big.Int).SetString(strings.Repeat("f", 40), 16)
	for _, tt := range []struct {
		name string
		o    RequestOptions
	}{
		{"nothing", RequestOptions{}},
		{"certificates", RequestOptions{CertReq: true}},
		{"a nonce of zero", RequestOptions{Nonce: big.NewInt(0)}},
		{"a negative nonce", RequestOptions{Nonce: big.NewInt(-5)}},
		{"a nonce of 160 bits and certificates", RequestOptions{Nonce: big160, CertReq: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			query, err := NewRequest([]byte(message), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			tsr, err := l.Respond(query)
			if err != nil {
				t.Fatal(err)
			}
			tok, sd, err := verify(tsr, []byte(message), a)
			if err != nil {
				t.Fatal(err)
			}
			if (len(sd.certificates) == 1) != tt.o.CertReq {
				t.Errorf("%d certificates with certReq %t", len(sd.certificates), tt.o.CertReq)
			}
			if (tok.Nonce == nil) != (tt.o.Nonce == nil) || tok.Nonce != nil && tok.Nonce.Cmp(tt.o.Nonce) != 0 {
				t.Errorf("nonce %v, want %v", tok.Nonce, tt.o.Nonce)
			}
			if !tok.Time.Equal(pkiTime) || tok.Policy != "2.999.3161" || tok.Accuracy != time.Second {
				t.Errorf("token read as %+v", tok)
			}
		})
	}
}

func TestLocalTimesAreWholeSecondsRoundedDownInUTC(t *testing.T) {
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	paris := time.FixedZone("CET", 3600)
	l, err := id.Open(func() time.Time { return time.Date(2026, 11, 3, 13, 0, 0, 999_999_999, paris) })
	if err != nil {
		t.Fatal(err)
	}
	_, tok, err := l.Stamper("local").Stamp(t.Context(), []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if !tok.Time.Equal(pkiTime) {
		t.Errorf("time %s, want %s", tok.Time, pkiTime)
	}
}

func TestLocalSerialNumbersArePositiveDifferentAndAtMost160Bits(t *testing.T) {
	l := newLocal(t)
	seen := map[string]bool{}
	for range 50 {
		_, tok, err := l.Stamper("local").Stamp(t.Context(), []byte(message))
		if err != nil {
			t.Fatal(err)
		}
		if tok.Serial.Sign() <= 0 || tok.Serial.BitLen() > 160 || seen[tok.Serial.String()] {
			t.Fatalf("serial number %s", tok.Serial)
		}
		seen[tok.Serial.String()] = true
	}
}

func TestRFC3161Section242LocalRejectsWhatItDoesNotServe(t *testing.T) {
	imprint := imprintOf(message)
	tests := []struct {
		name    string
		request []byte
		want    FailureInfo
	}{
		{"empty", nil, BadDataFormat},
		{"text", []byte("hello"), BadDataFormat},
		{"a SEQUENCE of nothing", seq(), BadDataFormat},
		{"bytes after the request", append(seq(num(1), imprint), 0), BadDataFormat},
		{"bytes in the request", seq(num(1), imprint, []byte{5, 0}), BadDataFormat},
		{"cut short", seq(num(1), imprint)[:40], BadDataFormat},
		{"indefinite length", slices.Concat([]byte{0x30, 0x80}, num(1), imprint, []byte{0, 0}), BadDataFormat},
		{"imprint of 31 bytes for SHA-256", seq(num(1), seq(algo(oidSHA256), octets(make([]byte, 31)))), BadDataFormat},
		{"certReq of 01", seq(num(1), imprint, []byte{1, 1, 1}), BadDataFormat},
		{"too large", seq(num(1), imprint, bigNum(new(big.Int).Lsh(big.NewInt(1), 8*MaxRequest))), BadDataFormat},
		{"version 2", seq(num(2), imprint), BadRequest},
		{"version 0", seq(num(0), imprint), BadRequest},
		{"imprint SHA-1", seq(num(1), seq(algo(oidSHA1), octets(make([]byte, 20)))), BadAlg},
		{"imprint MD5", seq(num(1), seq(algo("\x2a\x86\x48\x86\xf7\x0d\x02\x05"), octets(make([]byte, 16)))), BadAlg},
		{"another policy", seq(num(1), imprint, object("\x2a\x03")), UnacceptedPolicy},
		{"an extension", seq(num(1), imprint, der(tag0, seq(object("\x2a\x03"), octets(nil)))), UnacceptedExtension},
	}
	l := newLocal(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tsr, err := l.Respond(tt.request)
			if err != nil {
				t.Fatalf("a bad request is an answer, not an error: %v", err)
			}
			wantRejection(t, tsr, tt.want)
		})
	}
}

func wantRejection(t *testing.T, tsr []byte, want FailureInfo) {
	t.Helper()
	_, err := Parse(tsr)
	refusal, ok := errors.AsType[*StatusError](err)
	if !ok {
		t.Fatalf("no rejection: %v", err)
	}
	if refusal.Status != 2 || !slices.Equal(refusal.Failures, []FailureInfo{want}) || refusal.Text == "" {
		t.Errorf("rejection %+v, want failure %v and words", refusal, want)
	}
}

func TestLocalAcceptsItsOwnPolicyAndTheLongerImprints(t *testing.T) {
	l := newLocal(t, WithPolicy("1.2.3.4"))
	for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		sum := hashOf(h, []byte(message))
		tsr, err := l.Respond(seq(num(1), seq(bare(hashOID(h)), octets(sum)), object("\x2a\x03\x04"), []byte{1, 1, 0}))
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Parse(tsr)
		if err != nil {
			t.Fatal(err)
		}
		if tok.HashAlgorithm != h || !bytes.Equal(tok.HashedMessage, sum) || tok.Policy != "1.2.3.4" {
			t.Errorf("token read as %+v", tok)
		}
	}
}

func TestLocalGivesNoTimeOutsideItsCertificate(t *testing.T) {
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	query, err := NewRequest([]byte(message), RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{pkiTime.Add(-2 * time.Hour), pkiTime.AddDate(21, 0, 0), {}} {
		l, err := id.Open(func() time.Time { return at })
		if err != nil {
			t.Fatal(err)
		}
		tsr, err := l.Respond(query)
		if err != nil {
			t.Fatal(err)
		}
		wantRejection(t, tsr, TimeNotAvailable)
	}
}

// brokenKey is a signer whose device is gone.
type brokenKey struct{ crypto.Signer }

func (brokenKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("device is gone")
}

func TestLocalTellsWhenItsKeyOrRandomnessFails(t *testing.T) {
	root := newRoot(t, "root.test")
	p := newSigner(t, root, keys()["P-256"], nil)
	clock := func() time.Time { return pkiTime }
	query, err := NewRequest([]byte(message), RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	noKey, err := NewLocal(brokenKey{p.key}, p.cert, []*x509.Certificate{root.cert}, clock, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	noRand, err := NewLocal(p.key, p.cert, []*x509.Certificate{root.cert}, clock, WithRand(iotest.ErrReader(errors.New("no entropy"))))
	if err != nil {
		t.Fatal(err)
	}
	for l, want := range map[*Local]string{noKey: "device is gone", noRand: "no entropy"} {
		if tsr, err := l.Respond(query); err == nil || tsr != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("response %x, error %v, want %q", tsr, err, want)
		}
		if _, _, err := l.Stamper("local").Stamp(t.Context(), []byte(message)); err == nil {
			t.Error("stamped all the same")
		}
		rec := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(query))
		req.Header.Set("Content-Type", contentTypeQuery)
		l.ServeHTTP(rec, req)
		if rec.Code != http.StatusOK {
			t.Errorf("HTTP status %d", rec.Code)
		}
		wantRejection(t, rec.Body.Bytes(), SystemFailure)
	}
	if !strings.Contains(log.String(), "device is gone") {
		t.Errorf("log %q lacks the cause", log.String())
	}
}

func TestNewLocalRefusesWhatCannotGiveGoodTokens(t *testing.T) {
	root, stranger := newRoot(t, "root.test"), newRoot(t, "stranger.test")
	p := newSigner(t, root, keys()["P-256"], nil)
	server := newSigner(t, root, keys()["P-256"], func(c *x509.Certificate) { c.ExtraExtensions = nil })
	clock := func() time.Time { return pkiTime }
	chain := []*x509.Certificate{root.cert}
	tests := []struct {
		name, want string
		make       func() (*Local, error)
	}{
		{"no key", "needs a key", func() (*Local, error) { return NewLocal(nil, p.cert, chain, clock) }},
		{"no certificate", "needs a key", func() (*Local, error) { return NewLocal(p.key, nil, chain, clock) }},
		{"no chain", "needs a key", func() (*Local, error) { return NewLocal(p.key, p.cert, nil, clock) }},
		{"no clock", "needs a key", func() (*Local, error) { return NewLocal(p.key, p.cert, chain, nil) }},
		{"RSA key", "ECDSA on P-256", func() (*Local, error) { return NewLocal(keys()["RSA"], p.cert, chain, clock) }},
		{"key on P-384", "ECDSA on P-256", func() (*Local, error) { return NewLocal(keys()["P-384"], p.cert, chain, clock) }},
		{"certificate of another key", "of another key", func() (*Local, error) { return NewLocal(keys()["root"], p.cert, chain, clock) }},
		{"certificate for servers", "timeStamping alone", func() (*Local, error) { return NewLocal(server.key, server.cert, chain, clock) }},
		{"chain of somebody else", "does not chain", func() (*Local, error) { return NewLocal(p.key, p.cert, []*x509.Certificate{stranger.cert}, clock) }},
		{"policy that is no identifier", `policy "prova"`, func() (*Local, error) { return NewLocal(p.key, p.cert, chain, clock, WithPolicy("prova")) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if l, err := tt.make(); err == nil || l != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestLocalUnderAnIntermediateCarriesItAndVerifiesFromTheRootAlone(t *testing.T) {
	root := newRoot(t, "root.test")
	between := issueCert(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: root.cert.Subject, IsCA: true, BasicConstraintsValid: true,
		NotBefore: root.cert.NotBefore, NotAfter: root.cert.NotAfter, KeyUsage: x509.KeyUsageCertSign,
	}, root, keys()["P-384"])
	p := newSigner(t, between, keys()["P-256"], nil)
	l, err := NewLocal(p.key, p.cert, []*x509.Certificate{between.cert, root.cert}, func() time.Time { return pkiTime }, WithRand(rand.Reader))
	if err != nil {
		t.Fatal(err)
	}
	tsr, _, err := l.Stamper("local").Stamp(t.Context(), []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(tsr, []byte(message), Authority{Roots: []*x509.Certificate{root.cert}}); err != nil {
		t.Error(err)
	}
}

func TestLocalServesTheProtocolOverHTTP(t *testing.T) {
	l := newLocal(t)
	query, err := NewRequest([]byte(message), RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, method, contentType string
		body                      io.Reader
		status                    int
		reply                     string
	}{
		{"a query", http.MethodPost, contentTypeQuery, bytes.NewReader(query), 200, "token"},
		{"a query with parameters in the content type", http.MethodPost, contentTypeQuery + "; charset=binary", bytes.NewReader(query), 200, "token"},
		{"garbage as a query", http.MethodPost, contentTypeQuery, strings.NewReader("garbage"), 200, "rejection"},
		{"GET", http.MethodGet, "", nil, 405, "sent with POST"},
		{"another content type", http.MethodPost, "application/json", bytes.NewReader(query), 415, contentTypeQuery},
		{"no content type", http.MethodPost, "", bytes.NewReader(query), 415, contentTypeQuery},
		{"a body over the limit", http.MethodPost, contentTypeQuery, bytes.NewReader(make([]byte, MaxRequest+1)), 413, "at most 8192 bytes"},
		{"a body that breaks off", http.MethodPost, contentTypeQuery, iotest.ErrReader(io.ErrUnexpectedEOF), 400, "to its end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequestWithContext(t.Context(), tt.method, "/", tt.body)
			if tt.contentType != "" {
				req.Header.Set("Content-Type", tt.contentType)
			}
			rec := httptest.NewRecorder()
			l.ServeHTTP(rec, req)
			if rec.Code != tt.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, tt.status, rec.Body)
			}
			if rec.Code == 405 && rec.Header().Get("Allow") != http.MethodPost {
				t.Errorf("Allow is %q", rec.Header().Get("Allow"))
			}
			if rec.Code == 200 && rec.Header().Get("Content-Type") != contentTypeReply {
				t.Errorf("content type is %q", rec.Header().Get("Content-Type"))
			}
			switch tt.reply {
			case "token":
				if _, err := Verify(rec.Body.Bytes(), []byte(message), l.Authority("local")); err != nil {
					t.Error(err)
				}
			case "rejection":
				wantRejection(t, rec.Body.Bytes(), BadDataFormat)
			default:
				if !strings.Contains(rec.Body.String(), tt.reply) {
					t.Errorf("body %q lacks %q", rec.Body, tt.reply)
				}
			}
		})
	}
}

func TestLocalIsSafeForConcurrentUse(t *testing.T) {
	l := newLocal(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				if _, _, err := l.Stamper("local").Stamp(t.Context(), fmt.Appendf(nil, "%d %d", i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
