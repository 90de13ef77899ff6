package merkle

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

var (
	// ErrEmpty is returned for a tree without leaves, which has no root here.
	ErrEmpty = errors.New("tree without leaves")
	// ErrIndex is wrapped when the leaf index is not below the tree size.
	ErrIndex = errors.New("leaf index outside the tree")
	// ErrPathLength is wrapped when the audit path has not exactly the length that
	// index and size require.
	ErrPathLength = errors.New("audit path has the wrong length")
	// ErrPathMismatch is wrapped when the audit path leads to another root.
	ErrPathMismatch = errors.New("audit path leads to another root")
)

// LeafHash returns SHA-256(0x00 ‖ data) (RFC 6962 §2.1).
func LeafHash(data []byte) [32]byte {
	var room [33]byte
	return sha256.Sum256(append(append(room[:0], 0), data...))
}

// NodeHash returns SHA-256(0x01 ‖ l ‖ r) (RFC 6962 §2.1).
func NodeHash(l, r [32]byte) [32]byte {
	var node [65]byte
	node[0] = 1
	copy(node[1:], l[:])
	copy(node[33:], r[:])
	return sha256.Sum256(node[:])
}

// Root returns the root of the tree over these leaf hashes, or ErrEmpty.
func Root(leafHashes [][32]byte) ([32]byte, error) {
	if len(leafHashes) == 0 {
		return [32]byte{}, ErrEmpty
	}
	level := append(make([][32]byte, 0, len(leafHashes)), leafHashes...)
	for len(level) > 1 {
		level = parents(level[:0], level)
	}
	return level[0], nil
}

// parents appends the level above to dst, which may be level[:0].
func parents(dst, level [][32]byte) [][32]byte {
	for i := 0; i+1 < len(level); i += 2 {
		dst = append(dst, NodeHash(level[i], level[i+1]))
	}
	if len(level)%2 == 1 {
		dst = append(dst, level[len(level)-1])
	}
	return dst
}

// Paths returns the audit path of each leaf, items bottom-up. The path of a single
// leaf is empty; without leaves there are no paths.
func Paths(leafHashes [][32]byte) [][][32]byte {
	paths := make([][][32]byte, len(leafHashes))
	for i := range paths {
		paths[i] = make([][32]byte, 0, PathLength(uint64(i), uint64(len(leafHashes))))
	}
	shift := 0
	for level := leafHashes; len(level) > 1; level = parents(nil, level) {
		for i := range paths {
			if sibling := i>>shift ^ 1; sibling < len(level) {
				paths[i] = append(paths[i], level[sibling])
			}
		}
		shift++
	}
	return paths
}

// PathLength returns the number of items of the audit path of a leaf (reference
// §8), or −1 when the index is not below the size.
func PathLength(index, size uint64) int {
	if index >= size {
		return -1
	}
	count := 0
	for size > 1 {
		if hasSibling(index, size) {
			count++
		}
		index, size = index/2, size/2+size%2
	}
	return count
}

// hasSibling is false only for an odd last node, which moves up as it is.
func hasSibling(index, size uint64) bool { return index%2 == 1 || index+1 < size }

// RootFromPath returns the root to which an audit path leads from a leaf hash.
// The error wraps ErrIndex or ErrPathLength.
func RootFromPath(leafHash [32]byte, index, size uint64, path [][32]byte) ([32]byte, error) {
	if index >= size {
		return [32]byte{}, fmt.Errorf("%w: index %d, size %d", ErrIndex, index, size)
	}
	if want := PathLength(index, size); len(path) != want {
		return [32]byte{}, fmt.Errorf("%w: %d items, leaf %d of %d needs %d", ErrPathLength, len(path), index, size, want)
	}
	hash := leafHash
	for size > 1 {
		switch {
		case index%2 == 1:
			hash, path = NodeHash(path[0], hash), path[1:]
		case index+1 < size:
			hash, path = NodeHash(hash, path[0]), path[1:]
		}
		index, size = index/2, size/2+size%2
	}
	return hash, nil
}

// Verify checks that a leaf hash stands at index in the tree of this size and
// root. The error wraps ErrIndex, ErrPathLength or ErrPathMismatch.
func Verify(leafHash [32]byte, index, size uint64, path [][32]byte, root [32]byte) error {
	got, err := RootFromPath(leafHash, index, size, path)
	if err != nil {
		return err
	}
	if got != root {
		return fmt.Errorf("%w: %x, want %x", ErrPathMismatch, got, root)
	}
	return nil
}
