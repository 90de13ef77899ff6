package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
)

func TestSection14HealthIsThreeMembers(t *testing.T) {
	p := open(t)
	p.get("/health").is(http.StatusOK)
	require.Equal(t, `{"ok":true,"challenge_id":"proof","scoring_version":1}`, p.get("/health").Body.String())
}

func TestSection141StatusHasEveryFieldOfTheTable(t *testing.T) {
	p := open(t)
	got := p.get("/v1/status").is(http.StatusOK)
	for _, name := range strings.Fields(`challenge_id scoring_version score_max eval_image eval_image_digest inference_offer inference eval_executor executor
		eval_backend force_sim sim_stub_win can_score live_harvest_wired custom_family_wired baseline_sealed open_topics scorable_topics registered_custom custom_ready epoch
		epoch_closes_at store production signature_required sandbox`) {
		require.Contains(t, got, name)
	}
	require.Equal(t, []any{apitest.OpenID}, got["scorable_topics"])
	require.Equal(t, true, got["can_score"])
	require.Equal(t, false, got["live_harvest_wired"], "R§29: a custom family wires no harvest")
	require.Equal(t, true, got["custom_family_wired"])
}

func TestSection14TopicsListsOpenDocumentsUnlessAskedOtherwise(t *testing.T) {
	p := open(t)
	for query, want := range map[string][]string{
		"": {apitest.OpenID}, "?status=open": {apitest.OpenID}, "?status=draft": {apitest.DraftID}, "?status=closed": {}, "?status=all": {apitest.OpenID, apitest.DraftID},
	} {
		ids := []string{}
		for _, item := range p.get("/v1/proof/topics" + query).is(http.StatusOK)["items"].([]any) {
			ids = append(ids, item.(map[string]any)["id"].(string))
		}
		require.ElementsMatch(t, want, ids, query)
	}
	p.get("/v1/proof/topics?status=new").refused(http.StatusBadRequest, "status must be")
	p.get("/v1/proof/topics?state=open").refused(http.StatusBadRequest, `unknown query parameter "state"; this route knows status`)
	got := p.get("/v1/proof/topics/" + apitest.DraftID).is(http.StatusOK)
	require.Equal(t, "draft", got["status"])
	for _, rest := range []string{"", "/rules", "/promotions", "/readiness"} {
		p.get("/v1/proof/topics/nobody"+rest).refused(http.StatusNotFound, "unknown topic")
	}
}

func TestDecision19RulesAndPromotionsOfATopic(t *testing.T) {
	p := open(t)
	got := p.get("/v1/proof/topics/" + apitest.OpenID + "/rules").is(http.StatusOK)
	require.Equal(t, apitest.OpenID, got["topic_id"])
	require.EqualValues(t, 1, got["version"])
	require.Equal(t, "topic_document", got["source"])
	require.Len(t, got["digest"], 64)
	require.Empty(t, got["earlier"])
	require.Equal(t, map[string]any{"id": "same_seed", "text": "every paid call uses the seed of the topic"}, got["rules"].([]any)[0])
	p.Script(1, 0.5)
	p.Script(2, 0.6)
	require.Equal(t, "champion", p.submit(apitest.Submission(t, 1, 1), nil).is(http.StatusCreated)["state"])
	second := p.submit(apitest.Submission(t, 2, 2), nil).is(http.StatusCreated)
	crowns := p.get("/v1/proof/topics/" + apitest.OpenID + "/promotions").is(http.StatusOK)["items"].([]any)
	require.Len(t, crowns, 2)
	last := crowns[1].(map[string]any)
	require.Equal(t, second["id"], last["submission_id"])
	require.Equal(t, "pf_0000000000000000", last["previous_best"])
	require.InDelta(t, 0.6, last["primary_value"], 0)
	require.InDelta(t, 0.5, last["bar"], 0)
}

func TestSection113ReadinessNamesTheRowsThatRefuse(t *testing.T) {
	p := open(t)
	got := p.get("/v1/proof/topics/" + apitest.OpenID + "/readiness").is(http.StatusOK)
	require.Equal(t, map[string]any{"topic_id": apitest.OpenID, "scorable": true, "missing": []any{}}, got)
	got = p.get("/v1/proof/topics/" + apitest.DraftID + "/readiness").is(http.StatusOK)
	require.Equal(t, false, got["scorable"])
	require.Equal(t, map[string]any{"row": "5", "name": "topic_open", "error": "topic is not open"}, got["missing"].([]any)[0])
}

