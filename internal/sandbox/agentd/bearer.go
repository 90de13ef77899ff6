package agentd

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// maxToken is the size in bytes of the longest token file.
const maxToken = 4096

// ReadToken reads a bearer token: the content of the file without the white space
// around it. No error holds a part of it.
func ReadToken(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if len(data) > maxToken {
		return nil, fmt.Errorf("token file %s is longer than %d bytes", path, maxToken)
	}
	token := bytes.TrimSpace(data)
	if len(token) == 0 {
		return nil, fmt.Errorf("token file %s is empty; write the bearer token into it", path)
	}
	if bytes.ContainsAny(token, " \t\r\n") {
		return nil, fmt.Errorf("token file %s has more than one word; write the bearer token alone", path)
	}
	return token, nil
}

var errBearer = errors.New("the bearer is missing or not the agent's")

// authorized compares the request's bearer with the token file as it is now.
// Hashes of equal length are compared in constant time, so that the answer's time
// tells nothing of the token. Without a readable token nothing matches.
func (a *Agent) authorized(r *http.Request) error {
	token, err := ReadToken(a.o.TokenFile)
	if err != nil {
		a.o.Log.ErrorContext(r.Context(), "no bearer can match", "error", err)
		return errBearer
	}
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return errBearer
	}
	scheme, given, _ := strings.Cut(headers[0], " ")
	if scheme != "Bearer" && scheme != "bearer" {
		return errBearer
	}
	want, got := sha256.Sum256(token), sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return errBearer
	}
	return nil
}
