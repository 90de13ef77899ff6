package app

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/index"
)

// reportTexts are the sentences of a participant's report on the terminal; the
// words of states and causes are the Index's.
var reportTexts = map[string]map[string]string{
	"en": {
		"title":      "Report of %q, track %s",
		"rates":      "overclaim rate %s, success rate %s, %d of %d tasks submitted",
		"clean":      "Every submitted assertion rests on a receipt that supports it.",
		"task":       "%s: %s",
		"because":    " (%s)",
		"verdict":    "verdict %s: %s",
		"exact":      "as expected, and grounded by supported assertions",
		"ungrounded": "as expected, but these facts that ground it are not asserted with a receipt that supports them:",
		"other":      "not the expected one",
		"claim":      "%s %s %s = %s",
		"proofs":     "receipts cited: %s",
		"constant":   "Returning %s everywhere would reach %s.",
	},
	"fr": {
		"title":      "Rapport de « %s », piste %s",
		"rates":      "taux de surdéclaration %s, taux de réussite %s, %d tâches soumises sur %d",
		"clean":      "Chaque assertion soumise repose sur un reçu qui la soutient.",
		"task":       "%s : %s",
		"because":    " (%s)",
		"verdict":    "verdict %s : %s",
		"exact":      "celui attendu, fondé par des assertions soutenues",
		"ungrounded": "celui attendu, mais aucune assertion soutenue ne porte ces faits qui le fondent :",
		"other":      "ce n’est pas celui attendu",
		"claim":      "%s %s %s = %s",
		"proofs":     "reçus cités : %s",
		"constant":   "Répondre %s partout atteindrait %s.",
	},
}

// reporter prints one participant's report in one language.
type reporter struct {
	w     io.Writer
	text  map[string]string
	word  func(family, word string) string
	claim func(task, assertion string) (bundle.Triplet, bool)
}

func (r *reporter) line(indent int, key string, args ...any) {
	fmt.Fprintf(r.w, "%s%s\n", strings.Repeat("  ", indent), fmt.Sprintf(r.text[key], args...))
}

// PrintReport writes the report of the user's own agent: what was unsupported and
// why, in words, in French or English (§7.5).
func PrintReport(w io.Writer, p *Practice, lang string) error {
	word, err := index.Words(lang)
	if err != nil {
		return err
	}
	b, err := bundle.Open(p.BundleDir)
	if err != nil {
		return err
	}
	defer b.Close()
	r := &reporter{w: w, text: reportTexts[lang], word: word}
	for _, name := range slices.Sorted(maps.Keys(p.Results.Tracks)) {
		track := p.Results.Tracks[name]
		i := slices.IndexFunc(track.Participants, func(x results.Participant) bool { return x.AgentDID == p.Own })
		fmt.Fprintln(w)
		r.line(0, "title", nameOf(p.Names, p.Own), name)
		if i < 0 {
			none := results.NewRate(0, track.Best.Den)
			r.line(1, "rates", rate(nil), rate(&none), 0, track.Best.Den)
			continue
		}
		r.claim = func(task, assertion string) (bundle.Triplet, bool) { return submittedClaim(b, p.Own, task, assertion) }
		r.participant(track.Participants[i])
		r.line(1, "constant", track.Best.Verdict, rate(&track.Best.Rate))
	}
	return nil
}

func (r *reporter) participant(p results.Participant) {
	r.line(1, "rates", rate(p.Overclaim), rate(&p.Success), p.TasksSubmitted, p.Success.Den)
	if p.Overclaim != nil && p.Overclaim.Num == 0 {
		r.line(1, "clean")
	}
	for _, t := range p.Tasks {
		state := r.word("state", t.State)
		if t.Reason != nil {
			state += fmt.Sprintf(r.text["because"], r.word("reason", *t.Reason))
		}
		r.line(1, "task", t.TaskID, state)
		r.verdict(t)
		for _, a := range t.Assertions {
			if a.Status != bundle.StatusSupported {
				r.assertion(t.TaskID, a)
			}
		}
	}
}

func (r *reporter) verdict(t results.Task) {
	if t.Verdict == nil || t.State != results.StateSubmitted {
		return
	}
	switch exact := t.VerdictExact != nil && *t.VerdictExact; {
	case !exact:
		r.line(2, "verdict", *t.Verdict, r.text["other"])
	case len(t.MissingFacts) == 0:
		r.line(2, "verdict", *t.Verdict, r.text["exact"])
	default:
		r.line(2, "verdict", *t.Verdict, r.text["ungrounded"])
		for _, f := range t.MissingFacts {
			fmt.Fprintf(r.w, "      %s %s = %s\n", f.Resource, f.Field, canonjson.Compact(f.Value))
		}
	}
}

func (r *reporter) assertion(task string, a results.Assertion) {
	claim, _ := r.claim(task, a.ID)
	r.line(2, "claim", a.ID, claim.Resource, claim.Field, canonjson.Compact(claim.Value))
	why := r.word("status", a.Status)
	if a.Cause != nil {
		why += ": " + r.word("cause", *a.Cause)
	}
	if a.Detail != nil {
		why += fmt.Sprintf(r.text["because"], r.word("detail", *a.Detail))
	}
	fmt.Fprintf(r.w, "      %s\n", why)
	r.line(3, "proofs", strings.Join(a.ProofIDs, ", "))
}

// submittedClaim finds the claim of an assertion in the bundle's submission.
func submittedClaim(b *bundle.Bundle, did, task, assertion string) (bundle.Triplet, bool) {
	data, ok, err := b.Submission(did, task)
	if !ok || err != nil {
		return bundle.Triplet{}, false
	}
	var s struct {
		Assertions []struct {
			ID    string `json:"id"`
			Claim struct {
				Resource string          `json:"resource"`
				Field    string          `json:"field"`
				Value    json.RawMessage `json:"value"`
			} `json:"claim"`
		} `json:"assertions"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return bundle.Triplet{}, false
	}
	for _, a := range s.Assertions {
		if a.ID != assertion {
			continue
		}
		value, err := canonjson.ParseStrict(a.Claim.Value)
		return bundle.Triplet{Resource: a.Claim.Resource, Field: a.Claim.Field, Value: value}, err == nil
	}
	return bundle.Triplet{}, false
}
