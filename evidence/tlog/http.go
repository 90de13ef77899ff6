package tlog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Paths of the Rekor v1 API.
const (
	logPath     = "/api/v1/log"
	entriesPath = "/api/v1/log/entries"
	keyPath     = "/api/v1/log/publicKey"
	proofPath   = "/api/v1/log/proof"
)

// maxProposal bounds a posted entry. A hashedrekord with a P-256 key has less than a kilobyte.
const maxProposal = 64 << 10

// httpError is an answer other than success; its message goes to the caller.
type httpError struct {
	status  int
	message string
	header  map[string]string
}

func (e *httpError) Error() string { return e.message }

func refuse(status int, format string, args ...any) *httpError {
	return &httpError{status: status, message: fmt.Sprintf(format, args...)}
}

// ServeHTTP answers the Rekor v1 API:
//
//	POST /api/v1/log/entries            201, 409 with Location for an entry that is there, 400, 413, 415, 503
//	GET  /api/v1/log/entries/{uuid}     200, 400, 404
//	GET  /api/v1/log/entries?logIndex=  200, 400, 404
//	GET  /api/v1/log                    size, root and signed checkpoint
//	GET  /api/v1/log/proof?firstSize=&lastSize=  consistency of two sizes
//	GET  /api/v1/log/publicKey          PEM
//
// Errors are {"code","message"}. Time limits for slow callers are those of the http.Server around it.
func (e *Embedded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := e.serve(w, r)
	if err == nil {
		return
	}
	var answer *httpError
	switch {
	case errors.As(err, &answer):
	case errors.Is(err, ErrNotFound):
		answer = refuse(http.StatusNotFound, "entry not found")
	case errors.Is(err, errBusy):
		answer = refuse(http.StatusServiceUnavailable, "%v", errBusy)
	default:
		// What the store says concerns the operator (see Err), not the caller.
		answer = refuse(http.StatusServiceUnavailable, "the log cannot reach its store now, try again later")
	}
	for name, value := range answer.header {
		w.Header().Set(name, value)
	}
	writeJSON(w, answer.status, canonjson.Compact(canonjson.NewObject(
		"code", intValue(int64(answer.status)), "message", answer.message)))
}

func (e *Embedded) serve(w http.ResponseWriter, r *http.Request) error {
	uuid, named := strings.CutPrefix(r.URL.Path, entriesPath+"/")
	switch {
	case r.URL.Path == entriesPath && r.Method == http.MethodPost:
		return e.servePost(w, r)
	case !named && !slices.Contains([]string{logPath, entriesPath, keyPath, proofPath}, r.URL.Path):
		return refuse(http.StatusNotFound, "no such path: %s", excerpt(r.URL.Path))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		answer := refuse(http.StatusMethodNotAllowed, "method %s is not allowed here", excerpt(r.Method))
		answer.header = map[string]string{"Allow": "GET, HEAD"}
		if r.URL.Path == entriesPath {
			answer.header["Allow"] = "GET, HEAD, POST"
		}
		return answer
	case named:
		return e.serveEntry(w, r, uuid)
	case r.URL.Path == entriesPath:
		return e.serveIndex(w, r)
	case r.URL.Path == proofPath:
		return e.serveConsistency(w, r)
	case r.URL.Path == keyPath:
		w.Header().Set("Content-Type", "application/x-pem-file")
		_, _ = io.WriteString(w, e.keyPEM)
		return nil
	default:
		return e.serveLog(w)
	}
}

func (e *Embedded) servePost(w http.ResponseWriter, r *http.Request) error {
	if t := r.Header.Get("Content-Type"); t != "" {
		if media, _, err := mime.ParseMediaType(t); err != nil || media != "application/json" {
			return refuse(http.StatusUnsupportedMediaType, "Content-Type %s, want application/json", excerpt(t))
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxProposal))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, "the entry has more than %d bytes", maxProposal)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the request's body ended early")
	}
	h, err := parseProposal(data)
	if err != nil {
		return refuse(http.StatusBadRequest, "error processing entry: %v", err)
	}
	leaf, created, err := e.add(r.Context(), h)
	if err != nil {
		return err
	}
	uuid := e.uuid(leaf)
	location := entriesPath + "/" + uuid
	if !created {
		answer := refuse(http.StatusConflict, "an equivalent entry already exists in the transparency log with UUID %s", uuid)
		answer.header = map[string]string{"Location": location}
		return answer
	}
	document, err := e.Entry(r.Context(), uuid)
	if err != nil {
		return err
	}
	w.Header().Set("Location", location)
	w.Header().Set("ETag", strconv.Quote(uuid))
	writeJSON(w, http.StatusCreated, document)
	return nil
}

