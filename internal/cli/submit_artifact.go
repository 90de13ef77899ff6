package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/research/recipe"
)

// artifact is the tar that a submission is about, byte for byte as it is served.
type artifact struct {
	data   []byte
	digest string
	files  int
	note   string
}

// name is what the tar is called wherever it is served.
func (a *artifact) name() string { return a.digest + ".tar" }

// readArtifact packs a folder, or reads a tar as it is.
func readArtifact(path string) (*artifact, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	a := &artifact{}
	if info.IsDir() {
		a.data, err = recipe.Pack(os.DirFS(path))
	} else {
		a.data, err = readTar(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	tree, err := recipe.Read(a.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := tree.Manifest(); err != nil {
		a.note = fmt.Sprintf("no runnable recipe: %s; a topic whose runner wants one rejects it", oneLine(err.Error()))
	}
	a.digest, a.files = fmt.Sprintf("%x", sha256.Sum256(a.data)), len(tree)
	return a, nil
}

func readTar(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, recipe.MaxTar+1))
}

// serveArtifact serves the tar, and nothing else, until stop is called.
func serveArtifact(ctx context.Context, address, public string, a *artifact) (uri string, stop func() error, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, usageError("--serve %q: want HOST:PORT, such as 127.0.0.1:9000", address)
	}
	if public == "" {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return "", nil, usageError("--serve %s listens on every address: name with --public-url the one under which the host reaches it", address)
		}
		if port == "0" {
			// The address is part of what a retry must repeat.
			return "", nil, usageError("--serve %s takes another port each time, and the same command could not rejoin: name a port, or --public-url", address)
		}
		public = "http://" + address
	}
	base, err := publicBase(public)
	if err != nil {
		return "", nil, err
	}
	path := "/" + a.name()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("--serve: %w", err)
	}
	server := httpx.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.Method != http.MethodGet && r.Method != http.MethodHead) || !strings.HasSuffix(r.URL.Path, path) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(a.data)))
		httpx.Bytes(w, http.StatusOK, "application/x-tar", a.data)
	}), httpx.Limits{Write: 10 * time.Minute}, slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return base + path, func() error {
		// A host that still reads the tar has its row already, or asks again.
		err := server.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// publicBase reads --public-url; the name of the tar is appended to it.
func publicBase(public string) (string, error) {
	base, err := url.Parse(public)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "" {
		return "", usageError("--public-url must be an http(s) address such as https://miner.example")
	}
	return strings.TrimRight(base.String(), "/"), nil
}

// unservedError is an address that this machine could not fetch a tar from.
type unservedError struct {
	status int // 0 without an answer
	why    string
}

func (e *unservedError) Error() string { return e.why }

// checkServed fetches what the address of a flag serves. Bytes with another digest
// are an error: the host would find them so too. An address that this machine does
// not reach may still be reached by the host, so that is a note.
func checkServed(ctx context.Context, env *Env, flag, uri string, a *artifact) error {
	return noteUnserved(env, flag, fetchServed(ctx, flag, uri, a))
}

// noteUnserved turns an address that this machine does not reach into a note.
func noteUnserved(env *Env, flag string, err error) error {
	if unserved := (*unservedError)(nil); errors.As(err, &unserved) {
		fmt.Fprintf(env.Stderr, "note        %s could not be checked from here (%s); the host must find the tar there\n", flag, unserved.why)
		return nil
	}
	return err
}

func fetchServed(ctx context.Context, flag, uri string, a *artifact) error {
	at, err := url.Parse(uri)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return usageError("%s must be an http(s) address such as https://miner.example/recipe.tar", flag)
	}
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return usageError("%s: %w", flag, err)
	}
	// No redirect: a host need not follow one.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		var fault *url.Error
		if errors.As(err, &fault) {
			err = fault.Err // without the address, which may hold a token
		}
		return &unservedError{why: oneLine(err.Error())}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &unservedError{resp.StatusCode, "status " + strconv.Itoa(resp.StatusCode)}
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(resp.Body, recipe.MaxTar+1))
	if err != nil {
		return &unservedError{why: oneLine(err.Error())}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != a.digest {
		return fmt.Errorf("%s serves %d bytes with the digest %s, and the artefact has %d with %s; serve the exact file ('prova recipe pack' writes it), a tar that was made again never matches",
			flag, n, got, len(a.data), a.digest)
	}
	return nil
}
