package childprocess

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// explainStart adds what usually is behind a start that failed.
func explainStart(cmd *exec.Cmd, err error) error {
	if info, statErr := os.Stat(cmd.Dir); cmd.Dir != "" && (statErr != nil || !info.IsDir()) {
		return fmt.Errorf("the folder %s, in which the program is to run, is no folder on this machine: make it, or name another: %w", cmd.Dir, errors.Join(statErr, noFolder(info)))
	}
	path := fileOf(cmd)
	line := firstLine(path)
	switch interpreter, _ := interpreters(line); {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is not a program for %s/%s%s: %w", path, runtime.GOOS, runtime.GOARCH, whyNoProgram(line), err)
	case !errors.Is(err, fs.ErrNotExist) || len(line) == 0:
		return err // also if the file itself is missing
	case strings.HasSuffix(interpreter, "\r"):
		return carriageReturn(path, interpreter, err)
	case interpreter != "":
		return fmt.Errorf("%s needs %s, which is not on this machine; install it, or name the one that is in the first line: %w", path, interpreter, err)
	case bytes.HasPrefix(line, []byte("\x7fELF")):
		return fmt.Errorf("%s needs a loader that is not on this machine, because it was built for another system, such as one with musl: %w", path, err)
	}
	return err
}

// notFound is the status of env when there is no such program.
const notFound = 127

// explainEnd adds what is behind the end of a script with an interpreter that env does not find.
func explainEnd(cmd *exec.Cmd, err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != notFound {
		return err
	}
	path := fileOf(cmd)
	_, sought := interpreters(firstLine(path))
	switch {
	case strings.HasSuffix(sought, "\r"):
		return carriageReturn(path, sought, err)
	case sought != "" && !strings.Contains(sought, "/") && !inPath(cmd, sought):
		return fmt.Errorf("%s needs %s, which is not in its PATH: %w", path, sought, err)
	}
	return err
}

func carriageReturn(path, interpreter string, err error) error {
	return fmt.Errorf("the first line of %s ends in a carriage return, so that the system looks for %q: save the file with line ends of Unix: %w", path, interpreter, err)
}

// noFolder is an error if there is a file in the place of a folder.
func noFolder(info fs.FileInfo) error {
	if info == nil {
		return nil
	}
	return syscall.ENOTDIR
}

func fileOf(cmd *exec.Cmd) string {
	if filepath.IsAbs(cmd.Path) {
		return cmd.Path
	}
	return filepath.Join(cmd.Dir, cmd.Path)
}

// maxFirstLine is as much of a script's first line as kernels read.
const maxFirstLine = 256

// firstLine returns the first line of a file, nil if it cannot be read. A named pipe has no
// writer that would end a wait for one.
func firstLine(path string) []byte {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(f, maxFirstLine))
	if err != nil {
		return nil
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return line
}

// interpreters returns the program that a first line names, and the one that this program
// looks for if it is env. A carriage return is part of a name.
func interpreters(line []byte) (first, sought string) {
	rest, script := strings.CutPrefix(string(line), "#!")
	words := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' })
	if !script || len(words) == 0 {
		return "", ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0], ""
	}
	args := slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
	return words[0], strings.Join(args[:min(1, len(args))], "")
}

// whyNoProgram says what is wrong with a file that looks like a script.
func whyNoProgram(line []byte) string {
	switch {
	case bytes.HasPrefix(line, []byte("\uFEFF")):
		return ", because it starts with a byte order mark: save the file as UTF-8 without one"
	case !bytes.ContainsRune(line, 0) && !bytes.ContainsRune(line, '\uFFFD'):
		return ", and has no first line that names an interpreter, such as #!/bin/sh: write one"
	}
	return ""
}

// inPath reports whether the process finds a program.
func inPath(cmd *exec.Cmd, name string) bool {
	path := os.Getenv("PATH")
	if cmd.Env != nil {
		path = ""
		for _, v := range cmd.Env {
			if value, ok := strings.CutPrefix(v, "PATH="); ok {
				path = value
			}
		}
	}
	return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && !info.IsDir()
	})
}
