package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

// playSeason is one practice season, played once for the tests that look at it.
var playSeason = sync.OnceValues(func() (*played, error) {
	dir, err := os.MkdirTemp("", "prova-practice-*")
	if err != nil {
		return nil, err
	}
	var log syncBuffer
	p, err := PlayPractice(context.Background(), PracticeOptions{
		Dir: filepath.Join(dir, "season"), Track: "conformite", Window: time.Hour,
		Progress: func(string, ...any) {}, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		return nil, err
	}
	return &played{Practice: p, dir: dir, log: &log}, p.Close()
})

type played struct {
	*Practice
	dir string
	log *syncBuffer
}

// syncBuffer is a buffer that several services may log into.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(serveAsChild())
	}
	code := m.Run()
	if p, err := playSeason(); err == nil {
		os.RemoveAll(p.dir)
	}
	os.Exit(code)
}

func practice(t *testing.T) *played {
	t.Helper()
	p, err := playSeason()
	require.NoError(t, err)
	return p
}

// participant finds a built-in agent's row by its name.
func (p *played) participant(t *testing.T, name string) results.Participant {
	t.Helper()
	for _, row := range p.Results.Tracks["conformite"].Participants {
		if p.Names[row.AgentDID] == name {
			return row
		}
	}
	t.Fatalf("no agent %q in the results", name)
	return results.Participant{}
}

func TestPracticeSeasonSeparatesConsultingFromGuessing(t *testing.T) {
	t.Parallel()
	p := practice(t)
	reader := p.participant(t, "Reader")
	require.Equal(t, results.NewRate(10, 10), reader.Success, "the agent that follows every reference solves every task")
	require.Zero(t, reader.Overclaim.Num)
	none := p.participant(t, "No Consultation")
	require.Equal(t, none.Overclaim.Den, none.Overclaim.Num, "nothing it asserts rests on a receipt")
	require.Positive(t, p.participant(t, "Random Receipts").Overclaim.Num, "a valid proof cited on the wrong assertion stays unsupported (§4.1)")
	best := p.Results.Tracks["conformite"].Best
	require.Equal(t, "non_conforme", best.Verdict)
	require.Equal(t, results.NewRate(4, 10), best.Rate)
	for _, name := range []string{"Constant", "First Answer", "Expected Values", "Random Receipts", "No Consultation"} {
		row := p.participant(t, name)
		require.LessOrEqual(t, row.Success.Num, best.Num, "%s knows no more than the best constant answer", name)
		require.EqualValues(t, 10, row.TasksSubmitted, "%s submits every task", name)
	}
}

func TestReplayOfThePracticeBundleIsIdentical(t *testing.T) {
	t.Parallel()
	p := practice(t)
	for _, path := range []string{p.BundleDir, filepath.Join(p.dir, "season", "data", "seasons", "1", "public", "bundle.tar.zst")} {
		b, err := bundle.Open(path)
		require.NoError(t, err)
		diff, err := scoring.Replay(t.Context(), b, nil)
		require.NoError(t, err)
		require.Nil(t, diff, path)
		require.NoError(t, b.Close())
	}
}

func TestEveryProofOfThePracticeSeasonVerifiesAndItsWitnessesAreLocal(t *testing.T) {
	t.Parallel()
	p := practice(t)
	b, err := bundle.Open(p.BundleDir)
	require.NoError(t, err)
	defer b.Close()
	checker := receipt.NewChecker(b.Trust)
	files, err := os.ReadDir(filepath.Join(p.BundleDir, "proofs"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(p.BundleDir, "proofs", f.Name()))
		require.NoError(t, err)
		proof, err := receipt.Parse(data)
		require.NoError(t, err)
		entry := func(uuid string) ([]byte, bool) {
			data, ok, err := b.LogEntry(uuid)
			return data, ok && err == nil
		}
		_, refusal := checker.Admit(proof, entry, receipt.Policy{RequireLog: true, AllowLocal: true})
		require.Nil(t, refusal, f.Name())
		_, refusal = checker.Admit(proof, entry, receipt.Policy{RequireLog: true})
		require.NotNil(t, refusal, "a local witness must not pass for an independent one")
		require.Equal(t, receipt.DetailWitnessNotIndependent, refusal.Detail)
	}
}

