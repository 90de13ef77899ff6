package cli

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote"
)

const keptFormat = "prova-submission/1"

// keptFile holds the body of a submission until its row is there, so that whoever
// sends it again rejoins the run instead of starting a second one (decision 6).
type keptFile struct {
	dir  string // empty: below XDG_STATE_HOME
	env  *Env
	path string
	kept keptSubmission
}

type keptSubmission struct {
	Format string         `json:"format"`
	Server string         `json:"server"`
	Body   jsontext.Value `json:"body"`
	// Refused: the host said that nothing of it is stored or runs.
	Refused bool `json:"refused,omitzero"`
}

// find returns the kept body when it is of exactly this submission to this server,
// and gives s its nonce and its address; else nil.
func (k *keptFile) find(s *submission, server string, fresh bool) ([]byte, error) {
	if err := k.locate(s.digest()); err != nil {
		return nil, err
	}
	if fresh {
		return nil, nil
	}
	return k.read(s, server), nil
}

// sign makes a newly signed body and keeps it first: one that is sent and then lost
// could not be rejoined.
func (k *keptFile) sign(s *submission, server string, key *sr25519.SecretKey) ([]byte, error) {
	var nonce [32]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	s.Nonce = hex.EncodeToString(nonce[:])
	signature, err := key.Sign(rand.Reader, intake.Domain, s.Payload())
	if err != nil {
		return nil, err
	}
	body, err := s.body(hex.EncodeToString(signature[:]))
	if err != nil {
		return nil, err
	}
	k.kept = keptSubmission{Format: keptFormat, Server: server, Body: body}
	return body, k.mark(false)
}

// mark keeps whether the submission was refused without a row, so that the next
// call knows whether there is a run to rejoin. Before it is sent again the mark is
// taken off: an answer that is lost leaves open what became of it.
func (k *keptFile) mark(refused bool) error {
	k.kept.Refused = refused
	data, err := json.Marshal(k.kept)
	if err != nil {
		return err
	}
	return writeSecret(k.path, append(data, '\n'))
}

// markRefused marks the submission when the answer to it says that it was not taken.
// A fault of something in between, and a conflict with a run in flight, do not.
func (k *keptFile) markRefused(err error) error {
	var refusal *remote.Refusal
	if !errors.As(err, &refusal) || refusal.Status == http.StatusConflict || refusal.Status >= http.StatusInternalServerError && refusal.Status != http.StatusServiceUnavailable {
		return nil
	}
	return k.mark(true)
}

func (k *keptFile) locate(digest string) error {
	dir := k.dir
	if dir == "" {
		state := k.env.Getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(state) {
			home := k.env.Getenv("HOME")
			if home == "" {
				return errors.New("neither XDG_STATE_HOME nor HOME is set; name a folder for kept submissions with --state")
			}
			state = filepath.Join(home, ".local", "state")
		}
		dir = filepath.Join(state, "prova", "submissions")
	}
	// A folder inside a checkout is refused before it is made.
	above, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("folder of kept submissions: %w", err)
	}
	for above != filepath.Dir(above) {
		if _, err := os.Stat(above); err == nil {
			break
		}
		above = filepath.Dir(above)
	}
	if _, err := secretDir(filepath.Join(above, digest+".json")); err != nil {
		return fmt.Errorf("folder of kept submissions: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("folder of kept submissions: %w", err)
	}
	k.path = filepath.Join(dir, digest+".json")
	return nil
}

// read returns the kept body of this very submission, nil for any other: one with
// another claim, address or server, one that was cut off, one that was edited. The
// nonce of a body that is not reused was used once at most, as it should be.
func (k *keptFile) read(s *submission, server string) []byte {
	data, err := os.ReadFile(k.path)
	if err != nil {
		return nil
	}
	var kept keptSubmission
	if json.Unmarshal(data, &kept) != nil || kept.Format != keptFormat || kept.Server != server {
		return nil
	}
	r, err := intake.Parse(kept.Body)
	if err != nil || r.HotkeySignature == nil || r.SubmitNonce == nil || r.ArtifactURI == nil {
		return nil
	}
	same := r.MinerHotkey == s.Hotkey && r.ArtifactDigest == s.ArtifactDigest && r.TopicID == s.TopicID &&
		r.DeclaredFLOPs == s.DeclaredFLOPs && r.Claim == s.Claim && s.servedAt(*r.ArtifactURI) && r.Architecture == s.architecture &&
		slices.Equal(r.Manifest.ContentHashes, s.Manifest.ContentHashes) && slices.Equal(r.Manifest.DatasetIDs, s.Manifest.DatasetIDs)
	signed := s.Signed
	signed.Nonce = *r.SubmitNonce
	if !same || signed.Verify(*r.HotkeySignature) != nil {
		return nil
	}
	k.kept = kept
	s.Nonce, s.uri = signed.Nonce, *r.ArtifactURI
	return kept.Body
}

// servedAt reports whether a kept address is that of this submission. A presigned
// one is compared without its query: presigning again would make another body, and
// what was sent with the first one could not be rejoined.
func (s *submission) servedAt(kept string) bool {
	if !s.presigned {
		return kept == s.uri
	}
	was, query, signed := strings.Cut(kept, "?")
	is, _, _ := strings.Cut(s.uri, "?")
	return signed && was == is && strings.Contains(query, "X-Amz-Signature=")
}

// forget removes what is kept: its row is there.
func (k *keptFile) forget() error {
	if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
