package corpus

import "github.com/prova-dev/prova/evidence/canonjson"

// referentiel is the resource /referentiel: the evaluation rules as data, for a
// program, and in words, for a reader. Its values hold no numbers (§2.5), so
// criteria are numbered by text.
func referentiel(activities []Activity) *canonjson.Object {
	required := canonjson.NewObject()
	labels := canonjson.NewObject()
	for _, a := range activities {
		required.Set(a.Name, anys(a.RequiredTypes))
		labels.Set(a.Name, canonjson.NewObject("fr", a.LabelFR, "en", a.LabelEN))
	}
	return canonjson.NewObject(
		"version", RulesVersion,
		"bornes", "incluses",
		"precedence", anys([]string{"non_conforme", "indeterminable", "conforme"}),
		"types_requis", required,
		"activites", labels,
		"criteres", criteria(),
		"regles", canonjson.NewObject("fr", anys(rulesFR), "en", anys(rulesEN)),
		"resource", "/referentiel",
	)
}

func criterion(number, subject, holds, open, fails string) any {
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return canonjson.NewObject("numero", number, "objet", subject, "etabli", holds, "non_etablissable", text(open), "faux", text(fails))
}

func criteria() []any {
	return []any{
		criterion("1", "entite",
			"La fiche existe et son statut est « active ».",
			"La fiche n’existe pas (existe: false).",
			"La fiche existe avec un autre statut."),
		criterion("2", "agrement",
			"Un agrément cité existe, est celui de l’entité pour l’activité, a le statut « valide », et date_debut ≤ date d’examen ≤ date_fin_validite.",
			"Sinon, un agrément cité n’existe pas, ou une date à comparer est nulle.",
			"Sinon."),
		criterion("3", "attestations",
			"Pour chaque type requis par l’activité, une attestation citée existe, est celle de l’entité, date_emission ≤ date d’examen ≤ fin effective, et aucun avenant en vigueur n’exclut l’activité.",
			"Sinon, pour un type, une attestation citée n’existe pas, ou un avenant d’une attestation du bon type n’existe pas, ou une date à comparer est nulle. Le type le moins favorable l’emporte.",
			"Sinon."),
		criterion("4", "registres",
			"L’agrément du critère 2 a, dans la liste publique de l’activité, une entrée au nom de l’entité avec le même statut. Établi aussi quand le critère 2 ne l’est pas.",
			"Sinon : pas d’entrée, ou un autre statut.",
			""),
		criterion("5", "beneficiaires",
			"Toutes les pages de bénéficiaires sont « complete » et aucun bénéficiaire ne correspond à une personne de la liste des mesures restrictives.",
			"Sinon, beneficiaires est nul, une page n’est pas « complete », ou un bénéficiaire a les mêmes nom et prénoms qu’une personne de la liste et l’une au moins des deux dates de naissance est nulle.",
			"Un bénéficiaire a les mêmes nom, prénoms et date de naissance qu’une personne de la liste. Ce cas passe avant le non établissable."),
	}
}

var rulesFR = []string{
	"Les critères s’apprécient à la date d’examen de la question ; toutes les bornes de dates sont incluses.",
	"« Cité » s’entend de ce que la fiche cite et de ce que la question cite.",
	"Un critère faux donne non_conforme ; sinon un critère non établissable donne indeterminable ; sinon conforme.",
	"Un document dont la validité est passée établit le manquement : il rend le critère faux, et non pas non établissable.",
	"Un avenant est en vigueur quand sa date_effet n’est pas postérieure à la date d’examen.",
	"Fin effective d’une attestation : parmi ses avenants en vigueur, dans l’ordre des date_effet puis des références, la dernière nouvelle_date_fin non nulle remplace date_fin_validite.",
	"Un avenant en vigueur dont activite_exclue est l’activité empêche l’attestation de remplir le critère.",
	"Les noms et prénoms se comparent caractère par caractère ; des homonymes de dates de naissance différentes sont des personnes différentes.",
	"Une référence absente répond existe: false ; elle n’établit ni son contenu ni le contraire.",
}

var rulesEN = []string{
	"Criteria are judged at the examination date of the question; all date bounds are inclusive.",
	"“Cited” means what the record cites and what the question cites.",
	"A criterion that is false gives non_conforme; otherwise one that cannot be established gives indeterminable; otherwise conforme.",
	"A document whose validity has passed establishes the failure: it makes the criterion false, not unestablishable.",
	"A rider is in effect when its date_effet is no later than the examination date.",
	"Effective end of an attestation: among its riders in effect, in the order of date_effet and then of reference, the last nouvelle_date_fin that is not null replaces date_fin_validite.",
	"A rider in effect whose activite_exclue is the activity keeps the attestation from meeting the criterion.",
	"Names and first names are compared character by character; namesakes with different dates of birth are different persons.",
	"An absent reference answers existe: false; it establishes neither its content nor the contrary.",
}
