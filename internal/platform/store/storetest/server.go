package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// shared starts the server once for a test binary: initdb costs a second, a
// schema for each test only milliseconds.
var shared = sync.OnceValues(start)

// server is a running PostgreSQL: its address, and the pipe that keeps it alive
// as long as this process has it open.
type server struct {
	url  string
	pipe *os.File
}

// watch is the server's keeper. It reads a pipe whose other end the test binary
// holds: when that process ends, however it ends, the server is stopped and its
// folder removed, so a killed test leaves nothing running.
const watch = `
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=200 >"$2/log" 2>&1 </dev/null &
server=$!
read -r _
kill -QUIT $server
wait $server
rm -rf "$2"
`

func start() (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "prova-pg-")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL for tests: %w", err)
	}
	// The server refuses to run as root; its folder must then be its user's.
	role := "postgres"
	var as []string
	if os.Geteuid() == 0 {
		if err := give(dir, role); err != nil {
			return nil, err
		}
		as = []string{"runuser", "-u", role, "--"}
	}
	initdb := command(as, filepath.Join(bin, "initdb"), "-A", "trust", "-U", role, "-E", "UTF8", "--locale=C", "--no-sync", "-D", filepath.Join(dir, "data"))
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("PostgreSQL for tests: initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL for tests: %w", err)
	}
	keeper := command(as, "sh", "-c", watch, "sh", bin, dir)
	keeper.Dir = "/"
	keeper.Stdin = read
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches the test, the keeper tidies up.
	if err := keeper.Start(); err != nil {
		return nil, fmt.Errorf("PostgreSQL for tests: %w", err)
	}
	_ = read.Close()
	if err := ready(dir); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, fmt.Errorf("PostgreSQL for tests: %w: %s", err, bytes.TrimSpace(log))
	}
	address := url.URL{
		Scheme: "postgres", Path: "/postgres",
		RawQuery: url.Values{"host": {dir}, "user": {role}, "sslmode": {"disable"}}.Encode(),
	}
	return &server{url: address.String(), pipe: write}, nil
}

// binaries finds the folder of Debian's newest server, or that of a postgres on
// the path.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	newest, best := "", -1
	for _, f := range found {
		dir := filepath.Dir(f)
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if _, missing := os.Stat(filepath.Join(dir, "postgres")); err == nil && missing == nil && version > best {
			newest, best = dir, version
		}
	}
	if newest != "" {
		return newest, nil
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	return "", errors.New("PostgreSQL for tests: no server on this machine (looked for /usr/lib/postgresql/*/bin/initdb and postgres on PATH); run `make deps`, or set PROVA_TEST_POSTGRES_URL")
}

// give makes dir the folder of the account that the server runs as.
func give(dir, role string) error {
	account, err := user.Lookup(role)
	if err != nil {
		return fmt.Errorf("PostgreSQL for tests: no account for the server: %w; run `make deps`", err)
	}
	uid, uidErr := strconv.Atoi(account.Uid)
	gid, gidErr := strconv.Atoi(account.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return fmt.Errorf("PostgreSQL for tests: %w", err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return fmt.Errorf("PostgreSQL for tests: %w", err)
	}
	return nil
}

func command(as []string, name string, arg ...string) *exec.Cmd {
	if len(as) == 0 {
		as = []string{name}
	} else {
		as = append(as[:len(as):len(as)], name)
	}
	// The keeper outlives every test; the end of this process ends it.
	return exec.CommandContext(context.Background(), as[0], append(as[1:], arg...)...)
}

// ready waits for the line that the server adds to its pid file.
func ready(dir string) error {
	for began := time.Now(); time.Since(began) < 60*time.Second; time.Sleep(10 * time.Millisecond) {
		pid, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
		if errors.Is(err, os.ErrPermission) {
			return err
		}
		if lines := bytes.Split(pid, []byte("\n")); len(lines) > 7 && bytes.HasPrefix(lines[7], []byte("ready")) {
			return nil
		}
	}
	return errors.New("the server did not become ready within a minute")
}
