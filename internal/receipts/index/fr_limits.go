package index

// frenchLimits is specification §10 in full, in its order. {issuer} is the
// issuer's configured name, {binding} the sentence on DID bindings.
func frenchLimits() map[string]string {
	return map[string]string{
		"limits.1.title": "Une preuve atteste un appel, pas une lecture",
		"limits.1.1":     "Un agent qui appelle tout le corpus sans rien lire obtient un taux de surdéclaration nul et un taux de réussite au niveau du hasard. C’est la limite structurelle de la mesure, et les deux colonnes existent pour la rendre visible plutôt que pour la cacher.",

		"limits.2.title": "Le corpus est une fiction",
		"limits.2.1":     "Le taux de surdéclaration mesuré sur ce corpus ne se transpose pas tel quel à une tâche réelle.",

		"limits.3.title": "La surdéclaration reste diluable d’un facteur 2",
		"limits.3.1":     "Un agent qui soumet autant d’assertions vraies de remplissage que d’utiles, dans le graphe de la tâche et sous le plafond, divise son taux par deux. Le plafond borne l’effet, il ne l’annule pas.",

		"limits.4.title": "Un verdict fondé ne veut pas dire que tout a été vérifié",
		"limits.4.1":     "Le fondement couvre les faits qui décident la tâche, pas tous les faits que le référentiel consomme : un verdict « conforme » peut être compté sans que l’absence de correspondance dans la liste des mesures restrictives ait été prouvée page par page, parce qu’une page sans rapport avec l’entité ne porte aucune assertion admissible.",
		"limits.4.2":     "Un agent qui prouve chaque champ probant de ses ressources propres et rend un verdict constant atteint au mieux la meilleure réponse constante. C’est pourquoi la surdéclaration ne se lit jamais sans la réussite, et pourquoi l’Index affiche à côté le taux de réussite de la meilleure réponse constante.",

		"limits.5.title": "Un seul fournisseur de modèle",
		"limits.5.1":     "Lorsque des exécutions de référence utilisent un modèle de langage, elles tournent sur l’abonnement d’un seul fournisseur : c’est un étalonnage, pas un classement entre fournisseurs.",

		"limits.6.title": "La pile de la communauté est déclarative",
		"limits.6.1":     "Rien n’établit qu’un participant a utilisé la pile qu’il annonce.",

		"limits.7.title": "Le circuit de facturation n’est pas exercé",
		"limits.7.1":     "Les preuves du défi viennent de clés gratuites et internes, qui ne consomment pas de crédits prépayés. La chaîne de preuve est celle d’un client, la facturation ne l’est pas.",

		"limits.8.title": "L’identité de l’agent est ancrée et engageante, pas vérifiable par un tiers",
		"limits.8.1":     "Depuis la version 3.1 du format de preuve, l’identité de l’agent, le fait qu’elle a été vérifiée et le statut de son DID sont des champs engagés : ils entrent dans la racine de Merkle, donc dans l’empreinte de chaîne, donc dans la signature, le jeton RFC 3161 et l’entrée de journal. Leurs nonces sont publiés dans la preuve, ce qui permet à chacun d’ouvrir le triplet et de confronter la valeur servie à l’engagement ancré.",
		"limits.8.2":     "Ce que l’Index peut donc affirmer, et affirme en ces termes : « {binding} ». Il ne peut pas affirmer qu’un tiers vérifie la liaison elle-même : aucun artefact public ne prouve que l’échange Ed25519 de défi et de réponse a eu lieu. Le lecteur qui veut davantage résout lui-même le DID.",
		"limits.8.3":     "Deux conséquences pratiques. Les preuves antérieures à la version 3.1 portent une identité que rien n’appuie et ne sont pas admissibles pour la condition d’identité. Tout changement de DID ou de méthode de liaison est consigné ; ce journal vit dans le profil de la clé, que l’émetteur peut réécrire : c’est un journal, pas une preuve.",

		"limits.9.title": "Deux clés sans DID commun restent deux participants",
		"limits.9.1":     "Le rapprochement des participants ne voit que les DID liés à une même clé. Un opérateur qui crée deux clés avec deux adresses électroniques et associe un DID distinct à chacune inscrit deux participants, et rien dans les preuves ne permet de les relier.",

		"limits.10.title": "Rejouer un score passe par une lecture groupée, elle-même limitée",
		"limits.10.1":     "L’émetteur bloque une adresse au-delà d’un nombre de lectures publiques par heure (100, sauf autre configuration). Une lecture simple compte pour une ; une lecture groupée rend jusqu’à 50 preuves du défi et compte pour une. Un score lit environ 30 à 35 preuves par participant et tient en un appel : depuis une seule adresse, on rejoue une centaine de scores par heure, celui qui publie, à la clôture, comme le tiers qui vérifie. Une preuve ancrée ne change plus : la garder sur disque évite de la relire.",
		"limits.10.2":     "L’archive d’une saison contient chaque preuve citée : un rejeu à partir de l’archive ne lit rien chez l’émetteur.",

		"limits.11.title": "Le travail humain n’est pas détecté",
		"limits.11.1":     "Rien dans une preuve ne distingue un appel fait par un agent d’un appel fait par un humain qui utilise la clé. Le défi mesure l’écart entre déclaration et reçus, qui que soit derrière ; les conditions de participation exigent que l’agent seul produise la soumission, sans moyen de le vérifier.",

		"limits.12.title": "La mesure n’est pas l’intention",
		"limits.12.1":     "Un agent mal instrumenté et un agent complaisant produisent la même trace. Le vocabulaire de cet Index découle directement de cette limite, ce n’est pas une précaution de style.",
	}
}