// TestSection8AnyChangedByteIsRefusedOrScoresAsTheRulesSay changes one byte of
// each kind of file of the bundle.
func TestSection8AnyChangedByteIsRefusedOrScoresAsTheRulesSay(t *testing.T) {
	t.Parallel()
	p := practice(t)
	reader := p.participant(t, "Reader").AgentDID
	submission := filepath.Join("submissions", reader, "conf-01.json")
	for name, c := range map[string]struct {
		file, from, to string
		refused        string // reason of the refusal, or
		unsupported    bool   // the assertion that rests on it is no longer supported
	}{
		"the key":           {file: "keys/conformite.json", from: `"verdict":"non_conforme"`, to: `"verdict":"oon_conforme"`, refused: bundle.ReasonKey},
		"the salt":          {file: "keys/conformite.json", from: `"salt":"`, to: `"salt":"` + "0", refused: bundle.ReasonKey},
		"the rules' text":   {file: "rules/conformite.md", from: "a", to: "b", refused: bundle.ReasonRules},
		"the applied rules": {file: "rules/conformite.json", from: "conformite-bareme-v3", to: "conformite-bareme-v4", refused: bundle.ReasonFreezeStatement},
		"a task's bound":    {file: "season.json", from: `"cap":4`, to: `"cap":5`, refused: bundle.ReasonRules},
		"the manifest":      {file: "corpora/conformite/manifest.json", from: "\n", to: " ", refused: bundle.ReasonManifest},
		"a corpus file":     {file: "corpora/conformite/files/", from: "existe", to: "exjste", refused: bundle.ReasonCorpus},
		"the freeze proof":  {file: "freeze/conformite.json", from: `"root":"sha256:`, to: `"root":"sha256:0`, refused: bundle.ReasonFreezeInvalid},
		"a proof":           {file: "proofs/", from: `"arkforge_signature":"ed25519:`, to: `"arkforge_signature":"ed25519:A`, unsupported: true},
		"a submission":      {file: submission, from: `"nonce":"`, to: `"nonce":"0`, unsupported: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bundle")
			require.NoError(t, os.CopyFS(dir, os.DirFS(p.BundleDir)))
			path := filepath.Join(dir, filepath.FromSlash(c.file))
			switch {
			case c.file == "proofs/":
				path = filepath.Join(dir, "proofs", citedBy(t, filepath.Join(dir, submission))+".json")
			case strings.HasSuffix(c.file, "/"):
				path = firstFileWith(t, path, c.from)
			}
			substitute(t, path, c.from, c.to)
			b, err := bundle.Open(dir)
			if err != nil { // one hex digit too many in the salt is no salt at all
				require.Equal(t, "the salt", name)
				return
			}
			defer b.Close()
			var out bytes.Buffer
			err = scoring.Score(b, nil, &out)
			if c.refused != "" {
				var refusal *bundle.Refusal
				require.ErrorAs(t, err, &refusal)
				require.Equal(t, c.refused, refusal.Reason)
				require.Zero(t, out.Len(), "nothing is scored before every check holds")
				return
			}
			require.NoError(t, err)
			tampered, err := results.Parse(out.Bytes())
			require.NoError(t, err)
			unsupported := int64(0)
			for _, row := range tampered.Tracks["conformite"].Participants {
				if row.AgentDID == reader {
					unsupported = row.Overclaim.Num
				}
			}
			require.Positive(t, unsupported)
		})
	}
}

