package board_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/fake"
)

// window gives the open topic of a world other epochs, or another direction.
func window(edit func(*topic.Document)) func(*apitest.World) {
	return func(w *apitest.World) {
		d := w.Topic(apitest.OpenID, topic.Open)
		edit(d)
		w.Seal(d, apitest.Sealed)
		w.Write("topics.json", []json.RawMessage{w.Sign(d)})
	}
}

// closeTopic publishes the topic as closed.
func (s *site) closeTopic() {
	s.t.Helper()
	d := s.Topic(apitest.OpenID, topic.Closed)
	s.Seal(d, apitest.Sealed)
	_, err := s.Host.Publish(s.t.Context(), s.Sign(d))
	require.NoError(s.t, err)
}

func TestATopicShowsWhatItTakesToPassBesideWhatItTakesToBeCrowned(t *testing.T) {
	s := lived(t)
	for l, want := range map[string][2]string{
		"en": {"Pass mark 0.42 or more To pass: at least 5% better than the sealed value 0.4.", "Crown bar 0.525 or more To become champion: at least 5% better than the bar now in force, 0.5."},
		"fr": {"Seuil de réussite 0,42 ou plus Pour réussir : faire au moins 5 % mieux que la valeur scellée 0,4.", "Barre du champion 0,525 ou plus Pour devenir champion : faire au moins 5 % mieux que la barre en vigueur, 0,5."},
	} {
		for _, path := range []string{"/", "/topics/" + apitest.OpenID} {
			page := text(s.get("/" + l + path))
			require.Contains(t, page, want[0], path)
			require.Contains(t, page, want[1], path)
		}
	}
	less := open(t, window(func(d *topic.Document) { d.Metric.Direction = topic.Min }))
	require.Contains(t, text(less.get("/en/")), "Pass mark 0.38 or less")
	require.Contains(t, text(less.get("/fr/")), "Barre du champion 0,38 ou moins")
	for artifact, primary := range map[byte]float64{1: 0.2, 2: 0.3, 3: 0.39} {
		less.Script(artifact, primary)
	}
	for n := range 3 {
		less.submit(fmt.Sprint(n+1), n+1, byte(n+1))
	}
	require.Contains(t, text(less.get("/fr/rows/"+less.rows["2"])), "0,3 n’est pas inférieur d’au moins 5 % à la barre alors en vigueur.")
	require.Contains(t, text(less.get("/en/rows/"+less.rows["2"])), "0.3 is not below the bar in force at the time by at least 5%.")
	require.Contains(t, text(less.get("/en/rows/"+less.rows["3"])), "The primary 0.39 is not better than the sealed value 0.4 by at least 5%: 0.38 or less was needed.")
}

func TestATopicWhoseWindowIsOverIsExpiredAndListedWithItsWindow(t *testing.T) {
	until := uint64(0)
	s := open(t, window(func(d *topic.Document) { d.ValidUntilEpoch = &until }))
	s.Script(1, 0.5)
	s.submit("champion", 1, 1)
	require.NotContains(t, text(s.get("/en/")), "expired")
	s.CloseEpoch()
	for l, want := range map[string][]string{
		"en": {"No topic is open in this epoch.", "Closed and expired topics", "expired", "epochs 0 to 0", "the topic is not open"},
		"fr": {"Aucun sujet n’est ouvert pendant cette époque.", "Sujets clos ou expirés", "expiré", "époques 0 à 0", "le sujet n’est pas ouvert"},
	} {
		home, page := text(s.get("/"+l+"/")), text(s.get("/"+l+"/topics/"+apitest.OpenID))
		for _, w := range want[:4] {
			require.Contains(t, home, w)
		}
		for _, w := range want[2:] {
			require.Contains(t, page, w)
		}
		for _, word := range []string{"Crown bar", "Barre du champion", "Pass mark", "Seuil de réussite"} {
			require.NotContains(t, home, word)
			require.NotContains(t, page, word)
		}
		require.Contains(t, page, s.rows["champion"], "the champion stays")
	}
	require.Contains(t, s.get("/fr/"), `<span class="tag state-expired">expiré</span>`)
}

