// Package config fills a configuration struct from, in rising order of
// precedence, the values already in it (the defaults), a TOML file, the
// environment and command-line flags.
//
// Invariants:
//
//   - Nothing is ignored: a key that the struct does not have is refused by
//     name, with the nearest one that exists.
//   - A value of the wrong type is refused by its key. The message never holds
//     the value, which may be a secret.
//   - Print never shows a field marked secret.
//
// The struct says it all, by tags:
//
//	type Config struct {
//		Store struct {
//			URL string `koanf:"url" secret:"url"` // Only its password is masked.
//		} `koanf:"store"`
//		Challenge struct {
//			Secret string        `koanf:"secret" secret:"true"`
//			Open   bool          `koanf:"open"`
//			Wait   time.Duration `koanf:"wait"`
//		} `koanf:"challenge"`
//		Upstreams map[string]string `koanf:"upstreams"`
//	}
//
// The environment's form of store.url is PROVA_STORE__URL. Variables without
// the double underscore (PROVA_API_KEY of an agent, for one) are not
// configuration. A field may name a variable of its own besides, in the tag
// env:"PROOF_PIN_FILE", where a specification gives it a name; PROVA_… ranks above
// it. A flag sets the key that it is named after (--store.url), or the
// one in its annotation KeyAnnotation.
package config
