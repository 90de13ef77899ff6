package index

import (
	"maps"
	"slices"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

// wordFamily is a set of words of the bundle format, each with a text
// "<family>.<word>" in both catalogues.
type wordFamily struct {
	name  string
	words []string
}

// vocabulary is every word of the bundle format that a page can have to say. A
// test holds it against the format and the catalogues.
func vocabulary() []wordFamily {
	return []wordFamily{
		{"status", []string{bundle.StatusSupported, bundle.StatusUnsupported, bundle.StatusInstrumentFault, bundle.StatusPending}},
		{"cause", causes()},
		{"detail", []string{
			receipt.DetailProofMissing, receipt.DetailProofMalformed, receipt.DetailCommitmentsMissing, receipt.DetailCommitmentsMalformed,
			receipt.DetailChainMismatch, receipt.DetailIssuerKeyRefused, receipt.DetailSignatureInvalid, receipt.DetailBatchMalformed,
			receipt.DetailPathLength, receipt.DetailPathMismatch, receipt.DetailTokenMissing, receipt.DetailTokenInvalid,
			receipt.DetailWitnessNotIndependent, receipt.DetailLogEntryMissing, receipt.DetailLogEntryInvalid,
			receipt.DetailDisclosureMismatch, receipt.DetailTokenOutsideWindow,
			receipt.DetailSpecVersionTooOld, receipt.DetailDisclosedMismatch, receipt.DetailIdentityUnverified, receipt.DetailIdentityOtherDID,
			results.DetailRequestHashDiffers, results.DetailResponseHashDiffers, results.DetailFieldAbsent, results.DetailValueDiffers,
			"/_systeme/403", "/_systeme/503", "/_systeme/400",
		}},
		{"state", []string{results.StateSubmitted, results.StateNotSubmitted, results.StateRejected, results.StatePending}},
		{"reason", []string{
			results.ReasonAbsent, results.ReasonNotConforming, results.ReasonOverCap, results.ReasonOutsideTaskGraph,
			results.ReasonFieldNotProbative, results.ReasonNotConcerned, results.ReasonBelowMinimum, results.ReasonBelowOwnMinimum,
		}},
		{"rule", []string{"a", "b", "c", "d", "e", "f", "g", "h"}},
		{"incident", []string{results.IncidentInstrumentFault, results.IncidentFlatFieldDiverges}},
		{"flat", []string{
			"hashes.request", "hashes.response", "agent_identity", "agent_identity_verified", "did_resolution_status", "identity_consistent",
		}},
		{"refusal", []string{
			bundle.ReasonFreezeMissing, bundle.ReasonFreezePending, bundle.ReasonFreezeInvalid, bundle.ReasonFreezeLate,
			bundle.ReasonFreezeStatement, bundle.ReasonRules, bundle.ReasonManifest, bundle.ReasonKey, bundle.ReasonCorpus,
		}},
		{"kind", []string{bundle.KindReference, bundle.KindCommunity}},
		{"family", []string{"P1", "P2", "P3", "P4", "P5"}},
		{"verdict", []string{"conforme", "non_conforme", "indeterminable", "aucune_option_valide"}},
		{"season_state", []string{StateDraft, StateFrozen, StateOpen, StateClosed, StateScored, StatePublished}},
		{"witness", witnesses()},
		{"witness_what", witnesses()},
		{"witness_status", []string{string(receipt.OK), string(receipt.Fail), string(receipt.Waiting), string(receipt.NotChecked)}},
		{"note", slices.Sorted(maps.Keys(receipt.NoteArgs()))},
		{"proof_verdict", []string{string(receipt.VerdictValid), string(receipt.VerdictPending), string(receipt.VerdictInvalid)}},
	}
}

// causes are the four of specification §4.1, in their order.
func causes() []string {
	return []string{bundle.CauseInvalidProof, bundle.CauseIdentityNotBound, bundle.CauseResourceMismatch, bundle.CauseValueMismatch}
}

func witnesses() []string {
	return []string{
		receipt.WitnessIdentity, receipt.WitnessChain, receipt.WitnessDisclosure, receipt.WitnessSignature,
		receipt.WitnessBatch, receipt.WitnessTimestamp, receipt.WitnessLog,
	}
}
