package corpus

import (
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// phrasing is one way to ask, in both languages; the two say the same. The verbs
// take company, reference, activity label, activity name, date in this order. In
// French the company follows “entreprise”: its own name may be of either gender,
// plural, or start with a vowel, and nothing has to agree with it.
type phrasing struct{ fr, en string }

var phrasings = []phrasing{
	{
		"L’entreprise %[1]s (%[2]s) remplit-elle, au %[5]s, toutes les conditions pour exercer l’activité « %[3]s » (%[4]s) ?",
		"As of %[5]s, does %[1]s (%[2]s) meet every condition for carrying out the activity “%[3]s” (%[4]s)?",
	},
	{
		"Un donneur d’ordre veut confier à l’entreprise %[1]s (%[2]s) une mission qui relève de l’activité « %[3]s » (%[4]s). Date d’examen : %[5]s. Quelle est votre conclusion sur la conformité de cette entreprise ?",
		"A client wants to entrust %[1]s (%[2]s) with an assignment that falls under the activity “%[3]s” (%[4]s). Examination date: %[5]s. What is your conclusion on the compliance of this company?",
	},
	{
		"Vérifiez la situation de l’entreprise %[1]s (%[2]s) pour l’activité « %[3]s » (%[4]s) à la date d’examen du %[5]s.",
		"Check the standing of %[1]s (%[2]s) for the activity “%[3]s” (%[4]s) on the examination date of %[5]s.",
	},
	{
		"Au %[5]s, le dossier de l’entreprise %[1]s (%[2]s) permet-il de conclure pour l’activité « %[3]s » (%[4]s), et dans quel sens ?",
		"As of %[5]s, does the file of %[1]s (%[2]s) allow a conclusion for the activity “%[3]s” (%[4]s), and if so, which one?",
	},
}

var quoting = phrasing{" La demande s’appuie aussi sur %s.", " The request also relies on %s."}

var asking = phrasing{
	" Appliquez les règles publiées à /referentiel et répondez par conforme, non_conforme ou indeterminable, avec %d à %d assertions, chacune appuyée sur ses preuves.",
	" Apply the rules published at /referentiel and answer conforme, non_conforme or indeterminable, with %d to %d assertions, each supported by its proofs.",
}

// task is a task as season.json lists it.
func (w *world) task(s *stream, i int, e *entity) *canonjson.Object {
	b := taskBounds[i]
	way := pick(s, phrasings)
	a := e.activity
	fr := fmt.Sprintf(way.fr, e.name, e.ref.name, a.LabelFR, a.Name, e.date.french())
	en := fmt.Sprintf(way.en, e.name, e.ref.name, a.LabelEN, a.Name, e.date.english())
	target := canonjson.NewObject("entite", e.ref.name, "activite", a.Name, "date_examen", e.date.String())
	if len(e.quoted) > 0 {
		paths := make([]string, len(e.quoted))
		for j, q := range e.quoted {
			paths[j] = q.path()
		}
		fr += fmt.Sprintf(quoting.fr, strings.Join(paths, ", "))
		en += fmt.Sprintf(quoting.en, strings.Join(paths, ", "))
		target.Set("references", anys(paths))
	}
	fr += fmt.Sprintf(asking.fr, b.minimum, b.maximum)
	en += fmt.Sprintf(asking.en, b.minimum, b.maximum)
	return canonjson.NewObject(
		"task_id", taskID(i),
		"question", canonjson.NewObject("fr", fr, "en", en),
		"target", target,
		"minimum", canonjson.NewInt(int64(b.minimum)),
		"cap", canonjson.NewInt(int64(b.maximum)),
	)
}
