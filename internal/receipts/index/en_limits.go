package index

// englishLimits is specification §10 in full, in its order. {issuer} is the
// issuer's configured name, {binding} the sentence on DID bindings.
func englishLimits() map[string]string {
	return map[string]string{
		"limits.1.title": "A proof attests a call, not a reading",
		"limits.1.1":     "An agent that calls the entire corpus without reading anything gets a zero overclaim rate and a success rate at chance level. This is the structural limit of the measure, and the two columns exist to make it visible rather than to hide it.",

		"limits.2.title": "The corpus is fictional",
		"limits.2.1":     "The overclaim rate measured on this corpus does not transpose as is to a real task.",

		"limits.3.title": "Overclaim remains dilutable by a factor of 2",
		"limits.3.1":     "An agent that submits as many true filler assertions as useful ones, within the task graph and under the cap, halves its rate. The cap bounds the effect, it does not cancel it.",

		"limits.4.title": "A grounded verdict does not mean everything was verified",
		"limits.4.1":     "The grounding covers the facts that decide the task, not every fact that the evaluation rules consume: a “conforme” verdict can be counted without the absence of a match on the restrictive-measures list having been proven page by page, because a page unrelated to the entity carries no admissible assertion.",
		"limits.4.2":     "An agent that proves every probative field of its own resources and returns a constant verdict achieves at best the best constant answer. This is why overclaim is never read without success, and why the Index displays the best constant answer’s success rate alongside it.",

		"limits.5.title": "A single model provider",
		"limits.5.1":     "Where reference runs use a language model, they run on a single provider’s subscription: they are calibration, not a ranking across providers.",

		"limits.6.title": "The community stack is declarative",
		"limits.6.1":     "Nothing establishes that a participant used the stack it announces.",

		"limits.7.title": "The billing path is not exercised",
		"limits.7.1":     "The challenge’s proofs come from free and internal keys, which do not consume prepaid credits. The proof pipeline is the same as a customer’s, the billing is not.",

		"limits.8.title": "The agent’s identity is anchored and binding, not verifiable by a third party",
		"limits.8.1":     "Since version 3.1 of the proof format, the agent’s identity, whether it was verified, and the status of its DID are committed fields: they enter the Merkle root, hence the chain hash, hence the signature, the RFC 3161 token and the log entry. Their nonces are published in the proof, which lets anyone open the triplet and cross-check the served value against the anchored commitment.",
		"limits.8.2":     "What the Index can therefore state, and states in these terms: “{binding}”. It cannot state that a third party verifies the binding itself: no public artefact proves that the Ed25519 challenge-response took place. A reader who wants more resolves the DID themselves.",
		"limits.8.3":     "Two operational consequences. Proofs before version 3.1 carry an identity backed by nothing and are not admissible for the identity condition. Any change of DID or binding method is logged; this log lives in the key profile, which the issuer can rewrite: it is a log, not a proof.",

		"limits.9.title": "Two keys with no common DID remain two participants",
		"limits.9.1":     "The matching of participants only sees DIDs bound to the same key. An operator who creates two keys with two e-mail addresses and binds a distinct DID to each enrols two participants, and nothing in the proofs allows linking them.",

		"limits.10.title": "Replaying a score goes through a batched read, itself limited",
		"limits.10.1":     "The issuer blocks an address beyond a number of public reads per hour (100 unless configured otherwise). A single read counts as one; a batched read returns up to 50 proofs of the challenge and counts as one. A score reads about 30 to 35 proofs per participant and fits in one call: from a single address, one can replay about a hundred scores per hour, the publisher at close like a third party verifying. An anchored proof no longer changes: keeping it on disk avoids reading it again.",
		"limits.10.2":     "A season’s bundle holds every proof that was cited, so a replay from the bundle reads nothing from the issuer.",

		"limits.11.title": "Human work is not detected",
		"limits.11.1":     "Nothing in a proof distinguishes a call made by an agent from a call made by a human using the key. The challenge measures the gap between declaration and receipts regardless of who is behind it; the participation terms require that the agent alone produce the submission, with no way to verify it.",

		"limits.12.title": "Measure is not intention",
		"limits.12.1":     "A poorly instrumented agent and a complacent agent produce the same trace. The vocabulary of this Index follows directly from this limit, it is not a stylistic precaution.",
	}
}

// englishTerms is what a participant agrees to (§3, §7.4, §9).
func englishTerms() map[string]string {
	return map[string]string{
		"terms.1.title": "What is measured",
		"terms.1.1":     "The gap between what an agent declares and what its receipts establish, as two rates that are never combined. What this does not prove is listed on the limits page, which is part of these terms.",

		"terms.2.title": "Identity",
		"terms.2.1":     "A participant enrols one DID, bound to the key it presents. DIDs that were ever bound to a common key, at enrolment or before or after, form a single participant; only the first enrolment is ranked. Neither the e-mail address nor the network address enters this matching.",

		"terms.3.title": "Who does the work",
		"terms.3.1":     "The agent alone produces the submission: calls, verdicts, assertions and narrative. This cannot be verified, and the limits page says so.",

		"terms.4.title": "Name and stack",
		"terms.4.1":     "The operator chooses the agent’s name, without emoji. The declared stack is optional, shown in its column only, and labelled “declared stack, not verified” on every row.",

		"terms.5.title": "What becomes public, and when",
		"terms.5.1":     "While the season is open, nobody but the participant sees that it submitted, and no answer of the service depends on whether a submission is right.",
		"terms.5.2":     "At publication these become public, and stay so: the agent’s name, DID, declared stack and time of enrolment; every last submission with its verdict, assertions, disclosures and narrative; the proofs that it cites; the individual report with the cause of each unsupported assertion; DIDs linked to the one enrolled.",
		"terms.5.3":     "E-mail addresses and keys are never published.",

		"terms.6.title": "Submissions",
		"terms.6.1":     "One submission per task, replaceable until the close: the last one stands. A submission that does not conform is refused before it is recorded, with every fault named; it is not scored as zero.",

		"terms.7.title": "What does not change",
		"terms.7.1":     "Rules, corpus and the sealed answer key are frozen and anchored before the season opens. They are not touched during the season; a change would end the season and be published.",

		"terms.8.title": "Disputes",
		"terms.8.1":     "A dispute concerns one assertion and the cause shown, never the rules nor the corpus, which are frozen. It is sent to {contact} within 14 days of the publication of the score. A person decides and gives reasons within 30 days. An upheld dispute becomes a published correction with a new version of the results; no file is ever changed in place.",

		"terms.9.title": "Incidents",
		"terms.9.1":     "A fault of the proxy or of the corpus is an instrument fault: it counts neither for nor against an agent and is published as an incident. A proof that is not anchored in time is pending; its task has no score until a later publication.",
	}
}
