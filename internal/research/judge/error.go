package judge

import "strconv"

// Kind says why there is no usable answer.
type Kind string

// The kinds of an [Error].
const (
	NoKey       Kind = "no_key"      // the key file is missing, empty or not a key
	WrongMode   Kind = "wrong_mode"  // the offer serves another interface
	TooLong     Kind = "too_long"    // the prompt may come to more tokens than the cap
	BadPrompt   Kind = "bad_prompt"  // nothing to send, or text that is not UTF-8
	Unreachable Kind = "unreachable" // no connection, in no attempt
	Timeout     Kind = "timeout"     // the time of the call ran out
	Canceled    Kind = "canceled"    // the caller's context ended
	CutOff      Kind = "cut_off"     // the connection ended inside the answer
	Redirect    Kind = "redirect"    // the backend points elsewhere
	BadStatus   Kind = "bad_status"  // an answer other than 200
	TooBig      Kind = "too_big"     // more bytes than an answer may have
	NotJSON     Kind = "not_json"    // no JSON, or not the form of the interface
	OtherModel  Kind = "other_model" // another model answered
	BadUsage    Kind = "bad_usage"   // usage is missing or over a cap
	Unfinished  Kind = "unfinished"  // the model did not come to its end
	Prose       Kind = "prose"       // the text is not the one JSON object asked for
	OtherTopic  Kind = "other_topic" // the object is about something else
	Secret      Kind = "secret"      // the answer repeats the key
	BadConfig   Kind = "bad_config"  // of New: the configuration cannot be called
)

// Error is a call that came to nothing. Its text names neither origin nor key, nor
// anything that the backend said.
type Error struct {
	Kind   Kind
	Status int // of the answer, for BadStatus and Redirect
	why    string
	cause  error // context.Canceled or context.DeadlineExceeded; nothing else is kept
}

func (e *Error) Error() string {
	text := "judge: " + e.why
	if e.Status != 0 {
		text += " (status " + strconv.Itoa(e.Status) + ")"
	}
	return text
}

// Unwrap returns the end of the context that ended the call, if one did.
func (e *Error) Unwrap() error { return e.cause }

func fault(kind Kind, why string) *Error { return &Error{Kind: kind, why: why} }
