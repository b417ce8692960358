package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sealed is what Seal found out about this process.
var sealed struct {
	held   uint64 // private memory in bytes with an empty guest
	data   uint64 // the data limit in bytes before the first guest
	poller []uint // descriptors of a poller that was started before the seal
}

// LimitMemory lowers the data limit of the sealed calling process to what a
// guest of memoryBytes needs, for good. It fails if the process was limited to
// less before. It uses prlimit, the one call for limits that the filter lets
// through.
func LimitMemory(memoryBytes uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_DATA, nil, &now); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	if sealed.data == 0 {
		sealed.data = now.Max
	}
	want := min(dataLimit(sealed.held, memoryBytes), sealed.data)
	if want > now.Max {
		return fmt.Errorf("this process is limited to %d bytes, a guest of %d bytes needs %d", now.Max, memoryBytes, want)
	}
	return os.NewSyscallError("prlimit", unix.Prlimit(0, unix.RLIMIT_DATA, &unix.Rlimit{Cur: want, Max: want}, nil))
}

// privateMemory returns what the data limit counts, in bytes: writable private
// mappings, whether touched or not.
func privateMemory() (uint64, error) {
	text, err := readRaw("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	const dataField = 5
	fields := strings.Fields(text)
	if len(fields) <= dataField {
		return 0, fmt.Errorf("statm has %d fields", len(fields))
	}
	pages, err := strconv.ParseUint(fields[dataField], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// readRaw reads a small file without package os, which would start the Go
// runtime's poller: its descriptors must not exist in a worker.
func readRaw(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: path, Err: err}
	}
	var b [512]byte
	n, err := unix.Read(fd, b[:])
	if err := errors.Join(err, unix.Close(fd)); err != nil {
		return "", &os.PathError{Op: "read", Path: path, Err: err}
	}
	return string(b[:n]), nil
}
