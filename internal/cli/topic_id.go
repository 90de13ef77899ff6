package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prova-dev/prova/internal/platform/near"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/topic"
)

// topicArg refuses an argument that cannot be the id of a topic, before anything is
// asked about it.
func topicArg(id string) error {
	if err := topic.CheckID(id); err != nil {
		return usageError("%w", hinted(err))
	}
	return nil
}

// unknownTopic adds to a refusal of a topic that a control plane does not have the one
// of its topics that may have been meant. Every other error stays as it is, and so
// does this one when the list cannot be read.
func unknownTopic(ctx context.Context, c *remote.Client, id string, err error) error {
	if !remote.IsStatus(err, http.StatusNotFound) {
		return err
	}
	if meant := nearTopic(ctx, c, id); meant != "" {
		return fmt.Errorf("%w; did you mean %s?", err, meant)
	}
	return err
}

// nearTopic is the topic of a control plane whose id is near another, "" when there
// is none.
func nearTopic(ctx context.Context, c *remote.Client, id string) string {
	docs, _, err := c.Topics(ctx, "all")
	if err != nil {
		// Not every control plane lists more than the open ones.
		if docs, _, err = c.Topics(ctx, ""); err != nil {
			return ""
		}
	}
	ids := make([]string, 0, len(docs))
	for _, d := range docs {
		if d.ID != id && topic.CheckID(d.ID) == nil {
			ids = append(ids, d.ID)
		}
	}
	return near.Word(id, ids)
}
