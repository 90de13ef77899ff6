package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// reader derives a verdict from the published rules and from everything that the
// task's target leads to, and asserts what the verdict rests on.
func reader(ctx context.Context, d *desk) (answer, error) {
	rules, err := d.client.Rules(ctx, conformite)
	if err != nil {
		return answer{}, err
	}
	f, err := compile(ctx, d)
	if err != nil {
		return answer{}, err
	}
	criteria := f.evaluate()
	verdict := f.verdict(criteria)
	if !slices.Contains(rules.Verdicts, verdict) {
		return answer{}, fmt.Errorf("%s names the verdict %q, which the scoring rules do not have", referentielPath, oneLine(verdict))
	}
	return answer{
		verdict:    verdict,
		assertions: bounded(d.task, rules, f.ground(criteria), rules.fillers(f.own())),
		narrative:  explain(criteria),
	}, nil
}

// explain says in both languages which criteria decided.
func explain(criteria [5]finding) string {
	decisive := slices.Min(criteria[:])
	fr, en := decisive.words()
	if decisive == holds {
		return "Chacun des cinq critères " + fr + ". / Each of the five criteria " + en + "."
	}
	var french, english []string
	for i, c := range criteria {
		if c == decisive {
			french = append(french, fmt.Sprintf("Le critère %d %s.", i+1, fr))
			english = append(english, fmt.Sprintf("Criterion %d %s.", i+1, en))
		}
	}
	return strings.Join(french, " ") + " / " + strings.Join(english, " ")
}
