package timestamp

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// authorityServer is an HTTP authority that misbehaves in one way. It records
// what it was sent.
type authorityServer struct {
	*httptest.Server
	local *Local
	seen  atomic.Pointer[http.Request]
	asked atomic.Int32
}

// newAuthorityServer serves local honestly, or what spoil makes of an honest
// reply; spoil answers itself when it returns nil.
func newAuthorityServer(t *testing.T, spoil func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte) *authorityServer {
	t.Helper()
	s := &authorityServer{local: newLocal(t)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.seen.Store(r)
		if spoil == nil {
			s.local.ServeHTTP(w, r)
			return
		}
		query, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if reply := spoil(w, r, query, s.local); reply != nil {
			w.Header().Set("Content-Type", contentTypeReply)
			w.Write(reply)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *authorityServer) provider() Provider {
	return Provider{Name: "tsa.test", URL: s.URL, Authority: s.local.Authority("tsa.test"), CertReq: true, Nonce: true}
}

func TestClientStampsThroughAnHonestAuthority(t *testing.T) {
	s := newAuthorityServer(t, nil)
	c := &Client{HTTP: s.Client()}
	for _, p := range []Provider{
		{Name: "tsa.test", URL: s.URL, Authority: s.local.Authority("tsa.test")},
		{Name: "tsa.test", URL: s.URL, Authority: Authority{Provider: "tsa.test", Roots: s.local.Authority("").Roots}, CertReq: true},
		s.provider(),
	} {
		tsr, tok, err := c.Stamp(t.Context(), p, []byte(message))
		if err != nil {
			t.Fatal(err)
		}
		if (tok.Nonce != nil) != p.Nonce || !tok.Time.Equal(pkiTime) {
			t.Errorf("token read as %+v", tok)
		}
		if _, err := Verify(tsr, []byte(message), p.Authority); err != nil {
			t.Error(err)
		}
		r := s.seen.Load()
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != contentTypeQuery || r.Header.Get("Accept") != contentTypeReply {
			t.Errorf("sent %s with %v", r.Method, r.Header)
		}
	}
}

func TestT9ClientSendsTheBareQueryUnlessAskedForMore(t *testing.T) {
	var got []byte
	s := newAuthorityServer(t, func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte {
		got = query
		tsr, err := l.Respond(query)
		if err != nil {
			t.Error(err)
		}
		return tsr
	})
	if _, _, err := new(Client).Stamp(t.Context(), Provider{Name: "tsa.test", URL: s.URL, Authority: s.local.Authority("")}, []byte(message)); err != nil {
		t.Fatal(err)
	}
	want, err := NewRequest([]byte(message), RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || len(got) != 56 {
		t.Errorf("sent %x, want %x", got, want)
	}
}

func TestClientAcceptsGrantedWithModifications(t *testing.T) {
	s := newAuthorityServer(t, func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte {
		tsr, err := l.Respond(query)
		if err != nil {
			t.Error(err)
		}
		tsr[statusAt] = 1
		return tsr
	})
	tsr, _, err := (&Client{HTTP: s.Client()}).Stamp(t.Context(), s.provider(), []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if tsr[statusAt] != 1 {
		t.Error("the response is not returned as it came")
	}
}

func TestClientRefusesAMisbehavingAuthority(t *testing.T) {
	honest := func(t *testing.T, l *Local, query []byte) []byte {
		tsr, err := l.Respond(query)
		if err != nil {
			t.Error(err)
		}
		return tsr
	}
	ask := func(t *testing.T, msg string, o RequestOptions) []byte {
		q, err := NewRequest([]byte(msg), o)
		if err != nil {
			t.Error(err)
		}
		return q
	}
	tests := []struct {
		name, want string
		spoil      func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte
	}{
		{"status 500", "HTTP status 500", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			w.WriteHeader(500)
			w.Write(honest(t, l, query))
			return nil
		}},
		{"status 201", "HTTP status 201", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			w.Header().Set("Content-Type", contentTypeReply)
			w.WriteHeader(201)
			w.Write(honest(t, l, query))
			return nil
		}},
		{"text/html", `content type "text/html", want application/timestamp-reply`, func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			w.Header().Set("Content-Type", "text/html")
			w.Write(honest(t, l, query))
			return nil
		}},
		{"no content type", "content type", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			w.Header()["Content-Type"] = nil
			w.Write(honest(t, l, query))
			return nil
		}},
		{"huge body", "more than 65536 bytes", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			w.Header().Set("Content-Type", contentTypeReply)
			chunk := make([]byte, 1<<16)
			for range 160 { // 10 MiB, unless the client hangs up first.
				if _, err := w.Write(chunk); err != nil {
					break
				}
			}
			return nil
		}},
		{"body shorter than announced", "reading the reply", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			tsr := honest(t, l, query)
			w.Header().Set("Content-Type", contentTypeReply)
			w.Header().Set("Content-Length", "5000")
			w.Write(tsr)
			return nil
		}},
		{"connection cut without a word", "EOF", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			panic(http.ErrAbortHandler)
		}},
		{"garbage", "is not a DER element", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			return []byte("service unavailable")
		}},
		{"empty body", "TimeStampResp: missing", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			return []byte{}
		}},
		{"truncated token", "TimeStampResp", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			tsr := honest(t, l, query)
			return tsr[:len(tsr)-10]
		}},
		{"token with a byte behind", "unexpected bytes", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			return append(honest(t, l, query), '\n')
		}},
		{"token of another message", "something else", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			r, err := parseRequest(query)
			if err != nil {
				t.Error(err)
			}
			return honest(t, l, ask(t, "another message", RequestOptions{CertReq: true, Nonce: r.nonce}))
		}},
		{"token with another nonce", "TSTInfo.nonce: is not the one sent", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			return honest(t, l, ask(t, message, RequestOptions{CertReq: true, Nonce: big.NewInt(4)}))
		}},
		{"token without nonce", "TSTInfo.nonce: is not the one sent", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			return honest(t, l, ask(t, message, RequestOptions{CertReq: true}))
		}},
		{"token without its certificate", "SignedData.certificates: missing", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			r, err := parseRequest(query)
			if err != nil {
				t.Error(err)
			}
			return honest(t, l, ask(t, message, RequestOptions{Nonce: r.nonce}))
		}},
		{"token of an authority of somebody else", "does not chain", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			return honest(t, newLocal(t), query)
		}},
		{"token with the signature spoiled", "", func(t *testing.T, w http.ResponseWriter, query []byte, l *Local) []byte {
			tsr := honest(t, l, query)
			tsr[len(tsr)-1] ^= 1
			return tsr
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newAuthorityServer(t, func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte {
				return tt.spoil(t, w, query, l)
			})
			tsr, tok, err := (&Client{HTTP: s.Client()}).Stamp(t.Context(), s.provider(), []byte(message))
			if err == nil || tsr != nil || tok != nil {
				t.Fatalf("accepted %x as %+v", tsr, tok)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "tsa.test") {
				t.Errorf("error %q, want one with %q and the provider's name", err, tt.want)
			}
			if n := s.asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestClientHandsOnTheRejectionOfAnAuthority(t *testing.T) {
	s := newAuthorityServer(t, func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte {
		tsr, err := appendRejection(TimeNotAvailable, "clock stopped")
		if err != nil {
			t.Error(err)
		}
		return tsr
	})
	_, _, err := (&Client{HTTP: s.Client()}).Stamp(t.Context(), s.provider(), []byte(message))
	refusal, ok := errors.AsType[*StatusError](err)
	if !ok || refusal.Failures[0] != TimeNotAvailable || refusal.Text != "clock stopped" {
		t.Errorf("error %v", err)
	}
}

func TestClientGivesUpOnASlowAuthority(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stall func(w http.ResponseWriter)
	}{
		{"no answer", func(http.ResponseWriter) {}},
		{"a body that does not end", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", contentTypeReply)
			w.Write([]byte{0x30})
			w.(http.Flusher).Flush()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			release := make(chan struct{})
			s := newAuthorityServer(t, func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte {
				tt.stall(w)
				select {
				case <-r.Context().Done():
				case <-release:
				}
				return nil
			})
			defer close(release)
			_, _, err := (&Client{HTTP: s.Client(), Timeout: 50 * time.Millisecond}).Stamp(t.Context(), s.provider(), []byte(message))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, _, err := (&Client{HTTP: s.Client()}).Stamp(ctx, s.provider(), []byte(message)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v with the caller's own deadline", err)
			}
		})
	}
}

