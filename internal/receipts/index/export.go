package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prova-dev/prova/internal/platform/pages"
)

// Export writes the whole site into dir as files that a browser reads from
// file:// or that any web server serves: the pages in every order and both
// languages, their twins, and the bundle's files that pages link to. Missing
// folders are made and files of an earlier export replaced; none is ever half
// written.
func (x *Index) Export(dir string) error {
	s := x.site.Load()
	paths, err := x.paths(s)
	if err != nil {
		return fmt.Errorf("index: export: %w", err)
	}
	made := map[string]bool{}
	for _, path := range paths {
		f, err := x.file(s, path, true)
		if errors.Is(err, errNotFound) {
			continue // A proof or entry that a bundle lists and cannot read: no page links to its file.
		}
		if err != nil {
			return fmt.Errorf("index: export %s: %w", path, err)
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if folder := filepath.Dir(target); !made[folder] {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return fmt.Errorf("index: export: %w", err)
			}
			made[folder] = true
		}
		if err := replace(target, f.data); err != nil {
			return fmt.Errorf("index: export: %w", err)
		}
	}
	return nil
}

// withoutServer takes off the links of a page that only a server can follow.
func (p *page) withoutServer() {
	if content, ok := p.Content.(seasonContent); ok && p.index.options.SeasonURL == "" {
		content.BundleURL = ""
		folder := p.Must("verify.replay.folder")
		content.Commands = append(replayCommands(p.catalogue, folder), content.Commands[len(replayCommands(p.catalogue, folder)):]...)
		p.Content = content
	}
}

// replace writes a file whole or not at all.
func replace(path string, data []byte) error {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// entrance is the page at the root of an export, where no server can choose a
// language.
func (x *Index) entrance(s *site) (*file, error) {
	var b bytes.Buffer
	type note struct{ Lang, AILabel, BindingIntro, DIDBinding, BindingRest, LimitsTitle string }
	data := struct {
		Style, Icon, PracticeFR, PracticeEN string
		Notes                               []note // what every page says, in both languages (§7.3, §10)
	}{Style: x.look.Style.Path, Icon: x.look.Icon.Path, PracticeFR: x.practiceNote(s, pages.French), PracticeEN: x.practiceNote(s, pages.English)}
	for _, l := range languages() {
		c := x.catalogues[l]
		data.Notes = append(data.Notes, note{string(l), c.Must("label.ai"), c.Must("label.binding.intro"),
			c.Must("label.binding", x.options.IssuerName), c.Must("label.binding.rest"), c.Must("label.limits")})
	}
	if err := x.root.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("index: entrance: %w", err)
	}
	return &file{typeHTML, b.Bytes(), false}, nil
}
