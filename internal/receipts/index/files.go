package index

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// file is what a path of the site answers.
type file struct {
	contentType string
	data        []byte
	forever     bool // the name changes when the content does
}

const (
	typeHTML = "text/html; charset=utf-8"
	typeJSON = "application/json"
	typeText = "text/markdown; charset=utf-8"
)

// file makes the file of a path of the site, the same for a server and an export.
// errNotFound is the answer to a path that has none. static leaves out what only a
// server can answer.
func (x *Index) file(s *site, path string, static bool) (*file, error) {
	switch path {
	case x.look.Style.Path:
		return assetFile(x.look.Style), nil
	case x.look.Icon.Path:
		return assetFile(x.look.Icon), nil
	case "index.html":
		return x.entrance(s)
	case "index.json":
		data, err := json.Marshal(map[string]any{"schema": schema, "kind": "languages", "translations": map[string]string{
			string(pages.French): "fr/index.html", string(pages.English): "en/index.html",
		}}, json.Deterministic(true), jsontext.WithIndent("  "))
		return &file{typeJSON, append(data, '\n'), false}, err
	}
	first, rest, _ := strings.Cut(path, "/")
	if first == "files" {
		return s.bundleFile(rest)
	}
	l := pages.Language(first)
	if !l.Known() {
		return nil, errNotFound
	}
	name, html := strings.CutSuffix(rest, ".html")
	name, twin := strings.CutSuffix(name, ".json")
	if html == twin { // neither, or both
		return nil, errNotFound
	}
	p, err := x.build(s, l, name)
	if err != nil {
		return nil, err
	}
	if static {
		p.withoutServer()
	}
	if twin {
		data, err := p.twin()
		return &file{typeJSON, data, false}, err
	}
	data, err := p.html()
	return &file{typeHTML, data, false}, err
}

// bundleFile copies a file of a published bundle: what a reader needs to check a
// page. path is "<season>/<name>" as bundleFile and submissionFile write it.
func (s *site) bundleFile(path string) (*file, error) {
	first, name, _ := strings.Cut(path, "/")
	number, err := strconv.ParseInt(first, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != first {
		return nil, errNotFound
	}
	e, ok := s.editions[number]
	if !ok {
		return nil, errNotFound
	}
	if id, ok := cut(name, "proofs/", ".json"); ok {
		if !e.isProof[id] {
			return nil, errNotFound
		}
		data, found, err := e.view(id)
		return jsonFile(data, found, err)
	}
	if uuid, ok := cut(name, "log-entries/", ".json"); ok {
		data, found, err := e.bundle.LogEntry(uuid)
		return jsonFile(data, found, err)
	}
	if place, ok := cut(name, "submissions/", ".json"); ok {
		who, task, _ := strings.Cut(place, "/")
		entry, _, known := e.bundle.Season.Task(task)
		if !known {
			return nil, errNotFound
		}
		did, known := e.bySlug[entry.Name][who]
		if !known {
			return nil, errNotFound
		}
		data, found, err := e.bundle.Submission(did, task)
		return jsonFile(data, found, err)
	}
	if !slices.Contains(e.plainFiles(), name) {
		return nil, errNotFound
	}
	data, err := fs.ReadFile(e.fsys, name)
	if err == nil && strings.HasSuffix(name, ".md") {
		return &file{typeText, data, false}, nil
	}
	return jsonFile(data, true, err)
}

func assetFile(a pages.Asset) *file { return &file{a.ContentType, a.Data, true} }

func jsonFile(data []byte, found bool, err error) (*file, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !found:
		return nil, errNotFound
	case err != nil:
		return nil, err
	}
	return &file{typeJSON, data, false}, nil
}

// cut takes prefix and suffix off, if both are there.
func cut(s, prefix, suffix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, suffix)
}

// plainFiles are the files of the bundle that the site copies under their own
// names.
func (e *edition) plainFiles() []string {
	names := []string{bundle.SeasonPath, bundle.TrustPath, bundle.EnrolmentsPath, bundle.ResultsPath}
	if e.bundle.Corrections != nil {
		names = append(names, bundle.CorrectionsPath)
	}
	for _, t := range e.bundle.TrackNames() {
		names = append(names, bundle.RulesPath(t), bundle.RulesTextPath(t), bundle.ManifestPath(t), bundle.KeyPath(t), bundle.FreezePath(t))
	}
	return names
}

// paths lists every file of the site, for an export.
func (x *Index) paths(s *site) ([]string, error) {
	out := []string{"index.html", "index.json", x.look.Style.Path, x.look.Icon.Path}
	for _, l := range languages() {
		for _, name := range s.pageNames() {
			out = append(out, string(l)+"/"+name+".html", string(l)+"/"+name+".json")
		}
	}
	for _, n := range s.numbers() {
		e, ok := s.editions[n]
		if !ok {
			continue
		}
		for _, name := range e.plainFiles() {
			out = append(out, bundleFile(n, name))
		}
		for _, id := range e.proofIDs {
			out = append(out, bundleFile(n, bundle.ProofPath(id)))
		}
		uuids, err := e.logEntries()
		if err != nil {
			return nil, err
		}
		for _, uuid := range uuids {
			out = append(out, bundleFile(n, bundle.LogEntryPath(uuid)))
		}
		submissions, err := e.submissionFiles()
		if err != nil {
			return nil, err
		}
		out = append(out, submissions...)
	}
	return out, nil
}

func (e *edition) logEntries() ([]string, error) {
	entries, err := fs.ReadDir(e.fsys, "log-entries")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		if uuid, ok := strings.CutSuffix(entry.Name(), ".json"); ok && bundle.ValidEntryUUID(uuid) && entry.Type().IsRegular() {
			out = append(out, uuid)
		}
	}
	return out, nil
}

func (e *edition) submissionFiles() ([]string, error) {
	var out []string
	for _, track := range e.bundle.TrackNames() {
		for _, p := range e.results.Tracks[track].Participants {
			tasks, err := e.bundle.Submitted(p.AgentDID)
			if err != nil {
				return nil, err
			}
			for _, id := range tasks {
				if entry, _, ok := e.bundle.Season.Task(id); ok && entry.Name == track {
					out = append(out, submissionFile(e.number(), p.AgentDID, id))
				}
			}
		}
	}
	return out, nil
}
