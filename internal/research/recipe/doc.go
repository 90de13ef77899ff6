// Package recipe reads and writes what a miner submits to a custom topic: a tar
// of a program, its source and a recipe.json that says how to start it (design
// §3), and gives the digest of its files.
//
// # Two digests
//
// The digest that a miner signs is the SHA-256 of the tar as it is served,
// byte for byte (R§23.2). [Tree.Digest] is of the files alone: their paths,
// contents and executable bits. Two tars of the same files have one tree digest,
// whatever their order, owners, times and padding, so it tells near-duplicates
// (decision 4).
//
// # One strict reader
//
// [Read] serves intake, guest and command line, so that all see the same files
// or none. It takes an uncompressed tar of regular files and folders, in the
// dialects ustar, GNU and pax, and refuses what two readers of tar could see
// differently or what reaches outside the tree: links, devices, sparse files,
// absolute names, "..", names twice, a name that is file and folder, a cut-off
// end, bytes after the end, pax headers for the whole archive. [Pack] and [Write]
// make the one canonical tar of a tree, which Read takes.
//
// # Invariants
//
//   - A Tree made by this package is sorted by path, and each path may stand in a
//     zip of artefacts under "artifact/" (R§20).
//   - Read(Write(t)) is t, and Write(Read(x)) is the same for each x of one tree.
//   - Memory is bounded by the size of the tar: contents are not copied.
package recipe
