package timestamp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Files of a LocalIdentity in a folder.
const (
	RootFile = "root.pem" // Public: what verifiers trust.
	CertFile = "cert.pem" // Public: the signer's certificate.
	KeyFile  = "key.pem"  // Secret: the signer's key, mode 0600.
)

const (
	// localValidity is long, because the root's key is thrown away and the
	// signer cannot be renewed under it.
	localValidity = 20 * 365 * 24 * time.Hour
	// localBackdate lets a clock that is set back a little still issue.
	localBackdate = time.Hour
)

// LocalIdentity is the key and the certificates of an embedded authority, each
// one PEM block. KeyPEM is a secret; fmt, slog and encoding/json do not show it.
type LocalIdentity struct {
	RootPEM string // Self-signed root.
	CertPEM string // The signer, issued by the root, for time-stamping alone.
	KeyPEM  string `json:"-"` // The signer's P-256 key, PKCS #8.
}

// String names the type and not the contents.
func (id LocalIdentity) String() string { return "timestamp.LocalIdentity(key hidden)" }

// GoString is String, so that %#v hides the key too.
func (id LocalIdentity) GoString() string { return id.String() }

// LogValue is String, for handlers that write members one by one.
func (id LocalIdentity) LogValue() slog.Value { return slog.StringValue(id.String()) }

// NewLocalIdentity makes a root and a signer under it, valid from an hour
// before now and for twenty years. The root's key is not kept: nothing else can
// ever be issued under it. random gives the serial numbers; keys always come
// from the system's generator (crypto/ecdsa).
func NewLocalIdentity(random io.Reader, now time.Time) (LocalIdentity, error) {
	if random == nil {
		random = rand.Reader
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return LocalIdentity{}, fmt.Errorf("timestamp: making the root key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return LocalIdentity{}, fmt.Errorf("timestamp: making the signer key: %w", err)
	}
	from := now.UTC().Add(-localBackdate).Truncate(time.Second)
	root := &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"Prova embedded authority"}, CommonName: "Prova local timestamp root"},
		NotBefore:             from,
		NotAfter:              from.Add(localValidity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	signer := &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"Prova embedded authority"}, CommonName: "Prova local timestamp signer"},
		NotBefore:             from,
		NotAfter:              from.Add(localValidity),
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		// ExtKeyUsage would be written as not critical, which RFC 3161 §2.3 forbids:
		// SEQUENCE { id-kp-timeStamping }.
		ExtraExtensions: []pkix.Extension{{
			Id:       []int{2, 5, 29, 37},
			Critical: true,
			Value:    []byte("\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x08"),
		}},
	}
	for _, c := range []*x509.Certificate{root, signer} {
		if c.SerialNumber, err = newSerial(random); err != nil {
			return LocalIdentity{}, err
		}
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return LocalIdentity{}, fmt.Errorf("timestamp: issuing the root: %w", err)
	}
	if root, err = x509.ParseCertificate(rootDER); err != nil {
		return LocalIdentity{}, fmt.Errorf("timestamp: reading the root back: %w", err)
	}
	certDER, err := x509.CreateCertificate(rand.Reader, signer, root, key.Public(), rootKey)
	if err != nil {
		return LocalIdentity{}, fmt.Errorf("timestamp: issuing the signer certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return LocalIdentity{}, fmt.Errorf("timestamp: encoding the signer key: %w", err)
	}
	block := func(typ string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}))
	}
	return LocalIdentity{
		RootPEM: block("CERTIFICATE", rootDER),
		CertPEM: block("CERTIFICATE", certDER),
		KeyPEM:  block("PRIVATE KEY", keyDER),
	}, nil
}

// Open returns the authority of the identity.
func (id LocalIdentity) Open(clock func() time.Time, opts ...LocalOption) (*Local, error) {
	root, err := ParseCertificatePEM(id.RootPEM)
	if err != nil {
		return nil, fmt.Errorf("root of the embedded authority: %w", err)
	}
	cert, err := ParseCertificatePEM(id.CertPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate of the embedded authority: %w", err)
	}
	der, err := onePEM(id.KeyPEM, "PRIVATE KEY")
	if err != nil {
		return nil, fmt.Errorf("key of the embedded authority: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("timestamp: key of the embedded authority: is not PKCS #8")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("timestamp: key of the embedded authority: is not ECDSA")
	}
	return NewLocal(key, cert, []*x509.Certificate{root}, clock, opts...)
}

// ParseCertificatePEM reads a text that holds exactly one PEM block, an X.509
// certificate, with nothing around it but white space (bundle-format §1, §3).
func ParseCertificatePEM(text string) (*x509.Certificate, error) {
	der, err := onePEM(text, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("timestamp: PEM certificate: %w", err)
	}
	return c, nil
}

// SaveTo writes the identity into a folder, which it makes when missing, and
// returns once it is on disk. It never replaces an identity: when the folder has
// a key the error is fs.ErrExist. The key comes last, so that a folder without
// one, left by a crash, was never in use and can be written again. One process
// at a time.
func (id LocalIdentity) SaveTo(dir string) error {
	if err := id.saveTo(dir); err != nil {
		return fmt.Errorf("timestamp: saving the embedded authority: %w", err)
	}
	return nil
}

func (id LocalIdentity) saveTo(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key := filepath.Join(dir, KeyFile)
	if _, err := os.Lstat(key); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = &fs.PathError{Op: "create", Path: key, Err: fs.ErrExist}
		}
		return err
	}
	for _, f := range []struct {
		name, text string
		mode       fs.FileMode
	}{{RootFile, id.RootPEM, 0o644}, {CertFile, id.CertPEM, 0o644}, {KeyFile, id.KeyPEM, 0o600}} {
		if err := replaceFile(filepath.Join(dir, f.name), f.text, f.mode); err != nil {
			return err
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// replaceFile brings a text to disk beside path and then gives it the name, so
// that path never holds half of it.
func replaceFile(path, text string, mode fs.FileMode) error {
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// LoadLocalIdentity reads what SaveTo wrote. When a file is missing the error
// is fs.ErrNotExist.
func LoadLocalIdentity(dir string) (LocalIdentity, error) {
	var id LocalIdentity
	for _, f := range []struct {
		name string
		into *string
	}{{RootFile, &id.RootPEM}, {CertFile, &id.CertPEM}, {KeyFile, &id.KeyPEM}} {
		text, err := os.ReadFile(filepath.Join(dir, f.name))
		if err != nil {
			return LocalIdentity{}, fmt.Errorf("timestamp: loading the embedded authority: %w", err)
		}
		*f.into = string(text)
	}
	return id, nil
}