func (e *Embedded) serveEntry(w http.ResponseWriter, r *http.Request, uuid string) error {
	if !validUUID(uuid) {
		return refuse(http.StatusBadRequest, "uuid %s: want 64 or 80 lower-case hex", excerpt(uuid))
	}
	document, err := e.Entry(r.Context(), uuid)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document)
	return nil
}

func (e *Embedded) serveIndex(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query is not readable")
	}
	index, err := sizeParameter(query, "logIndex")
	if err != nil {
		return err
	}
	_, document, err := e.document(r.Context(), index)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document)
	return nil
}

func (e *Embedded) serveConsistency(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query is not readable")
	}
	if !query.Has("firstSize") {
		query.Set("firstSize", "1")
	}
	first, err := sizeParameter(query, "firstSize")
	if err != nil {
		return err
	}
	last, err := sizeParameter(query, "lastSize")
	if err != nil {
		return err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if first < 1 || first > last || last > e.size {
		return refuse(http.StatusBadRequest, "firstSize %d, lastSize %d: want 1 ≤ firstSize ≤ lastSize ≤ %d", first, last, e.size)
	}
	hashes, err := e.tree.consistency(first, last)
	if err != nil {
		return err
	}
	root := e.tree.root(last)
	writeJSON(w, http.StatusOK, canonjson.Compact(canonjson.NewObject(
		"rootHash", hex.EncodeToString(root[:]), "hashes", hexList(hashes))))
	return nil
}

func (e *Embedded) serveLog(w http.ResponseWriter) error {
	e.mu.RLock()
	size, root, checkpoint := e.size, e.root, e.checkpoint
	e.mu.RUnlock()
	writeJSON(w, http.StatusOK, canonjson.Compact(canonjson.NewObject(
		"inactiveShards", []any{},
		"rootHash", hex.EncodeToString(root[:]),
		"signedTreeHead", checkpoint,
		"treeID", strconv.FormatUint(e.treeID, 10),
		"treeSize", intValue(int64(size)),
	)))
	return nil
}

func sizeParameter(query url.Values, name string) (uint64, error) {
	values := query[name]
	if len(values) != 1 {
		return 0, refuse(http.StatusBadRequest, "parameter %s: given %d times, want once", name, len(values))
	}
	n, err := parseDecimal(values[0])
	if err != nil {
		return 0, refuse(http.StatusBadRequest, "parameter %s: %s is %v", name, excerpt(values[0]), err)
	}
	return n, nil
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// parseProposal reads a posted entry: a hashedrekord 0.0.1 with exactly the members that this log keeps, and with a
// signature that verifies.
func parseProposal(data []byte) (*hashedRekord, error) {
	value, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, err
	}
	h, err := parseHashedRekord(value)
	if err != nil {
		return nil, err
	}
	if h.version != entryVersion {
		return nil, fmt.Errorf("/apiVersion: %s, want %q", excerpt(h.version), entryVersion)
	}
	for _, level := range []struct {
		pointer string
		names   []string
	}{
		{"", []string{"apiVersion", "kind", "spec"}},
		{"/spec", []string{"data", "signature"}},
		{"/spec/data", []string{"hash"}},
		{"/spec/data/hash", []string{"algorithm", "value"}},
		{"/spec/signature", []string{"content", "publicKey"}},
		{"/spec/signature/publicKey", []string{"content"}},
	} {
		v, _ := canonjson.Resolve(value, level.pointer)
		o, err := as[*canonjson.Object](v, level.pointer)
		if err != nil {
			return nil, err
		}
		for _, name := range o.Names() {
			if !slices.Contains(level.names, name) {
				return nil, fmt.Errorf("%s: unknown member %s", level.pointer, excerpt(name))
			}
		}
	}
	return h, h.verify()
}
