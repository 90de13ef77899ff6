package config_test

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/config"
)

type example struct {
	Store struct {
		URL string `koanf:"url" secret:"url"`
	} `koanf:"store"`
	Challenge struct {
		Secret string        `koanf:"secret" secret:"true"`
		Open   bool          `koanf:"open"`
		Wait   time.Duration `koanf:"wait"`
		Keys   []string      `koanf:"keys" secret:"true"`
	} `koanf:"challenge"`
	Limits struct {
		SignUps uint16     `koanf:"sign_ups"`
		Rate    float64    `koanf:"rate"`
		From    netip.Addr `koanf:"from"`
	} `koanf:"limits"`
	Upstreams map[string]string `koanf:"upstreams"`
	Providers []struct {
		Name string `koanf:"name"`
		URL  string `koanf:"url"`
	} `koanf:"providers"`
	internal int
}

func file(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "prova.toml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func environ(vars ...string) func() []string { return func() []string { return vars } }

func TestFlagsWinOverEnvironmentOverFileOverDefaults(t *testing.T) {
	var c example
	c.Store.URL, c.Challenge.Wait, c.Limits.SignUps = "sqlite:default", time.Second, 5
	c.Upstreams = map[string]string{"default.test": "127.0.0.1:1"}
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	flags.String("config", "", "")
	flags.Bool("help", false, "")
	flags.String("store.url", "", "")
	flags.Int("sign-ups", 0, "")
	flags.Int("limits.rate", 9, "")
	require.NoError(t, flags.SetAnnotation("sign-ups", config.KeyAnnotation, []string{"limits.sign_ups"}))
	require.NoError(t, flags.Parse([]string{"--config", "x", "--sign-ups", "99"}))
	require.NoError(t, config.Load(&c, config.Sources{
		File: file(t, `
			[store]
			url = "sqlite:file"
			[challenge]
			secret = "from file"
			wait = "90s"
			[limits]
			sign_ups = 7
			rate = 2
			from = "192.0.2.1"
			[upstreams]
			"conformite.corpus.prova.test" = "127.0.0.1:8080"
			[[providers]]
			name = "a"
			url = "http://a"
		`),
		EnvPrefix: "PROVA_",
		Environ:   environ("PROVA_CHALLENGE__SECRET=from env", "PROVA_CHALLENGE__OPEN=true", "PROVA_CHALLENGE__KEYS=a, b", "PROVA_LIMITS__SIGN_UPS=8", "PROVA_API_KEY=not configuration", "OTHER__X=1"),
		Flags:     flags,
	}))
	require.Equal(t, "sqlite:file", c.Store.URL)
	require.Equal(t, "from env", c.Challenge.Secret)
	require.True(t, c.Challenge.Open)
	require.Equal(t, 90*time.Second, c.Challenge.Wait)
	require.Equal(t, []string{"a", "b"}, c.Challenge.Keys)
	require.EqualValues(t, 99, c.Limits.SignUps)
	require.InDelta(t, 2, c.Limits.Rate, 0)
	require.Equal(t, "192.0.2.1", c.Limits.From.String())
	require.Equal(t, map[string]string{"default.test": "127.0.0.1:1", "conformite.corpus.prova.test": "127.0.0.1:8080"}, c.Upstreams)
	require.Equal(t, "http://a", c.Providers[0].URL)
}

func TestMistakesAreNamedWithTheirKeyAndAFix(t *testing.T) {
	flags := func(name, value string) *pflag.FlagSet {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		f.String(name, "", "")
		require.NoError(t, f.Set(name, value))
		return f
	}
	for name, c := range map[string]struct {
		file string
		env  []string
		flag *pflag.FlagSet
		want string
	}{
		"a misspelt key of the file":    {file: "[challenge]\nsercet = 'hush'", want: "unknown key challenge.sercet; did you mean challenge.secret?"},
		"a key in the wrong case":       {file: "[challenge]\nSecret = 'hush'", want: "unknown key challenge.Secret; did you mean challenge.secret?"},
		"a misspelt section":            {file: "[upstream]\n", want: "unknown key upstream; did you mean upstreams?"},
		"a key like no other":           {file: "[challenge]\nzzzzzzzzzz = 1", want: "known here: keys, open, secret, wait"},
		"a misspelt key in an array":    {file: "[[providers]]\nnam = 'x'", want: "unknown key providers.0.nam; did you mean providers.0.name?"},
		"two mistakes at once":          {file: "[challenge]\nopne = true\nwiat = '1s'", want: "challenge.opne; did you mean challenge.open?; unknown key challenge.wiat"},
		"a string for a boolean":        {file: "[challenge]\nopen = 'hush'", want: "challenge.open must be true or false"},
		"an integer for a string":       {file: "[challenge]\nsecret = 5", want: "challenge.secret must be a string"},
		"a duration without a unit":     {file: "[challenge]\nwait = '90'", want: "challenge.wait must be a duration with its unit"},
		"a number for a duration":       {file: "[challenge]\nwait = 90", want: "challenge.wait must be a duration with its unit"},
		"an integer out of bounds":      {file: "[limits]\nsign_ups = 65536", want: "limits.sign_ups must be an integer within bounds"},
		"a negative count":              {file: "[limits]\nsign_ups = -1", want: "limits.sign_ups must be an integer within bounds"},
		"a value for a section":         {file: "challenge = 'hush'", want: "challenge must be a table"},
		"a table for an array":          {file: "[providers]\nname = 'x'", want: "providers must be an array"},
		"a bad address":                 {file: "[limits]\nfrom = 'hush'", want: "limits.from must be the text of a netip.Addr"},
		"a key given twice":             {file: "[challenge]\nopen = true\nopen = false", want: "key open is already defined"},
		"no TOML":                       {file: "[challenge\n", want: "line 1"},
		"a misspelt variable":           {env: []string{"PROVA_CHALLENGE__SERCET=hush"}, want: "environment variable PROVA_CHALLENGE__SERCET: unknown key challenge.sercet; did you mean challenge.secret?"},
		"a variable of the wrong type":  {env: []string{"PROVA_LIMITS__SIGN_UPS=hush"}, want: "environment variable PROVA_LIMITS__SIGN_UPS: limits.sign_ups must be an integer within bounds"},
		"an empty variable for a count": {env: []string{"PROVA_LIMITS__SIGN_UPS="}, want: "must be an integer"},
		"a variable below a value":      {env: []string{"PROVA_CHALLENGE__OPEN__X=1"}, want: "challenge.open has nothing below it"},
		"a flag of the wrong type":      {flag: flags("challenge.open", "hush"), want: "flag --challenge.open: challenge.open must be true or false"},
		"a flag of no key":              {flag: flags("challenge.opne", "true"), want: "did you mean challenge.open?"},
	} {
		t.Run(name, func(t *testing.T) {
			var dst, untouched example
			o := config.Sources{EnvPrefix: "PROVA_", Environ: environ(c.env...), Flags: c.flag}
			if c.file != "" {
				o.File = file(t, c.file)
			}
			err := config.Load(&dst, o)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "'hush'", "values may be secrets")
			require.NotContains(t, err.Error(), `"hush"`)
			require.Equal(t, untouched, dst, "nothing is half configured")
		})
	}
	var dst example
	require.ErrorContains(t, config.Load(&dst, config.Sources{File: "/nonexistent/prova.toml"}), "does not exist")
	require.Error(t, config.Load(dst, config.Sources{}))
}

