package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// planFile is where the machine finds its jobs.
const planFile = "/plan.json"

// fileSystem compiles what the jobs need and returns the initial file system.
func fileSystem(ctx context.Context, b builder, jobs []job, t *transcript) (string, error) {
	list, err := json.Marshal(jobs)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, "initial.cpio")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	a := &archive{w: f, made: map[string]bool{}}
	own := job{Package: "internal/arm64test", Program: true}
	a.add(planFile, list, 0o644)
	if err = b.compile(ctx, own, t); err == nil {
		err = a.addFile("/init", b.program(), 0o755)
	}
	built := map[string]bool{}
	for _, j := range jobs {
		for _, p := range j.Builds {
			jobs = append(jobs, job{Package: p, Program: true, Native: j.Native && p == workerProgram})
		}
	}
	for _, j := range jobs {
		if built[j.binary()] || err != nil {
			continue
		}
		built[j.binary()] = true
		if err = b.compile(ctx, j, t); err == nil {
			err = a.addFile(j.binary(), b.program(), 0o755)
		}
	}
	return path, errors.Join(err, a.addTracked(ctx), a.end(), f.Close())
}

// archive writes a file system in the format that the kernel unpacks: cpio with the
// magic number 070701 and hexadecimal numbers.
type archive struct {
	w    io.Writer
	made map[string]bool
	err  error
}

// addTracked adds the module's tracked files, below /src.
func (a *archive) addTracked(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and the removal is not committed yet
		}
		if err == nil {
			err = a.addFile("/src/"+name, name, info.Mode().Perm()|0o044)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) addFile(name, from string, mode fs.FileMode) error {
	b, err := os.ReadFile(from)
	if err == nil {
		a.add(name, b, mode)
	}
	return err
}

// add adds a file and the directories above it.
func (a *archive) add(name string, content []byte, mode fs.FileMode) {
	a.addDirectories(filepath.Dir(name))
	a.entry(strings.TrimPrefix(name, "/"), 0o100000|uint32(mode), content)
}

func (a *archive) addDirectories(path string) {
	if path == "/" || a.made[path] {
		return
	}
	a.made[path] = true
	a.addDirectories(filepath.Dir(path))
	a.entry(strings.TrimPrefix(path, "/"), 0o040755, nil)
}

func (a *archive) entry(name string, mode uint32, content []byte) {
	var b bytes.Buffer
	inode, links := 0, 1
	fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	b.WriteString(name)
	b.WriteByte(0)
	pad(&b)
	b.Write(content)
	pad(&b)
	if a.err == nil {
		_, a.err = a.w.Write(b.Bytes())
	}
}

// pad fills up to a multiple of four; entries start at one.
func pad(b *bytes.Buffer) {
	for b.Len()%4 != 0 {
		b.WriteByte(0)
	}
}

func (a *archive) end() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}
