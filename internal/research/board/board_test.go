package board_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/board"
)

// text is what a reader sees of a page.
func text(page string) string {
	page = regexp.MustCompile(`(?s)<head>.*</head>`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

func TestTheEntranceLeadsToTheReadersLanguage(t *testing.T) {
	s := open(t)
	for accept, want := range map[string]string{"": "en/", "fr-CA, en;q=0.5": "fr/", "de, fr": "fr/", "de": "en/", "en-GB": "en/"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", accept)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		require.Equal(t, http.StatusFound, w.Code)
		require.Equal(t, want, w.Header().Get("Location"))
		require.Equal(t, "Accept-Language", w.Header().Get("Vary"))
	}
	require.Equal(t, "fr/", s.ask("/fr").Header().Get("Location"))
}

func TestEveryPageIsInBothLanguagesWithoutAScriptAndLinksOnlyToWhatIsThere(t *testing.T) {
	s := lived(t)
	s.CloseEpoch()
	seen, queue := map[string]bool{}, []string{"/en/", "/fr/"}
	link := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		w := s.ask(at)
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", at, w.Body)
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			continue
		}
		body := w.Body.String()
		require.NotContains(t, strings.ToLower(body), "<script", at)
		require.NotContains(t, body, " style=", at)
		require.NotContains(t, body, "%!", at)
		require.Contains(t, body, `<html lang="`+at[1:3]+`">`)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			to := html.UnescapeString(m[1])
			require.NotContains(t, to, "://", "%s links to another site", at)
			if to == "#main" {
				continue
			}
			next := httptest.NewRequest(http.MethodGet, "http://h"+at, nil).URL
			resolved, err := next.Parse(to)
			require.NoError(t, err)
			queue = append(queue, resolved.RequestURI())
		}
	}
	for _, path := range []string{"/fr/limits", "/en/epochs/0", "/fr/topics/" + apitest.OpenID, "/en/rows/" + s.rows["copy"], "/v1/proof/epochs/0/payout", "/v1/submissions/" + s.rows["champion"] + "/artefact"} {
		require.True(t, seen[path], "nothing leads to %s", path)
	}
}

func TestEachRowShowsTheReasonOfItsStateInWords(t *testing.T) {
	s := lived(t)
	for name, want := range map[string][2]string{
		"champion":   {"Passed every gate and was better than the bar in force at the time by at least the topic's margin, so it was crowned.", "A passé tous les contrôles et dépassé la barre alors en vigueur d’au moins la marge du sujet : la ligne a été couronnée."},
		"passed":     {"Passed every gate. Only this miner's best passing run of the epoch is paid. It was not crowned: 0.45 is not above the bar in force at the time by at least 5%.", "0,45 ne dépasse pas d’au moins 5 % la barre alors en vigueur."},
		"missed":     {"The primary 0.41 is not better than the sealed value 0.4 by at least 5%: 0.42 or more was needed.", "La valeur principale 0,41 ne dépasse pas la valeur scellée 0,4 d’au moins 5 % : il fallait 0,42 ou plus."},
		"red":        {"the inspection of the artefact ticked a rule red or left one out. Nothing was spent.", "a marqué une règle en rouge"},
		"failed":     {"the recipe ran, and its result could not be reproduced.", "son résultat n’a pas pu être reproduit"},
		"over":       {"More operations were measured than the miner declared.", "Les opérations mesurées sont plus nombreuses que celles que le mineur a déclarées."},
		"undeclared": {"Rejected before any run: no training data was declared.", "aucune donnée d’entraînement n’a été déclarée"},
		"copy":       {"It was not crowned: 0.5 is not above", "0,5 ne dépasse pas d’au moins 5 %"},
	} {
		for i, l := range []string{"en", "fr"} {
			require.Contains(t, text(s.get("/"+l+"/rows/"+s.rows[name])), want[i], name)
			require.Contains(t, text(s.get("/"+l+"/topics/"+apitest.OpenID)), want[i], name)
			require.Contains(t, text(s.get("/"+l+"/rows")), want[i], name)
		}
	}
}

