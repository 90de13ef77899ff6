package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxLine is the longest line that is kept: the season takes no longer body.
	maxLine = 1 << 20
	// endTime is what a process group has between SIGTERM and SIGKILL.
	endTime = 2 * time.Second
	// lingerTime is how long outputs may stay open after the command has ended, by
	// what it left running.
	lingerTime = time.Second
	// lingerBytes bounds what is read of an output after that.
	lingerBytes = 1 << 20
)

// line is one line of an output without its end. left counts the bytes of it that
// were not kept.
type line struct {
	text []byte
	left int64
}

// process is a shell command in a process group of its own, with both outputs read
// line by line. The two functions are called one line at a time each.
type process struct {
	command        string
	env            []string
	input          []byte
	stdout, stderr func(line)
}

// run starts the command and returns when it has ended and its outputs are read.
// The error says that it could not be started.
func (p *process) run(ctx context.Context) (*os.ProcessState, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", p.command)
	cmd.Env = p.env
	cmd.Stdin = bytes.NewReader(p.input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	outputs, err := p.connect(cmd)
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	for _, o := range outputs {
		_ = o.write.Close() // The command has its own copy.
	}
	if err != nil {
		for _, o := range outputs {
			_ = o.read.Close()
		}
		return nil, notStarted(err)
	}
	var reading sync.WaitGroup
	for _, o := range outputs {
		reading.Go(func() { o.lines(ctx) })
	}
	read := make(chan struct{})
	go func() { reading.Wait(); close(read) }()
	// Its error is an exit status, which the state holds, or that input or outputs
	// were still open, which is dealt with below.
	_ = cmd.Wait()
	linger := time.NewTimer(lingerTime)
	defer linger.Stop()
	select {
	case <-read:
	case <-ctx.Done():
	case <-linger.C:
	}
	// No error means that something was left; there is nothing to do about one.
	_ = signalGroup(cmd, syscall.SIGKILL)
	for _, o := range outputs {
		o.end()
	}
	<-read
	return cmd.ProcessState, nil
}

// connect gives the command two pipes.
func (p *process) connect(cmd *exec.Cmd) ([]*output, error) {
	var outputs []*output
	for _, take := range []func(line){p.stdout, p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			for _, o := range outputs {
				_, _ = o.read.Close(), o.write.Close()
			}
			return nil, err
		}
		outputs = append(outputs, &output{read: r, write: w, take: take})
	}
	cmd.Stdout, cmd.Stderr = outputs[0].write, outputs[1].write
	return outputs, nil
}

// signalGroup signals the command's process group, which bears its process id.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

func signalOf(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return int(s.Signal())
	}
	return 0
}

// output is the reading end of a pipe. After end it waits for further bytes only a
// moment at a time and takes a bounded number of them: a process that left the
// group may hold the other end for ever.
type output struct {
	read, write *os.File
	take        func(line)
	ended       atomic.Bool
	late        int64
}

func (o *output) end() {
	o.ended.Store(true)
	_ = o.read.SetReadDeadline(time.Now().Add(lingerTime)) // A file without deadlines has an end of its own.
}

func (o *output) Read(p []byte) (int, error) {
	if !o.ended.Load() {
		return o.read.Read(p)
	}
	if o.late >= lingerBytes {
		return 0, io.EOF
	}
	_ = o.read.SetReadDeadline(time.Now().Add(lingerTime))
	n, err := o.read.Read(p)
	o.late += int64(n)
	return n, err
}

// lines takes line after line until the output ends. Once ctx has ended the rest
// is read and not taken.
func (o *output) lines(ctx context.Context) {
	defer o.read.Close()
	r := bufio.NewReaderSize(o, 64<<10)
	for {
		l, err := readLine(r)
		if (err == nil || len(l.text) > 0) && ctx.Err() == nil {
			o.take(l)
		}
		if err != nil {
			return
		}
	}
}

// readLine reads up to the next line feed and keeps at most maxLine bytes. The
// last line may lack its line feed and comes with the error.
func readLine(r *bufio.Reader) (line, error) {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		keep := part
		if err == nil {
			keep = part[:len(part)-1]
		}
		n := min(len(keep), maxLine-len(l.text))
		l.text = append(l.text, keep[:n]...)
		l.left += int64(len(keep) - n)
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.text = bytes.TrimSuffix(l.text, []byte("\r"))
			return l, err
		}
	}
}
