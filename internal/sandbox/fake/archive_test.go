package fake

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// archiveOf packs entries as they are given, unsafe ones included.
func archiveOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range entries {
		content := h.Linkname // The content of a file, to keep the tables short.
		if h.Typeflag == tar.TypeReg {
			h.Linkname = ""
			h.Size = int64(len(content))
		}
		require.NoError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write([]byte(content))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content, Mode: 0o644}
}

func TestR232AnArtefactIsAnUncompressedTarOfFilesAndFolders(t *testing.T) {
	run := file("bin/run", "#!")
	run.Mode = 0o755
	long := file("folder/"+strings.Repeat("n", 200), "long")
	for name, entries := range map[string][]tar.Header{
		"ustar": {file("a", "x"), run},
		"a folder, its own folder and names that begin with ./": {{Typeflag: tar.TypeDir, Name: "./"}, {Typeflag: tar.TypeDir, Name: "./bin/"}, file("./a", "x"), run},
		"pax with a long name":            {file("a", "x"), run, long},
		"what git archive adds":           {{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "0123"}, Name: "pax_global_header"}, file("a", "x"), run},
		"an empty file beside a full one": {file("a", "x"), run, file("empty", "")},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := readArchive(archiveOf(t, entries...))
			require.NoError(t, err)
			require.Equal(t, wire.File{Path: "a", Bytes: wire.Bytes("x")}, files[0])
			require.Equal(t, wire.File{Path: "bin/run", Bytes: wire.Bytes("#!"), Executable: true}, files[1])
		})
	}
}

func TestR232RefusedArchivesSayWhy(t *testing.T) {
	good := archiveOf(t, file("a", "x"))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(good)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	sparse := archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Linkname: "x", Format: tar.FormatPAX, PAXRecords: map[string]string{"PROVA.sparse.major": "1", "PROVA.x": "y"}})
	sparse = bytes.ReplaceAll(sparse, []byte("PROVA.sparse.major=1"), []byte("GNU.sparse.majors=1x"))
	many := make([]tar.Header, maxEntries+1)
	for i := range many {
		many[i] = file(fmt.Sprintf("f%d", i), "x")
	}
	for name, tc := range map[string]struct {
		archive []byte
		want    string
	}{
		"nothing":                      {nil, "is empty"},
		"too large":                    {make([]byte, MaxArchive+1), "at most 67108864"},
		"gzip":                         {zipped.Bytes(), "compressed with gzip"},
		"prose":                        {bytes.Repeat([]byte("prose "), 200), "not a tar"},
		"no entry":                     {archiveOf(t), "no file content"},
		"folders only":                 {archiveOf(t, tar.Header{Typeflag: tar.TypeDir, Name: "d/"}), "no file content"},
		"empty files only":             {archiveOf(t, file("a", "")), "no file content"},
		"cut inside a file":            {archiveOf(t, file("a", strings.Repeat("x", 900)))[:1200], `cut off inside "a"`},
		"cut inside its padding":       {good[:512+100], "two blocks of zeros at byte 1024"},
		"cut inside its header":        {good[:512+512+100], "broken after 1 entries"},
		"cut before the end":           {good[:1024], "two blocks of zeros at byte 1024"},
		"something behind the end":     {append(append([]byte{}, good...), 'x'), "goes on for 1 bytes"},
		"a second archive":             {append(append([]byte{}, good...), good...), "goes on for"},
		"a symbolic link":              {archiveOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc/passwd"}), `has the link "l"`},
		"a hard link":                  {archiveOf(t, file("a", "x"), tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "a"}), `has the link "l"`},
		"a device":                     {archiveOf(t, tar.Header{Typeflag: tar.TypeChar, Name: "null"}), `of type "3"`},
		"a pipe":                       {archiveOf(t, tar.Header{Typeflag: tar.TypeFifo, Name: "p"}), `of type "6"`},
		"a sparse file":                {sparse, "sparse"},
		"an absolute path":             {archiveOf(t, file("/a", "x")), "absolute"},
		"a path that climbs":           {archiveOf(t, file("a/../../b", "x")), `segment ".."`},
		"a dot inside":                 {archiveOf(t, file("a/./b", "x")), `segment "."`},
		"two slashes":                  {archiveOf(t, file("a//b", "x")), "empty segment"},
		"a name with a space":          {archiveOf(t, file("a b", "x")), "only letters"},
		"a name with a backslash":      {archiveOf(t, file(`a\b`, "x")), "only letters"},
		"a name too long for the zip":  {archiveOf(t, file(strings.Repeat("n", maxPath+1), "x")), "longer than 247"},
		"the same file twice":          {archiveOf(t, file("a", "x"), file("./a", "y")), `"a" twice`},
		"a file below a file":          {archiveOf(t, file("a", "x"), file("a/b", "y")), "both as a file and as a folder"},
		"too many":                     {archiveOf(t, many...), "more than 4096 entries"},
		"a global header that renames": {archiveOf(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "b"}, Name: "g"}, file("a", "x")), `of type "g"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readArchive(tc.archive)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestDecision17ATreeThatNoFrameHoldsIsRefused(t *testing.T) {
	// 63 MiB of bytes that take four characters each, and of bytes that take two.
	_, err := readArchive(archiveOf(t, file("weights", strings.Repeat("\xff", 63<<20))))
	require.ErrorContains(t, err, "fit into a frame")
	files, err := readArchive(archiveOf(t, file("weights", strings.Repeat("\x01", 63<<20))))
	require.NoError(t, err)
	require.Len(t, files[0].Bytes, 63<<20)
}

func FuzzReadArchive(f *testing.F) {
	f.Add(archiveOf(f, file("a", "x"), file("b/c", strings.Repeat("y", 600))))
	f.Add(archiveOf(f, file(strings.Repeat("n", 200), "x"), tar.Header{Typeflag: tar.TypeDir, Name: "d/"}))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, err := readArchive(archive)
		if err != nil {
			return
		}
		total := 0
		seen := map[string]bool{}
		for _, one := range files {
			if safePath(one.Path) != nil || seen[one.Path] {
				t.Fatalf("the path %q came through", one.Path)
			}
			seen[one.Path] = true
			total += len(one.Bytes)
		}
		if total == 0 || total > len(archive) {
			t.Fatalf("%d bytes of content out of %d", total, len(archive))
		}
	})
}
