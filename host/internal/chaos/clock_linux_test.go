package chaos_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockVariable names the file that says by how many nanoseconds the wall clock of a host
// is wrong.
const clockVariable = "QUOIN_CHAOS_CLOCK"

// wrongClock makes the wall clock of a program wrong, and leaves its monotonic one alone. It
// is a file of package time, because a Go program uses no library that could replace the
// clock of the C library.
const wrongClock = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var clockError = openClockError()

func openClockError() *int64 {
	path, ok := syscall.Getenv("` + clockVariable + `")
	if !ok {
		return new(int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	shared, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&shared[0]))
}

func wrongNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	wrong := int64(nsec) + atomic.LoadInt64(clockError)
	sec, wrong = sec+wrong/1e9, wrong%1e9
	if wrong < 0 {
		sec, wrong = sec-1, wrong+1e9
	}
	return sec, int32(wrong), mono
}
`

// withClocks adds to what go build replaces what makes clocks wrong.
func withClocks(t *testing.T, replace map[string]string) map[string]string {
	t.Helper()
	found, err := exec.Command("go", "list", "-f", "{{.Dir}}", "time").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(found)), "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const right = "sec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	wrong := strings.Replace(string(text), right, strings.Replace(right, "runtimeNow", "wrongNow", 1), 1)
	if wrong == string(text) {
		t.Fatalf("%s has no %q: make the clock wrong where Now reads it now", source, right)
	}
	replace[source] = wrong
	replace[filepath.Join(filepath.Dir(source), "wrong.go")] = wrongClock
	return replace
}

// overlay writes the file that tells go build which sources have other texts.
func overlay(t *testing.T, replace map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{}
	for path, text := range replace {
		files[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(files[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": files})
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "overlay"), list, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "overlay")
}

// wrongClocks are what the wall clock of a host does when it is set, forward or back. A
// host that works by it for a while has it set right afterwards.
func (m *member) wrongClocks() []fault {
	wrong := func(name string, by time.Duration) fault {
		return fault{
			name: name, lasts: moment,
			begin: func() error { return m.setClock(by) },
			end:   func() error { return m.setClock(0) },
		}
	}
	return []fault{wrong("clock forward", 2*time.Hour), wrong("clock backward", -2*time.Hour)}
}

func (m *member) clock() string { return filepath.Join(m.dir, "clock") }

// setClock makes the clock of the host wrong by d. The file is written in place, because
// the host has it mapped.
func (m *member) setClock(d time.Duration) error {
	f, err := os.OpenFile(m.clock(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(d)), 0)
	return errors.Join(err, f.Close())
}
