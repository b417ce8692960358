package childprocess

import (
	"regexp"
	"slices"
	"strings"
)

// tailLines is how many lines of a program's output are kept to explain its end: the
// error of a Node.js program stands above a page of source and frames.
const tailLines = 32

// MaxTailLine is how many bytes of a line Words keep.
const MaxTailLine = 512

// OutputTail keeps the last lines that a program has written. The zero value is ready for
// use. It is not safe for concurrent use.
type OutputTail struct{ tail []string }

// Add takes one line, and keeps only the start of a long one.
func (w *OutputTail) Add(line []byte) {
	if len(w.tail) == tailLines {
		w.tail = slices.Delete(w.tail, 0, 1)
	}
	w.tail = append(w.tail, strings.ToValidUTF8(string(line[:min(len(line), MaxTailLine)]), "\uFFFD"))
}

// uncaught is what Node.js prints of an error that ended it. Its version, which is
// of no help, comes last.
var uncaught = regexp.MustCompile(`^(?:Uncaught )?[A-Za-z_$][\w$.]*Error(?: \[\w+\])?: |^Error(?: \[\w+\])?: `)

// Last returns the line that says most of how the program ended: the panic or the
// uncaught error if there was one, the last line otherwise.
func (w *OutputTail) Last() string {
	for _, l := range w.tail {
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			return l
		}
	}
	node := false
	for _, l := range slices.Backward(w.tail) {
		if node = node || strings.HasPrefix(l, "Node.js v"); node && uncaught.MatchString(l) {
			return l
		}
	}
	for _, l := range slices.Backward(w.tail) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "{") && !strings.HasPrefix(l, "Node.js v") {
			return l
		}
	}
	return ""
}
