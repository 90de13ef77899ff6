package remotetest

import (
	"io"
	"net/http"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/topic"
)

func (p *Plane) admin(handle func(string, func(http.ResponseWriter, *http.Request))) {
	handle("POST /v1/admin/proof/topics", func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(io.LimitReader(r.Body, topic.MaxSize+1))
		if err != nil {
			p.refuse(w, r, http.StatusBadRequest, err.Error())
			return
		}
		d, err := topic.ParseJSON(data)
		if err != nil {
			p.refuse(w, r, http.StatusUnprocessableEntity, err.Error())
			return
		}
		if m := p.measured[d.ID]; m != nil && d.Status == topic.Open {
			p.sealed = m["primary_value"].(float64)
		}
		if refusal := p.store(d); refusal != nil {
			p.refuse(w, r, refusal.Status, refusal.Text)
			return
		}
		if p.rules[d.ID] == nil {
			p.rules[d.ID] = []topic.RuleSet{d.Rules()}
		}
		p.document(w, r, http.StatusCreated, d)
	})
	handle("GET /v1/admin/proof/topics/{id}/presend", p.withTopic(func(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
		p.value(w, r, http.StatusOK, map[string]any{"topic_id": t.Document.ID, "statement": t.Document.Statement, "custom_id": t.Document.Metric.CustomID, "spend_cap_usd": 0})
	}))
	handle("POST /v1/admin/proof/topics/{id}/setup", p.withTopic(p.setup))
	handle("POST /v1/admin/proof/topics/{id}/rules", p.withTopic(func(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
		sent, err := body[struct {
			Rules []struct {
				ID   string `json:"id"`
				Text string `json:"text"`
			} `json:"rules"`
		}](r)
		if err != nil {
			p.refuse(w, r, http.StatusUnprocessableEntity, err.Error())
			return
		}
		var items []topic.ChecklistItem
		for _, rule := range sent.Rules {
			items = append(items, topic.ChecklistItem(rule))
		}
		p.addRules(t.Document.ID, topic.FromOperator, items)
		p.value(w, r, http.StatusCreated, p.ruleSet(t.Document.ID))
	}))
	handle("GET /v1/admin/proof/topics/{id}/lifecycle", p.withTopic(func(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
		id, state := t.Document.ID, string(t.Document.Status)
		moves := p.moves[id]
		if len(moves) > 0 {
			state = moves[len(moves)-1]["to"]
		}
		var failed any
		if p.failed[id] != "" {
			failed = p.failed[id]
		}
		p.value(w, r, http.StatusOK, map[string]any{"state": state, "setup_running": false, "setup_error": failed, "events": moves})
	}))
	handle("GET /v1/admin/proof/topics/{id}/measurement", p.withTopic(func(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
		if m := p.measured[t.Document.ID]; m != nil {
			p.value(w, r, http.StatusOK, m)
			return
		}
		p.refuse(w, r, http.StatusNotFound, `no baseline measured for "`+t.Document.ID+`"`)
	}))
}

// setup goes through the ceremony of R§18 at once.
func (p *Plane) setup(w http.ResponseWriter, r *http.Request, t *intake.Topic) {
	sent, err := body[struct {
		Approve bool   `json:"approve"`
		Reason  string `json:"reason"`
	}](r)
	if err != nil {
		p.refuse(w, r, http.StatusUnprocessableEntity, err.Error())
		return
	}
	id := t.Document.ID
	move := func(from, event, to, note string) {
		p.moves[id] = append(p.moves[id], map[string]string{"from": from, "event": event, "to": to, "note": note, "at": "2026-11-30T00:00:00Z"})
	}
	delete(p.failed, id)
	if sent.Approve && t.Document.Baseline.ScriptSHA256 == "" {
		p.failed[id] = "topic " + id + ": baseline.script_sha256 is not set; publish the draft with the SHA-256 of its baseline archive"
		p.value(w, r, http.StatusAccepted, map[string]string{"topic_id": id, "state": "draft"})
		return
	}
	move("draft", "submit_for_review", "owner_presend", "")
	switch {
	case !sent.Approve:
		move("owner_presend", "owner_declined", "draft", sent.Reason)
	case len(p.Setups) == 0:
		move("owner_presend", "owner_approved", "awaiting_owner_keys", "")
		p.failed[id] = "owner keys are not there"
	default:
		move("owner_presend", "owner_approved", "awaiting_owner_keys", "")
		move("awaiting_owner_keys", "owner_keys_present", "provisioning", "")
		move("provisioning", "provisioned", "baselining", "")
		p.addRules(id, topic.FromRLM, t.Document.Checklist)
		p.measured[id] = map[string]any{
			"topic_id": id, "rules_version": len(p.rules[id]), "primary_value": p.Setups[0], "report": map[string]any{}, "created_at": "2026-11-30T00:00:00Z",
		}
		p.Setups = p.Setups[1:]
	}
	p.value(w, r, http.StatusAccepted, map[string]string{"topic_id": id, "state": "owner_presend"})
}

func (p *Plane) addRules(id string, source topic.RuleSource, items []topic.ChecklistItem) {
	p.rules[id] = append(p.rules[id], topic.RuleSet{TopicID: id, Version: uint32(len(p.rules[id]) + 1), Source: source, Rules: items})
}
