package merkle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"pgregory.net/rapid"
)

// leaves returns n different leaf hashes.
func leaves(n int) [][32]byte {
	hashes := make([][32]byte, n)
	for i := range hashes {
		chain := sha256.Sum256([]byte("leaf:" + strconv.Itoa(i)))
		hashes[i] = LeafHash(chain[:])
	}
	return hashes
}

func hash(t testing.TB, text string) [32]byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 32 {
		t.Fatalf("%q is no hash", text)
	}
	return [32]byte(raw)
}

func TestT8BatchRootsAndPathsComputedWithCPython(t *testing.T) {
	data, err := os.ReadFile("testdata/batch-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Trees []struct {
			Size  int                 `json:"tree_size"`
			Root  string              `json:"root"`
			Paths map[string][]string `json:"paths"`
		} `json:"batch_merkle"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Trees) < 9 {
		t.Fatalf("only %d trees in the vector file", len(file.Trees))
	}
	for _, tree := range file.Trees {
		t.Run(fmt.Sprintf("size %d", tree.Size), func(t *testing.T) {
			hashes := leaves(tree.Size)
			root, err := Root(hashes)
			if err != nil || root != hash(t, tree.Root) {
				t.Fatalf("root %x, %v, want %s", root, err, tree.Root)
			}
			paths := Paths(hashes)
			for name, items := range tree.Paths {
				index, err := strconv.Atoi(name)
				if err != nil {
					t.Fatal(err)
				}
				want := make([][32]byte, 0, len(items))
				for _, item := range items {
					want = append(want, hash(t, item))
				}
				if fmt.Sprint(paths[index]) != fmt.Sprint(want) {
					t.Errorf("path of leaf %d is %x, want %x", index, paths[index], want)
				}
				if err := Verify(hashes[index], uint64(index), uint64(tree.Size), want, root); err != nil {
					t.Errorf("leaf %d: %v", index, err)
				}
			}
		})
	}
}

// TestTransparencyDevInclusionCases runs the conformance cases of
// transparency-dev/merkle: each has wantErr.
func TestTransparencyDevInclusionCases(t *testing.T) {
	count := 0
	err := filepath.WalkDir("testdata/transparency-dev/inclusion", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var c struct {
			Index    uint64   `json:"leafIdx"`
			Size     uint64   `json:"treeSize"`
			Root     []byte   `json:"root"`
			LeafHash []byte   `json:"leafHash"`
			Proof    [][]byte `json:"proof"`
			Desc     string   `json:"desc"`
			WantErr  bool     `json:"wantErr"`
		}
		if err := json.Unmarshal(data, &c); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		t.Run(path, func(t *testing.T) {
			err := verifyBytes(c.LeafHash, c.Index, c.Size, c.Proof, c.Root)
			if (err != nil) != c.WantErr {
				t.Errorf("%s: error %v, want an error: %v", c.Desc, err, c.WantErr)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count != 98 {
		t.Fatalf("%d cases found, want 98", count)
	}
}

// verifyBytes is Verify for hashes whose length is not known yet.
func verifyBytes(leaf []byte, index, size uint64, path [][]byte, root []byte) error {
	items := make([][32]byte, 0, len(path))
	for _, item := range append([][]byte{leaf, root}, path...) {
		if len(item) != 32 {
			return fmt.Errorf("hash of %d bytes", len(item))
		}
		items = append(items, [32]byte(item))
	}
	return Verify(items[0], index, size, items[2:], items[1])
}

func TestRFC6962Section21HashesOfLeafAndNode(t *testing.T) {
	if got, want := LeafHash(nil), hash(t, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"); got != want {
		t.Errorf("hash of the empty leaf is %x, want %x", got, want)
	}
	l, r := LeafHash([]byte("l")), LeafHash([]byte("r"))
	if got, want := NodeHash(l, r), sha256.Sum256(append(append([]byte{1}, l[:]...), r[:]...)); got != want {
		t.Errorf("node hash is %x, want %x", got, want)
	}
	long := bytes.Repeat([]byte("x"), 1000)
	if got, want := LeafHash(long), sha256.Sum256(append([]byte{0}, long...)); got != want {
		t.Errorf("hash of a long leaf is %x, want %x", got, want)
	}
}

func TestT61ALeafIsNeverTakenForANode(t *testing.T) {
	hashes := leaves(2)
	root, err := Root(hashes)
	if err != nil {
		t.Fatal(err)
	}
	if forged := LeafHash(append(hashes[0][:], hashes[1][:]...)); forged == root {
		t.Error("the data of an inner node hashes to the node when taken for a leaf")
	}
}

func TestT61EmptyTreeIsRefusedAndASingleLeafIsTheRoot(t *testing.T) {
	if _, err := Root(nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("error of the empty tree is %v, want ErrEmpty", err)
	}
	if paths := Paths(nil); len(paths) != 0 {
		t.Errorf("the empty tree has paths %v", paths)
	}
	one := leaves(1)
	root, err := Root(one)
	if err != nil || root != one[0] {
		t.Errorf("root of a single leaf is %x, %v", root, err)
	}
}

func TestRootAndPathsLeaveTheLeavesAsTheyAre(t *testing.T) {
	hashes, want := leaves(11), leaves(11)
	if _, err := Root(hashes); err != nil {
		t.Fatal(err)
	}
	Paths(hashes)
	if fmt.Sprint(hashes) != fmt.Sprint(want) {
		t.Error("the caller's leaf hashes were changed")
	}
}

// TestT8ExpectedPathLength counts by the formula of the reference, written out.
func TestT8ExpectedPathLength(t *testing.T) {
	for _, size := range []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 100} {
		paths := Paths(leaves(int(size)))
		for index := range size {
			count, i, n := 0, index, size
			for n > 1 {
				if i%2 == 1 || i+1 < n {
					count++
				}
				i, n = i/2, (n+1)/2
			}
			if got := PathLength(index, size); got != count || len(paths[index]) != count {
				t.Errorf("leaf %d of %d: length %d, path has %d, want %d", index, size, got, len(paths[index]), count)
			}
		}
	}
	for _, c := range []struct {
		index, size uint64
		want        int
	}{
		{0, 9, 4}, {0, 16, 4}, {0, 8, 3}, {0, 17, 5}, {8, 9, 1},
		{0, 0, -1}, {1, 1, -1}, {math.MaxUint64, math.MaxUint64, -1},
		{0, math.MaxUint64, 64}, {math.MaxUint64 - 1, math.MaxUint64, 63},
	} {
		if got := PathLength(c.index, c.size); got != c.want {
			t.Errorf("leaf %d of %d: length %d, want %d", c.index, c.size, got, c.want)
		}
	}
}

func TestT14VerifyTellsWhatIsWrong(t *testing.T) {
	hashes := leaves(11)
	root, err := Root(hashes)
	if err != nil {
		t.Fatal(err)
	}
	path := Paths(hashes)[4]
	flipped := append([][32]byte(nil), path...)
	flipped[2][0] ^= 1
	zeroed := append([][32]byte(nil), path...)
	zeroed[1] = [32]byte{}
	for _, c := range []struct {
		name        string
		index, size uint64
		path        [][32]byte
		root        [32]byte
		want        error
	}{
		{"the true path is accepted", 4, 11, path, root, nil},
		{"index equal to the size", 11, 11, path, root, ErrIndex},
		{"empty tree", 0, 0, nil, root, ErrIndex},
		{"path padded", 4, 11, append(append([][32]byte(nil), path...), [32]byte{}), root, ErrPathLength},
		{"path truncated", 4, 11, path[:len(path)-1], root, ErrPathLength},
		{"path emptied", 4, 11, nil, root, ErrPathLength},
		{"size overstated to another shape", 4, 4096, path, root, ErrPathLength},
		{"index shifted", 5, 11, path, root, ErrPathMismatch},
		{"path item flipped", 4, 11, flipped, root, ErrPathMismatch},
		{"path item zeroed", 4, 11, zeroed, root, ErrPathMismatch},
		{"root replaced", 4, 11, path, hashes[0], ErrPathMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Verify(hashes[4], c.index, c.size, c.path, c.root)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			for _, other := range []error{ErrIndex, ErrPathLength, ErrPathMismatch} {
				if other != c.want && errors.Is(err, other) {
					t.Errorf("error %v is %v as well", err, other)
				}
			}
		})
	}
}

func TestPropertyRootsAndPathsAgreeWithTransparencyDev(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 130).Draw(t, "size")
		hashes := leaves(size)
		root, err := Root(hashes)
		if err != nil {
			t.Fatal(err)
		}
		tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
		for i := range hashes {
			if err := tree.Append(hashes[i][:], nil); err != nil {
				t.Fatal(err)
			}
		}
		want, err := tree.GetRootHash(nil)
		if err != nil || !bytes.Equal(want, root[:]) {
			t.Fatalf("root %x, the library has %x, %v", root, want, err)
		}
		for i, path := range Paths(hashes) {
			if err := Verify(hashes[i], uint64(i), uint64(size), path, root); err != nil {
				t.Fatalf("leaf %d: %v", i, err)
			}
		}
	})
}

func TestPropertyVerdictsAgreeWithTransparencyDevOnAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		hashes := leaves(size)
		root, err := Root(hashes)
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, size-1).Draw(t, "leaf")
		path := Paths(hashes)[at]
		switch rapid.IntRange(0, 3).Draw(t, "change of the path") {
		case 1:
			path = append(path, hashes[0])
		case 2:
			path = path[:len(path)/2]
		case 3:
			if len(path) > 0 {
				path[rapid.IntRange(0, len(path)-1).Draw(t, "item")][7] ^= 4
			}
		}
		index := rapid.OneOf(rapid.Just(uint64(at)), rapid.Uint64Range(0, 45), rapid.Uint64()).Draw(t, "index")
		claimed := rapid.OneOf(rapid.Just(uint64(size)), rapid.Uint64Range(0, 45), rapid.Uint64()).Draw(t, "claimed size")
		items := make([][]byte, len(path))
		for i := range path {
			items[i] = path[i][:]
		}
		ours := Verify(hashes[at], index, claimed, path, root)
		theirs := proof.VerifyInclusion(rfc6962.DefaultHasher, index, claimed, hashes[at][:], items, root[:])
		if (ours == nil) != (theirs == nil) {
			t.Fatalf("leaf %d at %d of %d: %v, the library says %v", at, index, claimed, ours, theirs)
		}
	})
}

// FuzzVerify reads leaf, root and path from the input: nothing may panic, and
// whatever is accepted has the exact length.
func FuzzVerify(f *testing.F) {
	for _, size := range []int{1, 2, 3, 7, 100} {
		hashes := leaves(size)
		root, err := Root(hashes)
		if err != nil {
			f.Fatal(err)
		}
		for _, index := range []int{0, size / 2, size - 1} {
			data := append(append([]byte(nil), hashes[index][:]...), root[:]...)
			for _, item := range Paths(hashes)[index] {
				data = append(data, item[:]...)
			}
			f.Add(uint64(index), uint64(size), data)
		}
	}
	f.Add(uint64(math.MaxUint64), uint64(math.MaxUint64), make([]byte, 64))
	f.Fuzz(func(t *testing.T, index, size uint64, data []byte) {
		if len(data) < 64 {
			data = append(data, make([]byte, 64)...)
		}
		var path [][32]byte
		for rest := data[64:]; len(rest) >= 32; rest = rest[32:] {
			path = append(path, [32]byte(rest))
		}
		leaf, root := [32]byte(data), [32]byte(data[32:])
		err := Verify(leaf, index, size, path, root)
		got, pathErr := RootFromPath(leaf, index, size, path)
		if (err == nil) != (pathErr == nil && got == root) {
			t.Fatalf("Verify says %v, RootFromPath %x, %v", err, got, pathErr)
		}
		if err == nil && (index >= size || len(path) != PathLength(index, size)) {
			t.Fatalf("accepted a path of %d items for leaf %d of %d", len(path), index, size)
		}
	})
}

func BenchmarkRoot100(b *testing.B) {
	hashes := leaves(100)
	for b.Loop() {
		if _, err := Root(hashes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPaths100(b *testing.B) {
	hashes := leaves(100)
	for b.Loop() {
		Paths(hashes)
	}
}

func BenchmarkVerify100(b *testing.B) {
	hashes := leaves(100)
	root, err := Root(hashes)
	if err != nil {
		b.Fatal(err)
	}
	path := Paths(hashes)[57]
	for b.Loop() {
		if err := Verify(hashes[57], 57, 100, path, root); err != nil {
			b.Fatal(err)
		}
	}
}
