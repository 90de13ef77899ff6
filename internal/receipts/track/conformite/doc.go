// Package conformite applies the published evaluation rules of the compliance
// track: five criteria at the examination date, each true, false or not
// establishable, and from them the verdict and the facts that ground it.
//
// The verdicts and facts of a sealed key come from [Evaluate], never from a
// hand. The same rules, in words and as data, are what the corpus serves at
// /referentiel, so a participant can come to the same verdict.
//
// [Readings] are the readings that each trap family tempts to (§5.4): the same
// rules with one of them missed. A corpus is worth asking only when the reading
// named by a task's family gives another verdict than the rules do.
//
// Invariants:
//
//   - pure functions of the frozen values; the order of evaluation never shows;
//   - precedence (§5.3): any criterion false gives non_conforme, else any not
//     establishable gives indeterminable, else conforme;
//   - date bounds are inclusive; a null in a date that must be compared makes
//     the comparison not establishable; a criterion holds if one way to satisfy
//     it does, whatever else stays open.
//
// The table of criteria gives no way to read the licences of a record that does
// not exist. Criteria 2, 3 and 5 are then not establishable, because §5.3 makes
// an absent source indeterminable and the specification comes first.
//
// Specification: prove-it §5.3, §5.4, §5.7 (grounded verdict); design of the
// receipts challenge, section 2.
package conformite
