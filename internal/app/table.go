package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

// Names reads the agents' names by DID; none when the season cannot be read.
func (o *Operator) Names(ctx context.Context) map[string]string {
	out := map[string]string{}
	snapshot, err := o.season.Snapshot(ctx, o.number)
	if err != nil {
		return out
	}
	for _, e := range snapshot.Enrolments {
		out[e.AgentDID] = e.AgentName
	}
	return out
}

// PrintTable writes the two tables of each track as text: reference runs, which
// are a calibration and not a ranking, and community. Overclaim and success stand
// side by side and are never combined (§5.7, §7.1).
func PrintTable(w io.Writer, r *results.Results, names map[string]string) {
	for _, track := range slices.Sorted(maps.Keys(r.Tracks)) {
		t := r.Tracks[track]
		for _, table := range []struct{ kind, title string }{
			{bundle.KindReference, "reference runs (calibration, not a ranking)"},
			{bundle.KindCommunity, "community (declared stack, not verified)"},
		} {
			rows := slices.DeleteFunc(slices.Clone(t.Participants), func(p results.Participant) bool { return p.Kind != table.kind || !p.Ranked })
			if len(rows) == 0 {
				continue
			}
			slices.SortFunc(rows, func(a, b results.Participant) int { return strings.Compare(names[a.AgentDID], names[b.AgentDID]) })
			fmt.Fprintf(w, "\n%s: %s\n\n", track, table.title)
			var text strings.Builder
			tw := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
			fmt.Fprintln(tw, "agent\toverclaim rate\tsuccess rate\ttasks submitted")
			fmt.Fprintf(tw, "(best constant answer: %s)\t%s\t%s\t\n", t.Best.Verdict, notApplicable, rate(&t.Best.Rate))
			for _, p := range rows {
				fmt.Fprintf(tw, "%s\t%s\t%s\t%d/%d%s\n", nameOf(names, p.AgentDID), rate(p.Overclaim), rate(&p.Success), p.TasksSubmitted, p.Success.Den, provisional(p))
			}
			tw.Flush()
			for line := range strings.Lines(text.String()) {
				fmt.Fprintln(w, strings.TrimRight(line, " \n"))
			}
		}
	}
}

func nameOf(names map[string]string, did string) string {
	if n := names[did]; n != "" {
		return n
	}
	return did
}

// notApplicable stands for a rate that has no denominator.
const notApplicable = "not applicable"

func rate(r *results.Rate) string {
	if r == nil || r.Den == 0 {
		return notApplicable
	}
	return fmt.Sprintf("%s %% (%d/%d)", r.Percent, r.Num, r.Den)
}

// provisional marks a row with tasks that still wait for their witnesses.
func provisional(p results.Participant) string {
	pending := p.Pending()
	if pending == 0 {
		return ""
	}
	return fmt.Sprintf("  provisional, %d pending", pending)
}
