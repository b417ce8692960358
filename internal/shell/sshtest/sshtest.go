// Package sshtest gives tests a real sshd on loopback, and an ssh that knows it.
//
// A [Server] listens itself, and starts the sshd of the system for each connection, as inetd
// would: nothing outlives the test, and a test can cut the connections. Tests that use it run
// where make test-ssh sets [Variable], and fail where there is no sshd.
//
// All of it may be used from any goroutine.
package sshtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Variable is the environment variable that make test-ssh sets. Without it a test that needs
// an sshd is left out.
const Variable = "QUOIN_TEST_SSH"

// Need skips the test where make test runs it.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv(Variable) == "" {
		t.Skipf("needs the sshd of the system: make test-ssh runs it (%s=1)", Variable)
	}
}

// Server is an sshd for the user who runs the test.
type Server struct {
	// Bin is a directory with an ssh that has the key of the server, and one that it takes.
	Bin string
	// Address is the server's, as ssh://user@host:port.
	Address string

	t      testing.TB
	known  string // the file of known keys
	sshd   string
	config string
	mu     sync.Mutex
	conns  []net.Conn
	served sync.WaitGroup
}

// New starts a server. Programs that it starts have the variables, and no others of the test.
func New(t testing.TB, env ...string) *Server {
	t.Helper()
	Need(t)
	s := &Server{t: t, Bin: t.TempDir()}
	ssh, err := exec.LookPath("ssh")
	if err == nil {
		s.sshd, err = find("sshd")
	}
	if err != nil {
		t.Fatalf("%v: install openssh-client and openssh-server", err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address = fmt.Sprintf("ssh://%s@%s", me.Username, l.Addr())
	s.write(ssh, l.Addr().String(), env)
	go s.serve(l)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		s.Cut()
		s.served.Wait()
	})
	return s
}

// find looks where sbin is not in the PATH of users, too.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return exec.LookPath("/usr/sbin/" + program)
	}
	return path, nil
}

// write writes keys and configurations.
func (s *Server) write(ssh, address string, env []string) {
	s.t.Helper()
	dir := s.t.TempDir()
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			s.t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	hostKey, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		s.t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	s.config, s.known = filepath.Join(dir, "sshd_config"), filepath.Join(dir, "known_hosts")
	config := fmt.Sprintf("HostKey %[1]s/host\nAuthorizedKeysFile %[1]s/user.pub\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n", dir)
	if len(env) > 0 {
		config += `SetEnv "` + strings.Join(env, `" "`) + "\"\n"
	}
	err = errors.Join(
		os.WriteFile(s.known, []byte("[127.0.0.1]:"+port+" "+string(hostKey)), 0o600),
		os.WriteFile(filepath.Join(dir, "ssh_config"), fmt.Appendf(nil, "IdentityFile %[1]s/user\nIdentitiesOnly yes\nUserKnownHostsFile %[1]s/known_hosts\nGlobalKnownHostsFile none\n", dir), 0o600),
		os.WriteFile(s.config, []byte(config), 0o600),
		os.WriteFile(filepath.Join(s.Bin, "ssh"), []byte("#!/bin/sh\nexec "+ssh+" -F "+dir+"/ssh_config \"$@\"\n"), 0o700),
	)
	if os.Geteuid() == 0 { // the sshd of root wants an empty directory, which the package makes when it starts its own
		err = errors.Join(err, os.MkdirAll("/run/sshd", 0o755))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// serve starts an sshd for each connection.
func (s *Server) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // the test has ended
		}
		if err := s.answer(c); err != nil {
			s.t.Errorf("sshd: %v", err)
		}
	}
}

func (s *Server) answer(c net.Conn) error {
	cmd := exec.Command(s.sshd, "-i", "-f", s.config)
	cmd.Stdout = c
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.conns = append(s.conns, c)
	s.served.Go(func() {
		_, _ = io.Copy(in, c) // it fails when it is cut
		_ = in.Close()
	})
	s.served.Go(func() {
		_ = cmd.Wait() // likewise
		_ = c.Close()
	})
	return nil
}

// Cut ends all connections, as a network that fails does.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close() // it may be closed
	}
	s.conns = nil
}

// Forget takes the key of the server from those that ssh knows.
func (s *Server) Forget() error { return os.Truncate(s.known, 0) }
