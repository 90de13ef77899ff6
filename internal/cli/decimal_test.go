package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// researchCommands are the commands of the research challenge that take numbers.
func researchCommands(env *Env) []*cobra.Command {
	return []*cobra.Command{
		newSubmitCmd(env), newTopicCmd(env), newBaselineCmd(env), newHoldoutCmd(env), newOfferCmd(env), newKeysCmd(env), newSandboxCmd(env), newResearchCmd(env),
	}
}

// TestEveryCountOfAResearchCommandIsReadAsDigitsAlone finds the flags by itself, so
// that one which is added later is held to the rule too.
func TestEveryCountOfAResearchCommandIsReadAsDigitsAlone(t *testing.T) {
	t.Parallel()
	env := &Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Getenv: func(string) string { return "" }}
	found := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch f.Value.(type) {
			case *decimal[int], *decimal[uint32], *decimal[uint64]:
				found[f.Name] = true
			default:
				if strings.Contains(f.Value.Type(), "int") || f.Value.Type() == "count" {
					t.Errorf("%s --%s is read by the library: use decimalVar", cmd.CommandPath(), f.Name)
				}
				return
			}
			for _, text := range []string{"", "01000", "00", "0x3e8", "0b1", "0o7", "100_000", "2e5", "1.0", "+1", "-1", " 1", "1 ", "١", "18446744073709551616"} {
				was := f.Value.String()
				if err := cmd.Flags().Set(f.Name, text); err == nil || f.Value.String() != was {
					t.Errorf("%s --%s %q: %s, %v", cmd.CommandPath(), f.Name, text, f.Value, err)
				}
			}
			for _, text := range []string{"0", "7", "1000", "4294967295"} {
				if err := cmd.Flags().Set(f.Name, text); err != nil || f.Value.String() != text {
					t.Errorf("%s --%s %q: %s, %v", cmd.CommandPath(), f.Name, text, f.Value, err)
				}
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	for _, cmd := range researchCommands(env) {
		walk(cmd)
	}
	for _, name := range []string{"flops", "size", "first-id", "epoch", "max-proof-deadline-s", "max-input-tokens", "max-output-tokens", "timeout-ms", "limit", "baseline-flops"} {
		if !found[name] {
			t.Errorf("--%s is not among them", name)
		}
	}
}

func TestARefusedCountNamesItsFlagAndWhatIsWanted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for text, want := range map[string]string{
		"01000":                `--flops "01000": want an integer in digits without a leading zero, such as 1000: run 'prova submit --help'`,
		"0x3e8":                `--flops "0x3e8": want an integer in digits`,
		"100_000":              `--flops "100_000": want an integer in digits`,
		"2e5":                  `--flops "2e5": want an integer in digits`,
		"18446744073709551616": `--flops "18446744073709551616": want an integer of at most 18446744073709551615`,
	} {
		b.expect(64, "submit", "--flops", text, "recipe").err(want)
	}
	if n := len(b.plane.Posts()); n != 0 {
		t.Errorf("%d submissions were sent", n)
	}
}
