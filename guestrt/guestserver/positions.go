package guestserver

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-sourcemap/sourcemap"

	"github.com/quoinhq/quoin/guestrt/wire"
)

// A cell is the body of an async function. The wrapper begins on the first line
// of the source, so that lines keep their numbers, and ends on a line of its
// own, so that a comment at the end of the source does not swallow it.
const (
	wrapHead = "(async()=>{"
	wrapTail = "\n})"
)

func wrap(source string) string { return wrapHead + source + wrapTail }

// language is what a cell is written in.
type language byte

const (
	javascript language = iota
	typescript
)

func (l language) file() string {
	if l == typescript {
		return "cell.ts"
	}
	return "cell.js"
}

// positions maps places in the program the engine runs to places in the source
// that was submitted. Lines and columns count from 1.
type positions struct {
	lang      language
	sourceMap []byte              // TypeScript only: from engine program to wrapped source
	consumer  *sourcemap.Consumer // parsed from sourceMap when first needed
	unmapped  bool                // there is no map: places are those of the wrapped source
}

// original returns where in the submitted source a place of the engine's
// program lies.
func (p *positions) original(line, col int) (int, int, bool) {
	if p.lang == typescript && !p.unmapped {
		if !p.parse() {
			return 0, 0, false
		}
		_, _, l, c, ok := p.consumer.Source(line, col-1)
		if !ok {
			return 0, 0, false
		}
		line, col = l, c+1
	}
	if line == 1 {
		col = max(col-len(wrapHead), 1)
	}
	return line, col, true
}

func (p *positions) parse() bool {
	if p.consumer == nil {
		c, err := sourcemap.Parse("", p.sourceMap)
		if err != nil {
			return false
		}
		p.consumer = c
	}
	return true
}

// mapError rewrites the stack of a guest's error to the submitted source. A nil
// error is left alone.
func (p *positions) mapError(e *wire.GuestError) {
	if e != nil {
		e.Stack = p.mapStack(e.Stack)
	}
}

// maxFrames bounds a mapped stack.
const maxFrames = 64

// frame matches one stack line of the engine: "at name (file:line:col)" or
// "at file:line:col".
var frame = regexp.MustCompile(`^\s*at (?:(.*) \()?(cell\.[jt]s):(\d+)(?::(\d+))?\)?$`)

// mapStack keeps the frames of the cell, mapped, and drops every other line.
func (p *positions) mapStack(stack string) string {
	var out strings.Builder
	kept := 0
	for line := range strings.Lines(stack) {
		m := frame.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || m[2] != p.lang.file() {
			continue
		}
		place, ok := p.place(m[3], m[4])
		if !ok {
			continue
		}
		if kept++; kept > maxFrames {
			break
		}
		if m[1] == "" {
			out.WriteString("    at " + place + "\n")
		} else {
			out.WriteString("    at " + m[1] + " (" + place + ")\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// place formats a mapped position; col may be missing.
func (p *positions) place(line, col string) (string, bool) {
	l, err := strconv.Atoi(line)
	if err != nil {
		return "", false
	}
	c := 1
	if col != "" {
		if c, err = strconv.Atoi(col); err != nil {
			return "", false
		}
	}
	l, c, ok := p.original(l, c)
	if !ok {
		return "", false
	}
	return at(p.lang, l, c), true
}

func at(lang language, line, col int) string {
	return lang.file() + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(col)
}
