package family_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/family"
)

func TestSection10AReceiptHasItsMembersInOrderAndBindsTheMetrics(t *testing.T) {
	value := 0.5
	h := family.Harness{Metrics: family.Metrics{CustomValue: &value}}
	text, err := family.NewReceipt("lium", "proof-01234567", "image", "digest", h).JSON()
	require.NoError(t, err)
	sum := sha256.Sum256(h.AppendJSON(nil))
	require.Equal(t, `{"provider":"lium","pod_id":"proof-01234567","image_digest":"image","submission_hash":"digest","metrics_hash":"`+hex.EncodeToString(sum[:])+`","termination_verified":true}`, text)
}
