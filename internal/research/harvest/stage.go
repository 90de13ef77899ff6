package harvest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/offer"
)

const (
	maxKeyFile = 64 << 10
	maxShard   = 64 << 20
	maxWeights = 100_000 // files
)

// staged is a file that a pod gets: its path below the work directory, its bytes.
type staged struct {
	path string // slash-separated, clean, relative
	mode fs.FileMode
	size int64
	open func() (io.ReadCloser, error)
}

func stagedBytes(path string, data []byte) staged {
	return staged{path: path, mode: 0o600, size: int64(len(data)), open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

func stagedFile(path, from string, size int64) staged {
	return staged{path: path, mode: 0o644, size: size, open: func() (io.ReadCloser, error) { return os.Open(from) }}
}

// errWeights, errShards and errSSHKey are rows 13 of the gate, met again before a
// rent: what is staged may have changed behind the gate's back.
var (
	errWeights = errors.New("PROOF_PROXY_MODEL_DIR missing or empty; refuse live scoring (no HF bake)")
	errShards  = errors.New("PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring")
	errSSHKey  = errors.New("LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring")
)

// hasFile reports whether a directory has one file with a byte in it somewhere.
func hasFile(dir string) bool {
	if dir == "" {
		return false
	}
	found := errors.New("found")
	return errors.Is(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return found
		}
		return nil
	}), found)
}

// weights lists the files of the weights directory, sorted by path. A link to a
// regular file counts as one, as the caches of model hubs lay them out.
func weights(dir string) ([]staged, error) {
	if !hasFile(dir) {
		return nil, errWeights
	}
	var files []staged
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !info.Mode().IsRegular() || len(files) == maxWeights || !nameable(rel) {
			return errors.New("not a file that can be staged")
		}
		files = append(files, stagedFile(weightsDir+"/"+rel, path, info.Size()))
		return nil
	})
	if err != nil {
		return nil, errors.New("PROOF_PROXY_MODEL_DIR holds something that cannot be staged; keep readable files with plain names there")
	}
	slices.SortFunc(files, func(a, b staged) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// nameable reports whether a path can be sent: no control characters.
func nameable(path string) bool {
	return fs.ValidPath(path) && path != "." && !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd })
}

// shards finds the file of each record and checks that it holds what its name says
// (R§15.6). The error names no record.
func shards(dir string, records []holdout.Plain) ([]staged, error) {
	if dir == "" || len(records) == 0 {
		return nil, errShards
	}
	files := make([]staged, 0, len(records))
	for _, r := range records {
		name := strings.ToLower(strings.TrimSpace(r.ContentSHA256))
		path := filepath.Join(dir, name)
		sum, size, err := hashFile(path, maxShard)
		if err != nil || hex.EncodeToString(sum) != name {
			return nil, errShards
		}
		files = append(files, stagedFile(holdoutDir+"/"+name, path, size))
	}
	return files, nil
}

func hashFile(path string, most int64) ([]byte, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, 0, errors.New("not a shard")
	}
	h := sha256.New()
	size, err := io.Copy(h, io.LimitReader(f, most+1))
	return h.Sum(nil), size, err
}

// judgeKey reads the key of the judge, for each run anew.
func judgeKey(path string) (string, error) {
	data, err := readSmall(path)
	if err != nil || offer.RequireKey(string(data)) != nil {
		return "", offer.ErrInferenceKey
	}
	return strings.TrimSpace(string(data)), nil
}

// readSmall reads a file of keys.
func readSmall(path string) ([]byte, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxKeyFile {
		return nil, errors.New("too long")
	}
	return data, nil
}
