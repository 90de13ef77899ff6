package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/topic"
)

const (
	// grace is how long after its end an epoch is left open: a submission that
	// passed the first half of the gate just before may be on its way to the store.
	grace = 10 * time.Second
	// pass is the most epochs that are closed in one go, after a long absence.
	pass = 64
)

// closedEpochs is the list of closed epochs, kept because every public row asks.
type closedEpochs struct {
	mu   sync.RWMutex
	list []ledger.EpochClose // by epoch
	is   map[uint64]bool
	last uint64 // the greatest in the list
}

func newClosedEpochs() *closedEpochs { return &closedEpochs{is: make(map[uint64]bool)} }

func (c *closedEpochs) load(ctx context.Context, l *ledger.Ledger) error {
	list, err := l.ClosedEpochs(ctx)
	if err != nil {
		return fmt.Errorf("closed epochs: %w", err)
	}
	is, last := make(map[uint64]bool, len(list)), uint64(0)
	for _, e := range list {
		is[e.Epoch] = true
		last = max(last, e.Epoch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.is, c.last = list, is, last
	return nil
}

func (c *closedEpochs) has(epoch uint64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.is[epoch]
}

// over reports whether an epoch, or a later one, is closed: nothing is accepted in it
// any more.
func (c *closedEpochs) over(epoch uint64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.list) > 0 && c.last >= epoch
}

func (c *closedEpochs) all() []ledger.EpochClose {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.list
}

// next is the epoch after the last closed one; false when none is closed.
func (c *closedEpochs) next() (uint64, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.list) == 0 {
		return 0, false
	}
	return c.last + 1, true
}

// closeEpochs closes the epochs that are over, in order (decision 3). One with
// submissions in flight waits, and those after it with it: its crowns are their bar.
func (h *Host) closeEpochs(ctx context.Context) error {
	current, err := h.o.Epochs.At(h.o.Now().Add(-grace))
	if err != nil || current == 0 {
		return nil //nolint:nilerr // before the genesis there is nothing to close
	}
	first, known := h.closed.next()
	if known && first >= current {
		return nil
	}
	if !known {
		if first, known, err = h.firstEpoch(ctx, current-1); err != nil || !known {
			return err
		}
	}
	last := min(current, first+pass)
	for n := first; n < last && ctx.Err() == nil; n++ {
		err := h.closeEpoch(ctx, n)
		if errors.Is(err, ledger.ErrInFlight) {
			return nil
		}
		if err != nil && !errors.Is(err, ledger.ErrClosed) {
			return fmt.Errorf("epoch %d: %w", n, err)
		}
		if err := h.closed.load(ctx, h.o.Ledger); err != nil {
			return err
		}
	}
	return nil
}

// firstEpoch is where the history of a ledger begins: with the first row, or the
// first topic where epochs go by the clock.
func (h *Host) firstEpoch(ctx context.Context, upTo uint64) (first uint64, known bool, err error) {
	rows, err := h.o.Ledger.PayoutRows(ctx, upTo)
	if err != nil {
		return 0, false, err
	}
	first = math.MaxUint64
	for i := range rows {
		first, known = min(first, rows[i].Epoch), true
	}
	if _, _, byClock := h.o.Epochs.Bounds(0); !byClock {
		return first, known, nil
	}
	for id := range h.view().seen {
		versions, err := h.o.Ledger.TopicVersions(ctx, id)
		if err != nil {
			return 0, false, err
		}
		if len(versions) == 0 {
			continue
		}
		n, err := h.o.Epochs.At(versions[0].CreatedAt)
		if err != nil {
			n = 0 // published before the genesis
		}
		first, known = min(first, n), true
	}
	return first, known, nil
}

func (h *Host) closeEpoch(ctx context.Context, n uint64) error {
	if flying, err := h.o.Ledger.InFlight(ctx, n); err != nil || flying > 0 {
		if err == nil {
			err = ledger.ErrInFlight
		}
		return err
	}
	rows, err := h.o.Ledger.PayoutRows(ctx, n)
	if err != nil {
		return err
	}
	promotions, err := h.o.Ledger.PayoutPromotions(ctx, n)
	if err != nil {
		return err
	}
	topics, err := h.openIn(ctx, n, rows)
	if err != nil {
		return err
	}
	snapshot, err := payout.Close(n, topics, rows, promotions)
	if err != nil {
		return err
	}
	text, err := snapshot.Encode()
	if err != nil {
		return err
	}
	if err := h.o.Ledger.CloseEpoch(ctx, n, text); err != nil {
		return err
	}
	h.o.Log.InfoContext(ctx, "epoch closed", "epoch", n, "topics", len(topics), "bytes", len(text))
	return nil
}

