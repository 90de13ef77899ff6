package issuer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProofPageInBothLanguages(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	name := w.bind(key)
	id := w.issue(key)
	html := withHeader("Accept", "text/html,application/xhtml+xml")
	r := w.get("/v1/proof/"+id, html)
	require.Equal(t, "text/html; charset=utf-8", r.Header.Get("Content-Type"))
	require.Contains(t, r.Body, `<html lang="en">`)
	require.Contains(t, r.Body, "neither valid nor invalid")
	require.Contains(t, r.Body, name)
	w.close()
	r = w.get("/v1/proof/"+id, html, withHeader("Accept-Language", "fr-FR,fr;q=0.9,en;q=0.5"))
	require.Contains(t, r.Body, `<html lang="fr">`)
	require.Contains(t, r.Body, "local, non indépendant")
	require.Contains(t, r.Body, "openssl ts -verify -data root.bin -in "+id+".tsr -CAfile cacert.pem")
	require.Contains(t, r.Body, "prova verify --require local --trust trust.json "+id+".json")
	require.Equal(t, "fr", r.Header.Get("Content-Language"))
	r = w.get("/v1/proof/"+id+"?lang=en", html, withHeader("Accept-Language", "fr"))
	require.Contains(t, r.Body, "local, not independent")
	require.NotContains(t, r.Body, "<script")
	require.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, r.Body, "body{font:1rem", "the style the policy admits is in the page")
	for accept, page := range map[string]bool{"text/html": true, "text/html, application/json": false, "application/json": false, "*/*": false, "": false} {
		require.Equal(t, page, strings.HasPrefix(w.get("/v1/proof/"+id, withHeader("Accept", accept)).Body, "<!DOCTYPE"), accept)
	}
	require.Equal(t, "application/json", w.get("/v1/proof/"+id+"?format=json", html).Header.Get("Content-Type"))
	require.Equal(t, "application/json", w.get("/v1/proof/"+unknownProof, html).Header.Get("Content-Type"))
}

func TestProofPageEscapesWhatAgentsSay(t *testing.T) {
	w := newWorld(t)
	r := w.call(w.key(PlanFree), entity, withHeader("X-Agent-Identity", `<script>alert(1)</script>`))
	page := w.get("/v1/proof/"+r.at("/proof/proof_id").(string), withHeader("Accept", "text/html"))
	require.NotContains(t, page.Body, "<script")
	require.Contains(t, page.Body, "&lt;script&gt;")
	require.Contains(t, page.Body, "self-declared, not a verified DID")
}
