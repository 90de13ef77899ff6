package cli

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/sr25519"
)

// newKeysCmd makes and checks the sr25519 keys of the research challenge.
func newKeysCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make and check the keys of the research challenge",
		Long: `Make and check the sr25519 keys of the research challenge: of topics, of miners and
of weight leaves.`,
		Example: `  prova keys new --out ~/proof/topic.key
  prova keys trust-root check challenges.toml --pin proof-pin.toml`,
	}
	root := &cobra.Command{
		Use:     "trust-root",
		Short:   "Check the pin's topic key against the trust root",
		Example: `  prova keys trust-root check challenges.toml --pin proof-pin.toml`,
	}
	root.AddCommand(newKeysTrustRootCheckCmd(env))
	cmd.AddCommand(newKeysNewCmd(env), root)
	return cmd
}

func newKeysNewCmd(env *Env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a secret and print its public key",
		Long: `Make a secret, write it as 64 hex characters with mode 0600 and print its public
key. A file that is there is never replaced; one inside a git checkout is refused.`,
		Example: `  prova keys new --out ~/proof/topic.key`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return usageError("--out is missing: name the file to write the secret to, outside every git checkout")
			}
			mini, err := sr25519.GenerateSecret(rand.Reader)
			if err != nil {
				return err
			}
			key, err := sr25519.NewSecretKey(mini)
			if err != nil {
				return err
			}
			if err := writeNewSecret(out, append(hex.AppendEncode(nil, mini), '\n')); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.Stdout, "secret      %s\npublic      %s\n", out, key.Public())
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write, mode 0600, outside every git checkout")
	return cmd
}

func newKeysTrustRootCheckCmd(env *Env) *cobra.Command {
	var pinFile, secret string
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check that the pin's topic key is the trust root's",
		Long: `Check that topic_pubkey of the pin is the key of the row "proof" of a trust root
(challenges.toml): a table named proof, or a row whose id or challenge_id is proof,
with its key as public_key, pubkey or key. --secret checks that a secret is of the
same key, without printing anything of it.`,
		Example: `  prova keys trust-root check challenges.toml --pin proof-pin.toml --secret ~/proof/topic.key`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := loadPinFile(env, pinFile)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			if err := p.CheckTrustRoot(data); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			key, err := p.TopicKey()
			if err != nil {
				return err
			}
			if secret != "" {
				own, err := sr25519.ReadSecret(secret)
				if err != nil {
					return err
				}
				if !own.Public().Equal(key) {
					return fmt.Errorf("%s is the secret of %s, not of %s", secret, own.Public(), key)
				}
			}
			_, err = fmt.Fprintf(env.Stdout, "topic key   %s\ntrust root  the same\n", key)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&pinFile, "pin", "", "pin file; without it the one of "+pinVariable)
	flags.StringVar(&secret, "secret", "", "secret file that must be of the same key")
	return cmd
}