func TestPrintMasksSecretsAndReadsBack(t *testing.T) {
	var c example
	c.Store.URL = "postgres://prova:hunter2@db/prova?sslmode=disable&sslpassword=hunter3"
	c.Challenge.Secret, c.Challenge.Keys, c.Challenge.Wait = "hunter4", []string{"hunter5"}, time.Minute
	c.Upstreams = map[string]string{"a.test": "127.0.0.1:1"}
	c.Limits.From = netip.MustParseAddr("192.0.2.1")
	c.internal = 1
	var out bytes.Buffer
	require.NoError(t, config.Print(&out, &c))
	require.NotContains(t, out.String(), "hunter")
	require.Contains(t, out.String(), `secret = "********"`)
	require.Contains(t, out.String(), "prova:xxxxx@db")
	require.Contains(t, out.String(), `wait = "1m0s"`)

	var back example
	require.NoError(t, config.Load(&back, config.Sources{File: file(t, out.String())}))
	require.Equal(t, c.Upstreams, back.Upstreams)
	require.Equal(t, "********", back.Challenge.Secret)

	out.Reset()
	require.NoError(t, config.Print(&out, example{}))
	require.Contains(t, out.String(), `secret = ""`, "a missing secret shows as missing")
}

func FuzzLoad(f *testing.F) {
	f.Add("[challenge]\nopen = true")
	f.Add("[store]\nurl = 1e400\n[[providers]]\nname = {a=1}")
	f.Add("a.b.c = [[1],{x=2}]")
	f.Fuzz(func(t *testing.T, text string) {
		name := file(t, text)
		var c example
		_ = config.Load(&c, config.Sources{File: name})
	})
}

func TestAFieldsOwnVariableRanksBetweenFileAndPrefix(t *testing.T) {
	type own struct {
		Research struct {
			Pin   string   `koanf:"pin" env:"PROOF_PIN_FILE"`
			Cap   uint32   `koanf:"cap" env:"PROOF_CAP"`
			Ids   []string `koanf:"ids" env:"PROOF_IDS"`
			Other string   `koanf:"other" env:"PROOF_OTHER"`
		} `koanf:"research"`
	}
	text := file(t, "[research]\npin = \"file\"\nother = \"file\"\n")
	var c own
	require.NoError(t, config.Load(&c, config.Sources{File: text, EnvPrefix: "PROVA_",
		Environ: environ("PROOF_PIN_FILE=named", "PROOF_IDS=a, b", "PROOF_CAP=7", "PROOF_OTHER=  ", "PROVA_RESEARCH__CAP=8")}))
	require.Equal(t, "named", c.Research.Pin)
	require.Equal(t, []string{"a", "b"}, c.Research.Ids)
	require.Equal(t, uint32(8), c.Research.Cap)
	require.Equal(t, "file", c.Research.Other, "a blank variable is unset")

	err := config.Load(&c, config.Sources{EnvPrefix: "PROVA_", Environ: environ("PROOF_CAP=many")})
	require.EqualError(t, err, "environment variable PROOF_CAP: research.cap must be an integer within bounds")
	var plain own
	require.NoError(t, config.Load(&plain, config.Sources{Environ: environ("PROOF_PIN_FILE=x")}))
	require.Empty(t, plain.Research.Pin, "without a prefix the environment is not read")
}
