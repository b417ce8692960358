package launchtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// lifeline is a named pipe that all descendants of a process have open for writing.
type lifeline struct {
	t    *testing.T
	path string
	fd   int
}

// newLifeline makes a named pipe in the shared directory.
func (h Host) newLifeline(t *testing.T) *lifeline {
	t.Helper()
	dir, err := os.MkdirTemp(h.Dir, "lifeline")
	if err != nil {
		t.Fatal(err)
	}
	l := &lifeline{t: t, path: filepath.Join(dir, "pipe")}
	if err := errors.Join(os.Chmod(dir, 0o755), unix.Mkfifo(l.path, 0o666), os.Chmod(l.path, 0o666)); err != nil {
		t.Fatal(err)
	}
	// Without O_NONBLOCK this waits for a writer, and who writes for this.
	if l.fd, err = unix.Open(l.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.Close(l.fd), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return l
}

// held puts the opening of the pipe before a script.
func (l *lifeline) held(script string) string { return "exec 9>'" + l.path + "'\n" + script }

// gone fails while a process has the pipe open.
func (l *lifeline) gone() {
	l.t.Helper()
	if l.open() {
		l.t.Error("a descendant is left")
	}
}

// there fails unless a process has the pipe open.
func (l *lifeline) there() {
	l.t.Helper()
	if !l.open() {
		l.t.Error("no descendant is left")
	}
}

func (l *lifeline) open() bool {
	l.t.Helper()
	for {
		n, err := unix.Read(l.fd, make([]byte, 16))
		switch {
		case errors.Is(err, unix.EINTR), n > 0:
		case errors.Is(err, unix.EAGAIN):
			return true
		case err == nil:
			return false
		default:
			l.t.Fatalf("read the lifeline: %v", err)
		}
	}
}
