package board

import (
	"context"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
)

type epochsContent struct {
	Current  uint64
	ClosesAt string
	Closed   []closedLine // newest first
}

type closedLine struct {
	Epoch    uint64
	SHA256   string
	ClosedAt string
}

func (b *Board) epochs(l pages.Language) *page {
	p := b.newPage(l, "epochs", "epochs")
	p.Title, p.twin = p.Must("epochs.title"), "v1/proof/epochs"
	e := b.o.Host.Epochs()
	content := epochsContent{Current: e.Current}
	if e.ClosesAt != nil {
		content.ClosesAt = p.Instant(*e.ClosesAt)
	}
	for i := range e.Closed {
		c := e.Closed[len(e.Closed)-1-i]
		content.Closed = append(content.Closed, closedLine{c.Epoch, c.SHA256, p.Instant(c.ClosedAt)})
	}
	p.Content = content
	return p
}

// mostEntries is how many passes of a topic a page lists; the JSON twin has all.
const mostEntries = 300

type epochContent struct {
	Epoch    uint64
	Snapshot string
	SHA256   string
	Lines    []string // what holds for the whole epoch
	Topics   []paidTopic
	Scores   []paidScore
	More     int // scores that are not listed
	Of       string
	OfScore  string
}

type paidTopic struct {
	ID      string
	Mode    string
	Mass    string
	Lines   []string // where the figures of the topic come from
	Entries []paidEntry
	More    int
	Prize   bool // the topic has one prize, not two pools
	None    bool // the miner that is asked for has no pass here
}

type paidEntry struct {
	Hotkey, Row                           string
	Primary, Prize, Floor, Novelty, Total string
	Lines                                 []string // where the figures come from
}

type paidScore struct{ Hotkey, Score, Share string }

func (b *Board) epoch(ctx context.Context, l pages.Language, n uint64, q query) (*page, error) {
	closed := closedEpoch(b.o.Host.Epochs(), n)
	if closed == nil {
		return nil, errMissing
	}
	result, err := b.o.Payout(ctx, n)
	if err != nil {
		return nil, err
	}
	p := b.newPage(l, "epoch", "epochs/"+uintText(n))
	c := p.catalogue
	p.Title, p.twin = c.Must("epoch.title", c.Number(n)), "v1/proof/epochs/"+uintText(n)+"/payout"
	content := epochContent{Epoch: n, SHA256: closed.SHA256, Snapshot: "v1/proof/epochs/" + uintText(n) + "/snapshot"}
	content.Lines = c.epochLines(result)
	for i := range result.Topics {
		content.Topics = append(content.Topics, c.paidTopic(&result.Topics[i], len(result.Topics), q.hotkey))
	}
	if q.hotkey != nil {
		content.Of, content.OfScore = q.hotkey.String(), c.Number(result.Explain(*q.hotkey).Score)
	} else {
		for i, s := range result.Scores {
			if i == mostEntries {
				content.More = len(result.Scores) - i
				break
			}
			content.Scores = append(content.Scores, paidScore{s.Miner.String(), c.Number(s.Score), c.share(s.Score)})
		}
	}
	p.Content = content
	return p, nil
}

func closedEpoch(e *host.Epochs, n uint64) *host.ClosedEpoch {
	for i := range e.Closed {
		if e.Closed[i].Epoch == n {
			return &e.Closed[i]
		}
	}
	return nil
}

func (c *catalogue) paidTopic(t *payout.TopicResult, open int, of *payout.Hotkey) paidTopic {
	out := paidTopic{ID: t.ID, Mode: c.Word("payout", string(t.Mode)), Mass: c.Number(t.Mass), Prize: t.Mode == payout.WTA}
	out.Lines = c.topicLines(t, open)
	found := false
	for i := range t.Entries {
		e := &t.Entries[i]
		if of != nil && e.Miner != *of {
			continue
		}
		found = true
		if len(out.Entries) == mostEntries {
			out.More = len(t.Entries) - i
			break
		}
		out.Entries = append(out.Entries, paidEntry{
			Hotkey: e.Miner.String(), Row: intake.ID(e.Row).String(), Primary: c.Number(e.Primary), Prize: c.Number(e.Prize),
			Floor: c.Number(e.Floor), Novelty: c.Number(e.Novelty), Total: c.Number(e.Total()), Lines: c.entryLines(t, e),
		})
	}
	out.None = of != nil && !found
	return out
}

// share prints a score as a part of all that an epoch pays.
func (c *catalogue) share(score uint64) string {
	const bps = 10_000
	return c.bps(score * bps / payout.TotalMass)
}