func TestDecision4NoPageShowsWhatIsWithheldAndAfterTheCloseItIsHarmless(t *testing.T) {
	s := lived(t)
	paths := []string{"/en/", "/en/rows", "/en/topics/" + apitest.OpenID, "/en/epochs"}
	for _, id := range s.rows {
		paths = append(paths, "/en/rows/"+id, "/fr/rows/"+id)
	}
	for _, path := range paths {
		body := s.get(path)
		require.NotContains(t, body, "planted claim", path)
		require.NotContains(t, body, "artefacts.invalid", path)
	}
	require.Contains(t, text(s.get("/en/rows/"+s.rows["champion"])), "withheld until the epoch closes")
	require.NotContains(t, s.get("/en/rows/"+s.rows["champion"]), "/artefact")
	require.Equal(t, http.StatusNotFound, s.ask("/en/epochs/0").Code, "no payout before the close")

	s.CloseEpoch()
	body := s.get("/en/rows/" + s.rows["champion"])
	require.Contains(t, body, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.Contains(t, text(body), "⟨U+202E⟩deltrevni the planted claim")
	require.Contains(t, body, "https://artefacts.invalid/recipe.tar")
	require.NotContains(t, body, `href="https://artefacts`, "a miner's address is no link")
	require.Contains(t, body, "/artefact")
	require.Contains(t, s.get("/en/rows/"+s.rows["failed"]), "exit code 3 &lt;b&gt;bold&lt;/b&gt;")
}

func TestThePayoutPageExplainsEachFigure(t *testing.T) {
	s := lived(t)
	s.CloseEpoch()
	page := text(s.get("/en/epochs/0"))
	for _, want := range []string{
		"All topics together pay at most 1,000,000 units, which stand for 80% of the emission.",
		"Mass 1,000,000: 1,000,000 units over 1 open topic.",
		"Floor pool 300,000, 30% of the mass: in equal parts to 3 passes.",
		"Novelty pool 700,000, 70% of the mass: by weight to 2 improvements.",
		"Improvement is measured against the bar 0.4, the sealed value.",
		"Floor 100,000: an equal part among 3 passes.",
		"an improvement of 0.1 over the bar 0.4, which weighs 100,000,000.",
		"Novelty 0: the artefact repeats that of row " + s.rows["champion"] + ".",
		"566,667", "56.66%",
	} {
		require.Contains(t, page, want)
	}
	require.Contains(t, text(s.get("/fr/epochs/0")), "Réserve plancher 300 000, 30 % de la masse : à parts égales (3 réussites).")
	one := text(s.get("/en/epochs/0?hotkey=" + apitest.Secret(t, "miner 2").Public().String()))
	require.Contains(t, one, "Score 333,333 of the miner")
	require.NotContains(t, one, "466,667")
	require.Contains(t, text(s.get("/en/epochs/0?hotkey="+apitest.Hash("nobody"))), "This miner has no passing run here, so the topic pays it 0.")

	// The champion of an epoch is the bar of the next.
	s.Script(9, 0.6)
	s.submit("next", 9, 9)
	s.CloseEpoch()
	require.Contains(t, text(s.get("/en/epochs/1")), "the bar 0.5, set by the champion of epoch 0, row "+s.rows["champion"]+".")
	topic := text(s.get("/en/topics/" + apitest.OpenID))
	require.Contains(t, topic, "Crown bar 0.63 or more To become champion: at least 5% better than the bar now in force, 0.6.")
}

func TestLabelsSayWhatMakesFiguresWorthLess(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*apitest.World)
		en   string
	}{
		"sim":      {func(w *apitest.World) { w.Options.ForceSim = true }, "simulated scores: nothing is run"},
		"unsigned": {func(w *apitest.World) { w.Options.UnsignedOK = true }, "unsigned submissions are taken"},
		"standin":  {func(w *apitest.World) { w.Options.Standin = true }, "stand-in of a sandbox: figures are for tests only"},
		"fake": {func(w *apitest.World) {
			w.Boundary.Hypervisor = "fake (nothing is isolated, figures are the artefact's own)"
		},
			"sandboxed: false, driver: fake (nothing is isolated, figures are the artefact's own)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, c.edit)
			s.Host.Probe(t.Context())
			for _, path := range []string{"/en/", "/en/rows", "/en/limits", "/en/topics/" + apitest.OpenID} {
				page := s.get(path)
				require.Contains(t, page, `<li class="tag warn">`)
				require.Contains(t, text(page), c.en)
			}
			require.Contains(t, text(s.get("/fr/")), "stockage")
		})
	}
}