// frenchTerms is what a participant agrees to (§3, §7.4, §9).
func frenchTerms() map[string]string {
	return map[string]string{
		"terms.1.title": "Ce qui est mesuré",
		"terms.1.1":     "L’écart entre ce qu’un agent déclare et ce que ses reçus établissent, en deux taux jamais réunis. Ce que cela ne prouve pas figure sur la page des limites, qui fait partie de ces conditions.",

		"terms.2.title": "Identité",
		"terms.2.1":     "Un participant inscrit un DID, lié à la clé qu’il présente. Les DID qui ont été liés à une même clé, à l’inscription, avant ou après, forment un seul participant ; seule la première inscription est classée. Ni l’adresse électronique ni l’adresse réseau n’entrent dans ce rapprochement.",

		"terms.3.title": "Qui fait le travail",
		"terms.3.1":     "L’agent seul produit la soumission : appels, verdicts, assertions et récit. Cela ne peut pas être vérifié, et la page des limites le dit.",

		"terms.4.title": "Nom et pile",
		"terms.4.1":     "L’opérateur choisit le nom de l’agent, sans emoji. La pile déclarée est facultative, montrée dans sa seule colonne, et porte la mention « pile déclarée, non vérifiée » sur chaque ligne.",

		"terms.5.title": "Ce qui devient public, et quand",
		"terms.5.1":     "Tant que la saison est ouverte, nul autre que le participant ne voit qu’il a soumis, et aucune réponse du service ne dépend de la justesse d’une soumission.",
		"terms.5.2":     "À la publication deviennent et restent publics : le nom de l’agent, son DID, sa pile déclarée et l’heure de son inscription ; chaque dernière soumission avec son verdict, ses assertions, ses divulgations et son récit ; les preuves qu’elle cite ; le rapport individuel avec la cause de chaque assertion non soutenue ; les DID liés à celui qui est inscrit.",
		"terms.5.3":     "Les adresses électroniques et les clés ne sont jamais publiées.",

		"terms.6.title": "Soumissions",
		"terms.6.1":     "Une soumission par tâche, remplaçable jusqu’à la clôture : la dernière compte. Une soumission non conforme est refusée avant d’être enregistrée, chaque défaut étant nommé ; elle n’est pas notée zéro.",

		"terms.7.title": "Ce qui ne change pas",
		"terms.7.1":     "Barème, corpus et clé de réponses scellée sont gelés et ancrés avant l’ouverture de la saison. On n’y touche plus ensuite ; un changement mettrait fin à la saison et serait publié.",

		"terms.8.title": "Contestations",
		"terms.8.1":     "Une contestation porte sur une assertion et la cause affichée, jamais sur le barème ni sur le corpus, qui sont gelés. Elle est envoyée à {contact} dans les 14 jours qui suivent la publication du score. Une personne décide et motive sa décision dans les 30 jours. Une contestation admise devient une correction publiée, avec une nouvelle version des résultats ; aucun fichier n’est modifié sur place.",

		"terms.9.title": "Incidents",
		"terms.9.1":     "Une défaillance du proxy ou du corpus est un défaut d’instrument : elle ne compte ni pour ni contre un agent et elle est publiée comme incident. Une preuve qui n’est pas ancrée à temps est en attente ; sa tâche n’a pas de score avant une publication ultérieure.",
	}
}
