package host

import (
	"net/url"
	"strings"
)

// withheld stands where a text of somebody else would have shown a secret.
const withheld = "[withheld]"

// safe takes the judge's origins and the paths of the operator's files out of a text
// that another room made. Those rooms promise as much; this is the second look.
func (h *Host) safe(text string) string {
	s := h.known.Load()
	secrets := []string{
		h.o.SecretOrigin, string(s.files.origin),
		h.o.Files.Topics, h.o.Files.Holdout, h.o.Files.Baseline, h.o.Files.InferenceOffer, h.o.Files.InferenceKey,
		h.o.Files.InferenceBaseURL, h.o.Files.ExecutorOffer,
	}
	if s.files.inference != nil {
		secrets = append(secrets, string(s.files.inference.BaseURL))
	}
	for _, secret := range secrets {
		text = conceal(text, strings.TrimSpace(secret))
		if u, err := url.Parse(secret); err == nil && u.Host != "" {
			text = conceal(text, u.Host)
		}
	}
	return text
}

// conceal leaves short strings alone: "/" is no secret.
func conceal(text, secret string) string {
	const short = 4
	if len(secret) < short {
		return text
	}
	return strings.ReplaceAll(text, secret, withheld)
}
