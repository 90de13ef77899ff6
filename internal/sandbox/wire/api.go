package wire

import (
	"net/http"
	"net/url"
)

// MaxFrame is the length in bytes of the longest frame, job or output.
const MaxFrame = 268435456

// The routes of the agent (R§22), for net/http's mux.
const (
	RouteHealth   = "GET /v1/health"
	RouteCreate   = "POST /v1/vms"
	RouteAttach   = "GET /v1/vms/by-topic/{topic_id}"
	RouteRun      = "POST /v1/vms/{vm_id}/jobs"
	RouteTeardown = "DELETE /v1/vms/{vm_id}"
)

// The paths of those routes.
const (
	HealthPath = "/v1/health"
	CreatePath = "/v1/vms"
)

// AttachPath is the path of a topic's running VM.
func AttachPath(topicID string) string { return "/v1/vms/by-topic/" + url.PathEscape(topicID) }

// RunPath is the path that takes jobs of a VM.
func RunPath(vmID string) string { return TeardownPath(vmID) + "/jobs" }

// TeardownPath is the path of a VM.
func TeardownPath(vmID string) string { return "/v1/vms/" + url.PathEscape(vmID) }

// Health is an agent's answer about itself.
type Health struct {
	APIVersion uint32 `json:"api_version"`
	Ready      bool   `json:"ready"`
	Reason     string `json:"reason" wire:"null"` // why it is not ready; empty when it is
	Hypervisor string `json:"hypervisor"`
	VMs        uint32 `json:"vms"` // entries: running, retained and crashed
}

// CreateRequest asks for a VM.
type CreateRequest struct {
	Spec Spec `json:"spec"`
}

// JobRequest gives a VM a job. TopicID must be the VM's topic and the job's.
type JobRequest struct {
	TopicID string `json:"topic_id"`
	Job     Job    `json:"job"`
}

// JobResponse is what came of a job. Sister is the host's evidence of a paid
// run, nil for a job that runs no miner code.
type JobResponse struct {
	TopicID string       `json:"topic_id"`
	VMID    string       `json:"vm_id"`
	Output  Output       `json:"output"`
	Sister  *Attestation `json:"sister"`
}

// TeardownRequest ends a VM.
type TeardownRequest struct {
	TopicID string `json:"topic_id"`
	Policy  Retain `json:"policy"`
}

// TeardownResponse tells what became of it. Confirmed is true when nothing of
// the VM runs any more.
type TeardownResponse struct {
	TopicID   string  `json:"topic_id"`
	VMID      string  `json:"vm_id"`
	State     VMState `json:"state"`
	Confirmed bool    `json:"confirmed"`
}

// Code is the word an agent gives for an error.
type Code string

// The codes of R§22.
const (
	CodeUnauthorized     Code = "unauthorized"
	CodeBadSpec          Code = "bad_spec"
	CodeNotFound         Code = "not_found"
	CodeTopicMismatch    Code = "topic_mismatch"
	CodeAlreadyExists    Code = "already_exists"
	CodeBusy             Code = "busy"
	CodeBackend          Code = "backend"
	CodeWrongOutput      Code = "wrong_output"
	CodeEvidenceMismatch Code = "evidence_mismatch"
	CodeNotReady         Code = "not_ready"
)

// Status is the HTTP status of a code, and 0 for a word that is no code.
func (c Code) Status() int {
	switch c {
	case CodeUnauthorized:
		return http.StatusUnauthorized
	case CodeBadSpec:
		return http.StatusBadRequest
	case CodeNotFound:
		return http.StatusNotFound
	case CodeTopicMismatch, CodeAlreadyExists, CodeBusy:
		return http.StatusConflict
	case CodeBackend, CodeWrongOutput, CodeEvidenceMismatch:
		return http.StatusBadGateway
	case CodeNotReady:
		return http.StatusServiceUnavailable
	}
	return 0
}

// Error is the body of every answer that is not 2xx.
type Error struct {
	Code Code   `json:"code"`
	Text string `json:"error"`
}

func (e *Error) Error() string { return e.Text }
