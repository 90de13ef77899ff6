package remote

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prova-dev/prova/internal/research/payout"
)

// Epochs says which epoch is current and which are closed.
type Epochs struct {
	Current  uint64        `json:"current"`
	ClosesAt *time.Time    `json:"closes_at"` // nil: a fixed epoch, which the clock does not close
	Closed   []ClosedEpoch `json:"closed"`
	JSON     []byte        `json:"-"`
}

// ClosedEpoch names the snapshot that the payout of an epoch replays from.
type ClosedEpoch struct {
	Epoch    uint64     `json:"epoch"`
	SHA256   string     `json:"sha256"`
	ClosedAt *time.Time `json:"closed_at"`
}

// Epochs asks for the epochs.
func (c *Client) Epochs(ctx context.Context) (*Epochs, error) {
	e := &Epochs{}
	var err error
	if e.JSON, err = c.get(ctx, "/v1/proof/epochs", nil); err != nil {
		return nil, err
	}
	return e, decode(e.JSON, "epochs", e)
}

// Find returns the closed epoch of a number, nil when there is none.
func (e *Epochs) Find(n uint64) *ClosedEpoch {
	for i := range e.Closed {
		if e.Closed[i].Epoch == n {
			return &e.Closed[i]
		}
	}
	return nil
}

// Snapshot downloads the snapshot of a closed epoch, byte for byte. It holds at
// most [payout.MaxSnapshot] bytes; the context bounds how long it takes.
func (c *Client) Snapshot(ctx context.Context, epoch uint64) ([]byte, error) {
	a, err := c.do(ctx, call{method: http.MethodGet, path: epochPath(epoch, "/snapshot"), limit: payout.MaxSnapshot, patient: true})
	return a.body, err
}

// Payout downloads what the server says an epoch pays.
func (c *Client) Payout(ctx context.Context, epoch uint64) ([]byte, error) {
	a, err := c.do(ctx, call{method: http.MethodGet, path: epochPath(epoch, "/payout"), limit: payout.MaxSnapshot, patient: true})
	return a.body, err
}

func epochPath(epoch uint64, rest string) string {
	return "/v1/proof/epochs/" + strconv.FormatUint(epoch, 10) + rest
}
