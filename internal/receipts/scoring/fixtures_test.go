package scoring_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// batchRoot is the batch root that the drafted proof names.
func batchRoot(c *oneClaim) []byte {
	c.t.Helper()
	root, err := hex.DecodeString(strings.TrimPrefix(getIn(c.drafted.Doc, "/batch_anchor/root").(string), "sha256:"))
	if err != nil {
		c.t.Fatal(err)
	}
	return root
}
