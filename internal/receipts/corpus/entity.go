package corpus

// The generator's own picture of the world: records point at each other, and get
// their numbers when all of them exist.

// ref is a reference that has no number until numbering.
type ref struct{ name string }

type entity struct {
	ref
	activity  Activity
	date      day // the examination date around which everything is placed
	situation situation
	asked     bool

	name, form, seat, status string
	licences                 []*licence
	certificates             []*certificate
	owners                   []*person
	declarations             []string // one a page
	quoted                   []quotation
}

// quotation is a reference that the question cites.
type quotation struct {
	licence     *licence
	certificate *certificate
}

func (q quotation) path() string {
	if q.licence != nil {
		return "/agrements/" + q.licence.name
	}
	return "/attestations/" + q.certificate.name
}

type licence struct {
	ref
	absent   bool
	activity string
	status   string
	from, to day
	listed   string // the status in the public list, "" for no entry
}

type certificate struct {
	ref
	absent      bool
	quotedOnly  bool // the question cites it, the record does not
	settled     bool // a situation rests on it: nothing is added or moved
	kind        string
	issued, end day
	riders      []*rider
}

type rider struct {
	ref
	absent         bool
	object         string
	effect, newEnd day
	excludes       string
}

type person struct {
	nom, prenoms string
	born         day // the zero day: not given
	reason       string
}

// main is the licence for the entity's activity.
func (e *entity) main() *licence { return e.licences[0] }

// pages is the number of the owners' pages.
func (e *entity) pages() int { return len(e.declarations) }

// ownCalls counts the calls that read everything that is the entity's own.
func (e *entity) ownCalls() int {
	n := 1 + len(e.licences) + len(e.certificates) + e.pages()
	for _, c := range e.certificates {
		n += len(c.riders)
	}
	return n
}