func substitute(t *testing.T, path, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), from)
	changed := strings.Replace(string(data), from, to, 1)
	if len(to) == len(from)+1 { // keep the length: the byte after is replaced, not shifted
		i := strings.Index(string(data), from) + len(from)
		b := bytes.Clone(data)
		if b[i] == to[len(from)] {
			b[i] ^= 1
		} else {
			b[i] = to[len(from)]
		}
		changed = string(b)
	}
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
}

func citedBy(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	ids := citedProofs(data)
	require.NotEmpty(t, ids)
	return ids[0]
}

func firstFileWith(t *testing.T, dir, text string) string {
	t.Helper()
	var found string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || found != "" {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			found = path
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// TestNoSecretLeavesThePracticeSeason greps every public file and the whole log
// for every secret that the data directory holds.
func TestNoSecretLeavesThePracticeSeason(t *testing.T) {
	t.Parallel()
	p := practice(t)
	data := filepath.Join(p.dir, "season", "data")
	secrets := map[string]string{}
	for _, name := range []string{"keys/challenge.secret", "keys/challenge.key"} {
		b, err := os.ReadFile(filepath.Join(data, filepath.FromSlash(name)))
		require.NoError(t, err)
		secrets[name] = strings.TrimSpace(string(b))
	}
	for _, name := range []string{"issuer.pem", "issuer-log.pem", "log.pem", "season.pem"} {
		b, err := os.ReadFile(filepath.Join(data, "keys", name))
		require.NoError(t, err)
		secrets[name] = strings.Split(string(b), "\n")[1]
		info, err := os.Stat(filepath.Join(data, "keys", name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	for name, secret := range secrets {
		require.NotContains(t, p.log.String(), secret, "the log holds %s", name)
	}
	require.NotContains(t, p.log.String(), "mcp_free_", "the log holds an API key")
	for _, root := range []string{p.BundleDir, p.IndexDir} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for name, secret := range secrets {
				require.NotContains(t, string(body), secret, "%s holds %s", path, name)
			}
			require.NotContains(t, string(body), "mcp_free_", "%s holds an API key", path)
			return nil
		})
		require.NoError(t, err)
	}
}

func TestTheChallengeGateFollowsTheAnnouncedWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 10, 7, 59, 59, 0, time.UTC)
	s := &Server{clock: func() time.Time { return now }}
	require.True(t, s.duringSeason(), "with no season announced the configuration decides")
	s.window.Store(&window{now.Add(time.Second), now.Add(time.Hour)})
	require.False(t, s.duringSeason())
	now = now.Add(time.Second)
	require.True(t, s.duringSeason(), "both bounds belong to the window")
	now = now.Add(time.Hour - time.Second)
	require.True(t, s.duringSeason())
	now = now.Add(time.Nanosecond)
	require.False(t, s.duringSeason())
}

func TestPracticeRefusesAFolderItDidNotMake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("keep"), 0o600))
	_, err := PlayPractice(t.Context(), PracticeOptions{Dir: dir, Track: "conformite", Window: time.Hour, Progress: func(string, ...any) {}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.ErrorContains(t, err, "give another --dir")
	require.FileExists(t, filepath.Join(dir, "mine.txt"))
}

func TestAPracticeFreezeThatCameTooLateIsMadeAgain(t *testing.T) {
	t.Parallel()
	_, o := lifeOf(t, filepath.Join(t.TempDir(), "data"))
	dir, _ := secretCorpus(t, 5)
	// A clock that is hours behind when the opening is chosen, as on a machine that
	// stood still: the first freeze is late, the second has the right time.
	late := true
	real := o.clock
	o.clock = func() time.Time {
		if late {
			late = false
			return real().Add(-time.Hour)
		}
		return real()
	}
	frozen, err := o.freezeSoon(t.Context(), map[string]string{"conformite": dir}, 2*time.Hour)
	require.NoError(t, err)
	announced, err := o.Season(t.Context())
	require.NoError(t, err)
	require.False(t, frozen[0].At.After(announced.Opens), "the freeze in force was anchored before the opening")
}
