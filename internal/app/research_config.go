package app

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Switch is a variable that the specification reads as on for 1, true and yes, in
// any case. 0, false, no and nothing are off; anything else is refused, because a
// switch that is misspelt must not be taken for off.
type Switch bool

// UnmarshalText reads a switch.
func (s *Switch) UnmarshalText(text []byte) error {
	switch strings.ToLower(strings.TrimSpace(string(text))) {
	case "1", "true", "yes":
		*s = true
	case "", "0", "false", "no":
		*s = false
	default:
		return fmt.Errorf("want 1, true, yes, 0, false or no")
	}
	return nil
}

// MarshalText writes the switch as it is read.
func (s Switch) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%t", bool(s)), nil }

// ResearchConfig configures the control plane of the research challenge. The
// variables beside the keys are the specification's own; each may also be set as
// PROVA_RESEARCH__<KEY>, which ranks above. Relative paths are below dir.
type ResearchConfig struct {
	// Listen is where the control plane listens, as host:port.
	Listen string `koanf:"listen" env:"BASE_CHALLENGE_BIND"`
	// TLSCert and TLSKey serve HTTPS. Admin routes need it, or a client on loopback
	// or behind a trusted proxy.
	TLSCert string `koanf:"tls_cert"`
	TLSKey  string `koanf:"tls_key"`
	// TrustedProxies are addresses or prefixes whose X-Forwarded-For is believed.
	TrustedProxies []string `koanf:"trusted_proxies"`

	// DatabaseURL is "postgres://…" or "sqlite:PATH"; empty means store.url.
	DatabaseURL string `koanf:"database_url" env:"BASE_DATABASE_URL" secret:"url"`
	// DatabaseURLFile holds the URL instead; an empty file is an error.
	DatabaseURLFile string `koanf:"database_url_file" env:"BASE_DATABASE_URL_FILE"`

	// Production refuses whatever is for development (sim, stand-ins, synthetic
	// holdouts, unsigned submissions, an orchestrator on loopback).
	Production Switch `koanf:"production" env:"PROVA_PRODUCTION"`
	// ForceSim answers with numbers relative to the seal; for tests only.
	ForceSim Switch `koanf:"force_sim" env:"PROOF_FORCE_SIM"`
	// UnsignedSubmissions takes submissions without a hotkey signature. A signature
	// that is there is checked all the same.
	UnsignedSubmissions bool `koanf:"unsigned_submissions"`
	// AllowStandin accepts runs of a stand-in for Firecracker; for tests only.
	AllowStandin bool `koanf:"allow_standin"`

	AdminTokensFile string `koanf:"admin_tokens_file" env:"PROOF_ADMIN_TOKENS_FILE"`
	LeafKeyFile     string `koanf:"leaf_key_file" env:"BASE_CHALLENGE_SK_FILE"`

	// The operator's documents. A bad one is a warning, later a 503 that names it;
	// only a bad pin stops the start.
	PinFile              string `koanf:"pin_file" env:"PROOF_PIN_FILE"`
	TopicsFile           string `koanf:"topics_file" env:"PROOF_TOPICS_FILE"`
	HoldoutFile          string `koanf:"holdout_file" env:"PROOF_HOLDOUT_FILE"`
	BaselineFile         string `koanf:"baseline_file" env:"PROOF_BASELINE_FILE"`
	InferenceOfferFile   string `koanf:"inference_offer_file" env:"PROOF_INFERENCE_OFFER_FILE"`
	InferenceAPIKeyFile  string `koanf:"inference_api_key_file" env:"PROOF_INFERENCE_API_KEY_FILE"`
	InferenceBaseURL     string `koanf:"inference_base_url" env:"PROOF_INFERENCE_BASE_URL" secret:"true"`
	InferenceBaseURLFile string `koanf:"inference_base_url_file" env:"PROOF_INFERENCE_BASE_URL_FILE"`
	ExecutorOfferFile    string `koanf:"executor_offer_file" env:"PROOF_EVAL_EXECUTOR_OFFER_FILE"`

	// The harvest of nll and throughput.
	EvalTimeoutSecs       uint64 `koanf:"eval_timeout_secs" env:"PROOF_EVAL_TIMEOUT_SECS"`
	ProxyModelDir         string `koanf:"proxy_model_dir" env:"PROOF_PROXY_MODEL_DIR"`
	HoldoutStore          string `koanf:"holdout_store" env:"PROOF_HOLDOUT_STORE"`
	HarvestTemplateID     string `koanf:"harvest_template_id" env:"PROOF_HARVEST_TEMPLATE_ID"`
	HarvestGPUCount       string `koanf:"harvest_gpu_count" env:"PROOF_HARVEST_GPU_COUNT"`
	HarvestDeadlineSecs   string `koanf:"harvest_deadline_secs" env:"PROOF_HARVEST_DEADLINE_SECS"`
	LiumAPIKey            string `koanf:"lium_api_key" env:"LIUM_API_KEY" secret:"true"`
	LiumAPIBaseURL        string `koanf:"lium_api_base_url" env:"LIUM_API_BASE_URL"`
	LiumSSHPublicKeyFile  string `koanf:"lium_ssh_public_key_file" env:"LIUM_SSH_PUBLIC_KEY_FILE"`
	LiumSSHPrivateKeyFile string `koanf:"lium_ssh_private_key_file" env:"LIUM_SSH_PRIVATE_KEY_FILE"`

	// The boundary to the topic VMs, for custom topics.
	OrchestratorURL       string   `koanf:"vm_orchestrator_url" env:"PROOF_VM_ORCHESTRATOR_URL"`
	OrchestratorTokenFile string   `koanf:"vm_orchestrator_token_file" env:"PROOF_VM_ORCHESTRATOR_TOKEN_FILE"`
	OrchestratorCAFile    string   `koanf:"vm_orchestrator_ca_file" env:"PROOF_VM_ORCHESTRATOR_CA_FILE"`
	RunnerCustomIDs       []string `koanf:"vm_runner_custom_ids" env:"PROOF_VM_RUNNER_CUSTOM_IDS"`
	RLMImageDigest        string   `koanf:"rlm_vm_image_digest" env:"PROOF_RLM_VM_IMAGE_DIGEST"`
	RLMVCPUs              uint32   `koanf:"rlm_vm_vcpus" env:"PROOF_RLM_VM_VCPUS"`
	RLMMemMiB             uint32   `koanf:"rlm_vm_mem_mib" env:"PROOF_RLM_VM_MEM_MIB"`
	RLMReuseVM            Switch   `koanf:"rlm_vm_reuse" env:"PROOF_RLM_VM_REUSE"`
	OwnerKeyFile          string   `koanf:"owner_inference_key_file" env:"PROOF_RLM_OWNER_INFERENCE_KEY_FILE"`
	// Retain is destroy or retain: what becomes of a topic's VM at its teardown.
	Retain string `koanf:"retain"`
	// SpendCapUSD is shown to the owner who approves a topic's set-up.
	SpendCapUSD float64 `koanf:"spend_cap_usd"`

	ArtefactRoot string `koanf:"artefact_root" env:"PROOF_ARTEFACT_ROOT"`

	// Epochs: equal lengths from a genesis on (RFC 3339), or one fixed number.
	EpochGenesis string `koanf:"epoch_genesis" env:"PROOF_EPOCH_GENESIS"`
	EpochLengthS int64  `koanf:"epoch_length_s" env:"PROOF_EPOCH_LENGTH_S"`
	Epoch        uint64 `koanf:"epoch" env:"PROOF_EPOCH"`

	// Queue is how many submissions may wait for a run; Workers how many runs go on
	// at a time, of different topics.
	Queue   int `koanf:"queue"`
	Workers int `koanf:"workers"`
	// AddressPerMinute and HotkeyPerHour limit requests and submissions; 0 is no limit.
	AddressPerMinute int `koanf:"address_per_minute"`
	HotkeyPerHour    int `koanf:"hotkey_per_hour"`
}

