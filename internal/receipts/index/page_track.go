package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

// sortKey is a column by which the rows of a track's tables can be ordered. There
// is no key that combines two rates: by overclaim, rows are grouped by success and
// ordered inside a group only (§5.7, tiebreak). The declared stack is no key, so
// that no order reads as a ranking of models.
type sortKey string

const (
	sortName      sortKey = "name" // the default
	sortDID       sortKey = "did"
	sortOverclaim sortKey = "overclaim"
	sortSuccess   sortKey = "success"
	sortTasks     sortKey = "tasks"
)

func sortKeys() []sortKey { return []sortKey{sortName, sortDID, sortOverclaim, sortSuccess, sortTasks} }

// parseTrackName reads the last part of a track page's name.
func parseTrackName(s string) (track string, order sortKey, ok bool) {
	track, suffix, sorted := strings.Cut(s, ".by-")
	if !sorted {
		return track, sortName, true
	}
	order = sortKey(suffix)
	return track, order, order != sortName && slices.Contains(sortKeys(), order)
}

type trackContent struct {
	Season        seasonHead   `json:"season"`
	Track         string       `json:"track"`
	TrackTitle    string       `json:"track_title"`
	Sort          sortKey      `json:"sort"`
	Sorts         []column     `json:"columns"`
	Tables        []trackTable `json:"tables"`
	Unranked      []unranked   `json:"unranked"`
	Silent        int64        `json:"enrolled_without_submission"`
	ForeignIssuer bool         `json:"foreign_issuer"`
	Notices       []string     `json:"incidents"`
}

// column is a column of §7.2 in its order; Sort is empty when it is no key.
type column struct {
	Name  string  `json:"name"`
	Title string  `json:"title"`
	Sort  sortKey `json:"sort,omitempty"`
	Page  string  `json:"page,omitempty"` // ordered by this column
}

type trackTable struct {
	Kind   string     `json:"kind"`
	Title  string     `json:"title"`
	Label  string     `json:"label"`
	Best   bestRow    `json:"best_constant_answer"`
	Groups []rowGroup `json:"groups"`
	Empty  bool       `json:"-"`
}

// bestRow is the fixed row of §7.2.
type bestRow struct {
	Title     string `json:"title"`
	Verdict   string `json:"verdict"`
	Overclaim string `json:"overclaim"` // "not applicable" in words
	Success   rate   `json:"success"`
}

// rowGroup is the rows of one success rate; one group with all rows unless ordered
// by overclaim.
type rowGroup struct {
	Success *rate `json:"success"`
	Rows    []row `json:"rows"`
}

type row struct {
	Name       string        `json:"agent_name"`
	DID        string        `json:"agent_did"`
	Overclaim  *rate         `json:"overclaim"`
	Success    rate          `json:"success"`
	Submitted  int64         `json:"tasks_submitted"`
	Tasks      int64         `json:"tasks"`
	Pending    int64         `json:"tasks_pending"`
	Stack      *string       `json:"declared_stack"`
	StackLabel string        `json:"declared_stack_label,omitempty"`
	Run        *referenceRun `json:"run,omitempty"`
	Report     string        `json:"report"`
	Proofs     int64         `json:"proofs"`
}

// rate is a published rate in a twin.
type rate struct {
	Num     int64  `json:"num"`
	Den     int64  `json:"den"`
	Percent string `json:"percent"`
}

// referenceRun is what a reference run publishes of itself (§7.1).
type referenceRun struct {
	Model     string `json:"model"`
	Version   string `json:"version"`
	Framework string `json:"framework"`
	Prompt    string `json:"prompt"`
}

// unranked is a later enrolment of a participant: reported, in no table (D8).
type unranked struct {
	Name   string `json:"agent_name"`
	DID    string `json:"agent_did"`
	Report string `json:"report"`
}

