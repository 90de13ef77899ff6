package corpus

import (
	"fmt"
	"slices"
)

// number gives every record its reference. Numbers are drawn for all records of a
// kind at once, absent ones included, and dealt in shuffled order: a number says
// nothing about when or for what a record was made. The least and the greatest go
// to records that exist, so that no absent one stands outside their range.
func (w *world) number(s *stream) {
	var entities, licences, certificates, riders numbered
	for _, e := range w.entities {
		entities.add(&e.ref, false)
		for _, l := range e.licences {
			licences.add(&l.ref, l.absent)
		}
		for _, c := range e.certificates {
			certificates.add(&c.ref, c.absent)
			for _, r := range c.riders {
				riders.add(&r.ref, r.absent)
			}
		}
	}
	entities.deal(s, "ENT")
	licences.deal(s, "AGR")
	certificates.deal(s, "ATT")
	riders.deal(s, "AVN")
}

type numbered struct{ existing, absent []*ref }

func (n *numbered) add(r *ref, absent bool) {
	if absent {
		n.absent = append(n.absent, r)
		return
	}
	n.existing = append(n.existing, r)
}

func (n *numbered) deal(s *stream, prefix string) {
	total := len(n.existing) + len(n.absent)
	width, low := 4, 1000
	for total > low*3 { // at most a third of the numbers of a width are used
		width, low = width+1, low*10
	}
	seen := make(map[int]bool, total)
	numbers := make([]int, 0, total)
	for len(numbers) < total {
		if k := s.between(low, low*10-1); !seen[k] {
			seen[k] = true
			numbers = append(numbers, k)
		}
	}
	slices.Sort(numbers)
	shuffle(s, n.existing)
	var outer []int
	if len(n.existing) >= 2 && total > 2 {
		outer = []int{numbers[0], numbers[total-1]}
		numbers = numbers[1 : total-1]
	}
	shuffle(s, numbers)
	for i, r := range slices.Concat(n.existing, n.absent) {
		k := 0
		if i < len(outer) {
			k = outer[i]
		} else {
			k = numbers[i-len(outer)]
		}
		r.name = fmt.Sprintf("%s-%0*d", prefix, width, k)
	}
}