func TestSection142ExecutorIsAlways200(t *testing.T) {
	p := open(t)
	got := p.get("/v1/proof/executor").is(http.StatusOK)
	require.Equal(t, true, got["ready"])
	require.Nil(t, got["reason"])
	require.Contains(t, got, "pin")
	closed := strings.Replace(string(apitest.Executor(t, 7200)), `"open"`, `"closed"`, 1)
	require.Equal(t, false, p.do(call{method: http.MethodPost, path: "/v1/admin/proof/executor", body: closed, admin: true}).is(http.StatusCreated)["can_score"])
	got = p.get("/v1/proof/executor").is(http.StatusOK)
	require.Equal(t, false, got["ready"])
	require.NotEmpty(t, got["reason"])
}

func TestDecision4WhatIsWithheldIsShownOnceTheEpochIsClosed(t *testing.T) {
	p := open(t)
	p.Script(1, 0.5)
	id := p.submit(apitest.Submission(t, 1, 1), nil).is(http.StatusCreated)["id"].(string)
	row := p.get("/v1/submissions/" + id).is(http.StatusOK)
	require.Empty(t, row["claim"])
	require.Nil(t, row["artifact_uri"])
	listed := p.get("/v1/submissions").is(http.StatusOK)["items"].([]any)[0].(map[string]any)
	require.Equal(t, row, listed)
	p.get("/v1/submissions/"+id+"/artefact").refused(http.StatusNotFound, "withheld until epoch 0 is closed")
	p.get("/v1/proof/epochs/0/payout").refused(http.StatusNotFound, "epoch 0 is not closed")
	p.get("/v1/proof/epochs/0/snapshot").refused(http.StatusNotFound, "epoch 0 is not closed")
	p.get("/v1/proof/epochs/00/payout").refused(http.StatusBadRequest, "without leading zeros")

	p.CloseEpoch()
	row = p.get("/v1/submissions/" + id).is(http.StatusOK)
	require.Equal(t, "beats the reference by a tenth", row["claim"])
	require.Equal(t, "https://artefacts.invalid/recipe.tar", row["artifact_uri"])
	zip := p.get("/v1/submissions/" + id + "/artefact")
	require.Equal(t, http.StatusOK, zip.Code)
	require.Equal(t, "application/zip", zip.Header().Get("Content-Type"))
	require.Equal(t, `attachment; filename="`+id+`.zip"`, zip.Header().Get("Content-Disposition"))
	require.True(t, strings.HasPrefix(zip.Body.String(), "PK"))
	p.get("/v1/submissions/"+id+"/zip").refused(http.StatusNotFound, "no such route")

	epochs := p.get("/v1/proof/epochs").is(http.StatusOK)
	require.EqualValues(t, 1, epochs["current"])
	require.NotNil(t, epochs["closes_at"])
	closed := epochs["closed"].([]any)[0].(map[string]any)
	snapshot := p.get("/v1/proof/epochs/0/snapshot")
	sum := sha256.Sum256(snapshot.Body.Bytes())
	require.Equal(t, closed["sha256"], hex.EncodeToString(sum[:]))
	require.EqualValues(t, 0, closed["epoch"])
	require.NotEmpty(t, closed["closed_at"])
	require.Len(t, p.get("/v1/proof/epochs/0/payout").is(http.StatusOK)["scores"], 1)
	for _, path := range []string{"/v1/proof/epochs/0/snapshot", "/v1/proof/epochs/0/payout", "/v1/submissions/" + id + "/artefact"} {
		tag := p.get(path).Header().Get("ETag")
		require.NotEmpty(t, tag)
		again := p.do(call{path: path, header: map[string]string{"If-None-Match": `"other", W/` + tag}})
		require.Equal(t, http.StatusNotModified, again.Code)
		require.Empty(t, again.Body.String())
	}
}

