package board

import (
	"context"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/topic"
)

// topicLine is a topic as a list shows it.
type topicLine struct {
	ID, Statement     string
	Metric, Direction string
	Payout            string
	Sealed, Bar       *float64
	Need              string
	Champion          *crown
	Ready             string // why it cannot be scored now; empty when it can
}

// crown is a promotion as pages show it.
type crown struct {
	Row, At   string
	Primary   float64
	Bar       *float64
	Displaced string
	Epoch     uint64
}

func (c *catalogue) crown(p *ledger.Promotion) *crown {
	if p == nil {
		return nil
	}
	out := &crown{Row: p.SubmissionID, At: c.Instant(p.CreatedAt), Primary: p.Primary, Bar: p.Bar, Epoch: p.Epoch}
	if p.PreviousBest != nil {
		out.Displaced = *p.PreviousBest
	}
	return out
}

func (b *Board) topicLine(ctx context.Context, c *catalogue, d *topic.Document) (topicLine, error) {
	line := topicLine{
		ID: d.ID, Statement: d.Statement, Metric: c.metric(d),
		Direction: c.Must("direction." + string(d.Metric.Direction)), Payout: c.Word("payout", string(d.PayoutMode)),
	}
	var best *ledger.Promotion
	var err error
	if line.Sealed, line.Bar, best, err = b.o.Host.Bar(ctx, d.ID); err != nil {
		return line, err
	}
	line.Champion, line.Need = c.crown(best), c.need(d, line.Sealed, line.Bar)
	if d.Status != topic.Open {
		return line, nil
	}
	ready, err := b.o.Host.Readiness(ctx, d.ID)
	if err != nil {
		return line, err
	}
	if !ready.Scorable && len(ready.Missing) > 0 {
		line.Ready = ready.Missing[0].Error
	}
	return line, nil
}

// metric names what a topic measures.
func (c *catalogue) metric(d *topic.Document) string {
	name := pages.PlainLine(d.Metric.Primary)
	if d.Metric.Unit != "" {
		name += " (" + pages.PlainLine(d.Metric.Unit) + ")"
	}
	return name
}

// need says in words what a run must reach to pass, and to be crowned (R§12.3, R§17).
func (c *catalogue) need(d *topic.Document, sealed, bar *float64) string {
	if sealed == nil && bar == nil {
		return c.Must("need.unknown")
	}
	switch {
	case d.Metric.Family == topic.NLL && sealed != nil:
		return c.Must("need.nll", c.About(*sealed-d.EpsilonNLL), c.Number(d.EpsilonNLL))
	case d.Metric.Family == topic.Custom && bar != nil:
		return c.Must("need.crown."+string(d.Metric.Direction), c.About(beyond(d, *bar)), c.About(100*d.Metric.EpsilonRel))
	case sealed != nil:
		return c.Must("need.pass."+string(d.Metric.Direction), c.About(beyond(d, *sealed)), c.About(100*d.Metric.EpsilonRel))
	}
	return c.Must("need.unknown")
}

// beyond is a value bettered by the margin of a topic.
func beyond(d *topic.Document, v float64) float64 {
	if d.Metric.Direction == topic.Max {
		return v * (1 + d.Metric.EpsilonRel)
	}
	return v * (1 - d.Metric.EpsilonRel)
}

type homeContent struct {
	Open, Closed []topicLine
	Epoch        uint64
	ClosesAt     string
	Queued       int
	Running      int
}

func (b *Board) home(ctx context.Context, l pages.Language) (*page, error) {
	p := b.newPage(l, "home", "")
	p.Title, p.twin = p.Must("home.title"), "v1/proof/topics"
	status, err := b.o.Host.Status(ctx)
	if err != nil {
		return nil, err
	}
	content := homeContent{Epoch: status.Epoch, Queued: status.Queued, Running: status.Running}
	if status.EpochClosesAt != nil {
		content.ClosesAt = p.Instant(*status.EpochClosesAt)
	}
	for of, list := range map[string]*[]topicLine{"open": &content.Open, "closed": &content.Closed} {
		documents, err := b.o.Host.Topics(of)
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			line, err := b.topicLine(ctx, p.catalogue, d)
			if err != nil {
				return nil, err
			}
			*list = append(*list, line)
		}
	}
	p.Content = content
	return p, nil
}

type topicContent struct {
	topicLine
	Document       *topic.Document
	State          string
	Family         string
	Budget         string
	Window         string
	Missing        []host.Missing
	RulesVersion   uint32
	RulesSource    string
	Rules          []topic.ChecklistItem
	Earlier        int
	Crowns         []*crown // newest first
	Rows           rowList
	FloorShare     string
	NoveltyShare   string
	NeedsIsolation bool
}

func (b *Board) topic(ctx context.Context, l pages.Language, id string, q query) (*page, error) {
	d, err := b.o.Host.Topic(id)
	if err != nil {
		return nil, err
	}
	p := b.newPage(l, "topic", "topics/"+d.ID)
	c := p.catalogue
	p.Title, p.twin = d.ID, "v1/proof/topics/"+d.ID
	content := topicContent{
		Document: d, State: c.Word("status", string(d.Status)), Family: c.Word("family", string(d.Metric.Family)),
		Budget: c.Number(d.FLOPsBudget), Window: c.window(d), NeedsIsolation: d.Constraints.FirecrackerRequired,
	}
	if content.topicLine, err = b.topicLine(ctx, c, d); err != nil {
		return nil, err
	}
	if d.PayoutMode == topic.DiscoveryPay {
		content.FloorShare, content.NoveltyShare = c.bps(uint64(d.Discovery.PassFloorShareBPS)), c.bps(uint64(d.Discovery.NoveltyPoolShareBPS))
	}
	if d.Status == topic.Open {
		ready, err := b.o.Host.Readiness(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		content.Missing = ready.Missing
	}
	rules, err := b.o.Host.Rules(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	if n := len(rules); n > 0 {
		newest := rules[n-1]
		content.RulesVersion, content.Rules, content.Earlier = newest.Version, newest.Rules, n-1
		content.RulesSource = c.Word("source", string(newest.Source))
	}
	crowns, err := b.o.Host.Promotions(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	for i := range crowns {
		content.Crowns = append(content.Crowns, c.crown(&crowns[len(crowns)-1-i]))
	}
	if content.Rows, err = b.rowList(ctx, c, ledger.RowQuery{Topic: d.ID}, q); err != nil {
		return nil, err
	}
	p.Content = content
	return p, nil
}

// window says in which epochs a topic takes submissions.
func (c *catalogue) window(d *topic.Document) string {
	if d.ValidUntilEpoch == nil {
		return c.Must("window.from", c.Number(d.ValidFromEpoch))
	}
	return c.Must("window.both", c.Number(d.ValidFromEpoch), c.Number(*d.ValidUntilEpoch))
}
