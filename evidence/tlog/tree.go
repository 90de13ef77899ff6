package tlog

import (
	"fmt"
	"math/bits"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"github.com/prova-dev/prova/evidence/merkle"
)

// tree holds the hashes of all perfect subtrees of a log: levels[0] are the leaves, levels[l][i] covers the leaves from
// i·2^l on. They never change once there, so that proofs for any earlier size can be made while the tree grows. It takes
// 64 bytes a leaf.
type tree struct {
	levels [][][32]byte
}

func (t *tree) size() uint64 {
	if len(t.levels) == 0 {
		return 0
	}
	return uint64(len(t.levels[0]))
}

func (t *tree) add(leaf [32]byte) {
	h := leaf
	for l := 0; ; l++ {
		if l == len(t.levels) {
			t.levels = append(t.levels, nil)
		}
		t.levels[l] = append(t.levels[l], h)
		n := len(t.levels[l])
		if n%2 != 0 {
			return
		}
		h = merkle.NodeHash(t.levels[l][n-2], t.levels[l][n-1])
	}
}

// truncate takes back the leaves from size on, after an append that did not happen.
func (t *tree) truncate(size uint64) {
	for l := range t.levels {
		t.levels[l] = t.levels[l][:min(uint64(len(t.levels[l])), size>>l)]
	}
}

// root returns the RFC 6962 root of the first size leaves; that of none is the hash of nothing.
func (t *tree) root(size uint64) [32]byte {
	if size == 0 {
		return [32]byte(rfc6962.DefaultHasher.EmptyRoot())
	}
	ids := compact.RangeNodes(0, size, make([]compact.NodeID, 0, bits.OnesCount64(size)))
	h := t.node(ids[len(ids)-1])
	for i := len(ids) - 2; i >= 0; i-- {
		h = merkle.NodeHash(t.node(ids[i]), h)
	}
	return h
}

func (t *tree) node(id compact.NodeID) [32]byte { return t.levels[id.Level][id.Index] }

// inclusion returns the audit path of a leaf in the tree of the first size leaves.
func (t *tree) inclusion(index, size uint64) ([][32]byte, error) {
	if size > t.size() {
		return nil, fmt.Errorf("inclusion in a tree of size %d: the log has %d", size, t.size())
	}
	nodes, err := proof.Inclusion(index, size)
	if err != nil {
		return nil, err
	}
	return t.fill(nodes)
}

// consistency returns the proof that the tree of the first old leaves is a prefix of that of the first size leaves.
func (t *tree) consistency(old, size uint64) ([][32]byte, error) {
	if size > t.size() {
		return nil, fmt.Errorf("consistency with a tree of size %d: the log has %d", size, t.size())
	}
	if old == size || old == 0 {
		return nil, nil
	}
	nodes, err := proof.Consistency(old, size)
	if err != nil {
		return nil, err
	}
	return t.fill(nodes)
}

func (t *tree) fill(nodes proof.Nodes) ([][32]byte, error) {
	hashes := make([][]byte, len(nodes.IDs))
	for i, id := range nodes.IDs {
		h := t.node(id)
		hashes[i] = h[:]
	}
	hashes, err := nodes.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
	if err != nil {
		return nil, err
	}
	out := make([][32]byte, len(hashes))
	for i, h := range hashes {
		out[i] = [32]byte(h)
	}
	return out, nil
}
