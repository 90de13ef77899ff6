package index

// frenchNotes say what a witness's check found (receipt.Note).
func frenchNotes() map[string]string {
	return map[string]string{
		"note.chain_malformed": "L’empreinte de chaîne de la preuve est mal formée.",
		"note.batch_waiting":   "Le lot n’est pas encore clos.",
		"note.batch_failed":    "La place dans le lot ne tient pas : il n’y a rien à contrôler ici.",
		"note.spec_unknown":    "La version du format de preuve n’est pas connue.",

		"note.identity_bound":         "DID vérifié %s, lié au moment de la preuve.",
		"note.identity_unbound":       "DID %s, vérifié mais non lié.",
		"note.identity_self_declared": "%s est déclaré par l’agent, ce n’est pas un DID vérifié.",
		"note.identity_none":          "La preuve ancre qu’aucune identité n’a été déclarée.",
		"note.identity_unanchored":    "%s est revendiqué ; aucune version avant 3.1 n’ancre d’identité : cela n’établit rien.",
		"note.identity_unclaimed":     "Aucune identité n’est revendiquée.",
		"note.identity_uncommitted":   "%s n’est pas engagé ; la version 3.1 engage les quatre champs d’identité.",
		"note.identity_undisclosed":   "%s n’est pas divulgué ; la version 3.1 divulgue les quatre champs d’identité.",
		"note.identity_unopened":      "Le champ divulgué %s n’ouvre pas son engagement.",

		"note.chain_committed":  "Engagements qui mènent à l’empreinte de chaîne : %s.",
		"note.chain_recomputed": "Recalculée à partir des valeurs de la preuve.",
		"note.chain_other":      "Les %s engagements mènent à une autre empreinte.",
		"note.chain_redacted":   "La vue publique omet une partie de ce que couvre l’empreinte de chaîne : elle ne peut pas être recalculée.",

		"note.disclosed":         "Paires qui ouvrent leur engagement : %s.",
		"note.disclosed_none":    "Rien n’est divulgué.",
		"note.disclosed_wrong":   "La paire de %s n’ouvre pas son engagement.",
		"note.disclosed_loose":   "Les engagements ne sont pas ceux de l’empreinte de chaîne.",
		"note.nothing_to_commit": "Cette version du format de preuve n’a pas d’engagements.",

		"note.issuer_key":          "Clé %s de l’émetteur.",
		"note.issuer_key_retired":  "Clé %s de l’émetteur, retirée depuis ; aucune heure vérifiée ne montre encore qu’elle a signé avant.",
		"note.issuer_key_too_late": "La preuve a été constatée trop longtemps après le retrait de la clé %s.",
		"note.issuer_key_unknown":  "%s n’est aucune des clés publiées de l’émetteur.",
		"note.issuer_key_outside":  "La clé %s n’était pas en service à l’heure qu’énonce la preuve, %s.",
		"note.signature_missing":   "La preuve n’a pas de signature.",
		"note.signature_wrong":     "La signature n’est pas celle de la clé %s sur cette empreinte de chaîne.",

		"note.batch_leaf":          "Feuille %s sur %s sous la racine %s",
		"note.batch_none":          "La preuve n’est dans aucun lot ; les témoins attestent son empreinte de chaîne elle-même.",
		"note.batch_path_length":   "Le chemin n’a pas la longueur que cette place dans le lot exige.",
		"note.batch_path_mismatch": "Le chemin mène à une autre racine.",

		"note.token":             "Jeton de %s.",
		"note.token_missing":     "La preuve n’a pas de jeton.",
		"note.token_reported":    "La preuve n’a pas de jeton ; l’émetteur indique « %s ».",
		"note.authority_unknown": "Les clés et racines de la saison ne nomment aucune autorité « %s ».",

		"note.entry":              "Entrée %s de %s.",
		"note.entry_unnamed":      "La preuve ne nomme aucune entrée de journal.",
		"note.entry_reported":     "La preuve ne nomme aucune entrée de journal ; l’émetteur indique « %s ».",
		"note.entry_malformed":    "L’identifiant de l’entrée de journal est mal formé.",
		"note.entry_not_supplied": "L’entrée %s n’était pas disponible.",
		"note.entry_denied":       "Le journal n’a pas d’entrée %s.",
		"note.entry_unavailable":  "L’archive ne contient pas l’entrée %s.",
		"note.entry_foreign":      "La clé qui a signé l’entrée n’est aucune des clés de journal publiées de l’émetteur.",
	}
}