func TestClientReportsWhatItCannotEvenSend(t *testing.T) {
	for name, p := range map[string]Provider{
		"a URL that is none":     {Name: "x", URL: "http://[::1"},
		"nobody listens":         {Name: "x", URL: "http://127.0.0.1:1"},
		"a scheme nobody speaks": {Name: "x", URL: "tsa://x"},
		"no URL at all":          {Name: "x"},
	} {
		if _, _, err := new(Client).Stamp(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "asking x") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	noRand := &Client{Rand: iotest.ErrReader(errors.New("no entropy"))}
	if _, _, err := noRand.Stamp(t.Context(), Provider{Nonce: true}, nil); err == nil || !strings.Contains(err.Error(), "no entropy") {
		t.Errorf("error %v", err)
	}
}

// scripted is a Stamper with a fixed outcome that notes its turn.
type scripted struct {
	name  string
	err   error
	order *[]string
}

func (s scripted) Name() string { return s.name }

func (s scripted) Stamp(context.Context, []byte) ([]byte, *Token, error) {
	*s.order = append(*s.order, s.name)
	if s.err != nil {
		return nil, nil, s.err
	}
	return []byte(s.name), &Token{}, nil
}

func TestT9PoolAsksInOrderAndEachOnce(t *testing.T) {
	down, slow := errors.New("down"), errors.New("slow")
	for _, tt := range []struct {
		name    string
		errs    []error
		want    string
		visited string
	}{
		{"the first works", []error{nil, nil, nil}, "0", "0"},
		{"the second works", []error{down, nil, nil}, "1", "01"},
		{"the last works", []error{down, slow, nil}, "2", "012"},
		{"none works", []error{down, slow, down}, "", "012"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var order []string
			var p Pool
			for i, err := range tt.errs {
				p = append(p, scripted{string(rune('0' + i)), err, &order})
			}
			got, err := p.Stamp(t.Context(), []byte(message))
			if strings.Join(order, "") != tt.visited {
				t.Errorf("asked %v, want %s", order, tt.visited)
			}
			if got.Provider != tt.want || string(got.Response) != tt.want || (got.Token != nil) != (tt.want != "") {
				t.Errorf("stamp %+v", got)
			}
			if tt.want == "" && (!errors.Is(err, down) || !errors.Is(err, slow) || err.Error() != "0: down\n1: slow\n2: down") {
				t.Errorf("error %v", err)
			}
			if tt.want != "" && err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPoolWithNobodyOrNoTimeSaysSo(t *testing.T) {
	if _, err := (Pool{}).Stamp(t.Context(), nil); !errors.Is(err, ErrEmptyPool) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var order []string
	_, err := Pool{scripted{"a", nil, &order}}.Stamp(ctx, nil)
	if !errors.Is(err, context.Canceled) || len(order) > 0 {
		t.Errorf("error %v after asking %v", err, order)
	}
	if _, _, err := newLocal(t).Stamper("local").Stamp(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestPoolFallsBackFromANetworkAuthorityToTheEmbeddedOne(t *testing.T) {
	down := newAuthorityServer(t, func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte {
		http.Error(w, "maintenance", http.StatusServiceUnavailable)
		return nil
	})
	local := newLocal(t)
	c := &Client{HTTP: down.Client()}
	got, err := Pool{c.Stamper(down.provider()), local.Stamper("local")}.Stamp(t.Context(), []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if got.Provider != "local" || down.asked.Load() != 1 {
		t.Errorf("stamp of %s after asking %d times", got.Provider, down.asked.Load())
	}
	if _, err := Verify(got.Response, []byte(message), Authority{Roots: local.Authority("").Roots}); err != nil {
		t.Error(err)
	}
}

func TestClientAcceptsOnlyTokensOverSHA256(t *testing.T) {
	s := newAuthorityServer(t, func(w http.ResponseWriter, r *http.Request, query []byte, l *Local) []byte {
		read, err := parseRequest(query)
		if err != nil {
			t.Error(err)
		}
		q := seq(num(1), seq(algo(oidSHA512), octets(hashOf(crypto.SHA512, []byte(message)))), bigNum(read.nonce), []byte{1, 1, 0xff})
		tsr, err := l.Respond(q)
		if err != nil {
			t.Error(err)
		}
		return tsr
	})
	if _, _, err := (&Client{HTTP: s.Client()}).Stamp(t.Context(), s.provider(), []byte(message)); err == nil || !strings.Contains(err.Error(), "want SHA-256") {
		t.Errorf("error %v", err)
	}
}
