package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/remote/remotetest"
)

// bench is a person at a terminal: a folder, a plane to talk to, the real commands.
type bench struct {
	t     *testing.T
	plane *remotetest.Plane
	dir   string
	env   map[string]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, plane: remotetest.New(t), dir: t.TempDir()}
	b.env = map[string]string{serverVariable: b.plane.URL, tokenVariable: b.write("admin.token", remotetest.Token+"\n"), "HOME": b.dir}
	b.write("pin.toml", fmt.Sprintf("topic_pubkey = %q\neval_image_digest = %q\n[inference]\nmodel = \"master-proxy-v0\"\n", b.plane.Pin.TopicPubkey, b.plane.Pin.EvalImageDigest))
	b.write("topic.key", "42"+strings.Repeat("11", 31))
	b.write("miner.key", "77"+strings.Repeat("11", 31))
	b.write("recipe/recipe.json", `{"format":"prova-recipe/1","entrypoint":"recipe.wasm","args":[]}`)
	b.write("recipe/recipe.wasm", "\x00asm\x01\x00\x00\x00")
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) string {
	b.t.Helper()
	path := b.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// run runs a command as Main does, over the commands of a control plane alone.
func (b *bench) run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, diag strings.Builder
	env := &Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &diag, Getenv: func(name string) string { return b.env[name] }}
	root := &cobra.Command{Use: "prova", SilenceUsage: true, SilenceErrors: true}
	research := &cobra.Command{Use: "research"}
	research.AddCommand(newResearchReadCmds(env)...)
	root.AddCommand(newSubmitCmd(env), newTopicCmd(env), newBaselineCmd(env), research)
	root.SetOut(&out)
	root.SetErr(&diag)
	wrapUsage(root)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		code = 1
		if exit := (*ExitError)(nil); errors.As(err, &exit) {
			code, err = exit.Code, exit.Err
		}
		if err != nil {
			fmt.Fprintf(&diag, "prova: %s\n", oneLine(err.Error()))
		}
	}
	for _, secret := range []string{remotetest.Token, "42" + strings.Repeat("11", 31), "77" + strings.Repeat("11", 31), "judge-origin"} {
		if strings.Contains(out.String()+diag.String(), secret) {
			b.t.Errorf("prova %s shows a secret", strings.Join(args, " "))
		}
	}
	return code, out.String(), diag.String()
}

// expect runs a command and wants an exit status and texts in its two outputs.
func (b *bench) expect(want int, args ...string) *said {
	b.t.Helper()
	code, stdout, stderr := b.run(b.t.Context(), args...)
	if code != want {
		b.t.Fatalf("prova %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return &said{b.t, strings.Join(args, " "), stdout, stderr}
}

type said struct {
	t                       *testing.T
	command, stdout, stderr string
}

func (s *said) out(texts ...string) *said {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.stdout, text) {
			s.t.Errorf("prova %s: stdout lacks %q:\n%s", s.command, text, s.stdout)
		}
	}
	return s
}

func (s *said) err(texts ...string) *said {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.stderr, text) {
			s.t.Errorf("prova %s: stderr lacks %q:\n%s", s.command, text, s.stderr)
		}
	}
	return s
}

func (b *bench) submit(more ...string) []string {
	return append([]string{
		"submit", "--topic", remotetest.OpenID, "--key", b.path("miner.key"), "--claim", "rate 0.9", "--flops", "100", "--dataset", "my-mix-v0",
		"--every", "1ms", b.path("recipe"),
	}, more...)
}

// kept returns the names of the kept submissions.
func (b *bench) kept() []string {
	b.t.Helper()
	names, err := filepath.Glob(b.path(".local/state/prova/submissions/*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}