// openIn lists the topics that were open at the end of an epoch, as they stood then.
func (h *Host) openIn(ctx context.Context, epoch uint64, rows []payout.Row) ([]payout.Topic, error) {
	_, until, byClock := h.o.Epochs.Bounds(epoch)
	stored, err := h.o.Ledger.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var open []payout.Topic
	for _, newest := range stored {
		versions, err := h.o.Ledger.TopicVersions(ctx, newest.TopicID)
		if err != nil {
			return nil, err
		}
		var then *ledger.TopicVersion
		for i := range versions {
			if !byClock || versions[i].CreatedAt.Before(until) {
				then = &versions[i]
			}
		}
		if then == nil {
			continue
		}
		d, err := h.stored(then)
		if err != nil {
			h.o.Log.WarnContext(ctx, "a topic that this host does not take is not paid", "topic", then.TopicID, "epoch", epoch, "why", err.Error())
			continue
		}
		if !d.OpenAt(epoch) {
			continue
		}
		sealed, known := h.sealed(d)
		if !known && passed(rows, d.ID, epoch) {
			return nil, fmt.Errorf("topic %s has passes to be paid, and %s does not have the measurement that it was sealed with", d.ID, baselineVariable)
		}
		open = append(open, payout.Topic{
			ID: d.ID, Mode: payout.Mode(d.PayoutMode), Direction: family.Direction(d.Metric.Direction),
			PassFloorBps: d.Discovery.PassFloorShareBPS, NoveltyBps: d.Discovery.NoveltyPoolShareBPS, Sealed: sealed,
		})
	}
	return open, nil
}

// sealed is the primary of the measurement that a topic was signed with. The pin
// does not matter here: its image may have changed since the epoch.
func (h *Host) sealed(d *topic.Document) (primary *float64, known bool) {
	m := h.seals.of(d, h.known.Load().files.baseline)
	if m == nil {
		return nil, false
	}
	if f, ok := intake.Scored(d).PrimaryOf(figures(m)); ok {
		return &f, true
	}
	return nil, true
}

func passed(rows []payout.Row, topicID string, epoch uint64) bool {
	for i := range rows {
		if rows[i].TopicID == topicID && rows[i].Epoch == epoch && rows[i].Pass {
			return true
		}
	}
	return false
}

// Epochs is GET /v1/proof/epochs.
type Epochs struct {
	Current  uint64        `json:"current"`
	ClosesAt *time.Time    `json:"closes_at"` // null for a fixed epoch
	Closed   []ClosedEpoch `json:"closed"`    // by epoch
}

// ClosedEpoch is one epoch that is over; SHA256 is of its snapshot.
type ClosedEpoch struct {
	Epoch    uint64    `json:"epoch"`
	SHA256   string    `json:"sha256"`
	ClosedAt time.Time `json:"closed_at"`
}

// Epochs lists the closed epochs and says which one is now.
func (h *Host) Epochs() *Epochs {
	n := h.view().host.Epoch
	out := &Epochs{Current: n, ClosesAt: h.closesAt(n), Closed: []ClosedEpoch{}}
	for _, e := range h.closed.all() {
		out.Closed = append(out.Closed, ClosedEpoch{e.Epoch, e.SHA256, e.ClosedAt.UTC()})
	}
	return out
}

// Snapshot returns what the payout of a closed epoch depends on, as it was stored.
func (h *Host) Snapshot(ctx context.Context, n uint64) ([]byte, error) {
	if !h.closed.has(n) {
		return nil, refusef(notFound, "epoch %d is not closed", n)
	}
	return h.o.Ledger.Snapshot(ctx, n)
}

// Payout computes who is paid what for a closed epoch, from its snapshot alone.
func (h *Host) Payout(ctx context.Context, n uint64) (*payout.Result, error) {
	text, err := h.Snapshot(ctx, n)
	if err != nil {
		return nil, err
	}
	snapshot, err := payout.ParseSnapshot(text)
	if err != nil {
		return nil, fmt.Errorf("stored snapshot of epoch %d: %w", n, err)
	}
	return payout.Payout(snapshot)
}

// Leaves are the weights of the expected hotkeys in a closed epoch.
type Leaves struct {
	Epoch  uint64       `json:"epoch"`
	Leaves []SignedLeaf `json:"leaves"` // by hotkey
	// Unexpected earned a score and are paid by no leaf.
	Unexpected []payout.Hotkey `json:"unexpected"`
	PublicKey  string          `json:"public_key,omitempty"` // of the signatures
}

// SignedLeaf is one leaf (R§28).
type SignedLeaf struct {
	Hotkey    payout.Hotkey `json:"hotkey"`
	Score     uint64        `json:"score"`
	Reason    string        `json:"reason,omitempty"` // why there is no score
	Payload   string        `json:"payload"`          // hex of the signed bytes
	Signature string        `json:"signature,omitempty"`
}

// Leaves computes and, with a leaf key, signs one leaf for each expected hotkey.
func (h *Host) Leaves(ctx context.Context, n uint64, expected []payout.Hotkey) (*Leaves, error) {
	result, err := h.Payout(ctx, n)
	if err != nil {
		return nil, err
	}
	leaves, unexpected := result.Leaves(expected)
	out := &Leaves{Epoch: n, Leaves: []SignedLeaf{}, Unexpected: append([]payout.Hotkey{}, unexpected...)}
	if h.o.LeafKey != nil {
		out.PublicKey = h.o.LeafKey.Public().String()
	}
	for _, leaf := range leaves {
		signed := SignedLeaf{Hotkey: leaf.Hotkey, Payload: hex.EncodeToString(leaf.Payload())}
		if leaf.Scored {
			signed.Score = leaf.Score
		} else {
			signed.Reason = leaf.Reason.String()
		}
		if h.o.LeafKey != nil {
			signature, err := h.o.LeafKey.Sign(h.o.Rand, payout.LeafDomain, leaf.Payload())
			if err != nil {
				return nil, fmt.Errorf("leaf signature: %w", err)
			}
			signed.Signature = hex.EncodeToString(signature[:])
		}
		out.Leaves = append(out.Leaves, signed)
	}
	return out, nil
}
