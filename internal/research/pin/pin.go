package pin

// Provider is the kind of endpoint that answers for the judge.
type Provider string

// The providers of reference §4.
const (
	OpenAICompatible Provider = "openai_compatible"
	VLLM             Provider = "vllm"
	CustomProvider   Provider = "custom"
)

// Providers are all of them, as documents spell them.
var providers = []Provider{OpenAICompatible, VLLM, CustomProvider}

// Mode is the interface of the judge that a run calls.
type Mode string

// The modes of reference §4.
const (
	Chat        Mode = "chat"
	Completions Mode = "completions"
	Embeddings  Mode = "embeddings"
)

var modes = []Mode{Chat, Completions, Embeddings}

// Providers returns every provider, in the order of the reference.
func Providers() []Provider { return append([]Provider(nil), providers...) }

// Modes returns every mode, in the order of the reference.
func Modes() []Mode { return append([]Mode(nil), modes...) }

// Inference is the [inference] table: what a judge call uses where neither the
// topic nor the live offer says otherwise.
type Inference struct {
	Provider        Provider
	BaseURL         string // empty: the origin is a secret of the host
	Model           string // empty: no topic without a model of its own opens
	Mode            Mode
	MaxInputTokens  uint32
	MaxOutputTokens uint32
}

// Pin is one pin with every default filled in. Names follow the keys of
// reference §4.
type Pin struct {
	ChallengeID                  string
	ScoringVersion               uint16
	BaseModelFamily              string
	ProxyModel                   string
	ProxyModels                  []string
	InferenceConfigSchemaVersion uint32
	AllowedModes                 []Mode
	MaxInputTokensCeiling        uint32
	MaxOutputTokensCeiling       uint32
	InferenceOfferCommitmentAlg  string
	Inference                    Inference
	EvalExecutorSchemaVersion    uint32
	GPUClass                     string
	MaxProofDeadlineSCeiling     uint64 // seconds
	AllowedLiumTemplatePrefixes  []string
	EvalExecutorCommitmentAlg    string
	EvalImage                    string
	EvalImageDigest              string // sha256:… ; empty: nothing can be rented
	ProofGit                     string
	ProofGitSHA                  string
	TopicPubkey                  string // 64 hex digits
	FLOPsBudgetMax               uint64
	EpsilonNLLMin                float64
	EpsilonTopicMaxRegressMin    float64
	EpsilonThroughputRelMin      float64
	QualityFloorNLLMax           float64
	HoldoutSize                  int // records
	StratumSize                  int // records of each scored split
}
