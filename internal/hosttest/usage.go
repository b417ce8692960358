package hosttest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
)

// Usage is what a process holds of the system, for tests that look for leaks.
type Usage struct {
	Goroutines int
	Files      int   // open file descriptors
	Children   int   // child processes, zombies included
	Resident   int64 // bytes of memory
}

// MeasureUsage measures the running process. It needs /proc.
func MeasureUsage() (Usage, error) {
	u := Usage{Goroutines: runtime.NumGoroutine()}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return u, err
	}
	u.Files = len(files) - 1 // one of them reads the directory
	children, err := Children(os.Getpid())
	if err != nil {
		return u, err
	}
	u.Children = len(children)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return u, err
	}
	var total, resident int64
	if _, err := fmt.Sscan(string(statm), &total, &resident); err != nil {
		return u, err
	}
	u.Resident = resident * int64(os.Getpagesize())
	return u, nil
}

// Process is a process as /proc shows it.
type Process struct {
	PID  int
	Name string // at most 15 bytes
}

// Children lists the children of a process, zombies included. It needs /proc.
func Children(parent int) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var list []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // no process
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || gone(err) {
				continue
			}
			return nil, err
		}
		name, ppid := parseStat(stat)
		if ppid == parent {
			list = append(list, Process{pid, name})
		}
	}
	return list, nil
}

// parseStat reads "pid (name) state ppid …"; the name may hold anything.
func parseStat(stat []byte) (name string, ppid int) {
	first, last := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if first < 0 || last < first {
		return "", 0
	}
	fields := bytes.Fields(stat[last+1:])
	if len(fields) < 2 {
		return "", 0
	}
	ppid, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return "", 0
	}
	return string(stat[first+1 : last]), ppid
}
