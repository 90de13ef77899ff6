package board

import (
	"context"
	"slices"

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
	Stand, State      string // one of the stands, and its word
	Window            string
	Sealed            *float64
	Pass, Crown       *mark // nil: nothing is to be reached any more, or there is no such mark
	Crowns            bool  // the family of the topic has champions
	Champion          *crown
	Ready             string // why it cannot be scored now; empty when it can
}

// mark is what a run has to reach for something, and where the figure comes from.
type mark struct{ Need, Why string }

// The stands of a topic: the words of its document, and what its window makes of them.
const (
	standOpen     = string(topic.Open)
	standClosed   = string(topic.Closed)
	standExpired  = "expired"
	standUpcoming = "upcoming"
)

// Over reports whether the topic takes no submission ever again.
func (t topicLine) Over() bool { return t.Stand == standClosed || t.Stand == standExpired }

// standOf says where a topic stands in an epoch. Before the genesis nothing is open,
// whatever its window.
func standOf(d *topic.Document, epoch uint64, open bool) string {
	switch {
	case d.Status != topic.Open:
		return string(d.Status)
	case d.ValidUntilEpoch != nil && *d.ValidUntilEpoch < epoch:
		return standExpired
	case !open:
		return standUpcoming
	}
	return standOpen
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
	ready := &host.Readiness{}
	var err error
	if d.Status == topic.Open {
		if ready, err = b.o.Host.Readiness(ctx, d.ID); err != nil {
			return topicLine{}, err
		}
	}
	stand := standOf(d, b.o.Host.Epochs().Current, !slices.ContainsFunc(ready.Missing, notOpen))
	line := topicLine{
		ID: d.ID, Statement: d.Statement, Metric: c.metric(d), Stand: stand, State: c.Word("status", stand), Window: c.window(d),
		Direction: c.Must("direction." + string(d.Metric.Direction)), Payout: c.Word("payout", string(d.PayoutMode)),
		Crowns: d.Metric.Family == topic.Custom,
	}
	sealed, bar, best, err := b.o.Host.Bar(ctx, d.ID)
	if err != nil {
		return line, err
	}
	line.Sealed, line.Champion = sealed, c.crown(best)
	if !line.Over() {
		line.Pass = c.passMark(d, sealed)
		if line.Crowns {
			line.Crown = c.crownBar(d, bar)
		}
	}
	if stand == standOpen && len(ready.Missing) > 0 {
		line.Ready = ready.Missing[0].Error
	}
	return line, nil
}

// notOpen reports whether a row of the gate is that of a topic that is not open.
func notOpen(m host.Missing) bool { return m.Name == "topic_open" }

// metric names what a topic measures.
func (c *catalogue) metric(d *topic.Document) string {
	name := pages.PlainLine(d.Metric.Primary)
	if d.Metric.Unit != "" {
		name += " (" + pages.PlainLine(d.Metric.Unit) + ")"
	}
	return name
}

// passMark is what a run must reach to pass (R§12.3): the sealed value bettered by
// the margin of the topic, whoever is champion.
func (c *catalogue) passMark(d *topic.Document, sealed *float64) *mark {
	switch {
	case sealed == nil:
		return &mark{c.Number(nil), c.Must("need.unknown")}
	case d.Metric.Family == topic.NLL:
		return &mark{c.Must("need.min", c.About(*sealed-d.EpsilonNLL)), c.Must("need.nll", c.Number(sealed), c.Number(d.EpsilonNLL))}
	}
	return &mark{c.reach(d, *sealed), c.Must("need.pass", c.About(100*d.Metric.EpsilonRel), c.Number(sealed))}
}

// crownBar is what a run must reach to be crowned now (R§17): the bar, which each
// champion raises, bettered by the margin of the topic.
func (c *catalogue) crownBar(d *topic.Document, bar *float64) *mark {
	if bar == nil {
		return &mark{c.Number(nil), c.Must("need.unknown")}
	}
	return &mark{c.reach(d, *bar), c.Must("need.crown", c.About(100*d.Metric.EpsilonRel), c.Number(bar))}
}

// reach prints a value bettered by the margin of a topic, on the side that counts.
func (c *catalogue) reach(d *topic.Document, v float64) string {
	return c.Must("need."+string(d.Metric.Direction), c.About(beyond(d.Metric.Direction, d.Metric.EpsilonRel, v)))
}

// beyond is a value bettered by a share of itself (R§12.1).
func beyond(d topic.Direction, epsilon, v float64) float64 {
	if d == topic.Max {
		return v * (1 + epsilon)
	}
	return v * (1 - epsilon)
}

type homeContent struct {
	Open, Upcoming, Over []topicLine
	Epoch                uint64
	ClosesAt             string
	Queued               int
	Running              int
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
	documents, err := b.o.Host.Topics("all")
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		if d.Status == topic.Draft {
			continue
		}
		line, err := b.topicLine(ctx, p.catalogue, d)
		if err != nil {
			return nil, err
		}
		list := &content.Open
		switch {
		case line.Over():
			list = &content.Over
		case line.Stand == standUpcoming:
			list = &content.Upcoming
		}
		*list = append(*list, line)
	}
	p.Content = content
	return p, nil
}

type topicContent struct {
	topicLine
	Document       *topic.Document
	Family         string
	Budget         string
	Missing        []missing
	RulesVersion   uint32
	RulesSource    string
	Rules          []topic.ChecklistItem
	Earlier        int
	History        []*crown // newest first
	Rows           rowList
	FloorShare     string
	NoveltyShare   string
	NeedsIsolation bool
}

// missing is a row of the gate that a submission would meet.
type missing struct {
	Text  string // in the language of the page; empty where only the gate's own words are known
	Error string
	Row   string
}

func (c *catalogue) missing(m host.Missing) missing {
	out := missing{Error: m.Error, Row: m.Row}
	if notOpen(m) {
		out.Text = c.Must("missing.topic_open")
	}
	return out
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
		Document: d, Family: c.Word("family", string(d.Metric.Family)),
		Budget: c.Number(d.FLOPsBudget), NeedsIsolation: d.Constraints.FirecrackerRequired,
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
		for _, m := range ready.Missing {
			content.Missing = append(content.Missing, c.missing(m))
		}
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
		content.History = append(content.History, c.crown(&crowns[len(crowns)-1-i]))
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
