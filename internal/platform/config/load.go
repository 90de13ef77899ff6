package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// KeyAnnotation on a flag names the configuration key that the flag sets, where
// the flag's own name is another.
const KeyAnnotation = "prova-config-key"

// between separates keys inside koanf. It is not the dot, because keys of a map
// (host names) contain dots.
const between = "/"

// Sources say where values come from. Each may be left out.
type Sources struct {
	File      string          // A TOML file; empty for none. Named and missing is an error.
	EnvPrefix string          // "PROVA_"; empty: the environment is not read.
	Environ   func() []string // os.Environ by default.
	Flags     *pflag.FlagSet  // Only flags that were given count.
}

// Load fills dst, a pointer to a struct whose present values are the defaults.
// All unknown keys and wrong types of one source are named in one error. dst is
// only changed when everything is right.
func Load(dst any, o Sources) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("config: %T is no pointer to a struct", dst)
	}
	t := v.Elem().Type()
	k := koanf.New(between)
	if o.File != "" {
		values, err := readFile(o.File)
		if err != nil {
			return err
		}
		if err := check(t, values); err != nil {
			return fmt.Errorf("config file %s: %w", o.File, err)
		}
		if err := k.Load(confmap.Provider(values, ""), nil); err != nil {
			return fmt.Errorf("config file %s: %w", o.File, err)
		}
	}
	if o.EnvPrefix != "" {
		if err := loadNamed(k, t, o); err != nil {
			return err
		}
		if err := loadEnvironment(k, t, o); err != nil {
			return err
		}
	}
	if o.Flags != nil {
		if err := loadFlags(k, t, o.Flags); err != nil {
			return err
		}
	}
	fresh := reflect.New(t)
	fresh.Elem().Set(v.Elem())
	err := k.UnmarshalWithConf("", fresh.Interface(), koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		TagName:     "koanf",
		ErrorUnused: true,
		MatchName:   func(key, field string) bool { return key == field },
		DecodeHook:  mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), mapstructure.TextUnmarshallerHookFunc()),
	}})
	if err != nil {
		// Every value was checked before, so this is a fault of the struct's tags;
		// the decoder's own words would show values.
		return fmt.Errorf("config: %s does not take the values that its fields announce", t)
	}
	v.Elem().Set(fresh.Elem())
	return nil
}

func readFile(name string) (map[string]any, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("config file %s does not exist", name)
	}
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	values, err := toml.Parser().Unmarshal(text)
	if err == nil {
		return values, nil
	}
	var at interface{ Position() (row, column int) }
	if errors.As(err, &at) {
		row, column := at.Position()
		return nil, fmt.Errorf("config file %s, line %d, column %d: %w", name, row, column, err)
	}
	return nil, fmt.Errorf("config file %s: %w", name, err)
}

// loadNamed takes the variables that fields name in their env tag. A blank one is
// unset, so that a line left empty in a unit file does not undo the file's value.
func loadNamed(k *koanf.Koanf, t reflect.Type, o Sources) error {
	environ := os.Environ
	if o.Environ != nil {
		environ = o.Environ
	}
	set := map[string]string{}
	for _, pair := range environ() {
		if name, text, ok := strings.Cut(pair, "="); ok && strings.TrimSpace(text) != "" {
			set[name] = text
		}
	}
	var faults []error
	values := map[string]any{}
	named(t, nil, func(name string, path []string) {
		text, ok := set[name]
		if !ok {
			return
		}
		value, err := fromText(t, path, text)
		if err != nil {
			faults = append(faults, fmt.Errorf("environment variable %s: %w", name, err))
			return
		}
		values[strings.Join(path, between)] = value
	})
	if err := k.Load(confmap.Provider(values, between), nil); err != nil {
		return fmt.Errorf("config: environment: %w", err)
	}
	return join(faults)
}

// named calls fn for each field with an env tag.
func named(t reflect.Type, path []string, fn func(name string, path []string)) {
	for key, f := range fieldsOf(t) {
		below := append(slices.Clone(path), key)
		if name := f.Tag.Get("env"); name != "" {
			fn(name, below)
		}
		if f.Type.Kind() == reflect.Struct && f.Type != durationType {
			named(f.Type, below, fn)
		}
	}
}

// loadEnvironment takes the variables with the prefix and a double underscore.
func loadEnvironment(k *koanf.Koanf, t reflect.Type, o Sources) error {
	var faults []error
	provider := env.Provider(between, env.Opt{
		Prefix:      o.EnvPrefix,
		EnvironFunc: o.Environ,
		TransformFunc: func(name, text string) (string, any) {
			rest := strings.TrimPrefix(name, o.EnvPrefix)
			if !strings.Contains(rest, "__") {
				return "", nil
			}
			path := strings.Split(strings.ToLower(rest), "__")
			value, err := fromText(t, path, text)
			if err != nil {
				faults = append(faults, fmt.Errorf("environment variable %s: %w", name, err))
				return "", nil
			}
			return strings.Join(path, between), value
		},
	})
	if err := k.Load(provider, nil); err != nil {
		return fmt.Errorf("config: environment: %w", err)
	}
	return join(faults)
}

// loadFlags takes the flags that were given on the command line.
func loadFlags(k *koanf.Koanf, t reflect.Type, flags *pflag.FlagSet) error {
	var faults []error
	provider := posflag.ProviderWithFlag(flags, between, k, func(f *pflag.Flag) (string, any) {
		key := f.Name
		if a := f.Annotations[KeyAnnotation]; len(a) == 1 {
			key = a[0]
		} else if !strings.Contains(key, ".") {
			return "", nil
		}
		if !f.Changed {
			return "", nil
		}
		path := strings.Split(key, ".")
		text := f.Value.String()
		if s, ok := f.Value.(pflag.SliceValue); ok {
			text = strings.Join(s.GetSlice(), ",")
		}
		value, err := fromText(t, path, text)
		if err != nil {
			faults = append(faults, fmt.Errorf("flag --%s: %w", f.Name, err))
			return "", nil
		}
		return strings.Join(path, between), value
	})
	if err := k.Load(provider, nil); err != nil {
		return fmt.Errorf("config: flags: %w", err)
	}
	return join(faults)
}

// join orders faults, so that the same mistakes read the same every time.
func join(faults []error) error {
	sort.Slice(faults, func(i, j int) bool { return faults[i].Error() < faults[j].Error() })
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return faults[0]
	}
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.Error()
	}
	return errors.New(strings.Join(texts, "; "))
}
