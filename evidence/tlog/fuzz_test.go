package tlog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func FuzzVerifyEntry(f *testing.F) {
	uuid, document, anchored, logs := realEntry(f)
	f.Add(uuid, document)
	d := newDraft()
	draftUUID, draftDocument := d.build()
	f.Add(draftUUID, draftDocument)
	f.Add(uuid[16:], bytes.Replace(document, []byte(uuid), []byte(uuid[16:]), 1))
	f.Add("", []byte(`{"":{}}`))
	f.Add(uuid, bytes.ReplaceAll(document, []byte("2695801602"), []byte("9223372036854775807")))
	logs = append(logs, d.log())
	f.Fuzz(func(t *testing.T, uuid string, document []byte) {
		for _, hash := range []string{anchored, testAnchored} {
			e, err := VerifyEntry(uuid, document, hash, logs)
			if err != nil {
				var refused *EntryError
				if !errors.As(err, &refused) || refused.Check == "" {
					t.Fatalf("%v names no check", err)
				}
				continue
			}
			// Whoever has none of the keys can only present what was signed, in other white space.
			if e.Index != 1018479057 && e.Index != 1000004 {
				t.Fatalf("accepted entry %d, which neither log signed:\n%s", e.Index, document)
			}
		}
	})
}

// FuzzClientAnswer gives the client any bytes as the answer of a log, to a
// submission and to a read: it hands on a document or an error that can be shown.
func FuzzClientAnswer(f *testing.F) {
	e := openLog(f, new(MemoryStore))
	uuid, document := submit(f, e, 0)
	f.Add(http.StatusCreated, document, "")
	f.Add(http.StatusConflict, []byte(`{"code":409,"message":"exists"}`), "/api/v1/log/entries/"+uuid)
	f.Add(http.StatusConflict, []byte(uuid), "http://elsewhere.test/"+uuid)
	f.Add(http.StatusOK, []byte(`{"`+uuid+`":{"body":1}}`), "")
	f.Add(http.StatusBadGateway, []byte("<html>"), "\x00")
	key := testKey(7)
	f.Fuzz(func(t *testing.T, status int, body []byte, location string) {
		if status < 200 || status > 599 {
			return
		}
		c := &Client{BaseURL: "http://log.test", Wait: time.Nanosecond, HTTP: &http.Client{Transport: answering(func(*http.Request) *http.Response {
			return &http.Response{StatusCode: status, Header: http.Header{"Location": {location}}, Body: io.NopCloser(bytes.NewReader(body))}
		})}}
		_, got, err := c.Submit(t.Context(), strings.Repeat("ab", 32), key)
		if err == nil && len(got) == 0 || err != nil && strings.ContainsAny(err.Error(), "\r\x00") {
			t.Fatalf("document %q, error %v", got, err)
		}
		got, err = c.Entry(t.Context(), uuid)
		if err == nil && len(got) == 0 || err != nil && strings.ContainsAny(err.Error(), "\r\x00") {
			t.Fatalf("document %q, error %v", got, err)
		}
	})
}

type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

func FuzzParseCheckpoint(f *testing.F) {
	_, document, _, _ := realEntry(f)
	parts := strings.Split(string(document), `"`)
	for i, p := range parts {
		if p == "checkpoint" {
			text, err := strconv.Unquote(`"` + parts[i+2] + `"`)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add(checkpointText + "ext\n\n" + noteLine("log.test", testKey(11), checkpointText))
	f.Add("\n\n\n\n")
	f.Add("a\n18446744073709551615\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— a AAAAAAA=\n")
	f.Fuzz(func(t *testing.T, note string) {
		c, err := ParseCheckpoint(note)
		if err != nil {
			return
		}
		// What was read is all there is: printed again it is the same text.
		var again strings.Builder
		again.WriteString(c.Origin + "\n" + strconv.FormatUint(c.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(c.Root[:]) + "\n")
		for _, line := range c.Extensions {
			again.WriteString(line + "\n")
		}
		again.WriteString("\n")
		for _, s := range c.Signatures {
			again.WriteString("— " + s.Name + " " + base64Of(append(s.Hint[:], s.Signature...)) + "\n")
		}
		if again.String() != note {
			t.Fatalf("read from\n%q\nprinted\n%q", note, again.String())
		}
		if c.SignedBy(&testKey(5).PublicKey) == nil {
			t.Fatal("signed by a key that signed nothing")
		}
		_, _ = c.TreeID()
	})
}

func FuzzEmbeddedPost(f *testing.F) {
	f.Add([]byte(proposal(f, 0)), "application/json")
	f.Add([]byte(strings.ReplaceAll(proposal(f, 1), ":", " : ")), "")
	f.Add([]byte(`{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{"data":{"hash":null},"signature":[]}}`), "application/json;x=y")
	f.Add([]byte("[[[["), "text/plain")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		e := openLog(t, new(MemoryStore))
		w := call(e, "POST", "/api/v1/log/entries", string(body), "Content-Type", contentType)
		size := openedCheckpoint(t, e).Size
		switch w.Code {
		case http.StatusCreated:
			uuid := strings.TrimPrefix(w.Header().Get("Location"), "/api/v1/log/entries/")
			again, err := e.Entry(t.Context(), uuid)
			if err != nil || !bytes.Equal(again, w.Body.Bytes()) || size != 1 {
				t.Fatalf("%d entries, %v", size, err)
			}
			if w := call(e, "POST", "/api/v1/log/entries", string(body), "Content-Type", contentType); w.Code != http.StatusConflict {
				t.Fatalf("posted twice: status %d", w.Code)
			}
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
			if size != 0 {
				t.Fatalf("status %d, and %d entries", w.Code, size)
			}
		default:
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	})
}

func FuzzParsePublicKeyPEM(f *testing.F) {
	good, err := FormatPublicKeyPEM(&testKey(5).PublicKey)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good + good)
	f.Add("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----")
	f.Fuzz(func(t *testing.T, text string) {
		key, der, err := ParsePublicKeyPEM(text)
		if err != nil {
			return
		}
		again, err := FormatPublicKeyPEM(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, second, err := ParsePublicKeyPEM(again); err != nil || !bytes.Equal(der, second) {
			t.Fatalf("%v: %x became %x", err, der, second)
		}
	})
}

// FuzzFileStoreHead reads the one file of a store that has a text form.
func FuzzFileStoreHead(f *testing.F) {
	f.Add(head{}.text())
	f.Add(head{Records: 3, Bytes: 1234, Checkpoint: checkpointText}.text())
	f.Add(headFormat + "\n\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHead(text)
		if err == nil && h.text() != text {
			t.Fatalf("read from\n%q\nprinted\n%q", text, h.text())
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%v, want ErrCorrupt", err)
		}
	})
}

// FuzzFileStoreFrame reads a record from bytes that may be anything.
func FuzzFileStoreFrame(f *testing.F) {
	frame, err := appendFrame(nil, 7, testRecord(7))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frame)
	f.Add(frame[:20])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, size, err := readFrame(bytes.NewReader(data), 7)
		if err != nil {
			if !errors.Is(err, errNoFrame) {
				t.Fatal(err)
			}
			return
		}
		again, err := appendFrame(nil, 7, r)
		if err != nil || !bytes.Equal(again, data[:size]) {
			t.Fatalf("%v: %x became %x", err, data[:size], again)
		}
	})
}
