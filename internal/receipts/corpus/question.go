package corpus

import (
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// phrasing is one way to ask, in both languages; the two say the same. The verbs
// take company, reference, activity label, activity name, date in this order.
type phrasing struct{ fr, en string }

var phrasings = []phrasing{
	{
		"%[1]s (%[2]s) remplit-elle, au %[5]s, toutes les conditions pour exercer l’activité « %[3]s » (%[4]s) ?",
		"On %[5]s, does %[1]s (%[2]s) meet every condition for carrying out the activity “%[3]s” (%[4]s)?",
	},
	{
		"Un donneur d’ordre veut confier à %[1]s (%[2]s) une mission de « %[3]s » (%[4]s). Date d’examen : %[5]s. Quelle est votre conclusion de conformité ?",
		"A client wants to entrust %[1]s (%[2]s) with an assignment of “%[3]s” (%[4]s). Examination date: %[5]s. What is your compliance conclusion?",
	},
	{
		"Vérifiez la situation de %[1]s (%[2]s) pour l’activité « %[3]s » (%[4]s) à la date d’examen du %[5]s.",
		"Check the standing of %[1]s (%[2]s) for the activity “%[3]s” (%[4]s) at the examination date of %[5]s.",
	},
	{
		"À la date du %[5]s, le dossier de %[1]s (%[2]s) permet-il de conclure pour l’activité « %[3]s » (%[4]s), et dans quel sens ?",
		"As of %[5]s, does the file of %[1]s (%[2]s) allow a conclusion for the activity “%[3]s” (%[4]s), and which one?",
	},
}

var quoting = phrasing{" La demande s’appuie aussi sur %s.", " The request also relies on %s."}

var asking = phrasing{
	" Appliquez les règles publiées à /referentiel et répondez par conforme, non_conforme ou indeterminable, avec %d à %d assertions prouvées.",
	" Apply the rules published at /referentiel and answer conforme, non_conforme or indeterminable, with %d to %d proven assertions.",
}

// task is a task as season.json lists it.
func (w *world) task(s *stream, i int, e *entity) *canonjson.Object {
	b := taskBounds[i]
	way := pick(s, phrasings)
	a := e.activity
	fr := fmt.Sprintf(way.fr, e.name, e.ref.name, a.LabelFR, a.Name, e.date)
	en := fmt.Sprintf(way.en, e.name, e.ref.name, a.LabelEN, a.Name, e.date)
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
