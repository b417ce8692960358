package childprocess

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// tailLines is how many lines of a program's output are kept to explain its end: the
// error of a Node.js program stands above pages of source, frames and fields.
const tailLines = 128

// MaxTailLine is how many bytes of a line Words keep.
const MaxTailLine = 512

// OutputTail keeps the last lines that a program has written. The zero value is ready for
// use. It is not safe for concurrent use.
type OutputTail struct {
	tail  []string
	burst int       // where the lines start that were written without a pause
	last  time.Time // when the last line was written
}

// burstGap is a pause in the output, after which a line has nothing to do with those before.
const burstGap = 2 * time.Second

// Add takes one line, and keeps only the start of a long one.
func (w *OutputTail) Add(line []byte) {
	if len(w.tail) == tailLines {
		w.tail = slices.Delete(w.tail, 0, 1)
		w.burst = max(0, w.burst-1)
	}
	now := time.Now()
	if now.Sub(w.last) > burstGap {
		w.burst = len(w.tail)
	}
	w.last = now
	w.tail = append(w.tail, strings.ToValidUTF8(string(line[:min(len(line), MaxTailLine)]), "\uFFFD"))
}

// errorLine is a line that looks like an error.
var errorLine = regexp.MustCompile(`(?i)\b\w*(?:error|exception)\b|\b(?:fatal|panic|critical|failed|failure|cannot|can't|could not|couldn't|unable to|missing|invalid|denied|refused|not found|not set|required|no such|must be)\b`)

// noise is a line that says nothing of why a program has ended: a frame of a stack, a
// warning, a heading, punctuation, the version of an interpreter.
var noise = regexp.MustCompile(`^\s*(?:at\s|File "|\.\.\.|\^|[\W_]*$)|^Node\.js v|^Traceback \(|^goroutine \d|^During handling|^(?:node:|file:)\S+:\d+$|(?i)^\W*(?:npm )?(?:\(node:\d+\)|warn|debug|\w*warning\b)|^\s*(?:throw|raise)\s`)

// The words are a cause, and at most so many lines after it, in so many bytes.
const (
	linesAfter = 2
	maxWords   = MaxTailLine
)

// Last returns the lines that say most of how the program ended: the panic if there was
// one, or the first line since the last pause that looks like an error, or else the first of
// all, with what follows it up to the frames of a stack; the last line that says something
// otherwise.
func (w *OutputTail) Last() string {
	at := slices.IndexFunc(w.tail, func(l string) bool { return strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") })
	if at >= 0 {
		return w.tail[at]
	}
	for _, start := range []int{w.burst, 0} {
		at = slices.IndexFunc(w.tail[start:], func(l string) bool {
			return strings.TrimLeft(l, " \t") == l && !noise.MatchString(l) && errorLine.MatchString(l)
		})
		if at >= 0 {
			return w.from(start + at)
		}
	}
	for _, l := range slices.Backward(w.tail) {
		if !noise.MatchString(l) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// from returns a line, and the lines after it that belong to it.
func (w *OutputTail) from(at int) string {
	words := w.tail[at]
	for _, l := range w.tail[at+1 : min(len(w.tail), at+1+linesAfter)] {
		if noise.MatchString(l) || len(words)+len(l) > maxWords {
			break
		}
		words += " | " + strings.TrimSpace(l)
	}
	return words
}
