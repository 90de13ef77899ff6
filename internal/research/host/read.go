package host

import (
	"context"
	"errors"

	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Topics lists documents by id: those that are open in this epoch for "" and "open",
// those of a status for "draft" and "closed", every one for "all" (decision 19).
func (h *Host) Topics(status string) ([]*topic.Document, error) {
	s := h.view()
	keep := func(d *topic.Document) bool { return d.Status == topic.Status(status) }
	switch status {
	case "", "open":
		keep = func(d *topic.Document) bool { return s.begun && d.OpenAt(s.host.Epoch) }
	case "all":
		keep = func(*topic.Document) bool { return true }
	case "draft", "closed":
	default:
		return nil, refusef(bad, "status must be draft, open, closed or all")
	}
	list := []*topic.Document{}
	for _, id := range s.topicIDs() {
		if d := s.host.Topics[id].Document; keep(d) {
			list = append(list, d)
		}
	}
	return list, nil
}

// Topic returns the document of a topic of whatever status.
func (h *Host) Topic(id string) (*topic.Document, error) {
	t := h.view().host.Topics[id]
	if t == nil {
		return nil, errUnknownTopic()
	}
	return t.Document, nil
}

// Rules returns the versions of a topic's rules, oldest first. Before the
// first run it is the signed vector, if the topic has one.
func (h *Host) Rules(ctx context.Context, id string) ([]topic.RuleSet, error) {
	d, err := h.Topic(id)
	if err != nil {
		return nil, err
	}
	versions, err := h.o.Ledger.RuleVersions(ctx, id)
	if err == nil && len(versions) == 0 && len(d.Checklist) > 0 {
		versions = []topic.RuleSet{d.Rules()}
	}
	return versions, err
}

// Promotions lists the crowns of a topic, oldest first.
func (h *Host) Promotions(ctx context.Context, id string) ([]ledger.Promotion, error) {
	if _, err := h.Topic(id); err != nil {
		return nil, err
	}
	return h.o.Ledger.Promotions(ctx, id)
}

// Bar is what a run of a topic has to beat: the harder of the sealed primary and the
// reigning best; nil when neither is known.
func (h *Host) Bar(ctx context.Context, id string) (sealed, bar *float64, best *ledger.Promotion, err error) {
	d, err := h.Topic(id)
	if err != nil {
		return nil, nil, nil, err
	}
	if best, err = h.o.Ledger.Best(ctx, id); err != nil {
		return nil, nil, nil, err
	}
	sealed, _ = h.sealed(d)
	var reigning *float64
	if best != nil {
		reigning = &best.Primary
	}
	return sealed, family.Bar(family.Direction(d.Metric.Direction), sealed, reigning), best, nil
}

// mostRows is how many rows one page has at most; one with long manifests has fewer.
const mostRows = 200

// RowPage is one page of rows, newest first.
type RowPage struct {
	Items []*intake.StoredRow `json:"items"`
	Next  *string             `json:"next"` // id to go on before; null at the end
}

// Rows lists stored rows in the form that anyone may see now (decision 4).
func (h *Host) Rows(ctx context.Context, q ledger.RowQuery) (*RowPage, error) {
	if q.Limit <= 0 || q.Limit > mostRows {
		q.Limit = mostRows
	}
	rows, more, err := h.o.Ledger.Rows(ctx, q)
	if err != nil {
		return nil, err
	}
	page := &RowPage{Items: []*intake.StoredRow{}}
	if more {
		page.Next = &rows[len(rows)-1].ID
	}
	for _, row := range rows {
		page.Items = append(page.Items, h.public(row))
	}
	return page, nil
}

// Row returns one row in the form that anyone may see now.
func (h *Host) Row(ctx context.Context, id string) (*intake.StoredRow, error) {
	n, err := intake.ParseID(id)
	if err != nil {
		return nil, refusef(notFound, "not_found")
	}
	row, _, err := h.o.Ledger.Row(ctx, n)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, refusef(notFound, "not_found")
	}
	return h.public(row), nil
}

func (h *Host) public(row *intake.StoredRow) *intake.StoredRow {
	return row.Public(h.closed.has(row.Epoch))
}

// ArtefactOf returns the zip of a row, once its epoch is closed (decision 19). Rows of
// the harvest families, and of submissions that were rejected before a run, have none.
func (h *Host) ArtefactOf(ctx context.Context, id string) ([]byte, error) {
	row, err := h.Row(ctx, id)
	if err != nil {
		return nil, err
	}
	if !h.closed.has(row.Epoch) {
		return nil, refusef(notFound, "the artefact is withheld until epoch %d is closed", row.Epoch)
	}
	if h.o.Artefacts == nil {
		return nil, refusef(notFound, "this row has no artefact")
	}
	zip, err := h.o.Artefacts.Open(row.TopicID, row.ID)
	if errors.Is(err, artefact.ErrNotFound) {
		return nil, refusef(notFound, "this row has no artefact")
	}
	return zip, err
}
