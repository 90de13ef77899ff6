package issuer

import "time"

// pageTexts are the words of the proof page in one language.
type pageTexts struct {
	Title, Language, What, WhatText, Host, When, Status, NoAnswer, Request, Response, Identity string
	NoIdentity, SelfDeclared, Bound, Limits                                                    string
	Witnesses, Witness, Result, Kind, Time                                                     string
	Chain, Signature, Token, Log                                                               string
	Holds, Broken, Present, Verified, Waiting, NoLog                                           string
	Own, Independent, Local                                                                    string
	Pending, PendingDetail, Anchored, AnchoredIndependent, AnchoredLocal                       string
	Altered, AlteredDetail                                                                     string
	Check, CheckText, OpenSSLText, NotYet                                                      string
}

func textsOf(lang string) pageTexts {
	if lang == "fr" {
		return frenchTexts()
	}
	return englishTexts()
}

func englishTexts() pageTexts {
	return pageTexts{
		Title: "Proof", Language: "Language",
		What:     "What this proof establishes",
		WhatText: "The issuer made one outgoing HTTP call for the holder of an API key and committed to the request, to the response and to the caller's identity before the witnesses below signed.",
		Host:     "Host called", When: "Issued (issuer's clock)", Status: "Status of the answer (not anchored)",
		NoAnswer: "the host did not answer", Request: "Hash of the request", Response: "Hash of the response",
		Identity: "Agent identity", NoIdentity: "none declared", SelfDeclared: "self-declared, not a verified DID", Bound: "DID bound to the API key",
		Limits:    "It does not establish that the agent read the answer, nor that a conclusion follows from it.",
		Witnesses: "Witnesses", Witness: "Witness", Result: "Result", Kind: "Kind", Time: "Time",
		Chain: "Commitments and chain hash", Signature: "Issuer's signature (Ed25519)", Token: "RFC 3161 timestamp", Log: "Transparency log",
		Holds: "intact", Broken: "does not verify", Present: "present", Verified: "verified", Waiting: "pending", NoLog: "not used by this issuer",
		Own: "the issuer's own", Independent: "independent third party", Local: "local, not independent",
		Pending:             "Pending.",
		PendingDetail:       "The batch of this proof is not anchored yet. The proof is neither valid nor invalid; look again in a few minutes.",
		Anchored:            "Anchored.",
		AnchoredIndependent: "At least one independent third party signed for the batch that holds this proof.",
		AnchoredLocal:       "The witnesses of this proof are local, not independent: they are run by the issuer itself.",
		Altered:             "Altered.",
		AlteredDetail:       "The stored record no longer matches its commitments. Do not rely on it.",
		Check:               "Check it yourself",
		CheckText:           "Do not take this page's word for it. The program checks every witness on your machine:",
		OpenSSLText:         "The timestamp alone, with OpenSSL (the authority's certificates come from the authority or from your trust file):",
		NotYet:              "The timestamp can be checked once the batch is anchored.",
	}
}

func frenchTexts() pageTexts {
	return pageTexts{
		Title: "Preuve", Language: "Langue",
		What:     "Ce que cette preuve établit",
		WhatText: "L’émetteur a fait un appel HTTP sortant pour le détenteur d’une clé d’API et s’est engagé sur la requête, sur la réponse et sur l’identité de l’appelant avant que les témoins ci-dessous ne signent.",
		Host:     "Hôte appelé", When: "Émise le (horloge de l’émetteur)", Status: "Statut de la réponse (non ancré)",
		NoAnswer: "l’hôte n’a pas répondu", Request: "Empreinte de la requête", Response: "Empreinte de la réponse",
		Identity: "Identité de l’agent", NoIdentity: "aucune déclarée", SelfDeclared: "déclarée par l’agent, pas un DID vérifié", Bound: "DID lié à la clé d’API",
		Limits:    "Elle n’établit ni que l’agent a lu la réponse, ni qu’une conclusion en découle.",
		Witnesses: "Témoins", Witness: "Témoin", Result: "Résultat", Kind: "Nature", Time: "Heure",
		Chain: "Engagements et empreinte de chaîne", Signature: "Signature de l’émetteur (Ed25519)", Token: "Horodatage RFC 3161", Log: "Journal de transparence",
		Holds: "intacts", Broken: "ne se vérifie pas", Present: "présente", Verified: "vérifié", Waiting: "en attente", NoLog: "non utilisé par cet émetteur",
		Own: "l’émetteur lui-même", Independent: "tiers indépendant", Local: "local, non indépendant",
		Pending:             "En attente.",
		PendingDetail:       "Le lot de cette preuve n’est pas encore ancré. La preuve n’est ni valide ni invalide ; revenez dans quelques minutes.",
		Anchored:            "Ancrée.",
		AnchoredIndependent: "Au moins un tiers indépendant a signé pour le lot qui contient cette preuve.",
		AnchoredLocal:       "Les témoins de cette preuve sont locaux, non indépendants : l’émetteur les fait tourner lui-même.",
		Altered:             "Altérée.",
		AlteredDetail:       "L’enregistrement ne correspond plus à ses engagements. Ne vous y fiez pas.",
		Check:               "Vérifiez vous-même",
		CheckText:           "Ne croyez pas cette page sur parole. Le programme vérifie chaque témoin sur votre machine :",
		OpenSSLText:         "L’horodatage seul, avec OpenSSL (les certificats de l’autorité viennent de l’autorité ou de votre fichier de confiance) :", //nolint:misspell // French.
		NotYet:              "L’horodatage pourra être vérifié quand le lot sera ancré.",
	}
}

func unixTime(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
