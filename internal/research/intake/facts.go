package intake

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Facts is everything that the gate looks at.
type Facts struct {
	// Of the HTTP request. The host reads at most MaxBody+1 bytes of a body.
	AddressLimited bool // this address sent too much (decision 7)
	ContentType    string
	Body           []byte

	Host *Host

	// Miner is what the host's store said about a frozen submission. Only rows
	// after the freeze look at it.
	Miner Miner
}

// Host is what a host knows by itself. It is replaced, never changed, when an
// offer rotates or a topic is published, so that a submission that holds one sees
// one state.
type Host struct {
	Pin   *pin.Pin
	Epoch uint64 // of the acceptance
	Sim   bool   // the sim backend: rows of live hosts do not apply

	// EpochFault says why nothing is accepted in the epoch: there is none yet, or it is
	// closed (decision 3). Empty: there is no fault.
	EpochFault string

	// SignatureRequired is off only where a setting turns it off (decision 5). A
	// signature that is there is checked all the same.
	SignatureRequired bool

	Topics map[string]*Topic // every stored topic by id, of whatever status

	// The live offers, nil when there is none. A fault says what was wrong with
	// the file of a missing one; it shows no path and no origin.
	Inference                     *offer.Inference
	Executor                      *offer.Executor
	InferenceFault, ExecutorFault string

	SecretOrigin offer.Origin // of the judge, where neither offer nor pin has one
	JudgeKey     bool         // the key file holds a key

	Overrides      offer.Overrides
	OverridesFault error // of offer.ParseOverrides

	// Unusable names, by the variables that set them, the operator's files that are
	// missing or cannot be read; their rows say so.
	Unusable Unusable

	Harvest *Harvest // scorer of nll and throughput; nil: not wired
	Custom  *Custom  // scorer of custom topics; nil: no live orchestrator or no id registered

	// CustomFault says why Custom is nil (R§15.5); empty: this host has no scorer of custom
	// topics, and that is all there is to say.
	CustomFault string
}

// Unusable holds the variable of each file that is set and cannot be used, empty for
// one that is fine or is not set.
type Unusable struct{ Topics, Holdout, Baseline, JudgeKey string }

func (h *Host) customFault() string {
	if h.CustomFault != "" {
		return h.CustomFault
	}
	return "no custom-family scorer on this host"
}

// Topic is one topic and what the host has for it. A nil Holdout or Baseline was
// not given, or did not verify against the document.
type Topic struct {
	Document *topic.Document
	Holdout  *holdout.Set
	Baseline *baseline.Measurement

	// ScorerFault says why the scorer of the family cannot run this very topic,
	// such as a driver without the sandbox that its constraints ask for; empty
	// when it can.
	ScorerFault string
}

// ready reports whether a topic is scorable for the host gate (R§9).
func (t *Topic) ready(epoch uint64) bool {
	return t.Document.OpenAt(epoch) && t.Document.Baseline.Sealed() && t.Holdout != nil && t.Baseline != nil
}

// Harvest says what the harvest has staged (R§15.6).
type Harvest struct {
	Weights bool // PROOF_PROXY_MODEL_DIR has files
	Shards  bool // PROOF_HOLDOUT_STORE has every shard it must have
	SSHKey  bool // LIUM_SSH_PUBLIC_KEY_FILE has a key
}

// Custom is the runner registry of a host (R§15.4).
type Custom struct {
	// Runners says by custom id why a registered runner cannot run now; empty when
	// it can. An id without a runner is no key.
	Runners map[string]string
}

// Miner is what a store knows about the miner of a frozen submission. The zero
// value is a miner that the host has never seen. To reserve the nonce and to ask
// for the rest is one atomic step of the store.
type Miner struct {
	Nonce    NonceState
	Limited  bool // this hotkey sent too much (decision 7)
	InFlight bool // the same artefact of this miner for this topic is being evaluated
	Running  bool // another run of this hotkey is in flight (decision 6)

	QueueFull bool
}

// NonceState is what a store knows about a (hotkey, submit_nonce) pair. A nonce
// is reserved while its submission is in flight, burned in the transaction that
// stores the row, and free again after a refusal (decision 5).
type NonceState int

// The states of a nonce. Same and other compare [Submission.Body].
const (
	NonceFree      NonceState = iota // reserved for this submission now, or there is none
	NonceSameBody                    // reserved or burned by the same submission
	NonceOtherBody                   // reserved or burned by another one
)

// Backend is the name of a host's backend (R§14.1).
func (h *Host) Backend() string {
	if h.Sim {
		return "sim"
	}
	return "lium"
}

// unwired is the text of a custom topic without a runner (R§15.5).
func unwired(customID, detail string) error {
	return fmt.Errorf("custom metric %q has no registered runner (%s); refuse scoring", customID, detail)
}
