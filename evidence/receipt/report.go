package receipt

import (
	"fmt"
	"time"
)

// Status is what became of one witness.
type Status string

// The states of a witness. NotChecked says that the proof lacks what the check
// needs, or that the caller did not supply it: no finding either way. Waiting
// says that the batch has not closed yet.
const (
	OK         Status = "ok"
	Fail       Status = "fail"
	Waiting    Status = "pending"
	NotChecked Status = "not_checked"
)

// The names of the witnesses, in the order of a Report.
const (
	WitnessIdentity   = "identity"
	WitnessChain      = "chain"
	WitnessDisclosure = "disclosure"
	WitnessSignature  = "signature"
	WitnessBatch      = "batch"
	WitnessTimestamp  = "timestamp"
	WitnessLog        = "log"
)

// Witness is one line of a Report.
type Witness struct {
	Name   string
	Status Status
	// Independent is true only for a timestamp or log that is OK and that the
	// trust calls independent of the issuer.
	Independent bool
	// Time is the instant in UTC that the witness proves, zero when it proves none:
	// genTime of a token, integratedTime of a log entry.
	Time time.Time
	// Detail says in English what was found.
	Detail string
	// Note is Detail for programs; its Code is empty when there is none.
	Note Note
}

// Incident is something a reader should know that decides nothing: a member
// outside the commitments that differs from the proven value.
type Incident struct {
	Kind   string
	Detail string
}

// IncidentFlatField is the kind of an Incident whose detail is the path of a
// flat member that differs from the value that was opened or logged.
const IncidentFlatField = "flat_field_diverges"

// Verdict is the outcome for one proof.
type Verdict string

// The verdicts, and the exit status that prova verify gives each. A document
// that is no proof has no Report; it is "unreadable".
const (
	VerdictValid   Verdict = "valid"
	VerdictPending Verdict = "pending"
	VerdictInvalid Verdict = "invalid"
)

// Require says which witnesses a valid proof needs, beside that nothing failed.
type Require string

// The requirements: at least one independent witness, timestamp or log
// (RequireAny); both (RequireBoth); at least one of either kind, local ones
// included (RequireLocal).
const (
	RequireAny   Require = "any"
	RequireBoth  Require = "both"
	RequireLocal Require = "local"
)

// ParseRequire reads one of the requirements.
func ParseRequire(s string) (Require, error) {
	switch r := Require(s); r {
	case RequireAny, RequireBoth, RequireLocal:
		return r, nil
	}
	return "", fmt.Errorf("unknown requirement %q: use any, both or local", clip(s))
}

// Report is what Verify found out about one proof.
type Report struct {
	ProofID     string
	SpecVersion Version
	Verdict     Verdict
	// Reason says in one sentence why the verdict is not VerdictValid; empty when it is.
	Reason string
	// Witnesses holds all seven, always in the same order.
	Witnesses []Witness
	Incidents []Incident
}

// Witness returns the witness of that name.
func (r *Report) Witness(name string) Witness {
	for _, w := range r.Witnesses {
		if w.Name == name {
			return w
		}
	}
	return Witness{Name: name, Status: NotChecked}
}

// decide sets verdict and reason. attributed says whether the issuer's hand is
// on the proof: without it anybody could have a document stamped.
func (r *Report) decide(require Require, attributed bool) {
	for _, w := range r.Witnesses {
		if w.Status == Fail {
			r.Verdict, r.Reason = VerdictInvalid, w.Name+": "+w.Detail
			return
		}
	}
	if r.Witness(WitnessBatch).Status == Waiting {
		r.Verdict, r.Reason = VerdictPending, "the batch of the proof is not closed yet: fetch the proof again later"
		return
	}
	timestamp, log := r.Witness(WitnessTimestamp), r.Witness(WitnessLog)
	counts := func(w Witness) bool { return w.Status == OK && (w.Independent || require == RequireLocal) }
	switch {
	case !attributed:
		r.Verdict, r.Reason = VerdictInvalid, "nothing ties the proof to the issuer: neither its signature nor its log entry was verified"
	case require == RequireBoth && (!counts(timestamp) || !counts(log)):
		r.Verdict, r.Reason = VerdictInvalid, "two independent witnesses are required: "+standing(timestamp)+", "+standing(log)
	case !counts(timestamp) && !counts(log):
		kind := "no independent witness"
		if require == RequireLocal {
			kind = "no witness"
		}
		r.Verdict, r.Reason = VerdictInvalid, kind+": "+standing(timestamp)+", "+standing(log)
	default:
		r.Verdict = VerdictValid
	}
}

func standing(w Witness) string {
	switch {
	case w.Status == OK && w.Independent:
		return w.Name + " ok"
	case w.Status == OK:
		return w.Name + " is local"
	}
	return fmt.Sprintf("%s %s (%s)", w.Name, w.Status, w.Detail)
}
