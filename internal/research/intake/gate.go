package intake

import (
	"errors"
	"slices"
	"strings"

	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/strict"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Row is one row of the gate. Exactly one of its unexported functions is set:
// when and why refuse, step fills in the submission, settles ends the walk with
// an outcome that is no refusal.
type Row struct {
	Number string // of R§11.3; 0 and the letters after 8 and 23 are of the design's decisions 3 and 5 to 7
	Name   string
	Status int    // 0: a step
	Text   string // of a refusal; empty where the row says in each case what is wrong
	Live   bool   // does not apply under sim
	Host   bool   // looks at nothing but the host and the topic

	// adds names the operator's files that cannot be used, behind the text of a row that
	// refuses for want of what they hold; empty: none. It goes with when or why.
	adds func(*Facts, *Submission) string

	when    func(*Facts, *Submission) bool
	why     func(*Facts, *Submission) error
	step    func(*Facts, *Submission)
	settles func(*Facts, *Submission) Kind
}

// Gate returns the table in its order.
func Gate() []Row { return slices.Clone(gate) }

// The statuses of the gate, of RFC 9110 and RFC 6585. This room speaks no HTTP.
const (
	created     = 201
	bad         = 400
	unsigned    = 401
	conflict    = 409
	tooLarge    = 413
	wrongMedia  = 415
	wrongTypes  = 422
	tooMany     = 429
	unavailable = 503
)

// gate is R§11.3, top to bottom. It is never written to.
var gate = []Row{
	{Number: "0", Name: "address_limit", Status: tooMany, Text: "too many requests from this address", when: addressLimited},
	{Number: "1", Name: "content_type", Status: wrongMedia, Text: "the body must be JSON: send Content-Type: application/json", when: notJSON},
	{Number: "1", Name: "size", Status: tooLarge, Text: "the body is longer than 2097152 bytes", when: tooLong},
	{Number: "1", Name: "read", step: read},
	{Number: "1", Name: "syntax", Status: bad, why: badSyntax},
	{Number: "1", Name: "types", Status: wrongTypes, why: badContent},
	{Number: "2", Name: "miner_hotkey", Status: bad, Text: "invalid miner_hotkey", when: badHotkey},
	{Number: "2", Name: "artifact_digest", Status: bad, Text: "invalid artifact_digest", when: badArtifact},
	{Number: "3", Name: "topic_id", Status: bad, Text: "topic_id is required", when: noTopicID},
	{Number: "4", Name: "topic_known", Status: bad, Text: "unknown topic", when: unknownTopic},
	{Number: "5", Name: "topic_open", Status: bad, Text: "topic is not open", when: notOpen},
	{Number: "6", Name: "flops_budget", Status: bad, Text: "declared_flops exceeds the topic budget", when: overBudget},
	{Number: "7", Name: "artifact_uri", Status: bad, Text: "artifact_uri is required for custom topics", when: noArtifactURI},
	{Number: "7b", Name: "signature_required", Status: unsigned, Text: ErrSignatureRequired.Error(), when: noSignature},
	{Number: "7b", Name: "signature_form", Status: unsigned, Text: ErrSignature.Error(), when: malformedSignature},
	{Number: "7b", Name: "nonce_required", Status: unsigned, Text: ErrNonceRequired.Error(), when: noNonce},
	{Number: "7b", Name: "nonce_form", Status: unsigned, Text: ErrNonce.Error(), when: malformedNonce},
	{Number: "7b", Name: "signature", Status: unsigned, Text: ErrSignature.Error(), when: wrongSignature},
	{Number: "8", Name: freezeRow, step: freeze},
	{Number: "8a", Name: "nonce_reused", Status: conflict, Text: "submit_nonce was used for another submission; sign with a new one", when: nonceReused},
	{Number: "8b", Name: "rejoin", settles: rejoins},
	{Number: "8c", Name: "hotkey_limit", Status: tooMany, Text: "too many submissions of this hotkey", when: hotkeyLimited},
	{Number: "8d", Name: "in_flight", Status: conflict, Text: "this artefact is being evaluated already; ask for it by its submission digest", when: inFlight},
	{Number: "8e", Name: "epoch", Status: unavailable, Host: true, why: noEpoch},
	{Number: "9", Name: "sealed_topic", Status: unavailable, Text: "no open sealed topic; refuse scoring", Host: true, when: noReadyTopic, adds: topicFiles},
	{Number: "10", Name: "inference_offer", Status: unavailable, Host: true, why: inferenceClosed},
	{Number: "11", Name: "pinned_digest", Status: unavailable, Text: "eval image digest not pinned; refuse live scoring (PROOF_FORCE_SIM=1 is CI only)", Live: true, Host: true, when: cannotRent},
	{Number: "12", Name: "live_scorer", Status: unavailable, Text: NoLiveScorer, Live: true, Host: true, when: noScorer, adds: customUnwired},
	{Number: "13", Name: "harvest_weights", Status: unavailable, Text: "PROOF_PROXY_MODEL_DIR missing or empty; refuse live scoring (no HF bake)", Live: true, Host: true, when: noWeights},
	{Number: "13", Name: "harvest_shards", Status: unavailable, Text: "PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring", Live: true, Host: true, when: noShards},
	{Number: "13", Name: "harvest_ssh_key", Status: unavailable, Text: "LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring", Live: true, Host: true, when: noSSHKey},
	{Number: "14", Name: "judge_key", Status: unavailable, Text: offer.ErrInferenceKey.Error(), Live: true, Host: true, when: noJudgeKey, adds: judgeKeyFile},
	{Number: "15", Name: "executor_offer", Status: unavailable, Live: true, Host: true, why: executorClosed},
	{Number: "16", Name: "scorer_ready", Status: unavailable, Host: true, why: scorerUnready},
	{Number: "17", Name: "inference_serves", Status: unavailable, Host: true, why: inferenceServes},
	{Number: "18", Name: "executor_serves", Status: unavailable, Live: true, Host: true, why: executorServes},
	{Number: "19", Name: "judge_config", Status: unavailable, Host: true, why: judgeIncomplete},
	{Number: "20", Name: "baseline", Status: unavailable, Text: "no sealed baseline recorded for this topic", Host: true, when: noBaseline, adds: baselineFile},
	{Number: "21", Name: "holdout", Status: unavailable, Host: true, why: noHoldout, adds: holdoutFile},
	{Number: "22", Name: "manifest", Status: created, settles: contaminated},
	{Number: "23", Name: "plan", Status: unavailable, Live: true, Host: true, why: plan},
	{Number: "23a", Name: "hotkey_running", Status: tooMany, Text: "a run of this hotkey is in flight; one at a time", when: running},
	{Number: "23b", Name: "queue", Status: unavailable, Text: "the queue is full; try again later", when: queueFull},
}

// NoLiveScorer is said by a host without a live scorer, and by one without a
// harvest for a topic that needs it (R§15.3).
const NoLiveScorer = "live proof eval is driven by the digest-pinned proof-eval image; no in-process sim"

const freezeRow = "freeze"

func addressLimited(f *Facts, _ *Submission) bool { return f.AddressLimited }
func notJSON(f *Facts, _ *Submission) bool        { return !isJSON(f.ContentType) }
func tooLong(f *Facts, _ *Submission) bool        { return len(f.Body) > MaxBody }

func badSyntax(_ *Facts, s *Submission) error {
	if fault := new(strict.Error); errors.As(s.fault, &fault) && !fault.Syntax {
		return nil
	}
	return s.fault
}

func badContent(_ *Facts, s *Submission) error { return s.fault }

func badHotkey(_ *Facts, s *Submission) bool    { return s.Hotkey == "" }
func badArtifact(_ *Facts, s *Submission) bool  { return s.ArtifactDigest == "" }
func noTopicID(_ *Facts, s *Submission) bool    { return s.TopicID == "" }
func unknownTopic(_ *Facts, s *Submission) bool { return s.Topic == nil }
func notOpen(f *Facts, s *Submission) bool      { return !s.Topic.Document.OpenAt(f.Host.Epoch) }
func overBudget(_ *Facts, s *Submission) bool {
	return s.Request.DeclaredFLOPs > s.Topic.Document.FLOPsBudget
}
func noArtifactURI(_ *Facts, s *Submission) bool {
	return s.custom() && s.ArtifactURI == ""
}

// signing reports whether a submission must carry a valid signature: the host asks
// for one, or the miner sent a part of one. A nonce that nobody signed for would
// let anyone burn it.
func signing(f *Facts, s *Submission) bool {
	return f.Host.SignatureRequired || s.Request.HotkeySignature != nil || s.Request.SubmitNonce != nil
}

func noSignature(f *Facts, s *Submission) bool {
	return signing(f, s) && s.Request.HotkeySignature == nil
}

func malformedSignature(f *Facts, s *Submission) bool {
	return s.Request.HotkeySignature != nil && !lowerHex(*s.Request.HotkeySignature, 128)
}

func noNonce(f *Facts, s *Submission) bool { return signing(f, s) && s.Request.SubmitNonce == nil }

func malformedNonce(f *Facts, s *Submission) bool {
	return s.Request.SubmitNonce != nil && !lowerHex(*s.Request.SubmitNonce, 64)
}

func wrongSignature(f *Facts, s *Submission) bool {
	return signing(f, s) && s.signed().Verify(value(s.Request.HotkeySignature)) != nil
}

func nonceReused(f *Facts, _ *Submission) bool { return f.Miner.Nonce == NonceOtherBody }

func rejoins(f *Facts, _ *Submission) Kind {
	if f.Miner.Nonce == NonceSameBody {
		return Rejoin
	}
	return ""
}

// hotkeyLimited counts only what a hotkey signed: without a signature anyone could
// use up a miner's allowance.
func hotkeyLimited(f *Facts, s *Submission) bool { return f.Miner.Limited && s.Signed }
func inFlight(f *Facts, _ *Submission) bool      { return f.Miner.InFlight }

// noEpoch refuses what would belong to no epoch, or to one that was paid already. What
// was taken before joins its row all the same.
func noEpoch(f *Facts, _ *Submission) error {
	if f.Host.EpochFault == "" {
		return nil
	}
	return errors.New(f.Host.EpochFault + "; no submission is taken")
}

func noReadyTopic(f *Facts, _ *Submission) bool {
	for _, t := range f.Host.Topics {
		if t.ready(f.Host.Epoch) {
			return false
		}
	}
	return true
}

func inferenceClosed(f *Facts, s *Submission) error {
	if s.Inference == nil && f.Host.InferenceFault != "" {
		return errors.New("inference offer: " + f.Host.InferenceFault)
	}
	return s.Inference.RequireOpen(f.Host.Pin)
}

func cannotRent(f *Facts, _ *Submission) bool { return !f.Host.Pin.CanRent() }
func noScorer(f *Facts, _ *Submission) bool   { return f.Host.Harvest == nil && f.Host.Custom == nil }
func noWeights(f *Facts, _ *Submission) bool {
	return f.Host.Harvest != nil && !f.Host.Harvest.Weights
}
func noShards(f *Facts, _ *Submission) bool   { return f.Host.Harvest != nil && !f.Host.Harvest.Shards }
func noSSHKey(f *Facts, _ *Submission) bool   { return f.Host.Harvest != nil && !f.Host.Harvest.SSHKey }
func noJudgeKey(f *Facts, _ *Submission) bool { return !f.Host.JudgeKey }

func executorClosed(f *Facts, s *Submission) error {
	if s.Executor == nil && f.Host.ExecutorFault != "" {
		return errors.New("eval executor offer: " + f.Host.ExecutorFault)
	}
	return s.Executor.RequireOpen(f.Host.Pin)
}

// scorerUnready is the family mux of R§15.3: neither family falls back to the
// other's scorer. Under sim the scorer is in this process, and a custom id must be
// registered all the same.
func scorerUnready(f *Facts, s *Submission) error {
	h := f.Host
	if !s.custom() {
		if !h.Sim && h.Harvest == nil {
			return errors.New(NoLiveScorer)
		}
	} else {
		id := s.Topic.Document.Metric.CustomID
		if h.Custom == nil {
			return unwired(id, h.customFault())
		}
		detail, registered := h.Custom.Runners[id]
		if !registered {
			return unwired(id, `custom metric "`+id+`" has no registered runner`)
		}
		if detail != "" && !h.Sim {
			return unwired(id, detail)
		}
	}
	if s.Topic.ScorerFault != "" && !h.Sim {
		return errors.New(s.Topic.ScorerFault)
	}
	return nil
}

// customUnwired says to the miner of a custom topic what a host without any scorer
// lacks for it (R§15.5).
func customUnwired(f *Facts, s *Submission) string {
	if !s.custom() {
		return ""
	}
	return "; " + unwired(s.Topic.Document.Metric.CustomID, f.Host.customFault()).Error()
}

func topicFiles(f *Facts, _ *Submission) string {
	u := f.Host.Unusable
	return unusable(u.Topics, u.Holdout, u.Baseline)
}
func judgeKeyFile(f *Facts, _ *Submission) string { return unusable(f.Host.Unusable.JudgeKey) }
func baselineFile(f *Facts, _ *Submission) string { return unusable(f.Host.Unusable.Baseline) }
func holdoutFile(f *Facts, _ *Submission) string  { return unusable(f.Host.Unusable.Holdout) }

func unusable(variables ...string) string {
	variables = slices.DeleteFunc(variables, func(v string) bool { return v == "" })
	if len(variables) == 0 {
		return ""
	}
	return " (" + strings.Join(variables, ", ") + " cannot be used)"
}

func inferenceServes(f *Facts, s *Submission) error {
	return s.Inference.Serves(f.Host.Pin, s.Topic.Document, f.Host.SecretOrigin)
}

func executorServes(_ *Facts, s *Submission) error { return s.Executor.Serves(s.Topic.Document) }

func judgeIncomplete(f *Facts, s *Submission) error {
	judge := s.judge(f.Host)
	return judge.Ready()
}

func noBaseline(_ *Facts, s *Submission) bool { return s.Topic.Baseline == nil }

func noHoldout(_ *Facts, s *Submission) error {
	if s.Topic.Holdout != nil {
		return nil
	}
	return errors.New("illegal state no verified holdout loaded for " + s.TopicID)
}

// contaminated settles a submission whose data was not declared or is in the
// holdout: a row without a run.
func contaminated(_ *Facts, s *Submission) Kind {
	m := s.Request.Manifest
	if !holdout.Declared(m.ContentHashes, m.DatasetIDs) || len(s.fingerprints()) > 0 {
		return Reject
	}
	return ""
}

func plan(f *Facts, s *Submission) error {
	_, err := s.plan(f.Host)
	return err
}

func running(f *Facts, _ *Submission) bool   { return f.Miner.Running }
func queueFull(f *Facts, _ *Submission) bool { return f.Miner.QueueFull }

func (s *Submission) custom() bool { return s.Topic.Document.Metric.Family == topic.Custom }

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
