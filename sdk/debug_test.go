//go:build unix

package sdk

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// TestOneDebuggerAtATime: a socket without a listener is replaced, one with a
// listener is not.
func TestOneDebuggerAtATime(t *testing.T) {
	dir, err := os.MkdirTemp("", "dbg-") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TMPDIR", dir)
	path, err := protocol.DebugSocket("demo")
	if err != nil {
		t.Fatal(err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := listenDebug("demo")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenDebug("demo"); err == nil || !strings.Contains(err.Error(), "is being debugged already") {
		t.Errorf("%v; want a refusal", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}
