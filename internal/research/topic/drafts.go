package topic

import (
	"embed"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/internal/research/shape"
)

//go:embed drafts/*.yaml
var drafts embed.FS

// Families returns every metric family.
func Families() []Family { return []Family{NLL, Throughput, Custom} }

// NewDraft returns the text of a commented YAML draft to start from. It parses as
// it is, and lacks its holdout commitment only.
func NewDraft(family Family, id string) ([]byte, error) {
	if !shape.Slug(id) {
		r := refuse(BadID, `topic id "%s" must match [a-z0-9][a-z0-9-]{1,62}`, short(id))
		r.Hint = slugHint(id)
		return nil, r
	}
	text, err := drafts.ReadFile("drafts/" + string(family) + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no draft of the family %q", string(family))
	}
	return []byte(strings.Replace(string(text), "TOPIC-ID", id, 1)), nil
}

// LeftOfDraft names the fields of a document that still hold what the draft of its
// family has for its author to replace, such as inference.model. The statements of
// nll and throughput say what those families ask for, and may stay.
func (d *Document) LeftOfDraft() ([]string, error) {
	if d.Metric.Family != Custom {
		return nil, nil
	}
	text, err := NewDraft(Custom, "placeholder")
	if err != nil {
		return nil, err
	}
	draft, err := Parse(text)
	if err != nil {
		return nil, err
	}
	var left []string
	if d.Statement == draft.Statement {
		left = append(left, "statement")
	}
	if got, placed := d.Inference.Model, draft.Inference.Model; got != nil && placed != nil && *got == *placed {
		left = append(left, "inference.model")
	}
	return left, nil
}
