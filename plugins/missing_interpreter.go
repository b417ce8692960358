package plugins

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// explainExec adds what usually is behind an exec error.
func explainExec(path string, err error) error {
	text := err.Error()
	if strings.Contains(text, "exec format error") {
		return fmt.Errorf("%s is not a program for %s: %w", path, manifest.HostPlatform(), err)
	}
	interpreter := missingInterpreter(path, err)
	if strings.HasSuffix(interpreter, "\r") {
		return fmt.Errorf("the first line of %s ends in a carriage return, so that the system looks for %q: save the file with line ends of Unix: %w", path, interpreter, err)
	}
	if interpreter != "" {
		return fmt.Errorf("%s needs %s, which is not on this machine; install it, or name the one that is in the first line: %w", path, interpreter, err)
	}
	return err
}

// maxInterpreterLine is as much of a script's first line as kernels read.
const maxInterpreterLine = 256

// missingInterpreter returns what the first line of a script names as its
// interpreter, if that is why the script cannot be started: the error of the system
// is about a file that does not exist, and the script does. It returns "" otherwise.
func missingInterpreter(path string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxInterpreterLine)).ReadString('\n')
	rest, script := strings.CutPrefix(line, "#!")
	words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t\n", r) }) // a carriage return is part of the name
	if !script || len(words) == 0 || err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return words[0]
}
