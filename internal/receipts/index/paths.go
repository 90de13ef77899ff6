package index

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// maxSlug keeps file names of an export within what file systems take.
const maxSlug = 180

// slug turns a DID into a file name that every file system and every relative
// link can carry: letters, digits, dot and hyphen stay, a colon becomes an
// underscore, any other byte ~hh. Two DIDs never share one.
func slug(did string) string {
	var b strings.Builder
	for i := range len(did) {
		switch c := did[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.' && i > 0 && did[i-1] != '.':
			b.WriteByte(c)
		case c == ':':
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "~%02x", c)
		}
	}
	if b.Len() <= maxSlug {
		return b.String()
	}
	sum := sha256.Sum256([]byte(did))
	return b.String()[:64] + "~" + hex.EncodeToString(sum[:])
}

// shortDID tells the titles of reports apart. A did:key keeps its end; any other
// DID is a text that its operator chose, which may hold a name, and no name enters
// a title: its hash stands for it.
func shortDID(did string) string {
	method, rest, _ := strings.Cut(strings.TrimPrefix(did, "did:"), ":")
	const shown = 8
	if method == "key" && len(rest) > shown {
		return "did:key:…" + rest[len(rest)-shown:]
	}
	sum := sha256.Sum256([]byte(did))
	return "DID #" + hex.EncodeToString(sum[:shown/2])
}

// The names of the pages inside a language's folder, without extension.

const (
	pageHome   = "index"
	pageLimits = "limits"
	pageTerms  = "terms"
)

func seasonPage(n int64) string { return fmt.Sprintf("seasons/%d", n) }

func trackPage(n int64, track string, s sortKey) string {
	if s == sortName {
		return fmt.Sprintf("seasons/%d/%s", n, track)
	}
	return fmt.Sprintf("seasons/%d/%s.by-%s", n, track, s)
}

func reportPage(n int64, track, did string) string {
	return fmt.Sprintf("seasons/%d/%s/reports/%s", n, track, slug(did))
}

func proofPage(n int64, id string) string { return fmt.Sprintf("seasons/%d/proofs/%s", n, id) }

// bundleFile is where the site keeps a copy of a bundle's file.
func bundleFile(n int64, name string) string { return fmt.Sprintf("files/%d/%s", n, name) }

// submissionFile is bundleFile for a submission: the DID's folder gets a name that
// an export can have.
func submissionFile(n int64, did, taskID string) string {
	return bundleFile(n, "submissions/"+slug(did)+"/"+taskID+".json")
}

// relative is the link from a page of the site to another path of it. Both are
// paths from the site's root without a leading slash.
func relative(from, to string) string {
	base := strings.Split(path.Dir(from), "/")
	if base[0] == "." {
		base = nil
	}
	target := strings.Split(to, "/")
	same := 0
	for same < len(base) && same < len(target)-1 && base[same] == target[same] {
		same++
	}
	return strings.Repeat("../", len(base)-same) + (&url.URL{Path: strings.Join(target[same:], "/")}).EscapedPath()
}
