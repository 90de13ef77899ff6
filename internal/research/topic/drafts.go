package topic

import (
	"embed"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/internal/research/shape"
)

//go:embed drafts/*.yaml
var drafts embed.FS

// What a draft of the family custom holds until its author says something else.
const (
	PlaceholderStatement = "Say here what a finding must achieve, in English."
	PlaceholderModel     = "vendor/model"
)

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
