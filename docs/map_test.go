package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mapRow is one row of a table of the specification map.
type mapRow struct {
	line  int
	cells []string
}

// The maps: of the receipts challenge and of the research challenge.
const (
	receiptsMap = "docs/specification-map.md"
	researchMap = "docs/research-map.md"
)

// mapTables are the tables of a map by the heading above them, without their
// header and rule.
func mapTables(t *testing.T, page string) map[string][]mapRow {
	t.Helper()
	text := pages(t)[page]
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
	roomsTable    = "Research map"      // and so does that of the other map
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
	tables := mapTables(t, receiptsMap)
	dirs := mapPackages(t, tables[packagesTable])
	checked := 0
	for _, section := range []string{specTable, bundleTable, protocolTable, faultsTable} {
		checked += checkRows(t, dirs, tables[section])
	}
	if checked < 150 {
		t.Errorf("only %d tests were looked at", checked)
	}
}

func TestTheResearchMapNamesCodeAndTestsThatExist(t *testing.T) {
	tables := mapTables(t, researchMap)
	dirs := mapPackages(t, tables[roomsTable])
	checked := 0
	for section, rows := range tables {
		if section != roomsTable {
			checked += checkRows(t, dirs, rows)
		}
	}
	if checked < 400 {
		t.Errorf("only %d tests were looked at", checked)
	}
}

// mapPackages are the folders of the packages that a map's first table names.
func mapPackages(t *testing.T, rows []mapRow) map[string]string {
	t.Helper()
	dirs := map[string]string{"docs": "."}
	for _, row := range rows {
		name, dir := quoted.FindStringSubmatch(row.cells[0]), quoted.FindStringSubmatch(row.cells[1])
		if name == nil || dir == nil {
			t.Fatalf("line %d: want a name and a package", row.line)
		}
		dirs[name[1]] = filepath.Join(root, filepath.FromSlash(dir[1]))
		if _, err := os.Stat(dirs[name[1]]); err != nil {
			t.Errorf("line %d: package %s is not there", row.line, dir[1])
		}
	}
	return dirs
}

// checkRows looks for what rows name, in their last two cells, and returns how many
// tests it saw.
func checkRows(t *testing.T, dirs map[string]string, rows []mapRow) (checked int) {
	t.Helper()
	known := map[string][]string{}
	for name, dir := range dirs {
		known[name] = testFuncs(t, dir)
	}
	for _, row := range rows {
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
	return checked
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
	all, tables := pages(t), mapTables(t, receiptsMap)
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

// rules are the numbered rules and decisions of the research challenge's
// specification, in their order.
func rules(t *testing.T) (out []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^- \*\*(P\d+|Decision \d+)\.\*\* \S`).FindAllStringSubmatch(pages(t)["docs/research-specification.md"], -1) {
		out = append(out, m[1])
	}
	return out
}

func TestTheResearchMapHasARowForEveryRuleAndDecision(t *testing.T) {
	want := rules(t)
	products, decisions := 0, 0
	for _, rule := range want { // numbered from 1, none left out
		count := &products
		name, number, isDecision := strings.Cut(rule, " ")
		if isDecision {
			count = &decisions
		} else {
			name, number = "P", rule[1:]
		}
		if *count++; strconv.Itoa(*count) != number {
			t.Fatalf("%s of the specification stands at place %d of the rules of %s", rule, *count, name)
		}
	}
	if products < 200 || decisions != 21 {
		t.Errorf("%d rules and %d decisions found", products, decisions)
	}
	rows := map[string]int{}
	for section, table := range mapTables(t, researchMap) {
		if section == roomsTable {
			continue
		}
		for _, row := range table {
			rule := row.cells[0]
			if rows[rule]++; rows[rule] > 1 {
				t.Errorf("line %d: a second row for %s", row.line, rule)
			}
			if !slices.Contains(want, rule) {
				t.Errorf("line %d: the specification has no %s", row.line, rule)
			}
			if len(row.cells) != 4 || row.cells[1] == "" || row.cells[2] == "" {
				t.Errorf("line %d: want rule, what it is in short, code and tests", row.line)
			}
		}
	}
	for _, rule := range want {
		if rows[rule] == 0 {
			t.Errorf("the map has no row for %s", rule)
		}
	}
}

// TestEveryDecisionAndSectionThatResearchCitesExists reads the comments of the
// research challenge: "decision n" and R§n must lead somewhere.
func TestEveryDecisionAndSectionThatResearchCitesExists(t *testing.T) {
	known := rules(t)
	page := pages(t)["docs/research-specification.md"]
	cited := regexp.MustCompile(`\b[Dd]ecisions? (\d+)|R§§?(\d+)`)
	count := 0
	for _, folder := range []string{"internal", "evidence", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range cited.FindAllStringSubmatch(string(text), -1) {
				count++
				if m[1] != "" && !slices.Contains(known, "Decision "+m[1]) {
					t.Errorf("%s cites decision %s, which the specification does not have", path, m[1])
				}
				if m[2] != "" && !strings.Contains(page, "\n| R§"+m[2]+" |") {
					t.Errorf("%s cites R§%s, which the specification does not list", path, m[2])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// The rules that a row of that list names are there as well.
	for _, m := range regexp.MustCompile(`(?m)^\| R§\d+ \| .+ \| (.+) \|$`).FindAllStringSubmatch(page, -1) {
		for _, rule := range regexp.MustCompile(`P\d+`).FindAllString(m[1], -1) {
			if !slices.Contains(known, rule) {
				t.Errorf("%s is listed for a section and is no rule", rule)
			}
		}
	}
	if count < 200 {
		t.Errorf("only %d citations were found", count)
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
