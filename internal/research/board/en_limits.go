package board

func englishLimits() map[string]string {
	return map[string]string{
		"limits.title": "What these figures do not prove",
		"limits.lead":  "Read this before you rely on a row, a champion or a payout.",

		"limits.hotkeys.title":     "Hotkeys are free",
		"limits.hotkeys":           "Anyone can make as many keys as they like. The floor pool of a topic is shared by every pass, so one person with many keys can collect many parts of it. Nothing here can see that.",
		"limits.measure.title":     "A measurement is of one run",
		"limits.measure":           "A primary is what the pinned evaluator measured of one run on one host. It says nothing of other seeds, other data or other hardware.",
		"limits.sandboxed.title":   "What sandboxed: false means",
		"limits.sandboxed":         "Only a run in a Firecracker guest that the host itself booted is stamped sandboxed: true. Any other driver, the fake agent and stand-ins among them, stamps false: the recipe could reach what it should not, and its figures are worth as much as its author's word. A topic may require isolation; then such a host refuses its runs.",
		"limits.agent.title":       "An inspection is a reading",
		"limits.agent":             "The rules of a topic are ticked by a program that reads code, with the help of a model. It can overlook what it was meant to find, and find what is not there. Each tick is stored with its evidence.",
		"limits.duplicates.title":  "Near copies are recognised by their bytes",
		"limits.duplicates":        "An artefact counts as a copy when its digest or the digest of its file tree was accepted before. A copy that was changed a little is not recognised.",
		"limits.withheld.title":    "Some things are withheld for a while",
		"limits.withheld":          "Until the epoch of a row closes, its claim, the address of its artefact and the artefact itself are not shown, so that nobody copies what is still being paid. Afterwards all of it is public. The declared training data is public at once.",
		"limits.declaration.title": "A declaration is an oracle",
		"limits.declaration":       "A submission whose declared training data overlaps the sealed holdout is rejected before any run, and its row shows what was declared at once. Its author, and every reader, learns that one of the declared hashes or data sets is in the holdout; the row does not say which, but one that declares a single value leaves no doubt. Such a question costs one signed submission to an open topic, a row that stays public under the key that asked, and a place in the host's limits for an address and a key. It costs no run, and keys are free. It confirms only names and hashes that the asker already holds, never a record. A holdout whose data sets can be guessed, or whose content others hold, is therefore not hidden from them.",
		"limits.address.title":     "Addresses are not signed",
		"limits.address":           "A miner's signature covers the digest of the artefact, not the address it was fetched from. What was run is what has the digest.",
		"limits.epochs.title":      "A payout replays its snapshot",
		"limits.epochs":            "The snapshot of a closed epoch never changes, and the payout follows from it alone. Whether the rows in it are right is another question: that is what rows, receipts and artefacts are published for.",
		"limits.offers.title":      "Commitments stand for offers",
		"limits.offers":            "Rows name the commitments of the judge and executor offers they were scored under. The judge's address is not public; who has the offer can check the commitment.",
		"limits.store.title":       "The store is the operator's",
		"limits.store":             "The tables of history are append-only and the database enforces it, but the operator owns the database. Keep the snapshots and artefacts you rely on: their hashes are on these pages.",
	}
}