func TestSection14RowsAreListedByDescendingIdAndInPages(t *testing.T) {
	p := open(t)
	for i := range byte(5) {
		p.Script(i+1, 0.3)
		p.submit(apitest.Submission(t, int(i)+1, i+1), nil).is(http.StatusCreated)
	}
	var seen []string
	next := any("")
	for next != nil {
		query := "?limit=2"
		if next != "" {
			query += "&before=" + next.(string)
		}
		got := p.get("/v1/submissions" + query).is(http.StatusOK)
		for _, row := range got["items"].([]any) {
			seen = append(seen, row.(map[string]any)["id"].(string))
		}
		next = got["next"]
	}
	require.Equal(t, []string{"pf_0000000000000004", "pf_0000000000000003", "pf_0000000000000002", "pf_0000000000000001", "pf_0000000000000000"}, seen)
	key := apitest.Secret(t, "miner 3").Public().String()
	got := p.get("/v1/submissions?topic=" + apitest.OpenID + "&hotkey=0x" + strings.ToUpper(key) + "&before=&limit=").is(http.StatusOK)
	require.Len(t, got["items"], 1)
	require.Nil(t, got["next"])
	require.Empty(t, p.get("/v1/submissions?topic=another").is(http.StatusOK)["items"])
	for query, why := range map[string]string{
		"topic=A": "want a topic id", "hotkey=ab": "want 64 hexadecimal", "before=1": "want the id of a row", "limit=0": "1 to 200", "limit=201": "1 to 200",
		"limit=02": "1 to 200", "limit=x": "1 to 200", "tpoic=a": `unknown query parameter "tpoic"`, "limit=1&limit=2": "more than once", "a=%zz": "cannot be read", "a;b": "cannot be read",
	} {
		p.get("/v1/submissions?"+query).refused(http.StatusBadRequest, why)
	}
	p.get("/v1/submissions/pf_00000000000000ff").refused(http.StatusNotFound, "not_found")
	p.get("/v1/submissions/nobody").refused(http.StatusNotFound, "not_found")
}

func TestARowWithAHugeManifestEndsItsPageEarly(t *testing.T) {
	p := open(t)
	hashes := make([]string, 28000)
	for i := range hashes {
		hashes[i] = apitest.Hash("content", i)
	}
	for i := range byte(6) {
		p.Script(i+1, 0.3)
		p.submit(apitest.Submission(t, int(i)+1, i+1, func(f map[string]any) { f["manifest"] = map[string]any{"train_content_hashes": hashes} }), nil).is(http.StatusCreated)
	}
	// A page ends behind the row with which it is longer than the store's bound, and says
	// where it goes on; nothing is left out or doubled.
	var seen []string
	pages := 0
	for query := ""; ; pages++ {
		var page struct {
			Items []struct{ ID string }
			Next  *string
		}
		answer := p.get("/v1/submissions" + query)
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &page))
		require.Less(t, answer.Body.Len(), ledger.MaxRowBytes+intake.MaxBody+1<<16)
		for _, item := range page.Items {
			seen = append(seen, item.ID)
		}
		if page.Next == nil {
			break
		}
		require.Equal(t, seen[len(seen)-1], *page.Next)
		query = "?before=" + *page.Next
	}
	require.Equal(t, []string{"pf_0000000000000005", "pf_0000000000000004", "pf_0000000000000003", "pf_0000000000000002", "pf_0000000000000001", "pf_0000000000000000"}, seen)
	require.Positive(t, pages)
}

func TestDecision6ByDigestAnswersForEveryStage(t *testing.T) {
	p := open(t)
	p.get("/v1/submissions/by-digest/"+apitest.Hash("x")).refused(http.StatusNotFound, "not_found")
	p.get("/v1/submissions/by-digest/AB").refused(http.StatusBadRequest, "64 lower-case")
	p.Script(1, 0.5)
	stored := p.submit(apitest.Submission(t, 1, 1), nil).is(http.StatusCreated)
	got := p.get("/v1/submissions/by-digest/" + stored["submission_digest"].(string))
	require.Equal(t, stored, got.is(http.StatusOK))
	require.Equal(t, "/v1/submissions/"+stored["id"].(string), got.Header().Get("Location"))
}

func TestAClosedEpochIsComputedOnceForRoutesAndPages(t *testing.T) {
	p := open(t)
	p.CloseEpoch()
	first := p.get("/v1/proof/epochs/0/payout").Body.String()
	require.Equal(t, first, p.get("/v1/proof/epochs/0/payout").Body.String())
	require.Equal(t, http.StatusOK, p.get("/en/epochs/0").Code)
}
