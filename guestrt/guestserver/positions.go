package guestserver

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sourcemap/sourcemap"

	"github.com/quoinhq/quoin/internal/wire"
)

// A cell is the body of an async function. The wrapper starts on the first line
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
	unmapped  bool                // there is no map: places are in the wrapped source
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

// mapStack keeps the frames of the cell, mapped and folded, and drops every other
// line.
func (p *positions) mapStack(stack string) string {
	var frames []string
	for line := range strings.Lines(stack) {
		m := frame.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || m[2] != p.lang.file() {
			continue
		}
		place, ok := p.place(m[3], m[4])
		if !ok {
			continue
		}
		if m[1] == "" {
			frames = append(frames, "    at "+place)
		} else {
			frames = append(frames, "    at "+m[1]+" ("+place+")")
		}
	}
	frames = fold(frames)
	return strings.Join(frames[:min(len(frames), maxFrames)], "\n")
}

// maxCycle is how many functions may call each other in a circle and be folded.
const maxCycle = 4

// fold leaves what repeats in a stack in it once, and says how often it does.
func fold(frames []string) []string {
	var out []string
	for len(frames) > 0 {
		n, times := cycle(frames)
		out = append(out, frames[:n]...)
		switch {
		case times > 1 && n == 1:
			out = append(out, fmt.Sprintf("    ... %d more of this", times-1))
		case times > 1:
			out = append(out, fmt.Sprintf("    ... %d more of these %d", times-1, n))
		}
		frames = frames[n*times:]
	}
	return out
}

// cycle returns how many frames at the start of a stack repeat, and how often
// they are there; 1, 1 if they do not.
func cycle(frames []string) (n, times int) {
	const enough = 3
	for n = 1; n <= maxCycle && enough*n <= len(frames); n++ {
		times = 1
		for rest := frames[n:]; len(rest) >= n && slices.Equal(rest[:n], frames[:n]); rest = rest[n:] {
			times++
		}
		if times >= enough {
			return n, times
		}
	}
	return 1, 1
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
