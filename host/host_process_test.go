package host_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// doomedGuest names the guest of a host in a process of its own.
const doomedGuest = "QUOIN_TEST_GUEST"

// hostProcess is this test binary as a host, which is going to be killed. See TestMain.
type hostProcess struct {
	t      *testing.T
	cmd    *osexec.Cmd
	stdin  io.Writer
	stderr strings.Builder
	lines  *bufio.Scanner // of standard output
	said   []string       // the lines that were read
}

// startHost starts the host that env describes.
func startHost(t *testing.T, env ...string) *hostProcess {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &hostProcess{t: t, cmd: osexec.Command(exe)}
	p.cmd.Env = append(append(os.Environ(), doomedGuest+"="+guest), env...)
	p.cmd.Stderr = &p.stderr
	in, inErr := p.cmd.StdinPipe()
	out, outErr := p.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		t.Fatal(err)
	}
	p.stdin = in
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	return p
}

// next returns the next line of the host. The test fails when the host has ended.
func (p *hostProcess) next() string {
	p.t.Helper()
	if !p.lines.Scan() {
		p.kill()
		p.t.Fatalf("the host said %q and no more\n%s", p.said, p.stderr.String())
	}
	p.said = append(p.said, p.lines.Text())
	return p.lines.Text()
}

// untilReady returns the lines before "ready".
func (p *hostProcess) untilReady() (before []string) {
	p.t.Helper()
	for line := p.next(); line != "ready"; line = p.next() {
		before = append(before, line)
	}
	return before
}

// kill kills the host, which must not have ended well before.
func (p *hostProcess) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err == nil {
		p.t.Fatalf("the host said %q and ended\n%s", p.said, p.stderr.String())
	}
}

// killedHost starts the host that env describes, kills it once it is ready, and returns
// the one line that it printed before.
func killedHost(t *testing.T, env ...string) string {
	t.Helper()
	p := startHost(t, env...)
	said := p.untilReady()
	p.kill()
	if len(said) != 1 {
		t.Fatalf("the host said %q\n%s", said, p.stderr.String())
	}
	return said[0]
}
