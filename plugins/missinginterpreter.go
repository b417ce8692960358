package plugins

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

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
