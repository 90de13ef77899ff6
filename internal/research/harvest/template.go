package harvest

import (
	"context"
	"errors"
	"strings"
	"time"
)

// resolveTemplate returns the template of a name that is bound to image@digest and
// changes nothing of what the image starts, ready to be rented with (R§15.6). One
// that is listed under the name with another image, or with an entry point of its
// own, is passed over; without a fitting one a template is made.
func resolveTemplate(ctx context.Context, p Provider, name, image, digest string, poll time.Duration) (*Template, error) {
	made := false
	for {
		list, err := p.Templates(ctx)
		if err != nil {
			return nil, err
		}
		var found *Template
		for i := range list {
			if t := &list[i]; bound(t, name, image, digest) && !t.Failed {
				found = t
				break
			}
		}
		switch {
		case found != nil && found.Ready:
			return found, nil
		case found == nil && made:
			return nil, errors.New("the template that was made for the eval image is not bound to its digest or failed")
		case found == nil:
			t, err := p.CreateTemplate(ctx, name, image, digest)
			if err != nil {
				return nil, err
			}
			if !bound(t, name, image, digest) {
				return nil, errors.New("the provider made a template that is not bound to the eval image's digest")
			}
			made = true
		}
		if err := wait(ctx, poll); err != nil {
			return nil, errors.New("the template of the eval image did not become ready in time")
		}
	}
}

func bound(t *Template, name, image, digest string) bool {
	return t.Name == name && t.Image == image && strings.EqualFold(t.Digest, digest) && digest != "" && !t.Altered
}
