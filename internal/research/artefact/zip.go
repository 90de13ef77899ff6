package artefact

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

const (
	maxEntries  = recipe.MaxEntries + MaxLogFiles + 4
	maxContents = MaxArtifact + MaxLogs + 4*MaxDocument
	// MaxZip bounds a zip in bytes: all contents stored, and the headers.
	MaxZip = maxContents + maxContents/maxStored*5 + maxEntries*(2*maxName+128)
)

// Header fields of every entry.
const (
	unix       = 3<<8 | 20          // made by: Unix, version 2.0 of the format
	version20  = 20                 // needed to extract
	mode0644   = 0o100644 << 16     // a regular file
	date1980   = 1<<5 | 1           // 1 January of the first year that a zip can say
	methodOnly = "deflate (8)"      // in words
	unknown    = "no entry of R§20" // what is wrong with such a name
)

// Build returns the zip of some contents and fills Entries and Executables of
// their manifest. It writes nothing rather than an unsafe or duplicate name, or
// parts that contradict each other. Equal contents give equal bytes, whatever the
// order of their files and logs.
func Build(c *Contents) ([]byte, error) {
	entries, err := Entries(c)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range c.Manifest.Entries {
		data := entries[name]
		packed := deflate(data)
		h := &zip.FileHeader{
			Name: name, Method: zip.Deflate, CreatorVersion: unix, ReaderVersion: version20, ExternalAttrs: mode0644,
			CRC32: crc32.ChecksumIEEE(data), CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(len(data)),
			ModifiedDate: date1980, //nolint:staticcheck // Modified would add a field that holds a time zone.
		}
		e, err := w.CreateRaw(h)
		if err != nil {
			return nil, fmt.Errorf("artefact: %s: %w", name, err)
		}
		if _, err := e.Write(packed); err != nil {
			return nil, fmt.Errorf("artefact: %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("artefact: %w", err)
	}
	return out.Bytes(), nil
}

// Read returns what a zip holds, provided that [Build] would write the very same
// bytes for it. It unpacks no more than the limits of this package, and nothing
// that promises more than the compressor can do.
func Read(archive []byte) (*Contents, error) {
	c, err := read(archive)
	if err != nil {
		return nil, fmt.Errorf("artefact: %w", err)
	}
	again, err := Build(c)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, archive) {
		return nil, fmt.Errorf("artefact: the zip is not the one of its contents: it differs from byte %d on", differ(again, archive))
	}
	return c, nil
}

func differ(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func read(archive []byte) (*Contents, error) {
	if len(archive) > MaxZip {
		return nil, fmt.Errorf("the zip has %d bytes, at most %d are allowed", len(archive), MaxZip)
	}
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // such a name is refused below, with its reason
		return nil, fmt.Errorf("not a zip: %s", strings.TrimPrefix(err.Error(), "zip: "))
	}
	if err := checkSizes(r.File); err != nil {
		return nil, err
	}
	c := &Contents{}
	seen := make(map[string]bool, len(r.File))
	for _, f := range r.File {
		if seen[f.Name] {
			return nil, fmt.Errorf("%q is there twice", f.Name)
		}
		seen[f.Name] = true
		data, err := unpack(f)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		if err := c.take(f.Name, data); err != nil {
			return nil, fmt.Errorf("%.80q: %w", f.Name, err)
		}
	}
	for _, name := range []string{manifestName, checklistName, baselineName} {
		if !seen[name] {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	for i := range c.Files {
		_, c.Files[i].Executable = slices.BinarySearch(c.Manifest.Executables, c.Files[i].Path)
	}
	return c, nil
}

// checkSizes refuses, before anything is unpacked, what could not come from
// Build: too much, or more than its compressor can do.
func checkSizes(files []*zip.File) error {
	if len(files) > maxEntries {
		return fmt.Errorf("the zip has %d entries, at most %d are allowed", len(files), maxEntries)
	}
	var artifact, logs uint64
	for _, f := range files {
		size := f.UncompressedSize64
		switch {
		case len(f.Name) > maxName:
			return fmt.Errorf("%.80q…: the name has %d bytes, at most %d are allowed", f.Name, len(f.Name), maxName)
		case f.Method != zip.Deflate:
			return fmt.Errorf("%q: its method is %d, want %s", f.Name, f.Method, methodOnly)
		case f.CompressedSize64 > MaxZip || size > f.CompressedSize64*maxRatio:
			return fmt.Errorf("%q: it says that %d bytes come out of %d, more than deflate here can hold", f.Name, size, f.CompressedSize64)
		}
		most := uint64(MaxDocument)
		total := &size
		switch {
		case strings.HasPrefix(f.Name, artifactDir):
			artifact += size
			total, most = &artifact, MaxArtifact
		case strings.HasPrefix(f.Name, logsDir):
			logs += size
			total, most = &logs, MaxLogs
		}
		if *total > most {
			return fmt.Errorf("%q: with it there are %d bytes of its kind, at most %d are allowed", f.Name, *total, most)
		}
	}
	return nil
}

// unpack returns the content of an entry, whose size and checksum must be as its
// header says.
func unpack(f *zip.File) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, broken(err)
	}
	defer in.Close()
	// The size is bounded by checkSizes; the library ends with an error at the first
	// byte beyond it, and at the end holds size and checksum against the header.
	out := bytes.NewBuffer(make([]byte, 0, f.UncompressedSize64+bytes.MinRead))
	if _, err := out.ReadFrom(in); err != nil {
		return nil, broken(err)
	}
	return out.Bytes(), nil
}

func broken(err error) error {
	return fmt.Errorf("cannot be unpacked: %s", strings.TrimPrefix(err.Error(), "zip: "))
}

// take puts one entry where it belongs.
func (c *Contents) take(name string, data []byte) error {
	switch {
	case strings.HasPrefix(name, artifactDir):
		c.Files = append(c.Files, wire.File{Path: name[len(artifactDir):], Bytes: data})
		return nil
	case strings.HasPrefix(name, logsDir):
		c.Logs = append(c.Logs, wire.Log{Name: name[len(logsDir):], Bytes: data})
		return nil
	case name == checklistName:
		c.Checklist = &wire.Checklist{}
		return wire.Decode(data, c.Checklist)
	case name == reportName:
		c.Report = &wire.RunReport{}
		return wire.Decode(data, c.Report)
	case name != manifestName && name != baselineName:
		return errors.New(unknown)
	}
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return err
	}
	if name == manifestName {
		return c.Manifest.read(v)
	}
	return c.BaselineRef.read(v)
}