func TestAClosedTopicAsksForNothingAnyMore(t *testing.T) {
	s := lived(t)
	s.closeTopic()
	for _, path := range []string{"/en/", "/en/topics/" + apitest.OpenID, "/fr/", "/fr/topics/" + apitest.OpenID} {
		page := text(s.get(path))
		for _, word := range []string{"become champion", "devenir champion", "To pass", "Pour réussir"} {
			require.NotContains(t, page, word, path)
		}
	}
	require.Contains(t, s.get("/fr/"), `<span class="tag state-closed">clos</span>`)
	require.Contains(t, text(s.get("/en/")), "Sealed baseline 0.4 Champion "+s.rows["champion"]+" · 0.5")
}

func TestATopicBeforeItsWindowIsListedAsNotOpenYet(t *testing.T) {
	s := open(t, window(func(d *topic.Document) { d.ValidFromEpoch = 3 }))
	en, fr := text(s.get("/en/")), text(s.get("/fr/"))
	require.Contains(t, en, "Topics that are not open yet "+apitest.OpenID+" not open yet")
	require.Contains(t, en, "from epoch 3 on")
	require.Contains(t, en, "Pass mark 0.42 or more")
	require.Contains(t, fr, "Sujets pas encore ouverts "+apitest.OpenID+" pas encore ouvert")
	require.NotContains(t, en, "Closed and expired")
}

func TestAfterTheCloseARowSaysWhetherItIsTheOneThatCounted(t *testing.T) {
	s := lived(t)
	s.Script(9, 0.46)
	s.submit("better", 2, 9)
	require.NotContains(t, text(s.get("/en/rows/"+s.rows["passed"])), "did not count")
	s.CloseEpoch()
	for name, want := range map[string][2]string{
		"champion": {"This is the run that counted for the miner in this epoch: it is paid ", "C’est l’exécution retenue pour ce mineur dans cette époque : elle est payée "},
		"better":   {"This is the run that counted", "C’est l’exécution retenue"},
		"passed":   {"This run did not count: the miner's best passing run of the epoch is row " + s.rows["better"] + ".", "la meilleure exécution réussie de ce mineur pendant l’époque est la ligne " + s.rows["better"] + "."},
	} {
		for i, l := range []string{"en", "fr"} {
			page := text(s.get("/" + l + "/rows/" + s.rows[name]))
			require.Contains(t, page, want[i], name)
			require.NotContains(t, page, "paid as a pass")
		}
	}
	missed := text(s.get("/en/rows/" + s.rows["missed"]))
	require.NotContains(t, missed, "counted")
	require.NotContains(t, missed, "did not count")
	figures := regexp.MustCompile(`it is paid ([0-9,]+) of 1,000,000 units\.`).FindStringSubmatch(text(s.get("/en/rows/" + s.rows["champion"])))
	require.NotNil(t, figures)
	require.Contains(t, text(s.get("/en/epochs/0")), figures[1], "the row says what the payout says")
}

func TestARowOfATopicThatWasClosedBeforeItsEpochSaysThatNothingIsPaid(t *testing.T) {
	s := lived(t)
	s.closeTopic()
	s.CloseEpoch()
	require.Contains(t, text(s.get("/en/rows/"+s.rows["champion"])), "No topic was open when this epoch closed, so it pays nobody, this run included.")
	require.Contains(t, text(s.get("/fr/rows/"+s.rows["champion"])), "Aucun sujet n’était ouvert à la clôture de cette époque : elle ne paie personne")
	require.Contains(t, text(s.get("/en/epochs/0")), "No topic was open when this epoch closed: nobody has a score.")
	require.Contains(t, text(s.get("/fr/epochs/0")), "Aucun sujet n’était ouvert à la clôture de cette époque : personne n’a de score.")
}