func TestDecision13ARunOutsideASandboxIsLabelledOnItsRow(t *testing.T) {
	s := open(t, func(w *apitest.World) { w.Boundary.Hypervisor = "fake" })
	s.Script(1, 0.5)
	s.submit("fake", 1, 1)
	for _, path := range []string{"/en/rows", "/en/topics/" + apitest.OpenID} {
		require.Contains(t, s.get(path), `<span class="tag warn">sandboxed: false</span>`, path)
	}
	require.Contains(t, text(s.get("/en/rows/"+s.rows["fake"])), "The driver of this host does not isolate as the specification asks")
	isolated := lived(t)
	require.NotContains(t, isolated.get("/en/rows"), "sandboxed: false")
	require.Contains(t, text(isolated.get("/en/rows/"+isolated.rows["champion"])), "sandboxed: true.")
	require.Contains(t, text(isolated.get("/en/rows/"+isolated.rows["red"])), "does not apply: no custom run was made")
}

func TestATopicThatCannotBeScoredSaysWhy(t *testing.T) {
	s := open(t)
	s.Write("judge.key", []byte("\n"))
	for _, path := range []string{"/en/", "/en/topics/" + apitest.OpenID} {
		require.Contains(t, text(s.get(path)), "inference API key missing; refuse scoring")
	}
	draft := text(s.get("/fr/topics/" + apitest.DraftID))
	require.Contains(t, draft, "brouillon")
	require.Contains(t, draft, "la mesure scellée n’est pas sur cet hôte")
}

func TestRowsGoOnPageByPageAndAreNarrowedToAMiner(t *testing.T) {
	s := open(t)
	for i := range 52 {
		s.submit("row", i, byte(i), func(f map[string]any) { f["manifest"] = map[string]any{} })
	}
	first := s.get("/en/rows")
	require.Equal(t, 50, strings.Count(first, `<th scope="row"`))
	next := regexp.MustCompile(`href="(\?before=pf_[0-9a-f]{16})" rel="next"`).FindStringSubmatch(first)
	require.NotNil(t, next)
	second := s.get("/en/rows" + next[1])
	require.Equal(t, 2, strings.Count(second, `<th scope="row"`))
	require.Contains(t, text(second), "Newest rows")
	require.NotContains(t, second, `rel="next"`)
	require.Contains(t, second, `href="../fr/rows`+next[1]+`"`, "the other language goes on at the same place")
	key := apitest.Secret(t, "miner 7").Public().String()
	require.Equal(t, 1, strings.Count(s.get("/en/rows?hotkey="+key), `<th scope="row"`))
}

func TestWhatIsNotThereIsANoticeInTheReadersLanguage(t *testing.T) {
	s := open(t)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/fr/rows/pf_0000000000000009": {404, "Cette page n’existe pas"}, "/en/topics/nobody": {404, "There is no such page"}, "/en/topics/": {404, "There is no such page"},
		"/en/epochs/7": {404, "There is no such page"}, "/en/epochs/07": {404, "There is no such page"}, "/en/epochs/x": {404, "There is no such page"},
		"/en/nothing": {404, "There is no such page"}, "/nothing": {404, "There is no such page"}, "/en/rows/a/b": {404, "There is no such page"},
		"/fr/rows?before=1": {400, "Cette adresse n’est pas valide"}, "/en/rows?hotkey=x": {400, "This address cannot be read"}, "/en/rows?%zz": {400, "This address cannot be read"},
	} {
		w := s.ask(path)
		require.Equal(t, want.status, w.Code, path)
		require.Contains(t, text(w.Body.String()), want.text, path)
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
	}
	r := httptest.NewRequest(http.MethodPost, "/fr/", nil)
	r.Header.Set("Accept-Language", "fr")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	require.Contains(t, w.Body.String(), "POST /v1/submissions")
	_, err := board.New(board.Options{})
	require.ErrorContains(t, err, "a host is required")
}

func TestThePageOfLimitsHasEveryPointInBothLanguages(t *testing.T) {
	s := open(t)
	for l, points := range map[string][]string{
		"en": {"Hotkeys are free", "What sandboxed: false means", "Addresses are not signed", "A payout replays its snapshot", "The store is the operator's", "A declaration is an oracle"},
		"fr": {"Les clés sont gratuites", "Ce que veut dire sandboxed: false", "Les adresses ne sont pas signées", "Un paiement rejoue son instantané", "Le stockage appartient à l’opérateur", "Une déclaration est un oracle"},
	} {
		page := text(s.get("/" + l + "/limits"))
		for _, p := range points {
			require.Contains(t, page, p)
		}
	}
}
