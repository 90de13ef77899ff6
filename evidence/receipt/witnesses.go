package receipt

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

// tokenResult is what verifying one token gave. provider and response are its
// inputs: a hit counts only when both are the same, whatever the root.
type tokenResult struct {
	provider, response string
	independent        bool
	token              *timestamp.Token
	err                error
}

// token verifies the base64 text of a TimeStampResp over the 32 raw bytes of
// root, for the provider that the proof names (bundle-format §10 "Token").
func (c *Checker) token(provider, response string, root [32]byte) tokenResult {
	if r, ok := c.tokens.get(root); ok && r.response == response && r.provider == provider {
		return r
	}
	r := tokenResult{provider: provider, response: response}
	r.token, r.independent, r.err = c.verifyToken(provider, response, root)
	if len(response)+len(provider) <= cacheMaxBytes {
		// The texts are parts of a whole proof, which the cache shall not keep.
		r.provider, r.response = strings.Clone(provider), strings.Clone(response)
		c.tokens.put(root, r)
	}
	return r
}

func (c *Checker) verifyToken(provider, response string, root [32]byte) (*timestamp.Token, bool, error) {
	authority, ok := c.authorities[provider]
	if !ok {
		return nil, false, withNote(fmt.Errorf("the trust names no timestamp authority %q", clip(provider)), NoteAuthorityUnknown, provider)
	}
	der, err := decodeBase64(response)
	if err != nil {
		return nil, false, fmt.Errorf("tsr_base64: %w", err)
	}
	token, err := timestamp.Verify(der, root[:], authority)
	return token, authority.Independent, err
}

// decodeBase64 accepts the canonical padded form only: the standard decoder
// would skip line breaks, and two texts must not mean one token.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("has a line break, want canonical padded base64")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("is no canonical padded base64: %w", err)
	}
	return b, nil
}

// entryResult is what verifying one log entry gave; uuid and document are its
// inputs.
type entryResult struct {
	uuid     string
	document []byte
	entry    *tlog.Entry
	err      error
}

// entry verifies the document of a log entry for root, all but the attribution
// of its submitter, which depends on the proof (bundle-format §10 "Log entry").
func (c *Checker) entry(uuid string, document []byte, root [32]byte) entryResult {
	if r, ok := c.entries.get(root); ok && r.uuid == uuid && bytes.Equal(r.document, document) {
		return r
	}
	r := entryResult{uuid: uuid, document: document}
	r.entry, r.err = tlog.VerifyEntry(uuid, document, hex.EncodeToString(root[:]), c.logs)
	if len(document) <= cacheMaxBytes {
		r.uuid, r.document = strings.Clone(uuid), bytes.Clone(document)
		c.entries.put(root, r)
	}
	return r
}

// issuerKey chooses the key of a proof (check 4, T§11): by arkforge_kid when it
// is there and not null, else by arkforge_pubkey; an embedded key must be the
// chosen one.
func (c *Checker) issuerKey(p *Proof) (*issuerKey, error) {
	kid, _ := p.doc.Get("arkforge_kid")
	embedded, _ := p.doc.Get("arkforge_pubkey")
	kidText, isKid := kid.(string)
	keyText, isKey := embedded.(string)
	var chosen *issuerKey
	for i := range c.keys {
		k := &c.keys[i]
		if (isKid && kidText == k.kid) || (kid == nil && isKey && keyText == k.text) {
			chosen = k
			break
		}
	}
	switch {
	case chosen == nil && kid != nil:
		return nil, withNote(fmt.Errorf("arkforge_kid %s is not among the issuer's published keys", show(kid)), NoteIssuerKeyUnknown, named(kid))
	case chosen == nil && embedded != nil:
		return nil, withNote(fmt.Errorf("arkforge_pubkey %s is not among the issuer's published keys", show(embedded)), NoteIssuerKeyUnknown, named(embedded))
	case chosen == nil:
		return nil, errors.New("neither arkforge_kid nor arkforge_pubkey names the issuer's key")
	case embedded != nil && (!isKey || keyText != chosen.text):
		return nil, fmt.Errorf("arkforge_pubkey is not the published key %s", chosen.kid)
	}
	at, _ := text(p.doc, "timestamp")
	if !chosen.bounds.admits(at) {
		return nil, withNote(fmt.Errorf("timestamp %s is outside the life of the key %s%s", show(at), chosen.kid, chosen.bounds), NoteIssuerKeyOutside, chosen.kid, at)
	}
	return chosen, nil
}

func (b bounds) String() string {
	var s string
	if b.from != "" {
		s += ", valid from " + b.from + "Z"
	}
	if b.retired != "" {
		s += ", retired at " + b.retired + "Z"
	}
	return s
}

// show prints a foreign value within one line.
func show(v any) string {
	if s, ok := v.(string); ok {
		return clip(string(canonjson.Marshal(clip(s))))
	}
	return clip(string(canonjson.Marshal(v)))
}

// batch is a well-formed batch_anchor of an anchored proof.
type batch struct {
	index, size uint64
	path        [][32]byte
	root        [32]byte
}

// readBatch reads the members of batch_anchor that check 6 names. JSON booleans
// and floats are no integers.
func readBatch(value any) (b batch, err error) {
	o, ok := value.(*canonjson.Object)
	if !ok {
		return b, fmt.Errorf("batch_anchor is %s, want an object", canonjson.Kind(value))
	}
	if status, _ := text(o, "status"); status != "anchored" {
		v, _ := o.Get("status")
		return b, fmt.Errorf("batch_anchor.status is %s, want \"anchored\"", show(v))
	}
	root, _ := text(o, "root")
	if b.root, ok = parseHash(root); !ok {
		return b, errors.New("batch_anchor.root is not \"sha256:\" and 64 lower-case hex digits")
	}
	index, okIndex := integer(o, "leaf_index")
	size, okSize := integer(o, "tree_size")
	if !okIndex || !okSize {
		return b, errors.New("batch_anchor.leaf_index and tree_size must be integers")
	}
	if index < 0 || index >= size {
		return b, fmt.Errorf("batch_anchor.leaf_index %d is outside a tree of %d", index, size)
	}
	b.index, b.size = uint64(index), uint64(size)
	value, _ = o.Get("audit_path")
	items, ok := value.([]any)
	if !ok {
		return b, fmt.Errorf("batch_anchor.audit_path is %s, want an array", canonjson.Kind(value))
	}
	b.path = make([][32]byte, 0, len(items))
	for i, item := range items {
		s, _ := item.(string)
		node, ok := parseHex32(s)
		if !ok {
			return b, fmt.Errorf("batch_anchor.audit_path item %d is not 64 lower-case hex digits", i)
		}
		b.path = append(b.path, node)
	}
	return b, nil
}

func integer(o *canonjson.Object, name string) (int64, bool) {
	value, _ := o.Get(name)
	i, ok := value.(canonjson.Int)
	if !ok {
		return 0, false
	}
	return i.Int64()
}

// include checks that the chain hash is a leaf of the batch. The error wraps
// merkle.ErrPathLength or merkle.ErrPathMismatch.
func (b batch) include(chain [32]byte) error {
	return merkle.Verify(merkle.LeafHash(chain[:]), b.index, b.size, b.path, b.root)
}
