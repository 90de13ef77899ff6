package issuer

import (
	"net/http"
	"strconv"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// apiError is an answer that refuses a request: the error envelope of T§1,
// {"error":{"code","message","status"}}. A handler returns it; only the HTTP
// layer writes it.
type apiError struct {
	Status  int
	Code    string
	Message string
	// Flat marks the one refusal whose body has no envelope (T§4.2 step 5).
	Flat bool
	// RetryAfter, in seconds, is announced with 429 answers when positive.
	RetryAfter int
}

// Error makes apiError an error, so that use cases return it like any other.
func (e *apiError) Error() string { return e.Code + ": " + e.Message }

func refuse(status int, code, message string) *apiError {
	return &apiError{Status: status, Code: code, Message: message}
}

func badRequest(message string) *apiError {
	return refuse(http.StatusBadRequest, "invalid_request", message)
}

func badTarget(message string) *apiError {
	return refuse(http.StatusBadRequest, "invalid_target", message)
}

func rateLimited(message string) *apiError {
	return refuse(http.StatusTooManyRequests, "rate_limited", message)
}

func invalidKey() *apiError {
	return refuse(http.StatusUnauthorized, "invalid_api_key",
		"Invalid or missing API key. Send it as 'X-Api-Key: <key>' or 'Authorization: Bearer <key>'.")
}

// object is the body of the refusal.
func (e *apiError) object() *canonjson.Object {
	if e.Flat {
		return canonjson.NewObject("error", e.Code, "message", e.Message)
	}
	return canonjson.NewObject("error", canonjson.NewObject(
		"code", e.Code,
		"message", e.Message,
		"status", number(e.Status)))
}

// number is the JSON integer of n.
func number[T int | int64](n T) canonjson.Int {
	return canonjson.Int(strconv.FormatInt(int64(n), 10))
}
