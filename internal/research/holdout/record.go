package holdout

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prova-dev/prova/internal/research/shape"
)

// Split is the stratum of a record.
type Split string

// The five scored splits and the canary, which is never scored (R§6.1).
const (
	WebOOD          Split = "web_ood"
	CodeOOD         Split = "code_ood"
	MathOOD         Split = "math_ood"
	LongContext     Split = "longctx"
	MultilingualOOD Split = "multilingual_ood"
	Canary          Split = "canary_offpath"
)

// Tokens a longctx record may have, both ends included (R§6.1).
const (
	LongContextMin = 8192
	LongContextMax = 32768
)

// Splits lists the scored splits in the order of R§6.1.
func Splits() []Split {
	return []Split{WebOOD, CodeOOD, MathOOD, LongContext, MultilingualOOD}
}

// Scored reports whether records of this split are scored.
func (s Split) Scored() bool { return slices.Contains(Splits(), s) }

// Known reports whether the split is one of R§6.1, the canary included.
func (s Split) Known() bool { return s == Canary || s.Scored() }

// SliceID is the label of a topic's holdout (R§1).
func SliceID(topicID string) string { return "proof-holdout-" + topicID }

// Plain is a record with everything readable, as it stands in the operator's
// file (R§6.1). It is as secret as the holdout.
type Plain struct {
	ID            uint32 `json:"id"`
	Split         Split  `json:"split"`
	DatasetID     string `json:"dataset_id"`
	ContentSHA256 string `json:"content_sha256"`
	TokenCount    uint32 `json:"token_count"`
}

// Record is one sealed record. It can be copied and kept, and shows nothing of
// what it holds until Reveal asks. The zero value holds an empty Plain.
type Record struct {
	// Behind a function: fmt reads unexported fields of an outer struct without
	// calling their methods, and with some verbs it follows pointers down there.
	// Of a function it prints the address.
	hidden func() Plain
}

// Seal makes a record of its plain form, which is copied.
func Seal(p Plain) Record { return Record{hidden: func() Plain { return p }} }

// Reveal returns what the record holds.
func (r Record) Reveal() Plain {
	if r.hidden == nil {
		return Plain{}
	}
	return r.hidden()
}

const withheld = "[holdout record withheld]"

// Format writes the same words for every verb (fmt.Formatter).
func (r Record) Format(f fmt.State, _ rune) { fmt.Fprint(f, withheld) }

// String says only that there is a record.
func (r Record) String() string { return withheld }

// LogValue keeps a record out of every log (slog.LogValuer).
func (r Record) LogValue() slog.Value { return slog.StringValue(withheld) }

// MarshalJSON writes the same words: a record inside a response is a slip, and
// stays one without consequences. The plain form is written by Write.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(withheld) }

// MarshalText is MarshalJSON for encoders of other formats.
func (r Record) MarshalText() ([]byte, error) { return []byte(withheld), nil }

// content is the content hash as records are compared by it.
func (p *Plain) content() string { return strings.ToLower(strings.TrimSpace(p.ContentSHA256)) }

// dataset is the dataset id as manifests are compared with it (R§6.5).
func (p *Plain) dataset() string { return strings.ToLower(strings.TrimSpace(p.DatasetID)) }

// fault says which of the rules that one record can break alone is broken first
// (R§6.3); "" for none. It holds no value but the record's number and its length.
func (p *Plain) fault() string {
	switch {
	case p.Split == Canary:
		return fmt.Sprintf("record %d is canary_offpath; the canary is off-score and never in the holdout", p.ID)
	case !p.Split.Scored():
		return fmt.Sprintf("record %d has an unknown split", p.ID)
	case strings.TrimSpace(p.DatasetID) == "":
		return fmt.Sprintf("record %d has an empty dataset_id", p.ID)
	case !shape.Hex64(p.ContentSHA256):
		return fmt.Sprintf("record %d has a malformed content_sha256", p.ID)
	case p.TokenCount == 0:
		return fmt.Sprintf("record %d has token_count 0", p.ID)
	case p.Split == LongContext && (p.TokenCount < LongContextMin || p.TokenCount > LongContextMax):
		return fmt.Sprintf("record %d is longctx with %d tokens (need %d..=%d)", p.ID, p.TokenCount, LongContextMin, LongContextMax)
	}
	return ""
}
