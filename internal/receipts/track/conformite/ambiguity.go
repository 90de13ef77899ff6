package conformite

import (
	"slices"

	"github.com/prova-dev/prova/internal/receipts/track"
)

// Ambiguity is a place where the published rules leave two readings of a file.
type Ambiguity struct {
	// Resource is where it is, Why what is ambiguous there.
	Resource, Why string
}

// Ambiguities lists what a corpus must not hold if its verdicts and facts are to
// be the only defensible ones. An unknown activity has none: [Evaluate] reports it.
func Ambiguities(c track.Corpus, t track.Target, r Referentiel) []Ambiguity {
	f, err := gather(c, t, r)
	if err != nil {
		return nil
	}
	var out []Ambiguity
	satisfying := 0
	for _, lic := range f.licences {
		if f.licence(lic, lens{}) != True {
			continue
		}
		if satisfying++; satisfying > 1 {
			out = append(out, Ambiguity{lic.resource, "a second licence satisfies criterion 2: facts and criterion 4 would depend on which is taken"})
		}
		if len(f.registerEntries(lic)) > 1 {
			out = append(out, Ambiguity{lic.resource, "the public list has two entries for the licence"})
		}
	}
	for _, kind := range f.required {
		satisfying := 0
		for _, cert := range f.certificates {
			if f.certificate(cert, kind, lens{}) != True {
				continue
			}
			if satisfying++; satisfying > 1 {
				out = append(out, Ambiguity{cert.resource, "a second attestation satisfies the type " + kind + ": facts would depend on which is taken"})
			}
			if slices.ContainsFunc(cert.riders, rider.absent) {
				out = append(out, Ambiguity{cert.resource, "the attestation satisfies, yet cites a rider that does not exist and might end it"})
			}
		}
	}
	for _, cert := range f.certificates {
		if !cert.absent() && word(cert.body, "entite") != t.Entity && slices.ContainsFunc(cert.riders, rider.absent) {
			out = append(out, Ambiguity{cert.resource, "another entity's attestation cites a rider that does not exist"})
		}
	}
	return out
}
