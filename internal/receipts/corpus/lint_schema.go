package corpus

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// field is a member of a record and what it must be.
type field struct {
	name string
	is   func(v any) bool
	want string
}

func isText(v any) bool { s, ok := v.(string); return ok && strings.TrimSpace(s) != "" }
func isDay(v any) bool  { s, ok := v.(string); _, err := parseDay(s); return ok && err == nil }
func isTrue(v any) bool { b, ok := v.(bool); return ok && b }

func oneOf(words ...string) field {
	return field{is: func(v any) bool { s, ok := v.(string); return ok && slices.Contains(words, s) }, want: "one of " + strings.Join(words, ", ")}
}

func orNull(f field) field {
	return field{f.name, func(v any) bool { return v == nil || f.is(v) }, f.want + ", or null"}
}

func like(pattern, want string) field {
	re := regexp.MustCompile("^" + pattern + "$")
	return field{is: func(v any) bool { s, ok := v.(string); return ok && re.MatchString(s) }, want: want}
}

func arrayOf(f field) field {
	return field{is: func(v any) bool {
		a, ok := v.([]any)
		return ok && !slices.ContainsFunc(a, func(item any) bool { return !f.is(item) })
	}, want: "an array, each " + f.want}
}

func objects(fields ...field) field {
	return field{is: func(v any) bool {
		a, ok := v.([]any)
		return ok && !slices.ContainsFunc(a, func(item any) bool { return firstWrong(item, fields) != nil })
	}, want: "an array of entries with exactly " + strings.Join(fieldNames(fields), ", ")}
}

func named(name string, f field) field { f.name = name; return f }

func fieldNames(fields []field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.name)
	}
	return out
}

// firstWrong is the first field of an object that is missing or wrong; a field
// without a name says that there is one too many, or no object.
func firstWrong(v any, fields []field) *field {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return &field{want: "an object"}
	}
	for _, f := range fields {
		if m, ok := o.Get(f.name); !ok || !f.is(m) {
			return &f
		}
	}
	if o.Len() != len(fields) {
		return &field{want: "an object with exactly " + strings.Join(fieldNames(fields), ", ")}
	}
	return nil
}

// schemas are the fields of each collection's records (design, section 2).
func schemas() map[string][]field {
	text := field{is: isText, want: "a string with content"}
	date := field{is: isDay, want: "a day that exists, as YYYY-MM-DD"}
	path := field{is: isText, want: "the path"}
	exists := field{"existe", isTrue, "true"}
	ref := func(prefix string) field { return like(prefix+"-[0-9]{4,9}", "a reference "+prefix+"-…") }
	next := named("page_suivante", orNull(like("/.*/[1-9][0-9]*", "a page's path")))
	resource := named("resource", path)
	licenceStatus := oneOf("valide", "suspendu", "retire")
	person := []field{named("nom", text), named("prenoms", text), named("date_naissance", orNull(date))}
	return map[string][]field{
		"entites": {exists, named("denomination", text), named("forme_juridique", text), named("siege", text),
			named("statut", oneOf("active", "suspendue", "radiee")), named("agrements", arrayOf(ref("AGR"))),
			named("attestations", arrayOf(ref("ATT"))), named("beneficiaires", orNull(like("/beneficiaires/ENT-[0-9]{4,9}/1", "a first page's path"))), resource},
		"agrements": {exists, named("entite", ref("ENT")), named("activite", text), named("statut", licenceStatus),
			named("date_debut", date), named("date_fin_validite", date), resource},
		"attestations": {exists, named("entite", ref("ENT")), named("type", text), named("date_emission", date),
			named("date_fin_validite", date), named("avenants", arrayOf(ref("AVN"))), resource},
		"avenants": {exists, named("attestation", ref("ATT")), named("objet", text), named("date_effet", date),
			named("nouvelle_date_fin", orNull(date)), named("activite_exclue", orNull(text)), resource},
		"listes":               {named("entrees", objects(named("agrement", ref("AGR")), named("entite", ref("ENT")), named("statut", licenceStatus))), next, resource},
		"beneficiaires":        {named("statut_declaration", oneOf("complete", "partielle", "absente")), named("entrees", objects(person...)), next, resource},
		"mesures-restrictives": {named("entrees", objects(append(slices.Clone(person), named("motif", text))...)), next, resource},
	}
}

