package agentd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
)

const shutdownTime = 45 * time.Second // Below the 60 s that the service manager waits (R§24.4).

// Listen opens the agent's listener. Without a certificate the address must be
// loopback: the bearer must not cross a network in the open (R§24.4).
func Listen(ctx context.Context, bind, certFile, keyFile string) (net.Listener, error) {
	if (certFile == "") != (keyFile == "") {
		return nil, errors.New("TLS needs both a certificate and its key, or neither on loopback")
	}
	var config *tls.Config
	if certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("TLS certificate %s with key %s: %w", certFile, keyFile, err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	} else if at, err := net.ResolveTCPAddr("tcp", bind); err != nil {
		return nil, fmt.Errorf("bind address %q: %w", bind, err)
	} else if !at.IP.IsLoopback() {
		return nil, fmt.Errorf("bind address %q is not loopback: without a TLS certificate and key the bearer would cross the network in the open", bind)
	} else {
		bind = at.String() // The name must not become another address between the check and the call.
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", bind)
	if err != nil {
		return nil, err
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return listener, nil
}

// Serve answers on the listener until ctx ends, then stops in order: nothing new
// is taken, jobs are cancelled and answered, VMs are released. It returns nil
// after an orderly stop.
func (a *Agent) Serve(ctx context.Context, listener net.Listener) error {
	server := httpx.Server(a.Handler(), httpx.Limits{}, a.o.Log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- a.Close(stopping) }()
	if down := server.Shutdown(stopping); down != nil {
		err = errors.Join(err, down, server.Close())
	}
	return errors.Join(err, <-closed)
}
