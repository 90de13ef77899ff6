package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mapRow is one row of a table of the specification map.
type mapRow struct {
	line  int
	cells []string
}

// mapTables are the tables of the map by the heading above them, without their
// header and rule.
func mapTables(t *testing.T) map[string][]mapRow {
	t.Helper()
	text := pages(t)["docs/specification-map.md"]
	out := map[string][]mapRow{}
	section, inTable := "", 0
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") {
			section = strings.TrimLeft(line, "# ")
		}
		if !strings.HasPrefix(line, "|") {
			inTable = 0
			continue
		}
		if inTable++; inTable <= 2 {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		out[section] = append(out[section], mapRow{i + 1, cells})
	}
	return out
}

const (
	packagesTable = "Specification map" // the first table stands under the page's title
	specTable     = "The specification"
	bundleTable   = "The bundle format"
	protocolTable = "The Trust Layer protocol"
	faultsTable   = "Faults"
)

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)[A-Za-z0-9_]*)\(`)
)

// testFuncs reads the names of a package's tests.
func testFuncs(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1])
		}
	}
	return out
}

func TestTheMapNamesCodeAndTestsThatExist(t *testing.T) {
	tables := mapTables(t)
	dirs := map[string]string{"docs": "."}
	for _, row := range tables[packagesTable] {
		name, dir := quoted.FindStringSubmatch(row.cells[0]), quoted.FindStringSubmatch(row.cells[1])
		if name == nil || dir == nil {
			t.Fatalf("line %d: want a name and a package", row.line)
		}
		dirs[name[1]] = filepath.Join(root, filepath.FromSlash(dir[1]))
		if _, err := os.Stat(dirs[name[1]]); err != nil {
			t.Errorf("line %d: package %s is not there", row.line, dir[1])
		}
	}
	known := map[string][]string{}
	for name, dir := range dirs {
		known[name] = testFuncs(t, dir)
	}
	checked := 0
	for _, section := range []string{specTable, bundleTable, protocolTable, faultsTable} {
		for _, row := range tables[section] {
			code, tests := row.cells[len(row.cells)-2], row.cells[len(row.cells)-1]
			for _, m := range quoted.FindAllStringSubmatch(code, -1) {
				pkg, file, _ := strings.Cut(m[1], "/")
				if _, err := os.Stat(filepath.Join(dirs[pkg], filepath.FromSlash(file))); dirs[pkg] == "" || err != nil {
					t.Errorf("line %d: code %s is not there", row.line, m[1])
				}
			}
			named := 0
			for _, m := range quoted.FindAllStringSubmatch(tests, -1) {
				pkg, name, ok := strings.Cut(m[1], ".")
				if !ok || !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
					continue // a word of the sentence that says what waits
				}
				named++
				name, script, isScript := strings.Cut(name, "/")
				if !slices.Contains(known[pkg], name) {
					t.Errorf("line %d: there is no test %s", row.line, m[1])
				}
				if isScript {
					if _, err := os.Stat(filepath.Join(dirs[pkg], "testdata", script+".txtar")); err != nil {
						t.Errorf("line %d: there is no script %s", row.line, m[1])
					}
				}
			}
			checked += named
			if named == 0 && !strings.HasPrefix(tests, "Waits: ") {
				t.Errorf("line %d: the row names no test and does not say what it waits for", row.line)
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d tests were looked at", checked)
	}
}

// firstCells are the sections that a table has rows for, by their first word.
func firstCells(rows []mapRow) []string {
	var out []string
	for _, row := range rows {
		word, _, _ := strings.Cut(row.cells[0], " ")
		out = append(out, word)
	}
	return out
}

func TestTheMapHasARowForEverySection(t *testing.T) {
	all, tables := pages(t), mapTables(t)
	for _, page := range []struct {
		name, table, sign string
		number            *regexp.Regexp
	}{
		// A chapter with sections of its own is covered by those.
		{"docs/specification.md", specTable, "§", regexp.MustCompile(`(?m)^#{2,3} (\d+(?:\.\d+)?)\.? `)},
		{"docs/bundle-format.md", bundleTable, "", regexp.MustCompile(`(?m)^#{2,3} (\d+(?:\.\d+)?)\.? |^- (D\d+)\.`)},
		{"docs/trust-layer.md", protocolTable, "T§", regexp.MustCompile(`(?m)^## (\d+)\. `)},
	} {
		rows := firstCells(tables[page.table])
		found := page.number.FindAllStringSubmatch(all[page.name], -1)
		if len(found) < 13 {
			t.Errorf("%s: only %d sections found", page.name, len(found))
		}
		for _, m := range found {
			section := page.sign + strings.Join(m[1:], "")
			covered := slices.ContainsFunc(rows, func(r string) bool { return r == section || strings.HasPrefix(r, section+".") })
			if !covered {
				t.Errorf("the map has no row for %s of %s", section, page.name)
			}
		}
	}
}

// TestEverySectionThatCodeCitesExists reads the comments of the project: T§n, and
// D1 to D19 of the bundle format, must lead somewhere.
func TestEverySectionThatCodeCitesExists(t *testing.T) {
	all := pages(t)
	protocol := regexp.MustCompile(`(?m)^#{2,3} (\d+(?:\.\d+)?)`).FindAllStringSubmatch(all["docs/trust-layer.md"], -1)
	var sections []string
	for _, m := range protocol {
		sections = append(sections, m[1])
	}
	// Section 15 is a numbered list.
	for _, m := range regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(all["docs/trust-layer.md"], -1) {
		sections = append(sections, "15."+m[1])
	}
	cited := regexp.MustCompile(`T§§?(\d+(?:\.\d+)?)`)
	count := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range cited.FindAllStringSubmatch(string(text), -1) {
			if count++; !slices.Contains(sections, m[1]) {
				t.Errorf("%s cites T§%s, which docs/trust-layer.md does not have", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 50 {
		t.Errorf("only %d citations were found", count)
	}
}
