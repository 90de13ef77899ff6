// Package docs holds the project's pages; its tests keep them true: links
// resolve, commands and keys exist, and the specification map names code and
// tests that are there.
package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/prova-dev/prova/internal/app"
	"github.com/prova-dev/prova/internal/cli"
)

// root is the repository's folder as seen from this one.
const root = ".."

// pages are the documents by their path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/agents/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(rel)] = string(text)
	}
	if len(out) < 15 {
		t.Fatalf("only %d pages found", len(out))
	}
	return out
}

var (
	fence      = regexp.MustCompile("(?ms)^```[^\n]*\n(.*?)^```")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
)

// prose is a page without code, in which alone links are links.
func prose(page string) string {
	return inlineCode.ReplaceAllString(fence.ReplaceAllString(page, ""), "")
}

// anchor is the fragment that a heading gets on the usual forges.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

func anchors(page string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		out = append(out, anchor(m[1]))
	}
	return out
}

func TestEveryRelativeLinkResolves(t *testing.T) {
	all := pages(t)
	checked := 0
	for name, page := range all {
		for _, m := range link.FindAllStringSubmatch(prose(page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			file, fragment, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), filepath.FromSlash(file)))
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
					t.Errorf("%s links to %s, which is not there", name, m[1])
					continue
				}
			}
			if fragment != "" && !slices.Contains(anchors(all[target]), fragment) {
				t.Errorf("%s links to %s: %s has no such heading", name, m[1], target)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were looked at", checked)
	}
}

func TestNoPageNamesAMachineOrAForbiddenWord(t *testing.T) {
	// The words are put together so that this file does not hold them.
	whole := []string{"li" + "e", "li" + "es", "li" + "ed", "ly" + "ing", "li" + "ar", "ment" + "ir"}
	parts := []string{"che" + "at", "dis" + "honest", "hallu" + "cinat", "fra" + "ud", "tri" + "che", "men" + "songe"}
	machine := regexp.MustCompile(`(^|[\s"'(=` + "`" + `])(/(home|root|work|tmp|Users|mnt|private)/|[A-Z]:\\)|\.\./shared`)
	for name, page := range pages(t) {
		for i, line := range strings.Split(page, "\n") {
			if m := machine.FindString(line); m != "" {
				t.Errorf("%s:%d: %q is a path of some machine", name, i+1, m)
			}
			words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return !unicode.IsLetter(r) })
			for _, w := range words {
				if slices.Contains(whole, w) || slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(w, p) }) {
					t.Errorf("%s:%d: %q imputes an intention (specification §1)", name, i+1, w)
				}
			}
		}
	}
}

// keys lists the configuration's keys with their defaults as TOML writes them.
func keys(prefix string, v reflect.Value, out map[string]string) {
	for field, value := range v.Fields() {
		key := prefix + field.Tag.Get("koanf")
		switch x := value.Interface().(type) {
		case time.Duration:
			out[key] = fmt.Sprintf("%q", x.String())
		case string:
			out[key] = fmt.Sprintf("%q", filepath.ToSlash(x))
		case []string:
			quoted := make([]string, len(x))
			for i, s := range x {
				quoted[i] = fmt.Sprintf("%q", s)
			}
			out[key] = "[" + strings.Join(quoted, ", ") + "]"
		case map[string]string:
			out[key] = "{}"
		default:
			if value.Kind() == reflect.Struct {
				keys(key+".", value, out)
			} else {
				out[key] = fmt.Sprint(x)
			}
		}
	}
}

