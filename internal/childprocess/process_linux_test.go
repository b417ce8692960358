package childprocess_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/childprocess"
)

// TestTheGroupEndsWithItsLeader: a descendant that stayed behind in the group is
// gone once Done is closed.
func TestTheGroupEndsWithItsLeader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", "sleep 3600 & echo $!")
	cmd.Stdout = w
	p, err := childprocess.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Outcome(); err != nil {
		t.Fatal(err)
	}
	// The pipe ends when no process has it open: the descendant held it.
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the descendant %d still holds the pipe", pid)
	}
	p.Kill() // does nothing
}

// TestNoDescriptorIsInherited: what the host has open without close-on-exec stays
// with the host.
func TestNoDescriptorIsInherited(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	leaked, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	cmd := exec.Command("/bin/sh", "-c", "test -e /proc/$$/fd/"+strconv.Itoa(leaked)+" && echo leaked; env | grep -vE '^(PWD|SHLVL|_|OLDPWD)='; true")
	cmd.Env = []string{} // not nil, which would inherit
	cmd.Stdout = w
	p, err := childprocess.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	if err := childprocess.ReadLines(r, func(line []byte, _ bool) { lines = append(lines, string(line)) }); err != nil {
		t.Fatal(err)
	}
	if err := p.Outcome(); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 0 {
		t.Errorf("the child has %q", lines)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	if p, err := childprocess.Start(t.Context(), exec.Command("/nowhere/at/all")); err == nil {
		t.Errorf("started %d", p.PID())
	}
}
