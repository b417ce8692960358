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
	if interpreter := missingInterpreter(path, err); interpreter != "" {
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
	words := strings.Fields(rest)
	if !script || len(words) == 0 || err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return words[0]
}
