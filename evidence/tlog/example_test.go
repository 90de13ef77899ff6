package tlog_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/tlog"
)

// The entry of a production proof is verified offline, with the public log's key.
func ExampleVerifyEntry() {
	document, err := os.ReadFile("testdata/rekor_entry.json")
	if err != nil {
		log.Fatal(err)
	}
	pem, err := os.ReadFile("testdata/rekor_log_pubkey.pem")
	if err != nil {
		log.Fatal(err)
	}
	key, _, err := tlog.ParsePublicKeyPEM(string(pem))
	if err != nil {
		log.Fatal(err)
	}
	logs := []tlog.Log{{Name: "rekor", Key: key, Independent: true}}
	const uuid = "108e9186e8c5677a5692ebcc5fe5239da7cf482276e45e805ea3f32d197c1af75f3e7f85e93337b0"
	const chain = "242d07519cf9d8346cb93c696d60ef050e3a76f9ea16674902d58e628966dc2b"

	entry, err := tlog.VerifyEntry(uuid, document, chain, logs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Log.Name, entry.IntegratedTime, entry.Index)

	_, err = tlog.VerifyEntry(uuid, document, strings.Repeat("0", 64), logs)
	var refused *tlog.EntryError
	fmt.Println(errors.As(err, &refused), refused.Check)
	// Output:
	// rekor 2026-03-03 16:18:55 +0000 UTC 1018479057
	// true artifact
}

// A log in a folder, served over HTTP, and the client that would talk to the public one.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "log")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := tlog.OpenFileStore(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	logKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	embedded, err := tlog.OpenEmbedded(ctx, store, logKey, "log.example", 1, time.Now)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(embedded)
	defer server.Close()

	client := &tlog.Client{BaseURL: server.URL, HTTP: http.DefaultClient, Logs: []tlog.Log{embedded.Log()}}
	submitter, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	root := strings.Repeat("0123456789abcdef", 4)
	uuid, document, err := client.Submit(ctx, root, submitter)
	if err != nil {
		log.Fatal(err)
	}
	entry, err := tlog.VerifyEntry(uuid, document, root, []tlog.Log{embedded.Log()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Checkpoint.Origin, entry.TreeSize, entry.Log.Independent)

	again, _, err := client.Submit(ctx, root, submitter)
	fmt.Println(again == uuid, err)
	// Output:
	// log.example - 1 1 false
	// true <nil>
}
