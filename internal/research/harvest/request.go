package harvest

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/pin"
)

// Where a run lives in its pod (R§15.6).
const (
	workDir     = "/tmp/proof_eval"
	requestFile = "request.json"
	teacherFile = "teacher.env"
	weightsDir  = "weights"
	holdoutDir  = "holdout"
	entryPoint  = "/usr/bin/proof-eval"
)

const requestSchema = 1

// request is what the image is told, members in the order of R§15.6. It holds the
// judge's origin and the records of the holdout: it is as secret as they are.
type request struct {
	SchemaVersion           int             `json:"schema_version"`
	ChallengeID             string          `json:"challenge_id"`
	SubmissionDigest        string          `json:"submission_digest"`
	ArtifactDigest          string          `json:"artifact_digest"`
	TopicID                 string          `json:"topic_id"`
	Family                  string          `json:"family"`
	InferenceOfferID        string          `json:"inference_offer_id"`
	ProviderKind            string          `json:"provider_kind"`
	BaseURL                 string          `json:"base_url"`
	Mode                    string          `json:"mode"`
	ModelRef                string          `json:"model_ref"`
	MaxInputTokens          uint32          `json:"max_input_tokens"`
	MaxOutputTokens         uint32          `json:"max_output_tokens"`
	ConfigCommitment        string          `json:"config_commitment"`
	ExecutorOfferID         string          `json:"executor_offer_id"`
	ExecutorOfferCommitment string          `json:"executor_offer_commitment"`
	ExecutorCommitment      string          `json:"executor_commitment"`
	MaxProofDeadlineS       uint64          `json:"max_proof_deadline_s"`
	EvalImageDigest         string          `json:"eval_image_digest"`
	HoldoutCommitment       string          `json:"holdout_commitment"`
	Constraints             jsontext.Value  `json:"constraints"`
	FLOPsBudget             uint64          `json:"flops_budget"`
	WallBudgetS             uint64          `json:"wall_budget_s"`
	Claim                   string          `json:"claim"`
	Holdout                 []holdout.Plain `json:"holdout"`
}

// newRequest writes the request of a run.
func newRequest(p *pin.Pin, o *intake.Outcome, records []holdout.Plain) ([]byte, error) {
	s, d := o.Submission, o.Submission.Topic.Document
	constraints, err := constraints(s)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(request{
		SchemaVersion: requestSchema, ChallengeID: pin.ChallengeID,
		SubmissionDigest: s.Digest, ArtifactDigest: s.ArtifactDigest, TopicID: s.TopicID, Family: string(d.Metric.Family),
		InferenceOfferID: s.Inference.OfferID, ProviderKind: string(o.Judge.Provider),
		BaseURL: strings.TrimSpace(string(o.Judge.Origin)), Mode: string(o.Judge.Mode), ModelRef: o.Judge.Model,
		MaxInputTokens: o.Judge.MaxInputTokens, MaxOutputTokens: o.Judge.MaxOutputTokens,
		ConfigCommitment: s.Inference.ConfigCommitment,
		ExecutorOfferID:  o.Plan.OfferID, ExecutorOfferCommitment: o.Plan.OfferCommitment,
		ExecutorCommitment: o.Plan.ConfigCommitment, MaxProofDeadlineS: o.Plan.DeadlineS,
		EvalImageDigest: p.EvalImageDigest, HoldoutCommitment: d.HoldoutCommitment, Constraints: constraints,
		FLOPsBudget: d.FLOPsBudget, WallBudgetS: d.Metric.WallBudgetS, Claim: s.Request.Claim, Holdout: records,
	})
	if err != nil {
		// The error may quote what the request holds.
		return nil, errors.New("the eval request cannot be written")
	}
	return text, nil
}

// constraints are those of the topic, spelt as in its signed bytes.
func constraints(s *intake.Submission) (jsontext.Value, error) {
	text, err := s.Topic.Document.Payload()
	if err != nil {
		return nil, errors.New("the topic document cannot be written")
	}
	v, err := canonjson.ParseStrict(text)
	if err != nil {
		return nil, errors.New("the topic document cannot be read back")
	}
	found, _ := canonjson.Resolve(v, "/constraints")
	sorted, err := canonjson.Sorted(found)
	if err != nil {
		return nil, errors.New("the topic's constraints cannot be written")
	}
	return jsontext.Value(sorted), nil
}

// teacherEnv is the file of shell assignments with the judge's key (R§15.6). A value
// stands in single quotes, in which a shell changes nothing.
func teacherEnv(key string) ([]byte, error) {
	var b strings.Builder
	for _, a := range []struct{ name, value string }{
		{"OPENAI_API_KEY", key},
		{"PROOF_INFERENCE_API_KEY", key},
		{"PROOF_PROXY_MODEL_DIR", workDir + "/" + weightsDir},
		{"PROOF_HOLDOUT_STORE", workDir + "/" + holdoutDir},
	} {
		if strings.ContainsAny(a.value, "\x00\n\r") {
			return nil, errors.New("PROOF_INFERENCE_API_KEY_FILE holds more than one line; refuse scoring")
		}
		fmt.Fprintf(&b, "%s=%s\n", a.name, quote(a.value))
	}
	return []byte(b.String()), nil
}

// quote makes one word of a value for a POSIX shell.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'" }

// podTimeout is the time in seconds that the wrapper in the pod gives a run: the
// resolved deadline. The host's fallback never shortens it; it stands in only where
// there is no deadline at all.
func podTimeout(deadlineS, fallbackS uint64) uint64 {
	if deadlineS > 0 {
		return deadlineS
	}
	return fallbackS
}

// prepareCommand makes an empty work directory that nobody else can read.
const prepareCommand = "umask 077 && rm -rf " + workDir + " && mkdir -p " + workDir + "/" + weightsDir + " " + workDir + "/" + holdoutDir

// runCommand runs the image's entry under the wrapper that keeps the deadline:
// timeout exits with 124 when it ended the run, 137 when it had to kill it.
func runCommand(seconds uint64) string {
	return fmt.Sprintf("cd %s && set -a && . ./%s && set +a && exec timeout --kill-after=30 %d %s score --request %s/%s",
		workDir, teacherFile, seconds, entryPoint, workDir, requestFile)
}