func TestConfigurationPageListsEveryKeyWithItsDefault(t *testing.T) {
	want := map[string]string{}
	keys("", reflect.ValueOf(app.DefaultConfig()), want)
	row := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| `([^`]*)` \\| .+ \\|$")
	got := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(pages(t)["docs/configuration.md"], -1) {
		if _, twice := got[m[1]]; twice {
			t.Errorf("configuration.md lists %s twice", m[1])
		}
		got[m[1]] = m[2]
	}
	for key, value := range want {
		if documented, ok := got[key]; !ok {
			t.Errorf("configuration.md lacks %s", key)
		} else if documented != value {
			t.Errorf("configuration.md says that %s is %s by default, it is %s", key, documented, value)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("configuration.md lists %s, which the configuration does not have", key)
		}
	}
}

// help asks the real program, once a command.
type help map[string]string

func (h help) of(t *testing.T, words ...string) string {
	name := strings.Join(words, " ")
	if text, ok := h[name]; ok {
		return text
	}
	var out, errs bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := cli.Main(t.Context(), append(slices.Clone(words), "--help"), env); code != 0 {
		t.Fatalf("prova %s --help: exit %d: %s", name, code, errs.String())
	}
	h[name] = out.String()
	return out.String()
}

// subcommands are those that a help text lists.
func subcommands(text string) []string {
	_, list, ok := strings.Cut(text, "Available Commands:\n")
	if !ok {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(list, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			break
		}
		out = append(out, fields[0])
	}
	return out
}

var invocation = regexp.MustCompile(`(?:^|[\s(;&|])(?:build/|\./)?prova( [^|;&<>#\n]*)`)

func TestEveryCommandInAFenceExistsWithItsFlags(t *testing.T) {
	h, checked := help{}, 0
	for name, page := range pages(t) {
		for _, block := range fence.FindAllStringSubmatch(page, -1) {
			for line := range strings.SplitSeq(strings.ReplaceAll(block[1], "\\\n", " "), "\n") {
				for _, m := range invocation.FindAllStringSubmatch(line, -1) {
					checked++
					if fault := checkInvocation(t, h, strings.Fields(m[1])); fault != "" {
						t.Errorf("%s: %q: %s", name, strings.TrimSpace(line), fault)
					}
				}
			}
		}
	}
	if checked < 25 {
		t.Errorf("only %d commands were looked at", checked)
	}
}

// TestEveryCommandInASentenceExistsWithItsFlags reads `prova …` in running text
// and in tables, where brackets mark what is optional and bars alternatives.
func TestEveryCommandInASentenceExistsWithItsFlags(t *testing.T) {
	h, checked := help{}, 0
	for name, page := range pages(t) {
		for _, code := range inlineCode.FindAllString(fence.ReplaceAllString(page, ""), -1) {
			text, ok := strings.CutPrefix(strings.Trim(code, "`"), "prova ")
			if !ok {
				continue
			}
			words := strings.Fields(strings.NewReplacer("[", " ", "]", " ", `\|`, "|").Replace(text))
			for _, alternative := range alternatives(words) {
				checked++
				if len(alternative) == 1 && len(subcommands(h.of(t, alternative[0]))) > 0 {
					continue // a group named as a whole
				}
				if fault := checkInvocation(t, h, alternative); fault != "" {
					t.Errorf("%s: %s: %s", name, code, fault)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d commands were looked at", checked)
	}
}

// alternatives are the commands that "season freeze|open" stands for.
func alternatives(words []string) [][]string {
	for i, w := range words {
		if strings.HasPrefix(w, "-") {
			break
		}
		if !strings.Contains(w, "|") {
			continue
		}
		var out [][]string
		for one := range strings.SplitSeq(w, "|") {
			out = append(out, append(append(slices.Clone(words[:i]), one), words[i+1:]...))
		}
		return out
	}
	return [][]string{words}
}

func checkInvocation(t *testing.T, h help, words []string) string {
	var path []string
	for {
		known := subcommands(h.of(t, path...))
		if len(known) == 0 {
			break
		}
		if len(words) == 0 || !slices.Contains(known, words[0]) {
			return fmt.Sprintf("prova %s has no such command, only %s", strings.Join(path, " "), strings.Join(known, ", "))
		}
		path, words = append(path, words[0]), words[1:]
	}
	flags := strings.FieldsFunc(h.of(t, path...), func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == '=' })
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if len(flag) > 1 && strings.HasPrefix(flag, "-") && !slices.Contains(flags, flag) {
			return fmt.Sprintf("prova %s has no flag %s", strings.Join(path, " "), flag)
		}
	}
	return ""
}
