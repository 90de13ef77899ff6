package pagestest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/platform/pages"
)

// Forbidden finds word stems that impute an intention, in both languages, and models
// or providers that no text of ours may name.
func Forbidden() *regexp.Regexp {
	intention := []string{"li" + `e[sd]?\b`, "lying", "liar", "che" + "at", "dish" + "onest", "hallu" + "cin", "fr" + "aud", "decei", "decept", "mensong", "menteu", `menti[rt]?\b`, "trich", "malhonn", "tromp(er|é)"}
	names := []string{"claude", "anthropic", "openai", "gpt", "gemini", "mistral", "llama", "google", "deepseek", "qwen"}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(append(intention, names...), "|") + `)`)
}

// Catalogues fails a test when a key is in one language only, a text is empty or
// takes other arguments in French, or one holds a forbidden word outside the keys
// with the prefix except.
func Catalogues(t *testing.T, english, french *pages.Catalogue, except string) {
	t.Helper()
	bad := Forbidden()
	for _, word := range []string{"a li" + "e", "Fr" + "aud", "mensonge", "by Claude 3"} {
		if !bad.MatchString(word) {
			t.Fatalf("the scan does not see %q", word)
		}
	}
	verb := regexp.MustCompile(`%[a-z]|\{[a-z]+\}`)
	verbs := func(s string) []string { return slices.Sorted(slices.Values(verb.FindAllString(s, -1))) }
	en, fr := english.Texts(), french.Texts()
	all := maps.Clone(en)
	maps.Copy(all, fr)
	for key := range all {
		for lang, text := range map[string]string{"English": en[key], "French": fr[key]} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s is not in %s, or empty", key, lang)
			}
			if found := bad.FindString(text); found != "" && (except == "" || !strings.HasPrefix(key, except)) {
				t.Errorf("%s in %s: %q", key, lang, found)
			}
		}
		if !slices.Equal(verbs(en[key]), verbs(fr[key])) {
			t.Errorf("%s takes other arguments in French: %q, %q", key, en[key], fr[key])
		}
	}
}

// Sources fails a test when the Go files and templates of the current folder name a
// key that the catalogue lacks, or when nothing names one of its keys. Keys with a
// prefix of computed are put together at run time.
func Sources(t *testing.T, c *pages.Catalogue, computed ...string) {
	t.Helper()
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "templates/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "en") || strings.HasPrefix(name, "fr") {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(data)
		}
	}
	text, texts := sources.String(), c.Texts()
	for _, m := range regexp.MustCompile(`(?:Must\(|count\(|\.T |\.T \(|\.Count )"([a-z_0-9.]+[a-z_0-9])"`).FindAllStringSubmatch(text, -1) {
		if _, one := texts[m[1]+".one"]; texts[m[1]] == "" && !one {
			t.Errorf("the sources use %q, which has no text", m[1])
		}
	}
	frame := []string{"site.name", "nav.skip", "nav.main", "nav.languages"}
	for key := range texts {
		named := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".many")
		if !strings.Contains(text, `"`+named+`"`) && !slices.Contains(frame, key) && !slices.ContainsFunc(computed, func(p string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("nothing uses %s", key)
		}
	}
}
