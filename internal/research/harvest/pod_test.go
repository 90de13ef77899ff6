package harvest

import (
	"bufio"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/prova-dev/prova/internal/research/family"
)

// pod is a rented machine: an SSH server that lets in the key of the rent alone, knows
// the sink of scp, and runs a function for the image's entry.
type pod struct {
	t                  *testing.T
	id, name, template string
	machine            map[string]any
	authorized         string
	listener           net.Listener
	signer             ssh.Signer
	run                func(*pod) int
	refuseFile         string        // a name that the sink does not take
	hangs              chan struct{} // closed when the pod stops
	silent             bool          // takes connections and says nothing
	signal             string        // the entry ends by this signal
	drop               bool          // the connection ends inside the run
	prepareExit        int

	mu       sync.Mutex
	looks    int
	files    map[string]string
	modes    map[string]string
	commands []string
	conns    []net.Conn
	stdout   io.Writer
	stopped  bool
	group    sync.WaitGroup
}

func newPod(t *testing.T, id, name, template, authorized string) *pod {
	p := &pod{t: t, id: id, name: name, template: template, authorized: authorized, files: map[string]string{}, modes: map[string]string{}, hangs: make(chan struct{})}
	_, key, err := ed25519.GenerateKey(nil)
	if err == nil {
		p.signer, err = ssh.NewSignerFromKey(key)
	}
	if err == nil {
		p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Error(err)
		return p
	}
	p.group.Go(p.accept)
	return p
}

func (p *pod) listed(readyAfter int) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	_, port, _ := net.SplitHostPort(p.listener.Addr().String())
	listed := map[string]any{
		"id": p.id, "pod_name": p.name, "status": "RUNNING", "ssh_connect_cmd": "ssh root@127.0.0.1 -p " + port,
		"executor": p.machine, "template": map[string]any{"id": p.template},
	}
	if p.looks <= readyAfter {
		listed["status"], listed["ssh_connect_cmd"] = "PENDING", nil
	}
	return listed
}

func (p *pod) stop() {
	p.mu.Lock()
	if !p.stopped {
		p.stopped = true
		close(p.hangs)
	}
	p.listener.Close()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
}

func (p *pod) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, conn)
		p.mu.Unlock()
		p.group.Go(func() { p.serve(conn) })
	}
}

func (p *pod) serve(conn net.Conn) {
	defer conn.Close()
	if p.silent {
		<-p.hangs
		return
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if meta.User() != "root" || strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) != p.authorized {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(p.signer)
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer server.Close()
	go ssh.DiscardRequests(requests)
	for c := range channels {
		if c.ChannelType() != "session" {
			_ = c.Reject(ssh.UnknownChannelType, "no")
			continue
		}
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		p.session(conn, channel, requests)
	}
}

func (p *pod) session(conn net.Conn, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		if r.Type != "exec" {
			_ = r.Reply(false, nil)
			continue
		}
		var exec struct{ Command string }
		if err := ssh.Unmarshal(r.Payload, &exec); err != nil {
			return
		}
		_ = r.Reply(true, nil)
		p.mu.Lock()
		p.commands = append(p.commands, exec.Command)
		p.mu.Unlock()
		exit := p.exec(channel, exec.Command)
		if p.drop && strings.Contains(exec.Command, entryPoint) {
			conn.Close()
			return
		}
		if p.signal != "" && strings.Contains(exec.Command, entryPoint) {
			_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
				Signal     string
				CoreDumped bool
				Message    string
				Language   string
			}{p.signal, false, "", ""}))
			return
		}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(exit)}))
		return
	}
}

func (p *pod) exec(channel ssh.Channel, command string) int {
	switch {
	case command == prepareCommand:
		return p.prepareExit
	case command == "scp -q -r -t -- '"+workDir+"'":
		if err := p.sink(channel); err != nil {
			return 1
		}
		return 0
	case strings.Contains(command, entryPoint):
		p.stdout = channel
		fmt.Fprintln(channel.Stderr(), "progress on stderr "+judgeKeyText)
		return p.run(p)
	}
	return 127
}

// sink is scp -r -t: what the protocol says, and complaints about anything else.
func (p *pod) sink(rw io.ReadWriter) error {
	r := bufio.NewReader(rw)
	ok := func() { _, _ = rw.Write([]byte{0}) }
	ok()
	var dirs []string
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			if len(dirs) != 0 {
				return errors.New("the source left inside a directory")
			}
			return nil
		}
		if err != nil {
			return err
		}
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		switch {
		case line == "E\n" && len(dirs) > 0:
			dirs = dirs[:len(dirs)-1]
		case strings.HasPrefix(line, "D") && len(parts) == 3 && parts[1] == "0":
			dirs = append(dirs, parts[2])
		case strings.HasPrefix(line, "C") && len(parts) == 3 && !strings.ContainsAny(parts[2], "/\n"):
			size, err := strconv.ParseInt(parts[1], 10, 64)
			if err != nil {
				return err
			}
			if parts[2] == p.refuseFile {
				_, _ = rw.Write([]byte("\x02scp: " + parts[2] + ": No space left on device " + judgeKeyText + "\n"))
				return errors.New("refused")
			}
			ok()
			data := make([]byte, size)
			if _, err := io.ReadFull(r, data); err != nil {
				return err
			}
			if end, err := r.ReadByte(); err != nil || end != 0 {
				return errors.New("no end of file")
			}
			name := path.Join(append(append([]string{}, dirs...), parts[2])...)
			p.files[name], p.modes[name] = string(data), parts[0]
		default:
			_, _ = rw.Write([]byte("\x01scp: protocol error\n"))
			return errors.New("protocol")
		}
		ok()
	}
}

// print writes to the stdout of the entry.
func (p *pod) print(lines ...string) {
	for _, line := range lines {
		fmt.Fprintln(p.stdout, line)
	}
}

// request is the request document as the image sees it.
func (p *pod) request() map[string]any {
	var v map[string]any
	if err := json.Unmarshal([]byte(p.files[requestFile]), &v); err != nil {
		p.t.Error(err)
	}
	return v
}

// document is a passing eval document for the staged request, changed by edits.
func (p *pod) document(edits ...func(doc, agent, harness map[string]any)) string {
	told := p.request()
	splits := map[string]any{}
	for _, name := range family.Splits() {
		splits[name] = 2.5
	}
	agent := map[string]any{
		"verdict": "clean", "reproduced": true, "claim_holds_public": true, "contamination": false, "canary_hit": false,
		"flops_used": 900, "flops_budget": told["flops_budget"], "cheat_codes": []string{}, "rationale": "looks fine",
		"topic_id": told["topic_id"], "family": told["family"],
	}
	harness := map[string]any{"holdout_nll": 2.5, "split_nll": splits, "wall_s": 100}
	doc := map[string]any{
		"schema_version": 1, "submission_digest": told["submission_digest"], "artifact_digest": told["artifact_digest"],
		"topic_id": told["topic_id"], "eval_image_digest": told["eval_image_digest"],
		"holdout_commitment": told["holdout_commitment"], "agent": agent, "harness": harness,
	}
	for _, edit := range edits {
		edit(doc, agent, harness)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		p.t.Error(err)
	}
	return string(text)
}

// evaluate is what the image does when all is well.
func (p *pod) evaluate() int {
	p.print("loading", metricsMarker+p.document(), okMarker)
	return 0
}
