package season

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// Submission is a recorded submission: the bytes as they came.
type Submission struct {
	AgentDID, TaskID, Track string
	Body                    []byte
	SHA256                  string // Of Body, lower-case hex.
	RecordedAt              time.Time
}

// receiptType is in every receipt, so that its signature means nothing else.
const receiptType = "prova-submission-receipt/1"

// Receipt is the season's signed word that it holds a submission. It is what a
// participant keeps in case of a dispute.
type Receipt struct {
	Season    int64  `json:"season"`
	Track     string `json:"track"`
	TaskID    string `json:"task_id"`
	AgentDID  string `json:"agent_did"`
	Hash      string `json:"hash"`      // SHA-256 of the submitted bytes, lower-case hex.
	Time      string `json:"time"`      // When it was recorded, UTC with microseconds.
	Type      string `json:"type"`      // receiptType.
	Key       string `json:"key"`       // ed25519: and the public key, base64url without padding.
	Signature string `json:"signature"` // The same form, over Message.
}

// Message is what Signature signs: the canonical JSON of every other member.
func (r Receipt) Message() []byte {
	return canonjson.Marshal(canonjson.NewObject("season", canonjson.NewInt(r.Season), "track", r.Track, "task_id", r.TaskID,
		"agent_did", r.AgentDID, "hash", r.Hash, "time", r.Time, "type", r.Type, "key", r.Key))
}

// Verify reports whether the receipt is key's word on exactly these bytes.
func (r Receipt) Verify(key ed25519.PublicKey, submitted []byte) error {
	raw, ok := decodeKeyText(r.Signature, ed25519.SignatureSize)
	switch {
	case r.Type != receiptType:
		return fmt.Errorf("receipt: type %q is not %s", r.Type, receiptType)
	case r.Key != keyText(key):
		return fmt.Errorf("receipt: it is signed with another key than the season's")
	case !ok || !ed25519.Verify(key, r.Message(), raw):
		return fmt.Errorf("receipt: the signature is not good")
	case hexSum(submitted) != r.Hash:
		return fmt.Errorf("receipt: it is for other bytes")
	}
	return nil
}

func keyText(raw []byte) string { return "ed25519:" + base64.RawURLEncoding.EncodeToString(raw) }

func decodeKeyText(text string, size int) ([]byte, bool) {
	const prefix = "ed25519:"
	if len(text) < len(prefix) || text[:len(prefix)] != prefix {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text[len(prefix):])
	return raw, err == nil && len(raw) == size
}

// ReceiptKey is the public key of the season's receipts.
func (s *Service) ReceiptKey() ed25519.PublicKey {
	public, _ := s.key.Public().(ed25519.PublicKey)
	return public
}

// Participant is the DID that a season token was given to.
func (s *Service) Participant(ctx context.Context, number int64, token string) (string, error) {
	if _, err := s.Season(ctx, number); err != nil {
		return "", err
	}
	return didOfToken(ctx, s.db.Reader(), number, hexSum([]byte(token)))
}

// taking refuses submissions outside the window. Both bounds belong to it.
func taking(season Season) error {
	switch {
	case season.State == Open:
		return nil
	case season.State.Reached(Closed):
		return refuse(Forbidden, "season %d is closed: submissions are no longer taken", season.Number)
	}
	return refuse(Forbidden, "season %d opens at %s: submissions are taken from then on", season.Number, season.Opens.Format(secondLayout))
}

// Taking tells with a Refusal why submissions are not taken now, if so.
func (s *Service) Taking(ctx context.Context, number int64) error {
	season, err := s.Season(ctx, number)
	if err != nil {
		return err
	}
	return taking(season)
}

// Submit records a participant's submission for one task, in the place of the
// one before it (§7.4). A submission that breaks a rule of the format is refused
// with every fault, and nothing is recorded (§4). On return without error it is
// on disk.
func (s *Service) Submit(ctx context.Context, number int64, agentDID string, body []byte) (r Receipt, replaced bool, err error) {
	season, err := s.Season(ctx, number)
	if err != nil {
		return Receipt{}, false, err
	}
	if err := taking(season); err != nil {
		return Receipt{}, false, err
	}
	tracks, err := s.tracks(ctx, season.Definition)
	if err != nil {
		return Receipt{}, false, err
	}
	parsed, faults := bundle.ParseSubmission(body, intake(season.Definition, agentDID, tracks))
	if len(faults) > 0 {
		refusal := &Refusal{Kind: Invalid, Why: "the submission has faults; nothing was recorded"}
		for _, f := range faults {
			refusal.Faults = append(refusal.Faults, Fault{f.Pointer, f.Message})
		}
		return Receipt{}, false, refusal
	}
	x := Submission{AgentDID: agentDID, TaskID: parsed.TaskID, Track: parsed.Track, Body: body, SHA256: hexSum(body)}
	var revision int64
	err = s.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error {
		x.RecordedAt = s.now()
		season, err := lockSeason(ctx, tx, number, x.RecordedAt)
		if err != nil {
			return err
		}
		if err := taking(season); err != nil {
			return err
		}
		revision, err = putSubmission(ctx, tx, number, x)
		return err
	})
	if err != nil {
		return Receipt{}, false, err
	}
	return s.receipt(number, x), revision > 1, nil
}

func (s *Service) receipt(number int64, x Submission) Receipt {
	r := Receipt{
		Season: number, Track: x.Track, TaskID: x.TaskID, AgentDID: x.AgentDID,
		Hash: x.SHA256, Time: x.RecordedAt.Format(microLayout), Type: receiptType, Key: keyText(s.ReceiptKey()),
	}
	r.Signature = keyText(ed25519.Sign(s.key, r.Message()))
	return r
}
