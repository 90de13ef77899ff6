package obs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// NewLogger writes to w. level is debug, info, warn or error; format is text or
// json. Lines made with a context carry its request id as request_id. Times are
// UTC.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	switch strings.ToLower(level) {
	case "debug":
		l = slog.LevelDebug
	case "info", "":
		l = slog.LevelInfo
	case "warn":
		l = slog.LevelWarn
	case "error":
		l = slog.LevelError
	default:
		return nil, fmt.Errorf("log level %q: write debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l, ReplaceAttr: utc}
	switch strings.ToLower(format) {
	case "text", "":
		return slog.New(withRequest{slog.NewTextHandler(w, o)}), nil
	case "json":
		return slog.New(withRequest{slog.NewJSONHandler(w, o)}), nil
	}
	return nil, fmt.Errorf("log format %q: write text or json", format)
}

func utc(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 && a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

type requestKey struct{}

// WithRequestID puts a request's id into the context of everything done for it.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestID is the id that WithRequestID put there, or empty.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// withRequest adds the id to each line.
type withRequest struct{ slog.Handler }

func (h withRequest) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h withRequest) WithAttrs(a []slog.Attr) slog.Handler {
	return withRequest{h.Handler.WithAttrs(a)}
}

func (h withRequest) WithGroup(name string) slog.Handler {
	return withRequest{h.Handler.WithGroup(name)}
}