// checkRecord checks one body against its collection, and notes what it cites.
func (l *linter) checkRecord(resource string, body *canonjson.Object, names lexicon, cited map[string]string) {
	if l.schemas == nil {
		l.schemas = schemas()
	}
	collection, _, _ := strings.Cut(resource[1:], "/")
	if f := firstWrong(body, l.schemas[collection]); f != nil {
		at := ""
		if f.name != "" {
			at = "/" + f.name
		}
		l.fault("", resource, at, RuleSchema, "it must be %s", f.want)
		return
	}
	cite := func(prefix string, v any) {
		if s, ok := v.(string); ok {
			cited[prefix+s] = resource
		}
	}
	switch collection {
	case "entites":
		if name, _ := body.Get("denomination"); !names.company(name.(string)) {
			l.fault("", resource, "/denomination", RuleNames, "%q is not made of the word lists of invented names", name)
		}
		l.citeAll(resource, body, "agrements", "/agrements/", cited)
		l.citeAll(resource, body, "attestations", "/attestations/", cited)
		cite("", member(body, "beneficiaires"))
	case "attestations":
		l.citeAll(resource, body, "avenants", "/avenants/", cited)
		cite("/entites/", member(body, "entite"))
	case "agrements":
		cite("/entites/", member(body, "entite"))
	case "avenants":
		cite("/attestations/", member(body, "attestation"))
	case "listes":
		l.checkEntries(resource, body, func(e any) string { return member(e, "agrement").(string) })
		for _, e := range member(body, "entrees").([]any) {
			cite("/agrements/", member(e, "agrement"))
			cite("/entites/", member(e, "entite"))
		}
	case "mesures-restrictives":
		l.checkEntries(resource, body, personKey)
		l.checkPersons(resource, body, names)
	case "beneficiaires":
		l.checkPersons(resource, body, names)
	}
}

// citeAll notes the references of an array, which must be in the order of their
// numbers: any other would tell when they were made.
func (l *linter) citeAll(resource string, body *canonjson.Object, array, prefix string, cited map[string]string) {
	previous := ""
	for i, item := range member(body, array).([]any) {
		ref := item.(string)
		if ref <= previous {
			l.fault("", resource, "/"+array+"/"+strconv.Itoa(i), RuleOrder, "references stand in the order of their numbers, each once")
		}
		previous = ref
		cited[prefix+ref] = resource
	}
}

func personKey(e any) string {
	born, _ := member(e, "date_naissance").(string)
	return member(e, "nom").(string) + "\x00" + member(e, "prenoms").(string) + "\x00" + born
}

// checkEntries checks the order of a list, across its pages too.
func (l *linter) checkEntries(resource string, body *canonjson.Object, key func(any) string) {
	m := pageNumber.FindStringSubmatch(resource)
	previous := ""
	if m[2] != "1" {
		n, _ := strconv.Atoi(m[2])
		if v, ok := l.view.Value(m[1] + "/" + strconv.Itoa(n-1)); ok {
			if before, ok := member(v, "entrees").([]any); ok && len(before) > 0 && firstWrong(v, l.schemas[strings.Split(resource, "/")[1]]) == nil {
				previous = key(before[len(before)-1])
			}
		}
	}
	for i, e := range member(body, "entrees").([]any) {
		k := key(e)
		if k < previous {
			l.fault("", resource, "/entrees/"+strconv.Itoa(i), RuleOrder, "a list stands in the order of its entries: by licence, or by name and date of birth")
		}
		previous = k
	}
}

func (l *linter) checkPersons(resource string, body *canonjson.Object, names lexicon) {
	for i, e := range member(body, "entrees").([]any) {
		nom, prenoms := member(e, "nom").(string), member(e, "prenoms").(string)
		if !names.person(nom, prenoms) {
			l.fault("", resource, "/entrees/"+strconv.Itoa(i)+"/nom", RuleNames, "%q, %q is not made of the word lists of invented names", nom, prenoms)
		}
	}
}
