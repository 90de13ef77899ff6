package board

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/topic"
)

// perPage is how many rows a page lists.
const perPage = 50

type rowList struct {
	Rows []rowLine
	Next string // query of the next page; empty at the end
	Back bool   // there are newer rows
	Of   string // hotkey that the list is narrowed to
}

// rowLine is a row as a list shows it.
type rowLine struct {
	ID, Topic   string
	Hotkey      string
	Primary     string
	State, Word string
	Epoch       uint64
	Reason      reason
	Unsandboxed bool
}

func (b *Board) rowList(ctx context.Context, c *catalogue, of ledger.RowQuery, q query) (rowList, error) {
	of.Limit, of.Before = perPage, q.before
	if q.hotkey != nil {
		of.Hotkey = q.hotkey.String()
	}
	found, err := b.o.Host.Rows(ctx, of)
	if err != nil {
		return rowList{}, err
	}
	list := rowList{Back: q.before != nil, Of: of.Hotkey}
	for _, row := range found.Items {
		list.Rows = append(list.Rows, c.rowLine(row, b.document(row.TopicID)))
	}
	if found.Next != nil {
		next := query{hotkey: q.hotkey}
		id, err := intake.ParseID(*found.Next)
		if err != nil {
			return rowList{}, err
		}
		next.before = &id
		list.Next = next.text()
	}
	return list, nil
}

// document is that of a topic, nil when the host does not have it any more.
func (b *Board) document(id string) *topic.Document {
	d, err := b.o.Host.Topic(id)
	if err != nil {
		return nil
	}
	return d
}

func (c *catalogue) rowLine(row *intake.StoredRow, d *topic.Document) rowLine {
	is, known := sandboxed(row)
	return rowLine{
		ID: row.ID, Topic: row.TopicID, Hotkey: row.MinerHotkey, Primary: c.primary(row, d),
		State: string(row.State), Word: c.Word("state", string(row.State)), Epoch: row.Epoch,
		Reason: c.reasonOf(row, d), Unsandboxed: known && !is,
	}
}

// primary prints the figure that the topic of a row names.
func (c *catalogue) primary(row *intake.StoredRow, d *topic.Document) string {
	if d == nil {
		return c.Number(row.Verdict.Harness.CustomValue)
	}
	if f, ok := intake.Scored(d).PrimaryOf(row.Verdict.Harness.Metrics); ok {
		return c.Number(f)
	}
	return c.Number(nil)
}

func (b *Board) rows(ctx context.Context, l pages.Language, q query) (*page, error) {
	p := b.newPage(l, "rows", "rows")
	p.Title, p.twin = p.Must("rows.title"), "v1/submissions"
	list, err := b.rowList(ctx, p.catalogue, ledger.RowQuery{}, q)
	p.Content = list
	return p, err
}

type rowContent struct {
	rowLine
	Row       *intake.StoredRow
	Metric    string
	Declared  string
	Used      string
	Closed    bool
	Artefact  bool // may be fetched
	Sandboxed string
	Receipt   []fact
	Hashes    int
	Datasets  []string
}

// fact is a member of a receipt.
type fact struct{ Name, Value string }

func (b *Board) row(ctx context.Context, l pages.Language, id string) (*page, error) {
	row, err := b.o.Host.Row(ctx, id)
	if err != nil {
		return nil, err
	}
	p := b.newPage(l, "row", "rows/"+row.ID)
	c, d := p.catalogue, b.document(row.TopicID)
	p.Title, p.twin = row.ID, "v1/submissions/"+row.ID
	content := rowContent{
		rowLine: c.rowLine(row, d), Row: row, Declared: c.Number(row.DeclaredFLOPs), Used: c.Number(row.Verdict.Agent.FlopsUsed),
		Receipt: receipt(row), Hashes: len(row.Manifest.TrainContentHashes),
	}
	const most = 50
	content.Datasets = row.Manifest.TrainDatasetIDs[:min(most, len(row.Manifest.TrainDatasetIDs))]
	if d != nil {
		content.Metric = c.metric(d)
	}
	content.Closed = closedEpoch(b.o.Host.Epochs(), row.Epoch) != nil
	if content.Closed && row.Verdict.Pass {
		if content.Reason.Paid, err = b.paid(ctx, c, row); err != nil {
			return nil, err
		}
	}
	if is, known := sandboxed(row); known {
		content.Sandboxed = c.Must("sandboxed.no")
		if is {
			content.Sandboxed = c.Must("sandboxed.yes")
		}
		content.Artefact = content.Closed
	}
	p.Content = content
	return p, nil
}

// paid says whether a pass is the run that its epoch, which is closed, pays its miner
// for.
func (b *Board) paid(ctx context.Context, c *catalogue, row *intake.StoredRow) (string, error) {
	result, err := b.o.Payout(ctx, row.Epoch)
	if err != nil {
		return "", err
	}
	miner, err := payout.ParseHotkey(row.MinerHotkey)
	if err != nil {
		return "", err
	}
	if len(result.Topics) == 0 {
		return c.Must("counted.none"), nil
	}
	for _, t := range result.Explain(miner).Topics {
		if t.Topic.ID != row.TopicID {
			continue
		}
		switch {
		case t.Entry == nil:
			return "", nil // the payout page lists what counted
		case intake.ID(t.Entry.Row).String() != row.ID:
			return c.Must("counted.other", intake.ID(t.Entry.Row).String()), nil
		}
		return c.Must("counted.this", c.Number(t.Entry.Total()), c.Number(payout.TotalMass)), nil
	}
	return c.Must("counted.topic"), nil
}

// receipt lists the members of a receipt in their order.
func receipt(row *intake.StoredRow) []fact {
	if row.ReceiptJSON == nil {
		return nil
	}
	var members map[string]jsontext.Value
	if json.Unmarshal([]byte(*row.ReceiptJSON), &members) != nil {
		return nil
	}
	var list []fact
	for _, name := range []string{"provider", "pod_id", "image_digest", "submission_hash", "metrics_hash", "termination_verified"} {
		v, is := members[name]
		if !is {
			continue
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		list = append(list, fact{name, pages.PlainLine(s)})
	}
	return list
}
