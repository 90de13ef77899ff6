package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/recipe"
)

// TestR20FilesOfAZipThatAreNotThoseOfTheServedTarAreFound is about an inspection
// that listed other files than it fetched: digest and zip are right, each alone.
func TestR20FilesOfAZipThatAreNotThoseOfTheServedTarAreFound(t *testing.T) {
	tar, err := recipe.Write(recipe.Tree{{Path: "a", Data: []byte("1")}, {Path: "b", Data: []byte("2")}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "served.tar")
	if err := os.WriteFile(path, tar, 0o600); err != nil {
		t.Fatal(err)
	}
	served, err := recipe.Read(tar)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(recipe.Tree) recipe.Tree
		why    string
	}{
		"the same files":        {func(t recipe.Tree) recipe.Tree { return t }, ""},
		"a file less":           {func(t recipe.Tree) recipe.Tree { return t[:1] }, "are not those that the zip has"},
		"an executable bit":     {func(t recipe.Tree) recipe.Tree { t[0].Executable = true; return t }, "are not those that the zip has"},
		"a byte of one content": {func(t recipe.Tree) recipe.Tree { t[1].Data = []byte("3"); return t }, "are not those that the zip has"},
	} {
		contents := &artefact.Contents{Manifest: artefact.Manifest{ArtifactDigest: hexSum(tar)}, Files: c.change(append(recipe.Tree(nil), served...)).Files()}
		err := compareTar(path, contents)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: error %v, want %q", name, err, c.why)
		}
	}
}
