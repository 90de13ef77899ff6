package rlm

import (
	"errors"

	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// SpendToken is the permission to spend on one run. Mint is the only way to one that
// covers anything: the zero token covers no request.
type SpendToken struct {
	topicID, submission, artifact, rulesDigest string
	rulesVersion                               uint32
	checklist                                  string
}

// ErrNotCovered is the error of Covers.
var ErrNotCovered = errors.New("spend token does not cover the run request; refuse to spend")

// Mint verifies a checklist and, when it is green, returns the token for the one
// submission and rule version that it is about. The error is that of
// VerifyChecklist.
func Mint(c *wire.Checklist, rules topic.RuleSet, submission, artifact string) (SpendToken, error) {
	if err := VerifyChecklist(c, rules, submission, artifact); err != nil {
		return SpendToken{}, err
	}
	digest, err := ChecklistDigest(Recorded(c))
	if err != nil {
		return SpendToken{}, red(err.Error())
	}
	version, err := rulesDigest(rules)
	if err != nil {
		return SpendToken{}, red(err.Error())
	}
	return SpendToken{
		topicID: rules.TopicID, submission: submission, artifact: artifact,
		rulesDigest: version, rulesVersion: rules.Version, checklist: digest,
	}, nil
}

// Covers returns nil when the token was minted for this request, ErrNotCovered
// otherwise.
func (t SpendToken) Covers(r *wire.RunRequest) error {
	if t.checklist == "" || r.TopicID != t.topicID || r.SubmissionDigest != t.submission ||
		r.ArtifactDigest != t.artifact || r.RulesVersion != t.rulesVersion || r.RulesDigest != t.rulesDigest {
		return ErrNotCovered
	}
	return nil
}

// Job returns the paid job of a request, and ErrNotCovered for a request that the
// token was not minted for. Nothing else in this package makes an evaluate job.
func (t SpendToken) Job(r *wire.RunRequest) (wire.Job, error) {
	if err := t.Covers(r); err != nil {
		return wire.Job{}, err
	}
	return evaluateJob(r, t.checklist, t.rulesVersion), nil
}
