package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/config"
)

func TestTheSpecificationsVariablesConfigureTheControlPlane(t *testing.T) {
	c := DefaultConfig()
	require.NoError(t, config.Load(&c, config.Sources{EnvPrefix: "PROVA_", Environ: func() []string {
		return []string{
			"PROOF_PIN_FILE=/etc/prova/pin.toml", "PROOF_FORCE_SIM=YES", "PROOF_VM_RUNNER_CUSTOM_IDS=a_b, c",
			"BASE_CHALLENGE_BIND=127.0.0.1:28100", "PROOF_EPOCH=7", "PROOF_RLM_VM_REUSE=0",
		}
	}}))
	r := c.Research
	require.Equal(t, "/etc/prova/pin.toml", r.PinFile)
	require.True(t, bool(r.ForceSim))
	require.False(t, bool(r.RLMReuseVM))
	require.Equal(t, []string{"a_b", "c"}, r.RunnerCustomIDs)
	require.Equal(t, "127.0.0.1:28100", r.Listen)
	require.Equal(t, uint64(7), r.Epoch)
	require.True(t, r.configured())
	require.NoError(t, c.Validate())
}

// A switch that is misspelt must not be read as off (R§15.1: 1, true or yes).
func TestR151SwitchesAreReadStrictly(t *testing.T) {
	for text, want := range map[string]Switch{"1": true, "true": true, "YES": true, "0": false, "no": false, "False": false} {
		var s Switch
		require.NoError(t, s.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, s, text)
	}
	c := DefaultConfig()
	err := config.Load(&c, config.Sources{EnvPrefix: "PROVA_", Environ: func() []string { return []string{"PROOF_FORCE_SIM=yse"} }})
	require.ErrorContains(t, err, "PROOF_FORCE_SIM")
}

func TestResearchSettingsThatCannotServeAreRefusedByName(t *testing.T) {
	for name, set := range map[string]func(*ResearchConfig){
		"research.listen":               func(r *ResearchConfig) { r.Listen = "8100" },
		"research.tls_cert":             func(r *ResearchConfig) { r.TLSCert = "cert.pem" },
		"research.trusted_proxies":      func(r *ResearchConfig) { r.TrustedProxies = []string{"proxy"} },
		"research.database_url":         func(r *ResearchConfig) { r.DatabaseURL = "mysql://user:word@host" },
		"research.database_url_file":    func(r *ResearchConfig) { r.DatabaseURL, r.DatabaseURLFile = "sqlite:x", "y" },
		"research.retain":               func(r *ResearchConfig) { r.Retain = "keep" },
		"research.queue":                func(r *ResearchConfig) { r.Queue = 0 },
		"research.workers":              func(r *ResearchConfig) { r.Workers = 0 },
		"research.address_per_minute":   func(r *ResearchConfig) { r.AddressPerMinute = -1 },
		"research.epoch_genesis":        func(r *ResearchConfig) { r.EpochLengthS = 60 },
		"research.epoch_length_s":       func(r *ResearchConfig) { r.EpochGenesis, r.EpochLengthS = "2026-09-01T00:00:00Z", -1 },
		"research.epoch =":              func(r *ResearchConfig) { r.Epoch, r.EpochGenesis, r.EpochLengthS = 1, "2026-09-01T00:00:00Z", 60 },
		"2026-09-01T00:00:00Z":          func(r *ResearchConfig) { r.EpochGenesis, r.EpochLengthS = "yesterday", 60 },
		"research.force_sim":            func(r *ResearchConfig) { r.Production, r.ForceSim = true, true },
		"research.unsigned_submissions": func(r *ResearchConfig) { r.Production, r.UnsignedSubmissions = true, true },
		"research.allow_standin":        func(r *ResearchConfig) { r.Production, r.AllowStandin = true, true },
	} {
		c := DefaultConfig()
		set(&c.Research)
		err := c.Validate()
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "word@")
	}
}
