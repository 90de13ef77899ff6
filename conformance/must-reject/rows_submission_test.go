package mustreject_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// submissionRows break rules a to h of section 9, one at a time.
func submissionRows() []row {
	p := bundle.SubmissionPath(agent, taskID)
	const a0, c0 = "/assertions/0", "/assertions/0/claim"
	with := func(pointer string, to any) func(*scene) { return set(p, pointer, to) }
	pair := func(pointer string, to any) func(*scene) {
		return func(c *scene) { set(p, "/disclosures/"+c.id()+pointer, to)(c) }
	}
	// another appends a copy of the assertion, changed.
	another := func(change func(o *canonjson.Object)) func(*scene) {
		return submission(func(t *testing.T, v any) {
			list := resolve(t, v, "/assertions").([]any)
			second := list[0].(*canonjson.Object).Clone()
			change(second)
			put(t, v, "/assertions", append(list, second))
		})
	}
	var rows []row
	for _, r := range []struct {
		name, rule, what string
		files            func(*scene)
	}{
		{"not-json", "a", "bytes that are no JSON", add(p, "{")},
		{"byte-order-mark", "a", "a byte order mark", text(p, "{", "\ufeff{")},
		{"member-twice", "a", "the member season twice", text(p, `"season":1`, `"season":1,"season":1`)},
		{"unknown-member", "a", "an unknown member", with("/score", 1)},
		{"no-verdict", "a", "no verdict", drop(p, "/verdict")},
		{"season", "b", "season 2", with("/season", 2)},
		{"track", "b", "track generique", with("/track", "generique")},
		{"task", "b", "task conf-02", with("/task_id", "conf-02")},
		{"did", "b", "another agent_did than the folder's", with("/agent_did", "did:web:other.prova.test")},
		{"narrative", "b", "narrative null", with("/narrative", nil)},
		{"verdict", "c", "a verdict that the rules do not list", with("/verdict", "peut-être")},
		{"assertions-object", "d", "assertions {}", with("/assertions", canonjson.NewObject())},
		{"id-long", "d", "an id of 65 code points", with(a0+"/id", strings.Repeat("é", 65))},
		{"id-twice", "d", "two assertions with one id", another(func(o *canonjson.Object) {
			o.Set("claim", canonjson.NewObject("resource", "/entites/ENT-0001", "field", "/existe", "value", true))
		})},
		{"claim-member", "e", "an unknown member of a claim", with(c0+"/unit", "")},
		{"claim-without-value", "e", "a claim without value", drop(p, c0+"/value")},
		{"resource", "e", "a resource without slash", with(c0+"/resource", "entites/ENT-0001")},
		{"pointer-escape", "e", "a field with ~2", with(c0+"/field", "/statut~2")},
		{"no-proof", "f", "an assertion without proof", submission(func(t *testing.T, v any) {
			put(t, v, a0+"/proof_ids", []any{})
			put(t, v, "/disclosures", canonjson.NewObject())
		})},
		{"proof-twice", "f", "one proof twice in an assertion", func(c *scene) { with(a0+"/proof_ids", []any{c.id(), c.id()})(c) }},
		{"proof-id", "f", "a proof id in capitals", func(c *scene) {
			with(a0+"/proof_ids", []any{strings.ToUpper(c.id())})(c)
			text(p, `"`+c.id()+`":`, `"`+strings.ToUpper(c.id())+`":`)(c)
		}},
		{"claim-twice", "g", "one claim twice, under two ids", another(func(o *canonjson.Object) { o.Set("id", "a2") })},
		{"disclosure-too-many", "h", "a disclosure of a proof that is not cited", func(c *scene) {
			submission(func(t *testing.T, v any) { put(t, v, "/disclosures/"+proofForm, resolve(t, v, "/disclosures/"+c.id())) })(c)
		}},
		{"disclosure-missing", "h", "no disclosure of the cited proof", with("/disclosures", canonjson.NewObject())},
		{"third-pair", "h", "a third pair", pair("/seller", canonjson.NewObject("nonce", "", "value", ""))},
		{"nonce-type", "h", "a nonce that is a number", pair("/request_hash/nonce", 1)},
	} {
		rows = append(rows, row{name: "submission-" + r.rule + "-" + r.name, section: "9", rule: "rule " + r.rule, what: r.what,
			expect: task("not_submitted", "not_conforming"), files: r.files})
	}
	return rows
}

