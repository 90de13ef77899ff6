// Package season is the season service: enrolment, intake of submissions, the
// window, the freeze, and after the close the published results (receipts
// challenge design §3; specification §§3, 4, 7.4, 8, 9.1).
//
// Invariants:
//
//   - It knows neither the corpus bytes nor the key. What it answers while a
//     season is open depends on published documents only, so no answer is an
//     indication of a score (§7.4).
//   - A submission that breaks a rule of the format is refused whole and leaves
//     nothing behind; one that is acknowledged is on disk before the answer, and
//     its receipt is signed with the season's own key.
//   - A season moves one way: draft, frozen, open, closed, scored, published.
//     Time opens and closes it; an operator may close earlier, never later.
//   - From the opening on no frozen document changes. Before it a freeze may be
//     replaced, and stays on record with its proof id and the reason.
//   - A key and a DID enrol once a season; the season token is stored as a hash.
//
// The issuer is seen through the small interface Issuer, proofs through
// ProofSource; both have an HTTP client here.
package season
