package receipt

import (
	"embed"

	"github.com/prova-dev/prova/evidence/canonjson"
)

//go:embed builtin/published_keys.json builtin/freetsa-root.pem builtin/freetsa-signer.pem builtin/rekor-log.pem
var builtin embed.FS

// BuiltinTrust returns the public trust that ships with the program: the
// issuer's key history of T§11, the FreeTSA authority (T§9) and the Rekor v1
// log (T§10). The sources are files of the folder builtin, see its ORIGIN.md.
// Each call returns a fresh copy that the caller may change.
func BuiltinTrust() *Trust {
	t, err := readBuiltin()
	if err != nil {
		// The files are part of the build and a test reads them; a build with
		// damaged ones trusts nothing, so that nothing verifies with it.
		return &Trust{}
	}
	return t
}

func readBuiltin() (*Trust, error) {
	files := map[string]string{}
	for _, name := range []string{"published_keys.json", "freetsa-root.pem", "freetsa-signer.pem", "rekor-log.pem"} {
		data, err := builtin.ReadFile("builtin/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = string(data)
	}
	value, err := canonjson.ParseStrict([]byte(files["published_keys.json"]))
	if err != nil {
		return nil, err
	}
	published, err := asObject("", value)
	if err != nil {
		return nil, err
	}
	keys, _ := published.Get("keys")
	logKeys, _ := published.Get("rekor_keys")
	return readTrust(canonjson.NewObject(
		"issuer", canonjson.NewObject("keys", keys, "log_keys", logKeys),
		"timestamp_authorities", []any{canonjson.NewObject(
			"provider", "freetsa.org",
			"independent", true,
			"roots", []any{files["freetsa-root.pem"]},
			"certificates", []any{files["freetsa-signer.pem"]},
		)},
		"logs", []any{canonjson.NewObject(
			"name", "rekor.sigstore.dev",
			"public_pem", files["rekor-log.pem"],
			"origin", "rekor.sigstore.dev - 1193050959916656506",
			"independent", true,
		)},
	))
}
