package corpus

import "strings"

// The word lists from which every name of a corpus is made. Stems of surnames,
// companies and towns are invented syllables; given names are rare but real, as a
// given name names nobody. A combination that happens to exist somewhere is chance.

// A surname, a company's proper name or a town is one start and one end.
var (
	nameStarts = []string{
		"Albr", "Arv", "Bald", "Bélard", "Bourv", "Brizel", "Calm", "Cardév", "Corb", "Dambr",
		"Delv", "Dorm", "Égl", "Esp", "Falv", "Ferr", "Flam", "Gald", "Garm", "Grév",
		"Hautm", "Herb", "Islem", "Jarv", "Jouv", "Kerv", "Lamb", "Lorm", "Marv", "Mérid",
		"Norc", "Noiv", "Orv", "Ourc", "Palv", "Percev", "Quint", "Rolv", "Rouvr", "Salv",
		"Sérig", "Sorm", "Tourv", "Trib", "Valcr", "Verd", "Vespr", "Zélin",
	}
	nameEnds = []string{
		"andre", "ancelle", "ardeau", "arelin", "aubry", "audel", "elard", "elmont", "endal", "enoit",
		"erval", "esquin", "evraud", "iandre", "iboult", "ignac", "illard", "imbert", "indel", "inoche",
		"ioule", "irault", "isoire", "ivel", "obert", "odeau", "oiselle", "olande", "ombeline", "onceau",
		"ondrin", "oreau", "orvallier", "ouquet", "ourdel", "ubaine", "uchard", "uisart", "umelin", "uvigne",
	}
	feminineNames = []string{
		"Adélaïde", "Agathe", "Albane", "Aliénor", "Apolline", "Armance", "Astrid", "Augustine", "Bérénice", "Bertille",
		"Blandine", "Brune", "Capucine", "Céleste", "Clothilde", "Colombe", "Constance", "Daphné", "Edmée", "Éléonore",
		"Émeline", "Ernestine", "Eulalie", "Fanchon", "Faustine", "Gersende", "Hermance", "Hermine", "Honorine", "Isaure",
		"Léonie", "Ludivine", "Maelwenn", "Mélisande", "Ombeline", "Ondine", "Oriane", "Perrine", "Quitterie", "Rosalie",
		"Roseline", "Sidonie", "Solange", "Théodora", "Ursule", "Victoire", "Ysoline", "Zéphyrine",
	}
	masculineNames = []string{
		"Achille", "Alaric", "Aldéric", "Amaury", "Ambroise", "Anselme", "Arsène", "Aubin", "Aurèle", "Barnabé",
		"Basile", "Calixte", "Cassien", "Célestin", "Côme", "Cyprien", "Désiré", "Éloi", "Enguerrand", "Eudes",
		"Ferdinand", "Firmin", "Flavien", "Fulbert", "Gaspard", "Gauthier", "Godefroy", "Gontran", "Hilaire", "Hyacinthe",
		"Isidore", "Joachim", "Jocelin", "Judicaël", "Lazare", "Léandre", "Lucien", "Mathurin", "Maxence", "Modeste",
		"Nestor", "Octave", "Odilon", "Pacôme", "Philémon", "Prosper", "Rainier", "Sixte", "Tancrède", "Valère",
		"Wandrille", "Zacharie",
	}
	companyKinds = []string{
		"Agence", "Ateliers", "Bureau", "Cabinet", "Compagnie", "Comptoir", "Établissements", "Études", "Groupe", "Maison",
		"Office", "Services", "Société", "Solutions", "Travaux", "Union",
	}
	companyTails = []string{"", "", "", "Associés", "et Fils", "Frères", "Conseil", "Nord", "Sud", "Est", "Ouest", "Centre"}
	// legalForms are for several partners, as names with “Frères” or “et Fils” say;
	// the commonest stands twice.
	legalForms = []string{"SA", "SARL", "SARL", "SAS", "SCOP", "SNC"}
	streets    = []string{
		"rue des Tanneurs", "rue du Vieux-Lavoir", "quai des Charrons", "allée des Tilleuls", "impasse du Moulin",
		"place du Marché-aux-Grains", "chemin des Ardoises", "avenue de la Gare", "cours des Drapiers", "rue de l’Écluse",
	}
	townHeads = []string{"Saint-", "Sainte-", "Bourg-", "Pont-", "Ville-", "Roche-"}
	reasons   = []string{"gel des avoirs", "interdiction de gérer", "interdiction de mise à disposition de fonds", "mesure conservatoire"}
	// neutralObjects are purposes of riders that change neither an end nor an
	// activity. They suit every type of attestation, an insurer's or a tax office's.
	neutralObjects = []string{"changement de siège", "changement de dénomination", "rectification d’une erreur matérielle", "changement de signataire"}
)

func (s *stream) stem() string { return pick(s, nameStarts) + pick(s, nameEnds) }

func (s *stream) company() string {
	name := pick(s, companyKinds) + " " + s.stem()
	if tail := pick(s, companyTails); tail != "" {
		name += " " + tail
	}
	return name
}

// seat is an address in an invented town; no French postal code starts with 00.
func (s *stream) seat() string {
	digits := "0123456789"
	code := "00" + string([]byte{digits[s.below(10)], digits[s.below(10)], '0'})
	number := string([]byte{digits[s.between(1, 9)], digits[s.below(10)]})
	return number + " " + pick(s, streets) + ", " + code + " " + pick(s, townHeads) + s.stem()
}

// given draws one given name, or two when names have become scarce.
func (s *stream) given(two bool) string {
	list := pick(s, [][]string{feminineNames, masculineNames})
	first := pick(s, list)
	if !two {
		return first
	}
	second := pick(s, list)
	for second == first { // nobody is called Éloi Éloi
		second = pick(s, list)
	}
	return first + " " + second
}

// lexicon answers whether a name is made of the lists.
type lexicon struct{ stems, given, kinds, tails map[string]bool }

func newLexicon() lexicon {
	l := lexicon{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, start := range nameStarts {
		for _, end := range nameEnds {
			l.stems[start+end] = true
		}
	}
	for _, set := range []struct {
		to    map[string]bool
		words []string
	}{{l.given, feminineNames}, {l.given, masculineNames}, {l.kinds, companyKinds}, {l.tails, companyTails}} {
		for _, word := range set.words {
			set.to[word] = true
		}
	}
	return l
}

func (l lexicon) person(nom, prenoms string) bool {
	for given := range strings.SplitSeq(prenoms, " ") {
		if !l.given[given] {
			return false
		}
	}
	return l.stems[nom]
}

func (l lexicon) company(name string) bool {
	kind, rest, ok := strings.Cut(name, " ")
	stem, tail, _ := strings.Cut(rest, " ")
	return ok && l.kinds[kind] && l.stems[stem] && l.tails[tail]
}
