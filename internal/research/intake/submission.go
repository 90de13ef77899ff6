package intake

import (
	"crypto/sha256"
	"strings"

	"github.com/prova-dev/prova/internal/research/offer"
)

// Submission is a submission that reached row 8 of the gate: its digests are
// fixed and the offers it is judged under are those of that moment.
type Submission struct {
	Request Request // as it was sent

	// Stored forms (R§11.1).
	Hotkey         string // 64 lower-case hex
	ArtifactDigest string // 64 lower-case hex
	TopicID        string // trimmed
	ArtifactURI    string // trimmed; what is fetched

	Nonce  string // R§11.2
	Digest string // R§11.2: the submission digest
	Epoch  uint64 // of the acceptance (decision 3)

	// Signed says that the hotkey signed; the submit_nonce is then used once.
	Signed bool
	// Body tells two submissions under one nonce apart: everything that was read,
	// the unsigned artifact_uri and architecture included, the order within the
	// manifest's lists aside.
	Body [32]byte

	Topic     *Topic
	Inference *offer.Inference
	Executor  *offer.Executor

	fault error // of Parse
}

// read fills in what rows 1 to 7 look at.
func read(f *Facts, s *Submission) {
	r, err := Parse(f.Body)
	if err != nil {
		s.fault = err
		return
	}
	s.Request = *r
	s.Hotkey, _ = Hex64(r.MinerHotkey)
	s.ArtifactDigest, _ = Hex64(r.ArtifactDigest)
	s.TopicID = strings.TrimSpace(r.TopicID)
	s.ArtifactURI = strings.TrimSpace(value(r.ArtifactURI))
	s.Topic = f.Host.Topics[s.TopicID]
}

// freeze is row 8.
func freeze(f *Facts, s *Submission) {
	s.Inference, s.Executor, s.Epoch = f.Host.Inference, f.Host.Executor, f.Host.Epoch
	s.Signed = signing(f, s)
	s.Nonce = Nonce(s.Hotkey, s.TopicID, s.ArtifactDigest)
	s.Digest = Digest(s.Hotkey, s.TopicID, s.ArtifactDigest)
	s.Body = sha256.Sum256(append(s.signed().Payload(), body(s.Request)...))
}

// body is what a request has beside its signed fields, framed for hashing.
func body(r Request) []byte {
	uri := "\xff-"
	if r.ArtifactURI != nil {
		uri = "\xff+" + *r.ArtifactURI
	}
	return []byte(uri + sep + r.Architecture)
}

func (s *Submission) signed() Signed {
	return Signed{
		Hotkey: s.Hotkey, TopicID: s.TopicID, ArtifactDigest: s.ArtifactDigest, DeclaredFLOPs: s.Request.DeclaredFLOPs,
		Claim: s.Request.Claim, Manifest: s.Request.Manifest, Nonce: value(s.Request.SubmitNonce),
	}
}

func (s *Submission) judge(h *Host) offer.Judge {
	return s.Inference.Resolve(h.Pin, &s.Topic.Document.Inference, h.SecretOrigin)
}

func (s *Submission) plan(h *Host) (*offer.Plan, error) {
	if h.OverridesFault != nil {
		return nil, h.OverridesFault
	}
	return s.Executor.Plan(h.Pin, s.Topic.Document, h.Overrides)
}

func (s *Submission) fingerprints() []string {
	return s.Topic.Holdout.Contamination(s.Request.Manifest.ContentHashes, s.Request.Manifest.DatasetIDs)
}
