package recipe

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/strict"
)

// Names of the format.
const (
	Format       = "prova-recipe/1"
	ManifestName = "recipe.json"
)

// The most that a manifest may say.
const (
	MaxManifest  = 64 << 10 // bytes of recipe.json
	MaxArgs      = 64
	MaxArg       = 4096 // bytes of one argument
	MaxBuiltWith = 256  // bytes
)

// Manifest is recipe.json: how a recipe is started.
type Manifest struct {
	Format     string
	Entrypoint string   // path of the program in the recipe
	Args       []string // after the program's name
	BuiltWith  string   // what made the program, such as "go1.27.3"; may be empty
}

// ParseManifest reads recipe.json. Unknown, duplicate and wrong-case members are
// refused, with the path of the fault.
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > MaxManifest {
		return nil, fmt.Errorf("%s: it has %d bytes, at most %d are allowed", ManifestName, len(data), MaxManifest)
	}
	v, err := strict.JSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	var m Manifest
	if err := strict.Object(
		strict.Key("format", strict.String(&m.Format)),
		strict.Key("entrypoint", strict.String(&m.Entrypoint)),
		strict.Key("args", strict.List(&m.Args, strict.String)),
		strict.Key("built_with", strict.String(&m.BuiltWith)),
	)(v, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	return &m, nil
}

func (m *Manifest) check() error {
	fault := func(path, format string, args ...any) error {
		return &strict.Error{Path: path, Reason: fmt.Sprintf(format, args...)}
	}
	if m.Format != Format {
		return fault("format", "is %s, this build reads %q", quote(m.Format), Format)
	}
	if why := SafePath(m.Entrypoint, MaxPath); why != "" {
		return fault("entrypoint", "%s; name the program by its path in the recipe", why)
	}
	if len(m.Args) > MaxArgs {
		return fault("args", "has %d arguments, at most %d are allowed", len(m.Args), MaxArgs)
	}
	for i, arg := range m.Args {
		if len(arg) > MaxArg || strings.Contains(arg, "\x00") || !utf8.ValidString(arg) {
			return fault(fmt.Sprintf("args[%d]", i), "want text without a zero character of at most %d bytes", MaxArg)
		}
	}
	if len(m.BuiltWith) > MaxBuiltWith || strings.ContainsFunc(m.BuiltWith, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fault("built_with", "want one line of at most %d bytes", MaxBuiltWith)
	}
	return nil
}

// JSON returns recipe.json as this project writes it, one line with its end.
func (m *Manifest) JSON() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	args := make([]any, len(m.Args))
	for i, arg := range m.Args {
		args[i] = arg
	}
	o := canonjson.NewObject("format", m.Format, "entrypoint", m.Entrypoint, "args", args)
	if m.BuiltWith != "" {
		o.Set("built_with", m.BuiltWith)
	}
	return append(canonjson.Compact(o), '\n'), nil
}

// Manifest returns the manifest of a recipe, whose entry point must be there. A
// tree without recipe.json is an archive of another kind, and an *[Error] here.
func (t Tree) Manifest() (*Manifest, error) {
	data, found := t.File(ManifestName)
	if !found {
		return nil, refuse("", "it has no %s", ManifestName)
	}
	m, err := ParseManifest(data)
	if err != nil {
		return nil, err
	}
	if program, found := t.File(m.Entrypoint); !found {
		return nil, fmt.Errorf("%s: entrypoint: %s is not in the recipe", ManifestName, quote(m.Entrypoint))
	} else if len(program) == 0 {
		return nil, fmt.Errorf("%s: entrypoint: %s is empty", ManifestName, quote(m.Entrypoint))
	}
	return m, nil
}
