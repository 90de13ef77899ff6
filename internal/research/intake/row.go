package intake

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/topic"
)

// ID is the number of a row; they count from 0 and are never used again.
type ID uint64

// String is the id on the wire: pf_ and 16 hexadecimal digits (R§11.4).
func (id ID) String() string { return fmt.Sprintf("pf_%016x", uint64(id)) }

// ParseID reads an id of the wire, and nothing that String would write otherwise.
func ParseID(s string) (ID, error) {
	digits, ok := strings.CutPrefix(s, "pf_")
	if n, err := strconv.ParseUint(digits, 16, 64); ok && err == nil && ID(n).String() == s {
		return ID(n), nil
	}
	const most = 40
	if len(s) > most {
		s = s[:most]
	}
	return 0, fmt.Errorf("submission id %q is not pf_ and 16 lower-case hexadecimal digits", s)
}

// StoredRow is a stored submission, members in the order of R§11.4, then the epoch
// of its acceptance (decision 3). All of it is public once the epoch is closed;
// [StoredRow.Public] is what may be shown before.
type StoredRow struct {
	ID                 string         `json:"id"`
	TopicID            string         `json:"topic_id"`
	MinerHotkey        string         `json:"miner_hotkey"`
	ArtifactDigest     string         `json:"artifact_digest"`
	ArtifactURI        *string        `json:"artifact_uri"` // as it was sent
	Claim              string         `json:"claim"`
	DeclaredFLOPs      uint64         `json:"declared_flops"`
	Architecture       string         `json:"architecture"`
	InferenceOfferID   string         `json:"inference_offer_id"`
	ConfigCommitment   string         `json:"config_commitment"`
	ExecutorOfferID    string         `json:"executor_offer_id"`
	ExecutorCommitment string         `json:"executor_commitment"` // of what ran
	Manifest           StoredManifest `json:"manifest"`            // as it was sent
	Nonce              string         `json:"nonce"`
	SubmissionDigest   string         `json:"submission_digest"`
	State              family.State   `json:"state"`
	ReceiptJSON        *string        `json:"receipt_json"`
	Verdict            family.Verdict `json:"verdict"`
	Detail             *string        `json:"detail"` // nil on a pass
	Epoch              uint64         `json:"epoch"`
}

// StoredManifest is a manifest in a row.
type StoredManifest struct {
	TrainContentHashes []string `json:"train_content_hashes"`
	TrainDatasetIDs    []string `json:"train_dataset_ids"`
}

// JSON returns the row in one line, members in their order. It fails only for a
// text that is not UTF-8.
func (r *StoredRow) JSON() ([]byte, error) { return json.Marshal(r) }

// Public returns what anyone may see of a row: without the artefact's address and
// the claim until the epoch of the row is closed (decision 4).
func (r *StoredRow) Public(closed bool) *StoredRow {
	shown := *r
	if !closed {
		shown.ArtifactURI, shown.Claim = nil, ""
	}
	return &shown
}

// Attempt is a miner's run on a topic as epochs and payouts count it.
type Attempt struct {
	Row            ID
	Epoch          uint64
	TopicID        string
	Hotkey         string
	Pass           bool
	Primary        *float64 // nil when nothing was measured
	ArtifactDigest string
}

// Answer is the body of 201 (R§11.1).
type Answer struct {
	ID               string       `json:"id"`
	SubmissionDigest string       `json:"submission_digest"`
	TopicID          string       `json:"topic_id"`
	State            family.State `json:"state"`
	EvalBackend      string       `json:"eval_backend"`
	Eligible         bool         `json:"eligible"`
}

// Answer returns the body of 201 for a row on a host with this backend.
func (r *StoredRow) Answer(backend string) Answer {
	return Answer{r.ID, r.SubmissionDigest, r.TopicID, r.State, backend, r.Verdict.Pass}
}

// Result is what a run came to.
type Result struct {
	Verdict family.Verdict
	Crowned bool    // the crown landed in the transaction of this row (decision 9)
	Receipt *string // JSON; nil where there is none
}

// ErrNoRow says that an outcome leaves nothing to store.
var ErrNoRow = errors.New("a submission that rejoins its first copy is no row of its own")

// PreEvalReject returns the result of a [Reject]: the verdict of row 22, no receipt.
func (o *Outcome) PreEvalReject() Result {
	return Result{Verdict: family.PreEvalReject(Scored(o.Submission.Topic.Document), o.Fingerprints)}
}

// Persist returns what a 201 stores, and nothing else is stored of a submission
// (R§11.4): the row, and the miner's attempt on the topic. Of a [Reject] only the
// verdict of PreEvalReject is stored, whatever the result says.
func (o *Outcome) Persist(id ID, res Result) (*StoredRow, *Attempt, error) {
	s := o.Submission
	scored := Scored(s.Topic.Document)
	attempt := &Attempt{
		Row: id, Epoch: s.Epoch, TopicID: s.TopicID, Hotkey: s.Hotkey, ArtifactDigest: s.ArtifactDigest,
	}
	switch o.Kind {
	case Reject:
		res = o.PreEvalReject()
	case Run:
		if primary, ok := scored.PrimaryOf(res.Verdict.Harness.Metrics); ok {
			attempt.Primary = &primary
		}
	default:
		return nil, nil, ErrNoRow
	}
	attempt.Pass = res.Verdict.Pass
	row := &StoredRow{
		ID: id.String(), TopicID: s.TopicID, MinerHotkey: s.Hotkey, ArtifactDigest: s.ArtifactDigest,
		ArtifactURI: s.Request.ArtifactURI, Claim: s.Request.Claim, DeclaredFLOPs: s.Request.DeclaredFLOPs,
		Architecture: s.Request.Architecture,
		Manifest:     StoredManifest{s.Request.Manifest.ContentHashes, s.Request.Manifest.DatasetIDs},
		Nonce:        s.Nonce, SubmissionDigest: s.Digest,
		State:       family.StateOf(scored.Family, res.Verdict, res.Crowned),
		ReceiptJSON: res.Receipt, Verdict: res.Verdict, Epoch: s.Epoch,
	}
	if s.Inference != nil {
		row.InferenceOfferID, row.ConfigCommitment = s.Inference.OfferID, commitment(s.Inference.ConfigCommitment)
	}
	if s.Executor != nil {
		row.ExecutorOfferID, row.ExecutorCommitment = s.Executor.OfferID, commitment(s.Executor.ConfigCommitment)
	}
	if o.Plan != nil {
		row.ExecutorCommitment = o.Plan.ConfigCommitment
	}
	if detail := res.Verdict.Detail(); detail != "" {
		row.Detail = &detail
	}
	return row, attempt, nil
}

// commitment is the form in which every row has one; a document may have it in
// upper case.
func commitment(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// Scored returns what scoring needs of a topic document.
func Scored(d *topic.Document) family.Topic {
	m := &d.Metric
	return family.Topic{
		ID: d.ID, Family: family.Family(m.Family), Primary: m.Primary, Direction: family.Direction(m.Direction),
		EpsilonRel: m.EpsilonRel, QualityFloorNLL: m.QualityFloorNLL, WallBudgetS: m.WallBudgetS, CustomID: m.CustomID,
		FlopsBudget: d.FLOPsBudget, EpsilonNLL: d.EpsilonNLL, EpsilonTopicMaxRegress: d.EpsilonTopicMaxRegress,
	}
}
