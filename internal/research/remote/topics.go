package remote

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// topicPath is the path of a topic's route; an id that is none makes no request.
func topicPath(id, rest string) (string, error) {
	if !shape.Slug(id) {
		return "", fmt.Errorf("topic id %q must match [a-z0-9][a-z0-9-]{1,62}", id)
	}
	return "/v1/proof/topics/" + id + rest, nil
}

func adminTopicPath(id, rest string) (string, error) {
	if _, err := topicPath(id, ""); err != nil {
		return "", err
	}
	return "/v1/admin/proof/topics/" + id + rest, nil
}

// Topics lists the documents of a status: open, draft, closed or all. An empty
// status is what the server lists by itself, the open ones (decision 19). The
// second value is the whole answer.
func (c *Client) Topics(ctx context.Context, status string) ([]*topic.Document, []byte, error) {
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	data, err := c.get(ctx, "/v1/proof/topics", query)
	if err != nil {
		return nil, nil, err
	}
	var list struct {
		Items []jsontext.Value `json:"items"`
	}
	if err := decode(data, "list of topics", &list); err != nil {
		return nil, nil, err
	}
	docs := make([]*topic.Document, 0, len(list.Items))
	for i, item := range list.Items {
		d, err := topic.ParseJSON(item)
		if err != nil {
			return nil, nil, fmt.Errorf("the control plane's list of topics, item %d: %s", i, Printable(err.Error()))
		}
		docs = append(docs, d)
	}
	return docs, data, nil
}

// Topic asks for one topic, of whatever status. It is not verified: its signature
// is for the caller to check under a key of its own.
func (c *Client) Topic(ctx context.Context, id string) (*topic.Document, error) {
	path, err := topicPath(id, "")
	if err != nil {
		return nil, err
	}
	data, err := c.get(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return parseTopic(data, id)
}

func parseTopic(data []byte, id string) (*topic.Document, error) {
	d, err := topic.ParseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("the control plane's topic: %s", Printable(err.Error()))
	}
	if d.ID != id {
		return nil, fmt.Errorf("asked for the topic %s, the control plane answers with %q", id, Printable(cut(d.ID, 80)))
	}
	return d, nil
}

// Publish stores a signed topic (R§14.4) and returns it as the host has it.
func (c *Client) Publish(ctx context.Context, d *topic.Document) (*topic.Document, error) {
	body, err := d.JSON()
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/admin/proof/topics", body: body, admin: true})
	if err != nil {
		return nil, err
	}
	return parseTopic(a.body, d.ID)
}

// Rules asks for the rule set that checklists are held to now, the newest version.
// The second value is the whole answer.
func (c *Client) Rules(ctx context.Context, id string) (*topic.RuleSet, []byte, error) {
	path, err := topicPath(id, "/rules")
	if err != nil {
		return nil, nil, err
	}
	data, err := c.get(ctx, path, nil)
	if err != nil {
		return nil, nil, err
	}
	rules, err := parseRules(data, id)
	return rules, data, err
}

// EditRules adds a version of a topic's rules, written by the operator.
func (c *Client) EditRules(ctx context.Context, id string, rules []topic.ChecklistItem) (*topic.RuleSet, error) {
	path, err := adminTopicPath(id, "/rules")
	if err != nil {
		return nil, err
	}
	type rule struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	sent := make([]rule, len(rules))
	for i, r := range rules {
		sent[i] = rule(r)
	}
	a, err := c.post(ctx, path, map[string]any{"rules": sent})
	if err != nil {
		return nil, err
	}
	return parseRules(a.body, id)
}

func parseRules(data []byte, id string) (*topic.RuleSet, error) {
	var said struct {
		TopicID string           `json:"topic_id"`
		Version uint32           `json:"version"`
		Source  topic.RuleSource `json:"source"`
		Rules   []struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		} `json:"rules"`
	}
	if err := decode(data, "rules", &said); err != nil {
		return nil, err
	}
	if said.TopicID != id || said.Version == 0 {
		return nil, fmt.Errorf("asked for the rules of %s, the control plane answers with version %d of %q", id, said.Version, Printable(cut(said.TopicID, 80)))
	}
	set := &topic.RuleSet{TopicID: said.TopicID, Version: said.Version, Source: said.Source}
	for _, r := range said.Rules {
		set.Rules = append(set.Rules, topic.ChecklistItem(r))
	}
	return set, nil
}

// Presend asks what the owner of a topic is shown before keys are asked for
// (R§16.1); the answer as it is.
func (c *Client) Presend(ctx context.Context, id string) ([]byte, error) {
	path, err := adminTopicPath(id, "/presend")
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx, call{method: http.MethodGet, path: path, admin: true})
	return a.body, err
}

// Setup starts the ceremony of R§18 with the owner's answer, and returns the state
// that the topic was in when the host took it over.
func (c *Client) Setup(ctx context.Context, id string, approve bool, reason string) (state string, err error) {
	path, err := adminTopicPath(id, "/setup")
	if err != nil {
		return "", err
	}
	a, err := c.post(ctx, path, struct {
		Approve bool   `json:"approve"`
		Reason  string `json:"reason,omitempty"`
	}{approve, reason})
	if err != nil {
		return "", err
	}
	var said struct {
		State string `json:"state"`
	}
	if err := decode(a.body, "answer to the setup", &said); err != nil {
		return "", err
	}
	return said.State, nil
}

// Lifecycle is where a topic is on its way (R§16.1).
type Lifecycle struct {
	State        string `json:"state"`
	SetupRunning *bool  `json:"setup_running"` // nil: the server does not say
	SetupError   string `json:"setup_error"`   // why the last set-up stopped; empty: none
	Events       []Move `json:"events"`
	JSON         []byte `json:"-"`
}

// Move is one recorded transition.
type Move struct {
	From  string `json:"from"`
	Event string `json:"event"`
	To    string `json:"to"`
	Note  string `json:"note"`
}

// Lifecycle asks where a topic is.
func (c *Client) Lifecycle(ctx context.Context, id string) (*Lifecycle, error) {
	path, err := adminTopicPath(id, "/lifecycle")
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx, call{method: http.MethodGet, path: path, admin: true})
	if err != nil {
		return nil, err
	}
	l := &Lifecycle{JSON: a.body}
	return l, decode(a.body, "lifecycle", l)
}

// Measurement is the newest baseline that a topic's RLM measured (R§18).
type Measurement struct {
	TopicID      string   `json:"topic_id"`
	RulesVersion uint32   `json:"rules_version"`
	PrimaryValue *float64 `json:"primary_value"`
}

// Measurement asks for the measured baseline of a topic. Without one the error is
// a [Refusal] of status 404.
func (c *Client) Measurement(ctx context.Context, id string) (*Measurement, error) {
	path, err := adminTopicPath(id, "/measurement")
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx, call{method: http.MethodGet, path: path, admin: true})
	if err != nil {
		return nil, err
	}
	m := &Measurement{}
	if err := decode(a.body, "measurement", m); err != nil {
		return nil, err
	}
	switch {
	case m.TopicID != "" && m.TopicID != id:
		return nil, fmt.Errorf("asked for the baseline of %s, the control plane answers with that of %q", id, Printable(cut(m.TopicID, 80)))
	case m.PrimaryValue == nil:
		return nil, errors.New("the control plane's measurement has no primary_value")
	}
	return m, nil
}
