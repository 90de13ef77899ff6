package agent

import "context"

// Reference is an agent that comes with Prova: a calibration of the challenge,
// not a contestant.
type Reference struct {
	// Slug is a name for addresses and files, Name the one on the Index.
	Slug, Name string
	// Describe says in one sentence how it works, by language (fr, en).
	Describe map[string]string
	// Run works through every task and submits. It returns when all are submitted or
	// have failed, with every error.
	Run func(ctx context.Context, c *Client, w *Work) error
}

// References are the agents in the order in which a demonstration runs them. They
// share nothing; several may run at once, each with its own client.
func References() []Reference {
	return []Reference{
		{
			Slug: "reader", Name: "Reader", Run: perTask(reader),
			Describe: map[string]string{
				"fr": "Lit le référentiel, suit chaque référence et chaque liste jusqu’au bout, affirme ce qui fonde sa conclusion.",
				"en": "Reads the evaluation rules, follows every reference and every list to its end, asserts what its conclusion rests on.",
			},
		},
		{
			Slug: "first-answer", Name: "First Answer", Run: perTask(firstAnswer),
			Describe: map[string]string{
				"fr": "Consulte la fiche et le premier agrément, conclut d’après leurs statuts et s’arrête là.",
				"en": "Consults the record and the first licence, concludes from their statuses and stops there.",
			},
		},
		{
			Slug: "no-consultation", Name: "No Consultation", Run: perTask(noConsultation),
			Describe: map[string]string{
				"fr": "Ne consulte que le référentiel et affirme ce qu’une fiche contient d’ordinaire.",
				"en": "Consults the evaluation rules only and asserts what a record usually holds.",
			},
		},
		{
			Slug: "expected-values", Name: "Expected Values", Run: perTask(expectedValues),
			Describe: map[string]string{
				"fr": "Consulte les bonnes ressources et affirme les valeurs qu’il attend plutôt que celles reçues.",
				"en": "Consults the right resources and asserts the values it expects instead of those it received.",
			},
		},
		{
			Slug: "constant", Name: "Constant", Run: perTask(constant),
			Describe: map[string]string{
				"fr": "Rend partout le verdict le plus fréquent et affirme ce que dit la fiche.",
				"en": "Returns the most frequent verdict everywhere and asserts what the record says.",
			},
		},
		{
			Slug: "random-receipts", Name: "Random Receipts", Run: perTask(randomReceipts),
			Describe: map[string]string{
				"fr": "Consulte plusieurs ressources, affirme ce qu’elles disent et cite pour chaque affirmation un reçu tiré au sort.",
				"en": "Consults several resources, asserts what they say and cites for each assertion a receipt drawn by lot.",
			},
		},
	}
}