func (x *Index) trackPage(s *site, l pages.Language, e *edition, track string, order sortKey) *page {
	c, n := x.catalogues[l], e.number()
	p := x.newPage(l, "track", trackPage(n, track, order), c.Must("track.page.title", c.trackTitle(track), n))
	x.startOf(p, s, n)
	content := trackContent{
		Season: x.seasonHead(s, l, n), Track: track, TrackTitle: c.trackTitle(track), Sort: order,
		Unranked: []unranked{}, ForeignIssuer: x.options.ForeignIssuer, Notices: s.notices(l, n),
	}
	for _, name := range []struct {
		name string
		sort sortKey
	}{{"agent", sortName}, {"did", sortDID}, {"overclaim", sortOverclaim}, {"success", sortSuccess}, {"tasks", sortTasks}, {"stack", ""}, {"proofs", ""}} {
		col := column{Name: name.name, Title: c.Must("column." + name.name), Sort: name.sort}
		if col.Sort != "" {
			col.Page = p.link(trackPage(n, track, col.Sort))
		}
		content.Sorts = append(content.Sorts, col)
	}
	r := e.results.Tracks[track]
	for _, kind := range []string{bundle.KindReference, bundle.KindCommunity} {
		var rows []row
		for i := range r.Participants {
			part := &r.Participants[i]
			if part.Kind != kind {
				continue
			}
			row := x.row(p, e, track, part)
			if !part.Ranked {
				content.Unranked = append(content.Unranked, unranked{row.Name, row.DID, row.Report})
				continue
			}
			rows = append(rows, row)
		}
		content.Tables = append(content.Tables, trackTable{
			Kind: kind, Title: c.Must("table." + kind), Label: c.Must("table." + kind + ".label"),
			Best: newBestRow(c, r.Best), Groups: arrange(rows, order), Empty: len(rows) == 0,
		})
	}
	content.Silent = int64(len(e.enrolments) - len(r.Participants))
	p.Content = content
	return p
}

func newBestRow(c *catalogue, b results.BestConstantAnswer) bestRow {
	return bestRow{
		Title: c.Must("best.title"), Verdict: b.Verdict, Overclaim: c.Must("best.overclaim"),
		Success: rate(b.Rate),
	}
}

func (x *Index) row(p *page, e *edition, track string, part *results.Participant) row {
	en := e.enrolment(part.AgentDID)
	r := row{
		Name: en.AgentName, DID: part.AgentDID, Overclaim: (*rate)(part.Overclaim), Success: rate(part.Success),
		Submitted: part.TasksSubmitted, Tasks: int64(len(part.Tasks)), Pending: part.Pending(),
		Stack: en.DeclaredStack, Run: (*referenceRun)(en.Run),
		Report: p.link(reportPage(e.number(), track, part.AgentDID)), Proofs: citedProofs(part),
	}
	if part.Kind == bundle.KindCommunity {
		r.StackLabel = p.Must("table.community.label")
	}
	return r
}

// citedProofs counts the proofs that the scored assertions of a participant cite.
func citedProofs(p *results.Participant) int64 {
	seen := map[string]bool{}
	for _, t := range p.Tasks {
		for _, a := range t.Assertions {
			for _, id := range a.ProofIDs {
				seen[id] = true
			}
		}
	}
	return int64(len(seen))
}

// arrange orders rows by one column. Rows that are equal in it stand by name, then
// DID.
func arrange(rows []row, order sortKey) []rowGroup {
	byName := func(a, b row) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.DID, b.DID))
	}
	bySuccess := func(a, b row) int { return compareRates(b.Success, a.Success) }
	slices.SortStableFunc(rows, func(a, b row) int {
		switch order {
		case sortDID:
			return cmp.Compare(a.DID, b.DID)
		case sortSuccess:
			return cmp.Or(bySuccess(a, b), byName(a, b))
		case sortTasks:
			return cmp.Or(cmp.Compare(b.Submitted, a.Submitted), byName(a, b))
		case sortOverclaim:
			return cmp.Or(bySuccess(a, b), compareOverclaim(a.Overclaim, b.Overclaim), byName(a, b))
		}
		return byName(a, b)
	})
	if order != sortOverclaim {
		return []rowGroup{{Rows: rows}}
	}
	var groups []rowGroup
	for i, r := range rows {
		if i == 0 || bySuccess(rows[i-1], r) != 0 {
			success := r.Success
			groups = append(groups, rowGroup{Success: &success})
		}
		last := &groups[len(groups)-1]
		last.Rows = append(last.Rows, r)
	}
	return groups
}

// compareRates compares fractions exactly.
func compareRates(a, b rate) int {
	if a.Den == b.Den {
		return cmp.Compare(a.Num, b.Num)
	}
	return cmpProducts(uint64(a.Num), uint64(b.Den), uint64(b.Num), uint64(a.Den))
}

// compareOverclaim puts rows without a rate after those that have one.
func compareOverclaim(a, b *rate) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return compareRates(*a, *b)
}
