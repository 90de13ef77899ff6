package timestamp

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestALocalIdentitySurvivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tsa")
	if _, err := LoadLocalIdentity(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("loading from a missing folder: %v", err)
	}
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.SaveTo(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file has mode %v", info.Mode())
	}
	loaded, err := LoadLocalIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if loaded != id {
		t.Error("what was loaded is not what was saved")
	}
	clock := func() time.Time { return pkiTime }
	before, err := id.Open(clock)
	if err != nil {
		t.Fatal(err)
	}
	after, err := loaded.Open(clock)
	if err != nil {
		t.Fatal(err)
	}
	tsr, _, err := after.Stamper("local").Stamp(t.Context(), []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(tsr, []byte(message), before.Authority("local")); err != nil {
		t.Errorf("a token made after the restart: %v", err)
	}
	if err := id.SaveTo(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("saving over an identity in use: %v", err)
	}
}

func TestAFolderLeftByACrashBeforeTheKeyCanBeWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{RootFile, CertFile, RootFile + ".partial", KeyFile + ".partial"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half of"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadLocalIdentity(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("loading without a key: %v", err)
	}
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.SaveTo(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadLocalIdentity(dir)
	if err != nil || loaded != id {
		t.Errorf("loaded %v, %v", loaded, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	blocked := filepath.Join(dir, RootFile, "tsa")
	if err := id.SaveTo(blocked); err == nil || !strings.Contains(err.Error(), "saving the embedded authority") {
		t.Errorf("saving under a file: %v", err)
	}
}

func TestALocalIdentityNeverPrintsItsKey(t *testing.T) {
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Split(id.KeyPEM, "\n")[1]
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("identity", "id", id)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("identity", "id", id, "ptr", &id)
	asJSON, err := json.Marshal(map[string]any{"id": id})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(asJSON), fmt.Sprint(id), fmt.Sprintf("%v %+v %#v %s %q", id, id, id, id, id), fmt.Sprintf("%+v", &id), log.String()} {
		if strings.Contains(text, secret) {
			t.Errorf("the key is in %q", text)
		}
	}
	broken := id
	broken.KeyPEM = strings.Replace(id.KeyPEM, "-----END", "*-----END", 1)
	if _, err := broken.Open(time.Now); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
}

func TestALocalIdentityHasARootThatIssuedOneSignerForTimeStamping(t *testing.T) {
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	root, err := ParseCertificatePEM(id.RootPEM)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ParseCertificatePEM(id.CertPEM)
	if err != nil {
		t.Fatal(err)
	}
	if err := cert.CheckSignatureFrom(root); err != nil {
		t.Error(err)
	}
	if err := checkPurpose(cert); err != nil {
		t.Error(err)
	}
	if !root.IsCA || root.MaxPathLen != 0 || !root.MaxPathLenZero || root.KeyUsage&x509.KeyUsageCertSign == 0 {
		t.Errorf("root is %+v", root.Subject)
	}
	if !cert.NotBefore.Equal(pkiTime.Add(-time.Hour)) || cert.NotAfter.Before(pkiTime.AddDate(19, 0, 0)) {
		t.Errorf("valid from %s to %s", cert.NotBefore, cert.NotAfter)
	}
}

func TestOpenRefusesADamagedIdentity(t *testing.T) {
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, want string
		edit       func(*LocalIdentity)
	}{
		{"root empty", "root of the embedded authority", func(i *LocalIdentity) { i.RootPEM = "" }},
		{"certificate a key", `block of type "PRIVATE KEY"`, func(i *LocalIdentity) { i.CertPEM = i.KeyPEM }},
		{"two blocks", "more than one block", func(i *LocalIdentity) { i.RootPEM += i.RootPEM }},
		{"text before the block", "does not begin with a block", func(i *LocalIdentity) { i.RootPEM = "root:\n" + i.RootPEM }},
		{"text after the block", "more than one block", func(i *LocalIdentity) { i.RootPEM += "that was the root" }},
		{"damaged block", "PEM", func(i *LocalIdentity) { i.CertPEM = strings.Replace(i.CertPEM, "END CERT", "END CART", 1) }},
		{"certificate cut short", "PEM certificate", func(i *LocalIdentity) {
			i.CertPEM = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
		}},
		{"key not PKCS #8", "is not PKCS #8", func(i *LocalIdentity) { i.KeyPEM = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n" }},
		{"another identity's key", "of another key", func(i *LocalIdentity) { i.KeyPEM = stranger.KeyPEM }},
		{"another identity's root", "does not chain", func(i *LocalIdentity) { i.RootPEM = stranger.RootPEM }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			broken := id
			tt.edit(&broken)
			if l, err := broken.Open(time.Now); err == nil || l != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
