package remote

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/url"
	"strconv"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
)

// Row is a stored submission as anyone may read it (R§11.4): claim and address of
// the artefact are empty until its epoch is closed (decision 4).
type Row struct {
	ID               string       `json:"id"`
	TopicID          string       `json:"topic_id"`
	MinerHotkey      string       `json:"miner_hotkey"`
	ArtifactDigest   string       `json:"artifact_digest"`
	ArtifactURI      *string      `json:"artifact_uri"`
	Claim            string       `json:"claim"`
	DeclaredFLOPs    uint64       `json:"declared_flops"`
	SubmissionDigest string       `json:"submission_digest"`
	State            family.State `json:"state"`
	Verdict          Verdict      `json:"verdict"`
	Detail           *string      `json:"detail"`
	Epoch            uint64       `json:"epoch"`
	JSON             []byte       `json:"-"`
}

// Verdict is what a reader is told of a row's verdict (R§12.4).
type Verdict struct {
	Pass    bool             `json:"pass"`
	Agent   Agent            `json:"agent"`
	Harness Harness          `json:"harness"`
	Failed  []jsontext.Value `json:"failed"`
}

// Agent is the part of an agent's verdict that a reader is told.
type Agent struct {
	FlopsUsed uint64 `json:"flops_used"`
	Rationale string `json:"rationale"`
}

// Harness holds the figures that a topic's primary may be (R§10).
type Harness struct {
	HoldoutNLL    *float64 `json:"holdout_nll"`
	TokensPerSec  *float64 `json:"tokens_per_sec"`
	StepLatencyMS *float64 `json:"step_latency_ms"`
	CustomValue   *float64 `json:"custom_value"`
}

// Primary returns the figure that a metric of a topic names; nil when there is none.
func (h *Harness) Primary(custom bool, name string) *float64 {
	switch {
	case custom:
		return h.CustomValue
	case name == "tokens_per_sec":
		return h.TokensPerSec
	case name == "step_latency_ms":
		return h.StepLatencyMS
	}
	return h.HoldoutNLL
}

// RowQuery narrows a list of rows; empty members ask for everything.
type RowQuery struct {
	Topic, Hotkey string
	Before        string // id of a row: only older ones
	Limit         int    // 0: the server's own
}

// Rows lists rows, the newest first, and the id to pass as Before for the next
// page, "" on the last one. The last value is the whole answer.
func (c *Client) Rows(ctx context.Context, q RowQuery) ([]Row, string, []byte, error) {
	query := url.Values{}
	for name, value := range map[string]string{"topic": q.Topic, "hotkey": q.Hotkey, "before": q.Before} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	data, err := c.get(ctx, "/v1/submissions", query)
	if err != nil {
		return nil, "", nil, err
	}
	var list struct {
		Items []jsontext.Value `json:"items"`
		Next  *string          `json:"next"`
	}
	if err := decode(data, "list of rows", &list); err != nil {
		return nil, "", nil, err
	}
	rows := make([]Row, 0, len(list.Items))
	for _, item := range list.Items {
		row, err := parseRow(item)
		if err != nil {
			return nil, "", nil, err
		}
		rows = append(rows, *row)
	}
	next := ""
	if list.Next != nil {
		// A server that names its own page again would be asked for ever.
		if next = *list.Next; len(rows) == 0 || next == q.Before {
			return nil, "", nil, fmt.Errorf("the control plane's list of rows does not go on: its next page is %q", Printable(cut(next, 80)))
		}
		if _, err := intake.ParseID(next); err != nil {
			return nil, "", nil, fmt.Errorf("the control plane's list of rows: %w", err)
		}
	}
	return rows, next, data, nil
}

// Row asks for one row.
func (c *Client) Row(ctx context.Context, id string) (*Row, error) {
	if _, err := intake.ParseID(id); err != nil {
		return nil, err
	}
	data, err := c.get(ctx, "/v1/submissions/"+id, nil)
	if err != nil {
		return nil, err
	}
	row, err := parseRow(data)
	if err == nil && row.ID != id {
		err = fmt.Errorf("asked for the row %s, the control plane answers with %s", id, row.ID)
	}
	return row, err
}

func parseRow(data []byte) (*Row, error) {
	row := &Row{JSON: data}
	if err := decode(data, "row", row); err != nil {
		return nil, err
	}
	if _, err := intake.ParseID(row.ID); err != nil {
		return nil, fmt.Errorf("the control plane's row: %w", err)
	}
	return row, nil
}
