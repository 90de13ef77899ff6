package receipt

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

// ParseTrust reads a trust.json (bundle-format §3). Unknown members are
// ignored; a missing member or one of another type or form is an error that
// names its JSON Pointer, the fault and the form wanted.
func ParseTrust(data []byte) (*Trust, error) {
	value, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	t, err := readTrust(value)
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	return t, nil
}

func readTrust(value any) (*Trust, error) {
	t := &Trust{}
	root, err := asObject("", value)
	if err != nil {
		return nil, err
	}
	issuer, err := wantObject(root, "", "issuer")
	if err != nil {
		return nil, err
	}
	kids := map[string]bool{}
	err = eachObject(issuer, "/issuer", "keys", func(at string, o *canonjson.Object) error {
		k, err := readIssuerKey(at, o)
		if err == nil {
			err = unique(kids, at+"/kid", k.Kid)
		}
		t.IssuerKeys = append(t.IssuerKeys, k)
		return err
	})
	if err != nil {
		return nil, err
	}
	kids = map[string]bool{}
	err = eachObject(issuer, "/issuer", "log_keys", func(at string, o *canonjson.Object) error {
		k, err := readLogKey(at, o)
		if err == nil {
			err = unique(kids, at+"/kid", k.Kid)
		}
		t.LogKeys = append(t.LogKeys, k)
		return err
	})
	if err != nil {
		return nil, err
	}
	providers := map[string]bool{}
	err = eachObject(root, "", "timestamp_authorities", func(at string, o *canonjson.Object) error {
		a, err := readAuthority(at, o)
		if err == nil {
			err = unique(providers, at+"/provider", a.Provider)
		}
		t.Authorities = append(t.Authorities, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachObject(root, "", "logs", func(at string, o *canonjson.Object) error {
		l, err := readLog(at, o)
		t.Logs = append(t.Logs, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func readIssuerKey(at string, o *canonjson.Object) (k IssuerKey, err error) {
	if k.Kid, err = wantString(o, at, "kid"); err != nil {
		return k, err
	}
	if err = wantType(o, at, issuerKeyType); err != nil {
		return k, err
	}
	public, err := wantString(o, at, "public")
	if err != nil {
		return k, err
	}
	k.Public = make(ed25519.PublicKey, ed25519.PublicKeySize)
	if !parseEd25519(k.Public, public) {
		return k, fmt.Errorf("%s/public: %q is no Ed25519 key; write \"ed25519:\" and 43 characters of unpadded base64url", at, clip(public))
	}
	k.ValidFrom, k.RetiredAt, err = readBounds(at, o)
	return k, err
}

func readLogKey(at string, o *canonjson.Object) (k LogKey, err error) {
	if k.Kid, err = wantString(o, at, "kid"); err != nil {
		return k, err
	}
	if err = wantType(o, at, logKeyType); err != nil {
		return k, err
	}
	block, err := wantString(o, at, "public_pem")
	if err != nil {
		return k, err
	}
	if k.Public, k.DER, err = tlog.ParsePublicKeyPEM(block); err != nil {
		return k, fmt.Errorf("%s/public_pem: %w", at, err)
	}
	k.ValidFrom, k.RetiredAt, err = readBounds(at, o)
	return k, err
}

func readAuthority(at string, o *canonjson.Object) (a timestamp.Authority, err error) {
	if a.Provider, err = wantString(o, at, "provider"); err != nil {
		return a, err
	}
	if a.Independent, err = wantBool(o, at, "independent"); err != nil {
		return a, err
	}
	if a.Roots, err = readCertificates(o, at, "roots"); err != nil {
		return a, err
	}
	a.Certificates, err = readCertificates(o, at, "certificates")
	return a, err
}

func readLog(at string, o *canonjson.Object) (l tlog.Log, err error) {
	if l.Name, err = wantString(o, at, "name"); err != nil {
		return l, err
	}
	block, err := wantString(o, at, "public_pem")
	if err != nil {
		return l, err
	}
	if l.Key, _, err = tlog.ParsePublicKeyPEM(block); err != nil {
		return l, fmt.Errorf("%s/public_pem: %w", at, err)
	}
	origin, err := want(o, at, "origin")
	if err != nil {
		return l, err
	}
	if origin != nil {
		if l.Origin, err = wantString(o, at, "origin"); err != nil {
			return l, err
		}
		if l.Origin == "" {
			return l, fmt.Errorf("%s/origin: is empty; write the first line of the log's checkpoints, or null for any", at)
		}
	}
	l.Independent, err = wantBool(o, at, "independent")
	return l, err
}

func readCertificates(o *canonjson.Object, at, name string) ([]*x509.Certificate, error) {
	list, err := wantArray(o, at, name)
	if err != nil {
		return nil, err
	}
	var certificates []*x509.Certificate
	for i, item := range list {
		pointer := fmt.Sprintf("%s/%s/%d", at, name, i)
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("%s: is %s, want a string with one PEM block", pointer, canonjson.Kind(item))
		}
		c, err := parseCertificatePEM(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pointer, err)
		}
		certificates = append(certificates, c)
	}
	return certificates, nil
}

func parseCertificatePEM(s string) (*x509.Certificate, error) {
	if !strings.HasPrefix(strings.TrimSpace(s), "-----BEGIN ") {
		return nil, errors.New("does not start with a PEM block; write exactly one block \"CERTIFICATE\"")
	}
	block, rest := pem.Decode([]byte(s))
	switch {
	case block == nil:
		return nil, errors.New("is no PEM block; write exactly one block \"CERTIFICATE\"")
	case block.Type != "CERTIFICATE":
		return nil, fmt.Errorf("is a PEM block %q, want \"CERTIFICATE\"", clip(block.Type))
	case strings.TrimSpace(string(rest)) != "":
		return nil, errors.New("holds more than one PEM block; write each certificate as a string of its own")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return c, nil
}

func readBounds(at string, o *canonjson.Object) (from, retired time.Time, err error) {
	if from, err = readInstant(o, at, "valid_from"); err != nil {
		return from, retired, err
	}
	retired, err = readInstant(o, at, "retired_at")
	return from, retired, err
}

// readInstant demands the member even though null is common: a misspelt
// retired_at must not bring a retired key back to life.
func readInstant(o *canonjson.Object, at, name string) (time.Time, error) {
	value, err := want(o, at, name)
	if err != nil || value == nil {
		return time.Time{}, err
	}
	s, ok := value.(string)
	if !ok {
		return time.Time{}, fmt.Errorf("%s/%s: is %s, want an instant or null", at, name, canonjson.Kind(value))
	}
	t, err := time.Parse(instantLayout, s)
	if err != nil || t.Format(instantLayout) != s || t.IsZero() {
		return time.Time{}, fmt.Errorf("%s/%s: %q is no instant; write YYYY-MM-DDTHH:MM:SSZ or null", at, name, clip(s))
	}
	return t, nil
}

func unique(seen map[string]bool, at, name string) error {
	if seen[name] {
		return fmt.Errorf("%s: %q is there twice; each must be unique", at, clip(name))
	}
	seen[name] = true
	return nil
}

func wantType(o *canonjson.Object, at, want string) error {
	s, err := wantString(o, at, "type")
	if err != nil {
		return err
	}
	if s != want {
		return fmt.Errorf("%s/type: is %q, want %q", at, clip(s), want)
	}
	return nil
}

func eachObject(o *canonjson.Object, at, name string, f func(at string, o *canonjson.Object) error) error {
	list, err := wantArray(o, at, name)
	if err != nil {
		return err
	}
	for i, item := range list {
		pointer := fmt.Sprintf("%s/%s/%d", at, name, i)
		entry, err := asObject(pointer, item)
		if err != nil {
			return err
		}
		if err := f(pointer, entry); err != nil {
			return err
		}
	}
	return nil
}

func want(o *canonjson.Object, at, name string) (any, error) {
	value, ok := o.Get(name)
	if !ok {
		return nil, fmt.Errorf("%s/%s: is missing", at, name)
	}
	return value, nil
}

func wantObject(o *canonjson.Object, at, name string) (*canonjson.Object, error) {
	value, err := want(o, at, name)
	if err != nil {
		return nil, err
	}
	return asObject(at+"/"+name, value)
}

func asObject(at string, value any) (*canonjson.Object, error) {
	o, ok := value.(*canonjson.Object)
	if !ok {
		if at == "" {
			at = "the document"
		}
		return nil, fmt.Errorf("%s: is %s, want an object", at, canonjson.Kind(value))
	}
	return o, nil
}

func wantArray(o *canonjson.Object, at, name string) ([]any, error) {
	return wantKind[[]any](o, at, name, "an array")
}

func wantString(o *canonjson.Object, at, name string) (string, error) {
	return wantKind[string](o, at, name, "a string")
}

func wantBool(o *canonjson.Object, at, name string) (bool, error) {
	return wantKind[bool](o, at, name, "true or false")
}

func wantKind[T any](o *canonjson.Object, at, name, kind string) (T, error) {
	var zero T
	value, err := want(o, at, name)
	if err != nil {
		return zero, err
	}
	v, ok := value.(T)
	if !ok {
		return zero, fmt.Errorf("%s/%s: is %s, want %s", at, name, canonjson.Kind(value), kind)
	}
	return v, nil
}
