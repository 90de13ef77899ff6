package intake

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"

	"github.com/prova-dev/prova/internal/research/family"
)

// ErrRow is wrapped by the errors of [ParseRow].
var ErrRow = errors.New("no stored row")

// ParseRow reads a row that [StoredRow.JSON] wrote, without loss: JSON of the
// result is data again, byte for byte. Whatever is not such a text is refused, a
// row that was edited by hand among it.
func ParseRow(data []byte) (*StoredRow, error) {
	r := &StoredRow{}
	if err := json.Unmarshal(data, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRow, err)
	}
	if _, err := ParseID(r.ID); err != nil {
		return nil, fmt.Errorf("%w: id: %w", ErrRow, err)
	}
	if !slices.Contains([]family.State{family.Champion, family.AwaitingAdmin, family.Rejected}, r.State) {
		return nil, fmt.Errorf("%w: state %.40q is none of champion, awaiting_admin, rejected", ErrRow, string(r.State))
	}
	again, err := r.JSON()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRow, err)
	}
	if !bytes.Equal(again, data) {
		return nil, fmt.Errorf("%w: the text of %s is not as it was stored", ErrRow, r.ID)
	}
	return r, nil
}
