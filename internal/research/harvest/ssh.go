package harvest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	handshakeTimeout = 20 * time.Second
	keepalive        = 30 * time.Second
)

// errLost says that a pod stopped answering.
var errLost = errors.New("the connection to the pod was lost")

// sshKey is the pair that pods are reached with.
type sshKey struct {
	signer ssh.Signer
	public string // a line of authorized_keys, without comment
}

// loadSSHKey reads the pair; the private half defaults to the public file's name
// without ".pub". Whatever is wrong, the error is the gate's, without a path.
func loadSSHKey(publicFile, privateFile string) (*sshKey, error) {
	text, err := readSmall(publicFile)
	if err != nil {
		return nil, errSSHKey
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, errSSHKey
	}
	if privateFile == "" {
		var ok bool
		if privateFile, ok = strings.CutSuffix(publicFile, ".pub"); !ok {
			return nil, errSSHKey
		}
	}
	pem, err := readSmall(privateFile)
	if err != nil {
		return nil, errSSHKey
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil || !bytes.Equal(signer.PublicKey().Marshal(), public.Marshal()) {
		return nil, errSSHKey
	}
	return &sshKey{signer: signer, public: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))}, nil
}

// shell is a connection to a pod.
type shell struct {
	client *ssh.Client
	stop   func() bool
	done   chan struct{}
}

// dial connects to a pod; everything over the connection ends with ctx. A fresh pod
// has a host key that nobody told us: what the first connection shows is taken, and
// nothing else on a later one to the same pod.
func dial(ctx context.Context, at Endpoint, key *sshKey, seen *ssh.PublicKey) (*shell, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	address := net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, errLost // the error has the address in it
	}
	cut := context.AfterFunc(ctx, func() { conn.Close() })
	defer cut()
	c, channels, requests, err := ssh.NewClientConn(conn, address, &ssh.ClientConfig{
		User: at.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key.signer)},
		HostKeyCallback: func(_ string, _ net.Addr, shown ssh.PublicKey) error {
			if *seen == nil {
				*seen = shown
			}
			if !bytes.Equal((*seen).Marshal(), shown.Marshal()) {
				return errors.New("the pod shows another host key")
			}
			return nil
		},
	})
	if err != nil {
		conn.Close()
		return nil, errLost
	}
	return &shell{client: ssh.NewClient(c, channels, requests), done: make(chan struct{})}, nil
}

// until ends the connection with ctx, and when the pod stops answering.
func (s *shell) until(ctx context.Context) {
	s.stop = context.AfterFunc(ctx, func() { s.client.Close() })
	go func() {
		ticks := time.NewTicker(keepalive)
		defer ticks.Stop()
		for {
			select {
			case <-s.done:
				return
			case <-ticks.C:
			}
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				_, _, _ = s.client.SendRequest("keepalive@openssh.com", true, nil)
			}()
			select {
			case <-answered:
			case <-s.done:
				return
			case <-time.After(keepalive):
				s.client.Close()
				return
			}
		}
	}()
}

func (s *shell) close() {
	close(s.done)
	if s.stop != nil {
		s.stop()
	}
	s.client.Close()
}

// run runs a command and returns its exit status, 128 and its number for a signal.
// Its stderr is read and dropped.
func (s *shell) run(command string, stdout *output) (int, error) {
	stdout.over = func() { s.client.Close() }
	session, err := s.client.NewSession()
	if err != nil {
		return 0, errLost
	}
	defer session.Close()
	session.Stdout, session.Stderr = stdout, io.Discard
	err = session.Run(command)
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	}
	return 0, errLost
}
