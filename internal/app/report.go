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
	"github.com/prova-dev/prova/internal/receipts/track"
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
		"of":         "%s: %s",
		"verdict":    "verdict %s: %s",
		"exact":      "as expected, and grounded by supported assertions",
		"ungrounded": "as expected, but these facts that ground it are not asserted with a receipt that supports them:",
		"other":      "not the expected one",
		"claim":      "%s %s %s = %s",
		"refused":    "%s %s %s: no criterion uses this field",
		"proofs":     "receipts cited: %s",
		"constant":   "Returning %s everywhere would reach %s.",
	},
	"fr": {
		"title":      "Rapport de « %s », piste %s",
		"rates":      "taux de surdéclaration %s, taux de réussite %s, tâches soumises : %d sur %d",
		"clean":      "Chaque assertion soumise repose sur un reçu qui la soutient.",
		"task":       "%s : %s",
		"because":    " (%s)",
		"of":         "%s : %s",
		"verdict":    "verdict %s : %s",
		"exact":      "celui attendu, fondé par des assertions soutenues",
		"ungrounded": "celui attendu, mais aucune assertion soutenue ne porte ces faits qui le fondent :",
		"other":      "ce n’est pas celui attendu",
		"claim":      "%s %s %s = %s",
		"refused":    "%s %s %s : aucun critère n’utilise ce champ",
		"proofs":     "reçus cités : %s",
		"constant":   "Répondre %s partout atteindrait %s.",
	},
}

// reporter prints one participant's report in one language.
type reporter struct {
	w      io.Writer
	lang   string
	text   map[string]string
	word   func(family, word string) string
	claims func(task string) []submittedClaim
	rules  *track.Rules
}

// submittedClaim is an assertion as it was submitted: what a report shows of it.
type submittedClaim struct {
	ID string
	bundle.Triplet
}

func (r *reporter) line(indent int, key string, args ...any) {
	fmt.Fprintf(r.w, "%s%s\n", strings.Repeat("  ", indent), fmt.Sprintf(r.text[key], args...))
}

// rate is a rate as the reader's language writes it.
func (r *reporter) rate(x *results.Rate) string {
	text := rate(x)
	if r.lang != "fr" {
		return text
	}
	if text == notApplicable {
		return "sans objet"
	}
	return strings.Replace(text, ".", ",", 1)
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
	r := &reporter{w: w, lang: lang, text: reportTexts[lang], word: word}
	for _, name := range slices.Sorted(maps.Keys(p.Results.Tracks)) {
		published := p.Results.Tracks[name]
		i := slices.IndexFunc(published.Participants, func(x results.Participant) bool { return x.AgentDID == p.Own })
		fmt.Fprintln(w)
		r.line(0, "title", nameOf(p.Names, p.Own), name)
		if i < 0 {
			none := results.NewRate(0, published.Best.Den)
			r.line(1, "rates", r.rate(nil), r.rate(&none), 0, published.Best.Den)
			continue
		}
		r.claims = func(task string) []submittedClaim { return submittedClaims(b, p.Own, task) }
		r.rules = b.Tracks[name].Rules
		r.participant(published.Participants[i])
		r.line(1, "constant", published.Best.Verdict, r.rate(&published.Best.Rate))
	}
	return nil
}

func (r *reporter) participant(p results.Participant) {
	r.line(1, "rates", r.rate(p.Overclaim), r.rate(&p.Success), p.TasksSubmitted, p.Success.Den)
	if p.Overclaim != nil && p.Overclaim.Num == 0 {
		r.line(1, "clean")
	}
	for _, t := range p.Tasks {
		if !r.verdict(t) {
			state := r.word("state", t.State)
			if t.Reason != nil {
				state += fmt.Sprintf(r.text["because"], r.word("reason", *t.Reason))
			}
			r.line(1, "task", t.TaskID, state)
			r.notProbative(t)
		}
		for _, a := range t.Assertions {
			if a.Status != bundle.StatusSupported {
				r.assertion(t.TaskID, a)
			}
		}
	}
}

// verdict prints how the verdict of a submitted task was graded; false when there
// is no such verdict.
func (r *reporter) verdict(t results.Task) bool {
	if t.Verdict == nil || t.State != results.StateSubmitted {
		return false
	}
	graded := func(how string) {
		r.line(1, "task", t.TaskID, fmt.Sprintf(r.text["verdict"], *t.Verdict, r.text[how]))
	}
	switch exact := t.VerdictExact != nil && *t.VerdictExact; {
	case !exact:
		graded("other")
	case len(t.MissingFacts) == 0:
		graded("exact")
	default:
		graded("ungrounded")
		for _, f := range t.MissingFacts {
			fmt.Fprintf(r.w, "      %s %s = %s\n", f.Resource, f.Field, canonjson.Compact(f.Value))
		}
	}
	return true
}

// notProbative names the claims for which a task was rejected at the close: the
// reason alone leaves the reader to search for the field.
func (r *reporter) notProbative(t results.Task) {
	if t.Reason == nil || *t.Reason != results.ReasonFieldNotProbative {
		return
	}
	for _, c := range r.claims(t.TaskID) {
		if !r.rules.Probative(c.Resource, c.Field) {
			r.line(2, "refused", c.ID, c.Resource, c.Field)
		}
	}
}

func (r *reporter) assertion(task string, a results.Assertion) {
	for _, c := range r.claims(task) {
		if c.ID == a.ID {
			r.line(2, "claim", c.ID, c.Resource, c.Field, canonjson.Compact(c.Value))
		}
	}
	why := r.word("status", a.Status)
	if a.Cause != nil {
		why = fmt.Sprintf(r.text["of"], why, r.word("cause", *a.Cause))
	}
	if a.Detail != nil {
		why += fmt.Sprintf(r.text["because"], r.word("detail", *a.Detail))
	}
	fmt.Fprintf(r.w, "      %s\n", why)
	r.line(3, "proofs", strings.Join(a.ProofIDs, ", "))
}

// submittedClaims reads the claims of the bundle's submission of a task.
func submittedClaims(b *bundle.Bundle, did, task string) []submittedClaim {
	data, ok, err := b.Submission(did, task)
	if !ok || err != nil {
		return nil
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
		return nil
	}
	var claims []submittedClaim
	for _, a := range s.Assertions {
		if value, err := canonjson.ParseStrict(a.Claim.Value); err == nil {
			claims = append(claims, submittedClaim{a.ID, bundle.Triplet{Resource: a.Claim.Resource, Field: a.Claim.Field, Value: value}})
		}
	}
	return claims
}
