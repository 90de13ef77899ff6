package merkle_test

import (
	"errors"
	"fmt"

	"github.com/prova-dev/prova/evidence/merkle"
)

func Example() {
	// The three leaves of a batch.
	leaves := [][32]byte{
		merkle.LeafHash([]byte("first")),
		merkle.LeafHash([]byte("second")),
		merkle.LeafHash([]byte("third")),
	}
	root, err := merkle.Root(leaves)
	if err != nil {
		fmt.Println(err)
		return
	}
	paths := merkle.Paths(leaves)
	fmt.Println("items in each path:", len(paths[0]), len(paths[1]), len(paths[2]))

	fmt.Println("third leaf:", merkle.Verify(leaves[2], 2, 3, paths[2], root))

	err = merkle.Verify(leaves[2], 1, 3, paths[2], root)
	fmt.Println("at another place:", errors.Is(err, merkle.ErrPathLength))
	// Output:
	// items in each path: 2 2 1
	// third leaf: <nil>
	// at another place: true
}

func ExamplePathLength() {
	// The path length does not pin the size fully, but it bounds it.
	for _, size := range []uint64{8, 9, 16, 17} {
		fmt.Println(size, merkle.PathLength(0, size))
	}
	// Output:
	// 8 3
	// 9 4
	// 16 4
	// 17 5
}
