package client_test

import (
	"encoding/pem"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/sandbox/client"
)

func TestDecision12AnAgentOnThisMachineIsNoRemoteOneWhateverItIsCalled(t *testing.T) {
	a := &agent{t: t}
	server := httptest.NewUnstartedServer(a)
	all, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	server.Listener = all
	server.StartTLS()
	defer server.Close()
	_, port, err := net.SplitHostPort(all.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	authority := file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	hosts := []string{"0.0.0.0", "[::]", "127.0.0.2"}
	local, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range local {
		if n, ok := l.(*net.IPNet); ok && n.IP.To4() != nil {
			hosts = append(hosts, n.IP.String())
		}
	}
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			o := client.Options{URL: "https://" + host + ":" + port, TokenFile: file(t, "token", token), CAFile: authority, ImageDigest: image, Remote: true}
			c, err := client.New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err = c.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "its address is of this machine") {
				t.Errorf("a remote agent on %s: %v", host, err)
			}
			if a.calls.Load() != 0 {
				t.Error("the bearer was sent")
			}
		})
	}
	c, err := client.New(client.Options{URL: "https://127.0.0.1:" + port, TokenFile: file(t, "token", token), CAFile: authority, ImageDigest: image})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err = c.Probe(t.Context()); err != nil {
		t.Errorf("for development it may be there: %v", err)
	}
}
