package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// areaOwners says which folder plays the cases of an area; its tests go through
// the cases.json beside them as named subtests. Real guests are no part of this
// release: their cases wait in one file of the wire's.
var areaOwners = map[string]string{
	"canonical_json": "research/topic", "canonical_json_fixed_point": "research/topic", "is_custom_id": "research/topic", "is_slug": "research/topic",
	"is_model_pin": "research/topic", "is_opaque_param": "research/topic", "is_hex64": "research/topic", "is_http_origin": "research/topic",
	"validate_rules": "research/topic", "topic_id": "research/topic", "topic_validate": "research/topic", "is_open_at": "research/topic research/payout",
	"topic_payload_contains": "research/topic", "topic_payload_excludes": "research/topic",
	"holdout_verify": "research/holdout", "contamination": "research/holdout",
	"template_allow": "research/offer", "template_uuid": "research/offer", "executor_plan_deadline": "research/offer", "executor_plan_gpu": "research/offer",
	"harvest_overrides_parse": "research/offer", "executor_offer_parse": "research/offer",
	"judge_topic": "research/family", "decide_promote": "research/family", "payout": "research/payout", "topic_share_bps": "research/payout",
	"http": "research/intake research/api", "lifecycle": "research/rlm", "checklist_verify": "research/rlm",
	"frame": "sandbox/wire", "api_version": "sandbox/wire", "sister_request": "sandbox/wire sandbox/fake guest", "sister_id": "sandbox/fake",
	"agent_error_status": "sandbox/wire sandbox/agentd",
	"net_plan":           "guest", "net_ruleset": "guest", "net_commands": "guest", "jail_commands": "guest", "jailer_argv": "guest", "vm_config": "guest",
}

// TestEveryCaseOfTheReferenceHasAnOwner holds the copies of the reference's cases
// together: none is lost, none is in a folder that does not play it.
func TestEveryCaseOfTheReferenceHasAnOwner(t *testing.T) {
	files, err := filepath.Glob("../internal/*/*/testdata/*cases.json")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}     // each case once, however many play it
	owned := map[string][]string{} // area: folders that have cases of it
	for _, file := range files {
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(filepath.Dir(file))), "../internal/")
		if strings.HasPrefix(folder, "receipts/") {
			continue
		}
		if filepath.Base(file) == "guest_cases.json" {
			folder = "guest"
		}
		for _, c := range casesOf(t, file) {
			area, _ := c["area"].(string)
			if owners, known := areaOwners[area]; !known {
				t.Errorf("%s: the area %q has no owner; name the folder that plays it", file, area)
			} else if !slices.Contains(strings.Fields(owners), folder) {
				t.Errorf("%s: cases of %s belong to %s", file, area, owners)
			}
			text, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			found[string(text)] = true
			if !slices.Contains(owned[area], folder) {
				owned[area] = append(owned[area], folder)
			}
		}
	}
	for area, owners := range areaOwners {
		for folder := range strings.FieldsSeq(owners) {
			if !slices.Contains(owned[area], folder) {
				t.Errorf("%s has no case of %s", folder, area)
			}
		}
	}
	if len(found) != 163 {
		t.Errorf("%d cases have a copy; the reference has 163", len(found))
	}
}

func casesOf(t *testing.T, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []map[string]any }
	if err := json.Unmarshal(data, &doc); err != nil || len(doc.Cases) == 0 {
		t.Fatalf("%s: %d cases, %v", file, len(doc.Cases), err)
	}
	return doc.Cases
}

// TestEveryDerivedDigestHasAnOwner is the same for the digests that follow from the
// reference's rules: each member of that document is in the testdata of who plays it.
func TestEveryDerivedDigestHasAnOwner(t *testing.T) {
	owners := map[string][]string{
		"float_spelling":               {"evidence/canonjson/testdata/research-digests.json", "internal/research/baseline/testdata/derived_digests.json"},
		"inference_offer_commitments":  {"internal/research/offer/testdata/derived_digests.json"},
		"executor_offer_commitments":   {"internal/research/offer/testdata/derived_digests.json"},
		"baseline_metrics_commitments": {"internal/research/baseline/testdata/derived_digests.json"},
		"synthetic_holdouts":           {"internal/research/holdout/testdata/derived_digests.json"},
		"holdout_select_ranks":         {"internal/research/holdout/testdata/derived_digests.json"},
		"submission_digests":           {"internal/research/intake/testdata/derived_digests.json"},
		"rule_set_digests":             {"internal/research/topic/testdata/derived_digests.json", "internal/research/rlm/testdata/digests.json"},
		"checklist_digest":             {"internal/research/rlm/testdata/digests.json"},
		"admin_token_hashes":           {"internal/research/api/testdata/derived_digests.json"},
	}
	listed := map[string]bool{}
	for member, files := range owners {
		for _, file := range files {
			listed[file] = true
			if _, has := members(t, file)[member]; !has {
				t.Errorf("%s has no %s", file, member)
			}
		}
	}
	for file := range listed {
		if file == "evidence/canonjson/testdata/research-digests.json" {
			continue // A whole copy, of which the evidence plays the spelling of floats.
		}
		for member := range members(t, file) {
			if member != "note" && !slices.Contains(owners[member], file) {
				t.Errorf("%s: %s has another owner, or none", file, member)
			}
		}
	}
}

func members(t *testing.T, file string) map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile("../" + file)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}
