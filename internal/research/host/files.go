package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Files names the operator's files (R§25); an empty name is a file that is not set.
type Files struct {
	Topics           string // PROOF_TOPICS_FILE
	Holdout          string // PROOF_HOLDOUT_FILE
	Baseline         string // PROOF_BASELINE_FILE
	InferenceOffer   string // PROOF_INFERENCE_OFFER_FILE
	InferenceKey     string // PROOF_INFERENCE_API_KEY_FILE
	InferenceBaseURL string // PROOF_INFERENCE_BASE_URL_FILE
	ExecutorOffer    string // PROOF_EVAL_EXECUTOR_OFFER_FILE
}

// The variables that name the files; a fault names them, never the path.
const (
	topicsVariable    = "PROOF_TOPICS_FILE"
	holdoutVariable   = "PROOF_HOLDOUT_FILE"
	baselineVariable  = "PROOF_BASELINE_FILE"
	inferenceVariable = "PROOF_INFERENCE_OFFER_FILE"
	keyVariable       = "PROOF_INFERENCE_API_KEY_FILE"
	originVariable    = "PROOF_INFERENCE_BASE_URL_FILE"
	executorVariable  = "PROOF_EVAL_EXECUTOR_OFFER_FILE"
)

const (
	maxFile = 64 << 20 // bytes of an operator's file
	maxKey  = 64 << 10 // bytes of a key or an origin
)

// holding is what the operator's files held at one reading. It is never written
// to after.
type holding struct {
	topics   []*topic.Document
	holdout  *holdout.File  // nil: not set or not readable
	baseline *baseline.File // nil: not set or not readable
	origin   offer.Origin

	inference *offer.Inference
	executor  *offer.Executor

	// Faults are safe to show; empty when there is none.
	topicsFault, holdoutFault, baselineFault string
	inferenceFault, executorFault            string
	originFault                              string

	overrides      offer.Overrides
	overridesFault error
}

// read reads every file but the key, which is looked at when it is needed. What
// cannot be read is a fault and no error (R§25).
func (f Files) read(p *pin.Pin, origin string, lookup func(string) string) *holding {
	h := &holding{}
	h.topics, h.topicsFault = parsed(topicsVariable, f.Topics, topic.ParseFile)
	h.holdout, h.holdoutFault = parsed(holdoutVariable, f.Holdout, holdout.ParseFile)
	h.baseline, h.baselineFault = parsed(baselineVariable, f.Baseline, baseline.ParseFile)
	h.inference, h.inferenceFault = parsed(inferenceVariable, f.InferenceOffer, offer.ParseInference)
	h.executor, h.executorFault = parsed(executorVariable, f.ExecutorOffer, offer.ParseExecutor)
	h.origin, h.originFault = f.origin(origin)
	h.overrides, h.overridesFault = offer.ParseOverrides(lookup)
	return h
}

// origin is the judge's secret one: the value that is set, else what its file holds.
func (f Files) origin(value string) (o offer.Origin, fault string) {
	variable, text := "PROOF_INFERENCE_BASE_URL", []byte(value)
	if len(text) == 0 {
		variable = originVariable
		var err error
		if text, err = readFile(variable, f.InferenceBaseURL, maxKey); err != nil {
			return "", err.Error()
		}
	}
	o = offer.Origin(bytes.TrimSpace(text))
	if o != "" && !shape.HTTPOrigin(string(o)) {
		return "", variable + " holds no http(s) origin"
	}
	return o, ""
}

// faults lists everything that is wrong with the files, for the log.
func (h *holding) faults(p *pin.Pin) []string {
	list := []string{h.topicsFault, h.holdoutFault, h.baselineFault, h.inferenceFault, h.executorFault, h.originFault}
	if h.overridesFault != nil {
		list = append(list, h.overridesFault.Error())
	}
	if h.inference != nil {
		if err := h.inference.Validate(p); err != nil {
			list = append(list, inferenceVariable+": "+err.Error())
		}
	}
	if h.executor != nil {
		if err := h.executor.Validate(p); err != nil {
			list = append(list, executorVariable+": "+err.Error())
		}
	}
	if h.baseline != nil {
		for _, fault := range h.baseline.Faults() {
			list = append(list, baselineVariable+": "+fault.Error())
		}
	}
	kept := list[:0]
	for _, fault := range list {
		if fault != "" {
			kept = append(kept, fault)
		}
	}
	return kept
}

