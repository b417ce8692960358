package chaos_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// clockVariable names the file that says by how many nanoseconds the wall clock of a host
// is wrong.
const clockVariable = "QUOIN_CHAOS_CLOCK"

// jumps says whether this processor has the instructions that wrongClock writes.
const jumps = runtime.GOARCH == "amd64"

// wrongClock makes the wall clock of a program wrong, and leaves its monotonic one alone. It
// is a file of package main that has time.Now jump to a function of its own, because a Go
// program uses no library that could replace the clock of the C library, and a change of
// package time has every package compiled again.
const wrongClock = `package main

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

//go:linkname now time.now
func now() (sec int64, nsec int32, mono int64)

//go:linkname runtimeNow time.runtimeNow
func runtimeNow() (sec int64, nsec int32, mono int64)

var clockError *int64

func init() {
	path, ok := os.LookupEnv("` + clockVariable + `")
	if !ok {
		return
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	shared, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	clockError = (*int64)(unsafe.Pointer(&shared[0]))
	jump(runtimeNow, wrongNow)
}

// jump writes over the first instructions of a function: movq $to, DX; jmp DX.
func jump(from, to func() (int64, int32, int64)) {
	code := append(binary.LittleEndian.AppendUint64([]byte{0x48, 0xba}, uint64(address(to))), 0xff, 0xe2)
	start, size := address(from), uintptr(os.Getpagesize())
	first := start &^ (size - 1)
	pages := unsafe.Slice((*byte)(at(first)), (start+uintptr(len(code))-1)&^(size-1)+size-first)
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC); err != nil {
		panic("the clock cannot be made wrong: " + err.Error())
	}
	copy(pages[start-first:], code)
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		panic("the clock cannot be made wrong: " + err.Error())
	}
}

func address(f func() (int64, int32, int64)) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

// at is unsafe.Pointer(address) without the objection of go vet.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func wrongNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = now()
	wrong := int64(nsec) + atomic.LoadInt64(clockError)
	sec, wrong = sec+wrong/1e9, wrong%1e9
	if wrong < 0 {
		sec, wrong = sec-1, wrong+1e9
	}
	return sec, int32(wrong), mono
}
`

// withClocks adds to what go build replaces what makes clocks wrong. The file of assembly
// allows functions without a body.
func withClocks(t *testing.T, replace map[string]string) map[string]string {
	t.Helper()
	if !jumps {
		return replace
	}
	command, err := filepath.Abs(commandFolder)
	if err != nil {
		t.Fatal(err)
	}
	replace[filepath.Join(command, "wrong_clock.go")] = wrongClock
	replace[filepath.Join(command, "wrong_clock.s")] = ""
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
	leftOut := ""
	if !jumps {
		leftOut = "what makes a clock wrong is written for amd64"
	}
	wrong := func(name string, by time.Duration) fault {
		return fault{
			name: name, lasts: moment, leftOut: leftOut,
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