// Defaults of a control plane on one machine.
const (
	defaultRLMVCPUs  = 4    // specification, "Isolation boundary"
	defaultRLMMemMiB = 8192 // specification, "Isolation boundary"
	defaultTimeout   = 7200 // R§25, the ceiling of deadlines
	defaultQueue     = 64
	defaultWorkers   = 2
	defaultAddress   = 120
	defaultHotkey    = 20
)

func defaultResearch() ResearchConfig {
	return ResearchConfig{
		Listen: "127.0.0.1:8100", EvalTimeoutSecs: defaultTimeout, LiumAPIBaseURL: "https://lium.io/api",
		RLMVCPUs: defaultRLMVCPUs, RLMMemMiB: defaultRLMMemMiB, Retain: "destroy", ArtefactRoot: "artefacts",
		Queue: defaultQueue, Workers: defaultWorkers, AddressPerMinute: defaultAddress, HotkeyPerHour: defaultHotkey,
	}
}

// configured reports whether this machine is meant to run a control plane.
func (r *ResearchConfig) configured() bool {
	return r.PinFile != "" || r.TopicsFile != "" || r.AdminTokensFile != "" || r.OrchestratorURL != ""
}

// validate refuses what could not serve. Documents are not read here.
func (r *ResearchConfig) validate() error {
	if _, _, err := net.SplitHostPort(r.Listen); err != nil {
		return fmt.Errorf("research.listen = %q: want host:port, for example 127.0.0.1:8100", r.Listen)
	}
	if (r.TLSCert == "") != (r.TLSKey == "") {
		return fmt.Errorf("research.tls_cert and research.tls_key go together: set both or neither")
	}
	if _, err := r.proxies(); err != nil {
		return err
	}
	if u := r.DatabaseURL; u != "" && !strings.HasPrefix(u, "sqlite:") && !strings.HasPrefix(u, "postgres://") && !strings.HasPrefix(u, "postgresql://") {
		return fmt.Errorf("research.database_url: want postgres://… or sqlite:PATH")
	}
	if r.DatabaseURL != "" && r.DatabaseURLFile != "" {
		return fmt.Errorf("research.database_url and research.database_url_file: set one of them")
	}
	if r.Retain != "destroy" && r.Retain != "retain" {
		return fmt.Errorf("research.retain = %q: want destroy or retain", r.Retain)
	}
	if r.Queue < 1 || r.Workers < 1 {
		return fmt.Errorf("research.queue = %d and research.workers = %d: want 1 or more", r.Queue, r.Workers)
	}
	if r.AddressPerMinute < 0 || r.HotkeyPerHour < 0 {
		return fmt.Errorf("research.address_per_minute and research.hotkey_per_hour: want 0 (no limit) or more")
	}
	if (r.EpochGenesis == "") != (r.EpochLengthS == 0) {
		return fmt.Errorf("research.epoch_genesis and research.epoch_length_s go together: set both, or neither for the fixed research.epoch")
	}
	if r.EpochGenesis != "" {
		if r.Epoch != 0 {
			return fmt.Errorf("research.epoch = %d: leave it out where research.epoch_genesis is set", r.Epoch)
		}
		if _, err := time.Parse(time.RFC3339, r.EpochGenesis); err != nil {
			return fmt.Errorf("research.epoch_genesis = %q: want an instant such as 2026-09-01T00:00:00Z", r.EpochGenesis)
		}
		if r.EpochLengthS < 1 {
			return fmt.Errorf("research.epoch_length_s = %d: want 1 second or more", r.EpochLengthS)
		}
	}
	if r.Production {
		switch {
		case bool(r.ForceSim):
			return fmt.Errorf("research.force_sim: refused under PROVA_PRODUCTION=1; sim is for tests")
		case r.UnsignedSubmissions:
			return fmt.Errorf("research.unsigned_submissions: refused under PROVA_PRODUCTION=1; hotkeys must sign")
		case r.AllowStandin:
			return fmt.Errorf("research.allow_standin: refused under PROVA_PRODUCTION=1; stand-ins are for tests")
		}
	}
	return nil
}

// proxies reads trusted_proxies; an address alone is a prefix of its full length.
func (r *ResearchConfig) proxies() ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, len(r.TrustedProxies))
	for i, text := range r.TrustedProxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				return nil, fmt.Errorf("research.trusted_proxies: %q: want an address or a prefix such as 10.0.0.0/8", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		prefixes[i] = p.Masked()
	}
	return prefixes, nil
}
