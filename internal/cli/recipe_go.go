package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// goFlags are the flags of every build. They leave nothing of the machine in the
// module: no paths, no version control, no build id, no symbols.
var goFlags = []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid="}

// goVersion is what a manifest says of a module that Go made.
var goVersion = regexp.MustCompile(`^go1\.[0-9]{1,3}(\.[0-9]{1,3})?((rc|beta)[0-9]{1,2})?$`)

// sourceOf returns what a recipe's module is made of: all its files but the module
// and the manifest, which says what made it.
func sourceOf(tree recipe.Tree, entrypoint string) recipe.Tree {
	var source recipe.Tree
	for _, e := range tree {
		if e.Path != entrypoint && e.Path != recipe.ManifestName {
			source = append(source, e)
		}
	}
	return source
}

// goBuild makes the module of a source in Go: its files alone in a new folder, with
// no module of the machine and no network, so that who has the tar has all. The
// version is the one that the source asks for if it is empty. It returns the version
// that was used.
func goBuild(ctx context.Context, env *Env, source recipe.Tree, version string) (module []byte, used string, err error) {
	dir, err := os.MkdirTemp("", "prova-recipe-*")
	if err != nil {
		return nil, "", err
	}
	defer func() {
		// The cache of modules is made read-only by whoever fills it.
		err = errors.Join(err, removeAll(dir))
	}()
	for _, e := range source {
		path := filepath.Join(dir, "tree", filepath.FromSlash(e.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, "", err
		}
		if err := os.WriteFile(path, e.Data, 0o600); err != nil {
			return nil, "", err
		}
	}
	in := filepath.Join(dir, "tree")
	if _, found := source.File("go.mod"); !found {
		if _, found := source.File("src/go.mod"); !found {
			return nil, "", fmt.Errorf("it has neither go.mod nor src/go.mod: a recipe in Go has its source as a module of its own")
		}
		in = filepath.Join(in, "src")
	}
	found, err := goCommand(ctx, in, goEnvironment(env, "GOTOOLCHAIN="+cmp.Or(version, env.Getenv("GOTOOLCHAIN"), "auto")), "go", "env", "GOROOT", "GOVERSION", "GOCACHE")
	if err != nil {
		return nil, "", err
	}
	lines := strings.Split(strings.TrimSpace(found), "\n")
	if len(lines) != 3 || !goVersion.MatchString(strings.TrimSpace(lines[1])) {
		return nil, "", fmt.Errorf("go env answered %q; want a release of Go", oneLine(found))
	}
	root, used, cache := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[1]), strings.TrimSpace(lines[2])
	if version != "" && used != version {
		return nil, "", fmt.Errorf("go answers as %s, want %s", used, version)
	}
	out := filepath.Join(dir, "module.wasm")
	environment := goEnvironment(env, "GOTOOLCHAIN=local", "GOROOT="+root, "GOCACHE="+cache, "GOMODCACHE="+filepath.Join(dir, "modules"),
		"GOPROXY=off", "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if _, err := goCommand(ctx, in, environment, filepath.Join(root, "bin", "go"), append(goFlags, "-o", out, ".")...); err != nil {
		return nil, "", fmt.Errorf("%w; modules that it needs belong into its folder, by go mod vendor", err)
	}
	f, err := os.Open(out)
	if err != nil {
		return nil, "", fmt.Errorf("go built no program; the source needs a package main: %w", err)
	}
	defer f.Close()
	module, err = io.ReadAll(io.LimitReader(f, meter.MaxModule+1))
	return module, used, err
}

// goEnvironment is all that go sees of the environment.
func goEnvironment(env *Env, more ...string) []string {
	out := []string{"GOENV=off", "GOWORK=off", "GOFLAGS=", "GOTELEMETRY=off"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GOCACHE", "GOPATH", "GOMODCACHE", "GOPROXY", "GOSUMDB", "SystemRoot", "USERPROFILE", "LOCALAPPDATA"} {
		if v := env.Getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return append(out, more...)
}

func goCommand(ctx context.Context, dir string, environment []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment, time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("go is not on this machine's PATH: install Go to build a recipe")
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	said := strings.TrimSpace(stderr.String())
	if len(said) > 2000 {
		said = strings.ToValidUTF8(said[:2000], "") + "…"
	}
	return "", fmt.Errorf("go %s: %w: %s", args[0], err, said)
}

// removeAll removes a folder with what is read-only in it.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