func TestARowOfAClosedTopicSaysSoWhereOthersArePaid(t *testing.T) {
	s := open(t, func(w *apitest.World) {
		first, second := w.Topic(apitest.OpenID, topic.Open), w.Topic(apitest.DraftID, topic.Open)
		w.Seal(first, apitest.Sealed)
		w.Seal(second, apitest.Sealed)
		w.Write("topics.json", []json.RawMessage{w.Sign(first), w.Sign(second)})
	})
	s.Script(1, 0.5)
	s.submit("champion", 1, 1)
	s.closeTopic()
	s.CloseEpoch()
	require.Contains(t, text(s.get("/en/rows/"+s.rows["champion"])), "The topic was not open when this epoch closed, so it pays nothing for it, not even for this run.")
	require.Contains(t, text(s.get("/fr/rows/"+s.rows["champion"])), "Le sujet n’était pas ouvert à la clôture de cette époque")
}

func TestTheFakeAgentIsNamedInTheReadersLanguage(t *testing.T) {
	s := open(t, func(w *apitest.World) { w.Boundary.Hypervisor = fake.Label })
	s.Host.Probe(t.Context())
	fr := text(s.get("/fr/rows"))
	require.Contains(t, fr, "factice : rien n’est isolé, les chiffres sont ceux de l’artefact")
	require.NotContains(t, fr, "nothing is isolated")
	require.Contains(t, text(s.get("/en/rows")), "sandboxed: false, driver: "+fake.Label)
}

func TestStatesAndHoursReadAsInTheReadersLanguage(t *testing.T) {
	s := lived(t)
	en, fr := s.get("/en/rows/"+s.rows["passed"]), s.get("/fr/rows/"+s.rows["passed"])
	require.Contains(t, en, `<span class="tag state-awaiting_admin">passed (awaiting_admin)</span>`)
	require.Contains(t, fr, `<span class="tag state-awaiting_admin">réussie (awaiting_admin)</span>`)
	require.Contains(t, text(s.get("/fr/")), "Elle sera close le 1er mars 2026 à 13:00:00 UTC.")
	require.Contains(t, text(s.get("/en/")), "It closes on 1 March 2026, 13:00:00 UTC.")
	require.Contains(t, text(s.get("/fr/")), "vient de l’API du plan de contrôle")
	s.CloseEpoch()
	require.Contains(t, text(s.get("/fr/rows/"+s.rows["passed"])), "tel que formulé par le mineur")
	epoch := text(s.get("/fr/epochs/0"))
	require.Contains(t, epoch, "selon le poids (2 améliorations).")
	require.Contains(t, epoch, " Motif ")
	require.NotContains(t, epoch, "Parce que")
}

func TestARowsIdDoesNotBreakInATable(t *testing.T) {
	s := lived(t)
	style := regexp.MustCompile(`href="\.\./(board[^"]*\.css)"`).FindStringSubmatch(s.get("/en/rows"))
	require.NotNil(t, style)
	require.Regexp(t, `code\.id *\{[^}]*white-space: nowrap`, s.get("/"+style[1]))
	for _, path := range []string{"/en/rows", "/en/topics/" + apitest.OpenID} {
		page := s.get(path)
		require.Equal(t, strings.Count(page, ">pf_"), strings.Count(page, `<code class="id">pf_`), path)
	}
}

func TestTheLimitsSayThatADeclarationIsAnOracleAndWhatItCosts(t *testing.T) {
	s := open(t)
	// What the page says is so: the row of an overlap is public at once, with what was declared.
	s.submit("overlap", 1, 1, func(f map[string]any) {
		f["manifest"] = map[string]any{"train_dataset_ids": []string{apitest.Dataset + "-1"}}
	})
	row := text(s.get("/en/rows/" + s.rows["overlap"]))
	require.Contains(t, row, "Rejected before any run: the declared training data overlaps the sealed holdout.")
	require.Contains(t, row, apitest.Dataset+"-1")
	en, fr := text(s.get("/en/limits")), text(s.get("/fr/limits"))
	for _, want := range []string{"A declaration is an oracle", "costs one signed submission to an open topic", "The declared training data is public at once."} {
		require.Contains(t, en, want)
	}
	for _, want := range []string{"Une déclaration est un oracle", "coûte une soumission signée à un sujet ouvert", "sont publiques tout de suite"} {
		require.Contains(t, fr, want)
	}
}
