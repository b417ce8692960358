//go:build !cgo

package main

import (
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestTheCommandAloneRunsPrograms installs nothing but the command, as go install does.
// A worker next to it is preferred.
func TestTheCommandAloneRunsPrograms(t *testing.T) {
	t.Parallel()
	command := installAlone(t)
	quoin := func(args ...string) string {
		t.Helper()
		cmd := osexec.Command(command, append(args, "--config", "none")...)
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME=", "QUOIN_GUEST_BUILDS=none")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
		return string(out)
	}
	if out := quoin("exec", "--plugins", "none", "-e", "return 1"); !strings.HasPrefix(out, `{"status":"completed","value":1,`) {
		t.Error(out)
	}
	guest, err := hosttest.DefaultGuest()
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(filepath.Dir(command), "quoin-guest")
	if err := os.Symlink(guest, beside); err != nil {
		t.Fatal(err)
	}
	if out := quoin("doctor"); !strings.Contains(out, beside) {
		t.Errorf("the worker beside the command is passed over: %s", out)
	}
}

// installAlone puts the command into a directory of its own.
func installAlone(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "quoin")
	if os.Link(self, command) == nil {
		return command
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	to, err := os.OpenFile(command, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, from.Close(), to.Close()); err != nil {
		t.Fatal(err)
	}
	return command
}

// TestTheCommandIsAsSealedAsAGuest compares the layers of both workers. The command may
// hold one thing more, the Go runtime's poller, which a package has started by then: its
// filter lets it wait there.
func TestTheCommandIsAsSealedAsAGuest(t *testing.T) {
	t.Parallel()
	guest, err := hosttest.DefaultGuest()
	if err != nil {
		t.Fatal(err)
	}
	of := func(path string) []string {
		found, err := guestrt.Inspect(t.Context(), guestrt.Config{GuestPath: path})
		if err = errors.Join(err, found.Err); err != nil {
			t.Fatal(err)
		}
		var layers []string
		for _, l := range found.Layers {
			if l.Name == "descriptors" && strings.HasPrefix(l.Detail, "and those of the Go runtime's poller, ") || l.Name == "seccomp" && strings.HasSuffix(l.Detail, " instructions") {
				l.Detail = ""
			}
			layers = append(layers, l.Name+" "+string(l.State)+" "+l.Detail)
		}
		return layers
	}
	want, got := strings.Join(of(guest), "\n"), strings.Join(of(installAlone(t)), "\n")
	if want != got {
		t.Errorf("the layers of quoin-guest are\n%s\nthose of the command\n%s", want, got)
	}
}
