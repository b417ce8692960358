package childprocess

import (
	"bytes"
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
	line = control.ReplaceAll(line, nil)
	if at := bytes.LastIndexByte(bytes.TrimRight(line, "\r"), '\r'); at >= 0 {
		line = line[at+1:] // what a terminal shows in the end
	}
	w.tail = append(w.tail, strings.ToValidUTF8(string(line[:min(len(line), MaxTailLine)]), "\uFFFD"))
}

// control is what a terminal does not show, such as colours.
var control = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?`)

// errorLine is a line that looks like an error.
var errorLine = regexp.MustCompile(`(?i)\b\w*(?:error|exception)\b|\b(?:fatal|panic|panicked|critical|expired|failed|failure|cannot|can't|could not|couldn't|unable to|missing|invalid|denied|refused|not found|not set|required|no such|must be)\b|^\s*[×✖✗❌]\s`)

// indented is a line that belongs to one above it, unless a mark says that it is an error.
var indented = regexp.MustCompile(`^\s+[^\s×✖✗❌]`)

// cause is a line that names the error below the one that a program has ended with: of Java,
// of Python in a group, of a build.
var cause = regexp.MustCompile(`^[\W_]*(?:Caused by|cause\]|[\w.]*(?i:error|exception)): `)

// noise is a line that says nothing of why a program has ended: a frame of a stack, a
// warning, a heading, punctuation, the version of an interpreter.
var noise = regexp.MustCompile(`^\s*(?:at\s|File "|\.\.\.|\^|#\d|from /)|^[^\pL\pN]*$|^Stack trace:|^note: run with|^\(Use .node |^\s*For further information|^Node\.js v|^Traceback \(|^goroutine \d|^During handling|^(?:node:|file:)\S+:\d+$|(?i)^\W*(?:npm )?(?:\(node:\d+\)|warn|debug|\w*warning\b)|^\s*(?:throw|raise)\s`)

// punctuation is a line without letters.
var punctuation = regexp.MustCompile(`^[^\pL\pN]*$`)

// opening is a line that continues in those below it.
var opening = regexp.MustCompile(`[\[{(]\s*$`)

// The words are an error and at most so many lines after it, more if its value is printed
// below it, in so many bytes.
const (
	linesAfter = 3
	linesOpen  = 8
	maxWords   = MaxTailLine
)

// Last returns the lines that say most of how the program ended: the panic if there was
// one, or the first line since the last pause that looks like an error, or else the first of
// all, with what follows it up to the frames of a stack, and its cause; the last lines that say
// something otherwise.
func (w *OutputTail) Last() string {
	at := slices.IndexFunc(w.tail, func(l string) bool { return strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") })
	if at >= 0 {
		return w.tail[at]
	}
	for _, start := range []int{w.burst, 0} {
		at = slices.IndexFunc(w.tail[start:], func(l string) bool {
			return !indented.MatchString(l) && !noise.MatchString(l) && errorLine.MatchString(l)
		})
		if at >= 0 {
			return w.from(start + at)
		}
	}
	if words := w.causeAfter(0); words != "" {
		return words
	}
	return w.end()
}

// from returns a line, the lines after it that belong to it, and its cause.
func (w *OutputTail) from(at int) string {
	words, after := plain(w.tail[at]), linesAfter
	open := opening.MatchString(w.tail[at])
	if open {
		after = linesOpen
	}
	for at++; at < len(w.tail) && after > 0; at++ {
		l := w.tail[at]
		if open && punctuation.MatchString(l) {
			continue
		}
		if noise.MatchString(l) || len(words)+len(l) > maxWords {
			break
		}
		words += " | " + plain(l)
		after--
	}
	if below := w.causeAfter(at); below != "" && len(words)+len(below) <= maxWords {
		words += " | " + below
	}
	return words
}

// causeAfter returns the last line that names a cause.
func (w *OutputTail) causeAfter(at int) string {
	for _, l := range slices.Backward(w.tail[at:]) {
		if cause.MatchString(l) && !noise.MatchString(l) {
			return plain(l)
		}
	}
	return ""
}

// end returns the last lines that say something, those since the last pause if one of them does.
func (w *OutputTail) end() string {
	words, lines := "", 0
	for i, l := range slices.Backward(w.tail) {
		switch {
		case words != "" && i < w.burst:
			return words
		case noise.MatchString(l):
		case words == "":
			words, lines = plain(l), 1
		case lines == linesAfter || len(words)+len(l) > maxWords:
			return words
		default:
			words, lines = plain(l)+" | "+words, lines+1
		}
	}
	return words
}

// plain is a line without what is drawn before it.
func plain(line string) string {
	return strings.TrimSpace(strings.TrimLeft(line, " \t|+×╰├─▶"))
}
