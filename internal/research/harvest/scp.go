package harvest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// errRefused says that a pod did not take what was staged.
var errRefused = errors.New("the pod did not take a staged file")

// put copies files below a directory of the pod by the protocol of scp's sink, which
// is what a pod has besides its shell. Directories are made as they are entered.
func (s *shell) put(dir string, files []staged) error {
	session, err := s.client.NewSession()
	if err != nil {
		return errLost
	}
	defer session.Close()
	in, err := session.StdinPipe()
	if err != nil {
		return errLost
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return errLost
	}
	session.Stderr = io.Discard
	if err := session.Start("scp -q -r -t -- " + quote(dir)); err != nil {
		return errLost
	}
	c := &copier{in: in, out: bufio.NewReader(out)}
	if err := c.all(files); err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return errLost
	}
	if err := session.Wait(); err != nil {
		return errRefused
	}
	return nil
}

// copier is the source's side of the protocol. Every message is acknowledged by one
// byte: 0, or 1 or 2 and a line of text, which is not shown.
type copier struct {
	in  io.Writer
	out *bufio.Reader
	at  []string // the directory that the sink is in
}

func (c *copier) all(files []staged) error {
	if err := c.acknowledged(); err != nil {
		return err
	}
	for _, f := range files {
		if err := c.enter(path.Dir(f.path)); err != nil {
			return err
		}
		if err := c.file(f); err != nil {
			return err
		}
	}
	return c.enter(".")
}

// enter moves the sink from the directory it is in to another.
func (c *copier) enter(dir string) error {
	var want []string
	if dir != "." {
		want = strings.Split(dir, "/")
	}
	same := 0
	for same < len(want) && same < len(c.at) && want[same] == c.at[same] {
		same++
	}
	for len(c.at) > same {
		c.at = c.at[:len(c.at)-1]
		if err := c.say("E\n"); err != nil {
			return err
		}
	}
	for _, name := range want[same:] {
		if err := c.say("D0700 0 " + name + "\n"); err != nil {
			return err
		}
		c.at = append(c.at, name)
	}
	return nil
}

func (c *copier) file(f staged) error {
	r, err := f.open()
	if err != nil {
		return errors.New("a staged file cannot be read")
	}
	defer r.Close()
	if err := c.say(fmt.Sprintf("C%04o %d %s\n", f.mode.Perm(), f.size, path.Base(f.path))); err != nil {
		return err
	}
	n, err := io.CopyN(c.in, r, f.size)
	if errors.Is(err, io.EOF) {
		return errors.New("a staged file changed while it was sent")
	}
	if err != nil || n != f.size {
		return errLost
	}
	return c.say("\x00")
}

func (c *copier) say(message string) error {
	if _, err := io.WriteString(c.in, message); err != nil {
		return errLost
	}
	return c.acknowledged()
}

func (c *copier) acknowledged() error {
	b, err := c.out.ReadByte()
	if err != nil {
		return errLost
	}
	if b != 0 {
		return errRefused
	}
	return nil
}
