package confine_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/execution"
)

// probeArgument marks the test binary as a probe in a sandbox; the name follows.
const probeArgument = "sandbox-probe"

// beProbe tries one escape and says how it was refused.
func beProbe(name string) {
	err := escapes[name].try()
	var errno unix.Errno
	switch {
	case err == nil:
		fmt.Println("it worked")
	case errors.As(err, &errno):
		fmt.Println(unix.ErrnoName(errno))
	default:
		fmt.Println(err)
	}
	os.Exit(0)
}

// TestEveryEscapeFails tries every escape in a sandbox and accepts no other refusal than
// the one that is named.
func TestEveryEscapeFails(t *testing.T) {
	m := newMachine(t)
	for name, e := range escapes {
		t.Run(name, func(t *testing.T) {
			out := m.probe(t, name)
			var want []string
			for _, errno := range e.want {
				want = append(want, unix.ErrnoName(errno))
			}
			if !slices.Contains(want, out) {
				t.Errorf("%s; want %s", out, strings.Join(want, " or "))
			}
		})
	}
	m.isWhole(t)
}

// TestTheEscapesWorkOutside shows that the attempts are real: what they are after is
// there for a process without a sandbox.
func TestTheEscapesWorkOutside(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"a file outside", "a file outside by a link", "a file outside by dots", "a hidden file",
		"see another process", "a server of the machine", "an abstract socket", "a socket of a directory", "a datagram by a pair", "chmod u+s"} {
		t.Run(name, func(t *testing.T) {
			m.fresh(t)
			cmd := exec.Command("/proc/self/exe", probeArgument, name)
			cmd.Env = m.variables
			out, err := cmd.Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != "it worked" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestAsAnOrdinaryUser runs the tests of the package once more as another user, if the
// user is root.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the user is an ordinary one")
	}
	if testing.Short() {
		t.Skip("it takes as long as all other tests, which are run as an ordinary user by themselves, too")
	}
	const user = 65534
	dir, err := os.MkdirTemp("", "confine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	// The directory of the binary is root's alone.
	binary := filepath.Join(dir, "confine.test")
	copyFile(t, self(t), binary)
	tmp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(tmp, 0o700), os.Chown(tmp, user, user)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.short") // what takes long does not depend on the user
	cmd.Dir, cmd.Env = tmp, []string{"TMPDIR=" + tmp, "HOME=" + tmp + "/no-home", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// machine has things that a command in the sandbox is after.
type machine struct {
	launcher  *confine.Launcher
	binary    string
	work      string
	secret    string
	hidden    string
	victim    *exec.Cmd
	variables []string
}

const secretText = "a secret of the machine"

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{binary: self(t)}
	outside, shown := t.TempDir(), t.TempDir()
	m.secret = filepath.Join(outside, "secret")
	m.launcher, m.work = launcher(t, func(o *confine.Options) {
		m.hidden = filepath.Join(o.Write[0], "private", "deep", "secret")
		if err := os.MkdirAll(filepath.Dir(m.hidden), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{m.secret, m.hidden} {
			if err := os.WriteFile(path, []byte(secretText), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o.Deny = []string{m.hidden}
		o.Read = []string{m.binary, shown}
	})
	tcp := listen(t, "tcp", "127.0.0.1:0")
	abstract := fmt.Sprintf("@quoin-confine-%d-%s", os.Getpid(), filepath.Base(outside))
	listen(t, "unix", abstract)
	socket := filepath.Join(m.work, "s")
	listen(t, "unix", socket)
	datagrams, err := net.ListenPacket("unixgram", socket+datagramSuffix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = datagrams.Close() })
	m.victim = exec.Command("/bin/sleep", "3600")
	if err := m.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.victim.Process.Kill()
		_ = m.victim.Wait()
	})
	m.variables = []string{
		secretVar + "=" + m.secret, hiddenVar + "=" + m.hidden, workVar + "=" + m.work, readVar + "=" + shown,
		addressVar + "=" + tcp.Addr().String(), abstractVar + "=" + abstract, socketVar + "=" + socket,
		fmt.Sprintf("%s=%d", victimVar, m.victim.Process.Pid),
	}
	return m
}

// TestAClosedDirectoryHidesNothing: a command closes the directory of a hidden file, so
// that the next sandbox cannot cover the file, and the command of that opens it again.
func TestAClosedDirectoryHidesNothing(t *testing.T) {
	m := newMachine(t)
	deep := filepath.Dir(m.hidden)
	if _, exit := run(t, m.launcher, m.work, "chmod 0 "+deep); exit.Code != 0 {
		t.Fatalf("%+v", exit)
	}
	t.Cleanup(func() {
		if err := os.Chmod(deep, 0o755); err != nil {
			t.Error(err)
		}
	})
	p, err := m.launcher.Start(t.Context(), execution.Command{Argv: []string{"/bin/sh", "-c", "chmod 755 " + deep + "; cat " + m.hidden}, Dir: m.work})
	if err == nil {
		out, _ := finish(t, p)
		t.Errorf("the sandbox started and shows %q", out)
	}
	o := confine.Options{Write: []string{m.work}, Deny: []string{m.hidden}, MemoryBytes: 1 << 30, Processes: 64, FileBytes: 64 << 20}
	if l, err := confine.New(o); err == nil {
		if p, err := l.Start(t.Context(), execution.Command{Argv: []string{"/bin/true"}, Dir: m.work}); err == nil {
			finish(t, p)
			t.Error("another launcher starts it")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWhatAppearsLaterIsHidden in the sandboxes that start afterwards.
func TestWhatAppearsLaterIsHidden(t *testing.T) {
	shown := t.TempDir()
	key := filepath.Join(shown, "nodes", "key")
	l, work := launcher(t, func(o *confine.Options) {
		o.Read, o.Deny = []string{shown}, []string{filepath.Dir(key), filepath.Join(shown, "never")}
	})
	if err := errors.Join(os.Mkdir(filepath.Dir(key), 0o755), os.WriteFile(key, []byte(secretText), 0o644), os.Chmod(shown, 0o755)); err != nil {
		t.Fatal(err)
	}
	if out, exit := run(t, l, work, "cat "+key); exit.Code == 0 || strings.Contains(out, secretText) {
		t.Errorf("%+v %s", exit, out)
	}
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// self is the test binary where a sandbox can show it.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// fresh removes what probes have left in the work directory.
func (m *machine) fresh(t *testing.T) {
	t.Helper()
	for _, name := range []string{"probe", "link", "copy"} {
		if err := os.RemoveAll(filepath.Join(m.work, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// probe tries one escape in a sandbox of its own.
func (m *machine) probe(t *testing.T, name string) string {
	t.Helper()
	m.fresh(t)
	p := start(t, m.launcher, execution.Command{Argv: []string{m.binary, probeArgument, name}, Dir: m.work, Env: m.variables})
	out, exit := finish(t, p)
	if exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	return strings.TrimSpace(out)
}

// isWhole checks that no attempt has changed anything.
func (m *machine) isWhole(t *testing.T) {
	t.Helper()
	for _, path := range []string{m.secret, m.hidden} {
		if b, err := os.ReadFile(path); err != nil || string(b) != secretText {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	if err := m.victim.Process.Signal(unix.Signal(0)); err != nil {
		t.Errorf("the process of the machine: %v", err)
	}
}