// unusable names the files that are set and could not be read.
func (h *holding) unusable() (u intake.Unusable) {
	if h.topicsFault != "" {
		u.Topics = topicsVariable
	}
	if h.holdoutFault != "" {
		u.Holdout = holdoutVariable
	}
	if h.baselineFault != "" {
		u.Baseline = baselineVariable
	}
	return u
}

// holdoutFor returns the verified holdout of a topic, or why there is none: a text
// for anyone, and one for the log, which may name the record that is at fault. A
// production host takes no records that anyone can compute (decision 12).
func (h *holding) holdoutFor(p *pin.Pin, d *topic.Document, production bool) (set *holdout.Set, public, logged string) {
	if h.holdout == nil {
		public = or(h.holdoutFault, holdoutVariable+" is not set")
		return nil, public, public
	}
	records, ok := h.holdout.For(d.ID)
	if !ok {
		public = holdoutVariable + " has no records for this topic"
		return nil, public, public
	}
	set, err := holdout.Verify(records, p.HoldoutSize, d.HoldoutCommitment)
	if err != nil {
		return nil, holdoutVariable + " has no records that verify against this topic", holdoutVariable + ": " + err.Error()
	}
	if production && set.Synthetic() {
		public = holdoutVariable + " has synthetic records; a production host refuses them"
		return nil, public, public
	}
	return set, "", ""
}

// baselineFor returns the measurement that a topic was sealed with, or why there
// is none.
func (h *holding) baselineFor(p *pin.Pin, d *topic.Document) (*baseline.Measurement, string) {
	if h.baseline == nil {
		return nil, or(h.baselineFault, baselineVariable+" is not set")
	}
	m, ok := h.baseline.For(d.ID)
	if !ok {
		return nil, h.unmeasured(d.ID)
	}
	if err := m.Bind(p, d); err != nil {
		return nil, err.Error()
	}
	return m, ""
}

// unmeasured says why a baseline file that was read has nothing for a topic.
func (h *holding) unmeasured(topicID string) string {
	if fault := h.baseline.Fault(topicID); fault != nil {
		return baselineVariable + ": " + fault.Error()
	}
	return baselineVariable + " has no measurement for this topic"
}

// keyed reports whether the judge's key file holds a key now. What it holds is not
// kept.
func (f Files) keyed() bool {
	key, err := readFile(keyVariable, f.InferenceKey, maxKey)
	return err == nil && offer.RequireKey(string(key)) == nil
}

// custom is the registry of runners as a submission meets it.
func custom(runners map[string]string) *intake.Custom {
	if len(runners) == 0 {
		return nil
	}
	return &intake.Custom{Runners: runners}
}

// parsed reads and parses one file. A file that is not set is neither a value nor
// a fault.
func parsed[T any](variable, path string, parse func([]byte) (T, error)) (v T, fault string) {
	data, err := readFile(variable, path, maxFile)
	if err != nil {
		return v, err.Error()
	}
	if path == "" {
		return v, ""
	}
	got, err := parse(data)
	if err != nil {
		return v, variable + ": " + err.Error()
	}
	return got, ""
}

// readFile returns what a file holds, nothing for one that is not set. Its errors
// name the variable and not the path, which tells of the operator's machine.
func readFile(variable, path string, most int64) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readRegular(path, most)
	if fault := new(fs.PathError); errors.As(err, &fault) {
		err = fault.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", variable, err)
	}
	return data, nil
}

func readRegular(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would hold up the start
		return nil, errors.New("not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("longer than %d bytes", most)
	}
	return data, err
}

func or(text, fallback string) string {
	if text != "" {
		return text
	}
	return fallback
}