// stateRows are rows 1 to 9 of section 9.2; all but the first break nothing else.
func stateRows() []row {
	claims := func(list ...[3]any) func(*scene) {
		return submission(func(t *testing.T, v any) {
			first := resolve(t, v, "/assertions/0").(*canonjson.Object)
			var out []any
			for i, c := range list {
				o := first.Clone()
				o.Set("id", "a"+string(rune('1'+i)))
				o.Set("claim", canonjson.NewObject("resource", c[0], "field", c[1], "value", c[2]))
				out = append(out, o)
			}
			put(t, v, "/assertions", out)
		})
	}
	entity := [3]any{"/entites/ENT-0001", "/statut", "active"}
	absent := assertion("supported", "", "")
	absent.Task = &expectedTask{agent, trackName, "conf-02", "not_submitted", optional("absent")}
	pending := task("pending", "")
	pending.Assertion = &expectedAssertion{agent, trackName, taskID, "a1", "pending", nil, nil}
	own := assertion("supported", "", "")
	own.Task = &expectedTask{agent, trackName, taskID, "not_submitted", optional("below_own_minimum")}
	rows := []row{
		{name: "absent", rule: "row 1", what: "no file for conf-02, the second task", tasks: 2, expect: absent},
		{name: "over-cap", rule: "row 3", what: "three assertions under a cap of two", expect: task("rejected", "over_cap"),
			files: claims(entity, [3]any{entity[0], "/existe", true}, [3]any{entity[0], "/agrements/0", "AGR-0001"})},
		{name: "other-entity", rule: "row 4", what: "a record of another entity", tasks: 2, expect: task("rejected", "outside_task_graph"),
			files: claims(entity, [3]any{"/entites/ENT-0002", "/statut", "active"})},
		{name: "not-in-manifest", rule: "row 4", what: "a resource that the manifest does not list", expect: task("rejected", "outside_task_graph"),
			files: claims(entity, [3]any{"/agrements/AGR-0099", "/existe", false})},
		{name: "referentiel", rule: "row 4", what: "the corpus's own description", expect: task("rejected", "outside_task_graph"),
			files: claims(entity, [3]any{"/referentiel", "/version", "x"})},
		{name: "systeme", rule: "row 4", what: "a fixed body of the corpus", expect: task("rejected", "outside_task_graph"),
			files: claims(entity, [3]any{"/_systeme/404", "/erreur", "404"})},
		{name: "field", rule: "row 5", what: "a field that no criterion reads", expect: task("rejected", "field_not_probative"),
			files: claims(entity, [3]any{entity[0], "/denomination", "Maison 0001"})},
		{name: "whole-document", rule: "row 5", what: "the empty pointer", expect: task("rejected", "field_not_probative"),
			files: claims(entity, [3]any{entity[0], "", "x"})},
		{name: "leading-zero", rule: "row 5", what: "an index with a leading zero (D18)", expect: task("rejected", "field_not_probative"),
			files: claims(entity, [3]any{entity[0], "/agrements/00", "AGR-0001"})},
		{name: "list-entry-of-nobody", rule: "row 6", what: "an entry past the end of a common list", expect: task("rejected", "common_list_entry_not_concerned"),
			files: claims(entity, [3]any{"/listes/agrees/courtage/1", "/entrees/7/statut", "valide"})},
		{name: "list-entry-of-another", rule: "row 6", what: "a restrictive measure on somebody else", expect: task("rejected", "common_list_entry_not_concerned"),
			files: claims(entity, [3]any{"/mesures-restrictives/1", "/entrees/1/nom", "Personne"})},
		{name: "pending", rule: "row 7", what: "the cited proof waits for its batch", pending: true, expect: pending},
		{name: "no-assertion", rule: "row 8", what: "no assertion at all", expect: task("not_submitted", "below_minimum"), files: func(c *scene) {
			claims()(c)
			set(bundle.SubmissionPath(agent, taskID), "/assertions", []any{})(c)
			set(bundle.SubmissionPath(agent, taskID), "/disclosures", canonjson.NewObject())(c)
		}},
		{name: "only-a-common-list", rule: "row 9", what: "one assertion, supported, on a common list", expect: own, spec: func(c *scene) {
			c.claim = bundletest.Claim{Resource: "/listes/agrees/courtage/1", Field: "/entrees/0/statut", Value: "valide"}
			c.spec = c.s.Spec(agent, trackName, c.claim.Resource)
		}},
	}
	for i := range rows {
		rows[i].name, rows[i].section = "state-"+rows[i].name, "9.2"
	}
	return rows
}
