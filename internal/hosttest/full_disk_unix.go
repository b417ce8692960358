//go:build unix

package hosttest

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Alone reports whether this is a process of the test's own. If not, it runs the test in one: a
// limit on the sizes of files is one for the whole process, and the testing package writes files
// too.
func Alone(t *testing.T) bool {
	t.Helper()
	const key = "QUOIN_TEST_ALONE"
	if os.Getenv(key) != "" {
		return true
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), key+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// FillDisk lets no file grow beyond a size, and returns what makes room again. The write that
// meets the end writes what fits, as on a full disk.
func FillDisk(t *testing.T, size int64) (free func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = uint64(size)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	free = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(free)
	return free
}
