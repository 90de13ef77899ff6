package httpx

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits bound what one connection may cost. The zero value of a member means
// the default beside it.
type Limits struct {
	ReadHeader     time.Duration // The request line and headers: 5 s.
	Read           time.Duration // The whole request, body included: 20 s.
	Write          time.Duration // From the end of the headers to the end of the answer: 150 s, longer than a proxied call.
	Idle           time.Duration // Between two requests: 60 s.
	MaxHeaderBytes int           // 32 KiB; more is answered 431.
}

// Server is an http.Server with every timeout set; net/http's own defaults wait
// for ever. What the server itself has to say goes to log.
func Server(h http.Handler, l Limits, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: or(l.ReadHeader, 5*time.Second),
		ReadTimeout:       or(l.Read, 20*time.Second),
		WriteTimeout:      or(l.Write, 150*time.Second),
		IdleTimeout:       or(l.Idle, 60*time.Second),
		MaxHeaderBytes:    or(l.MaxHeaderBytes, 32<<10),
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // Broken handshakes and the like: anyone can cause them.
	}
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Middleware wraps a handler.
type Middleware func(http.Handler) http.Handler

// Chain applies middleware; the first is the outermost.
func Chain(h http.Handler, m ...Middleware) http.Handler {
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}
