package corpus

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// RulesVersion names the compliance scoring rules of this package (§5).
const RulesVersion = "conformite-bareme-v3"

//go:embed conformite-bareme-v3.md
var rulesText []byte

// bounds are the least and greatest number of assertions of a task.
type bounds struct{ minimum, maximum int }

// taskBounds are those of conf-01 to conf-10, fixed by §5.5.
var taskBounds = [10]bounds{{2, 4}, {3, 6}, {2, 4}, {3, 6}, {4, 8}, {4, 8}, {3, 6}, {4, 8}, {3, 6}, {3, 6}}

func taskID(i int) string { return fmt.Sprintf("conf-%02d", i+1) }

// minP5 is the least number of tasks of family P5 (§5.4).
const minP5 = 3

// A task costs from 2 to 12 calls, none needs more than 20 (§5.6).
const (
	minNeededCalls = 2
	maxNeededCalls = 12
	maxCalls       = 20
)

// publishedBreakdown is the number of tasks of each expected verdict (§5.5).
func publishedBreakdown() map[string]int {
	return map[string]int{
		conformite.VerdictConforme:       3,
		conformite.VerdictNonConforme:    4,
		conformite.VerdictIndeterminable: 3,
	}
}

func verdicts() []string {
	return []string{conformite.VerdictConforme, conformite.VerdictNonConforme, conformite.VerdictIndeterminable}
}

// probativeFields is the table of §5.7, in its order.
func probativeFields() *canonjson.Object {
	fields := func(pointers ...string) []any { return anys(pointers) }
	return canonjson.NewObject(
		"/entites/", fields("/existe", "/statut", "/agrements", "/agrements/<n>", "/attestations", "/attestations/<n>", "/beneficiaires"),
		"/agrements/", fields("/existe", "/entite", "/activite", "/statut", "/date_debut", "/date_fin_validite"),
		"/attestations/", fields("/existe", "/entite", "/type", "/date_emission", "/date_fin_validite", "/avenants", "/avenants/<n>"),
		"/avenants/", fields("/existe", "/attestation", "/objet", "/date_effet", "/nouvelle_date_fin", "/activite_exclue"),
		"/listes/agrees/", fields("/entrees/<n>/agrement", "/entrees/<n>/entite", "/entrees/<n>/statut"),
		"/beneficiaires/", fields("/statut_declaration", "/entrees/<n>/nom", "/entrees/<n>/prenoms", "/entrees/<n>/date_naissance", "/page_suivante"),
		"/mesures-restrictives/", fields("/entrees/<n>/nom", "/entrees/<n>/prenoms", "/entrees/<n>/date_naissance"),
	)
}

// rulesJSON is rules.json: what a program applies of the rules (bundle format §4).
func rulesJSON() *canonjson.Object {
	sum := sha256.Sum256(rulesText)
	return canonjson.NewObject(
		"version", RulesVersion,
		"text_sha256", hex.EncodeToString(sum[:]),
		"verdicts", anys(verdicts()),
		"verdict_collection", nil,
		"probative_fields", probativeFields(),
	)
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
