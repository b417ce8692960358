package guestserver

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/quoinhq/quoin/internal/wire"
)

// maxTypeImports bounds how many imports and exports of types one cell may have:
// each costs a pass over the source.
const maxTypeImports = 64

// asyncHead is how the transform prints the start of the wrapper.
var asyncHead = regexp.MustCompile(`\(async ?\(\) ?=> ?\{`)

// transform turns TypeScript into the program the engine runs and its source
// map. Types are erased without being checked, also those that are imported or
// exported.
func transform(source string) (program string, sourceMap []byte, refusal *wire.GuestError) {
	return transformIn(wrapping{wrapHead, asyncHead}, source)
}

// wrapping is what a source is put into: the text before it, and how that is printed.
type wrapping struct {
	head    string
	printed *regexp.Regexp
}

// transformIn is transform in another wrapper than the wrapper of cells.
func transformIn(in wrapping, source string) (program string, sourceMap []byte, refusal *wire.GuestError) {
	text := in.head + source + wrapTail
	unmapped := &positions{lang: typescript, unmapped: true}
	for range maxTypeImports {
		o := typeScriptOptions()
		r := api.Transform(text, o)
		if len(r.Errors) == 0 {
			if hasWide(r.Code) {
				o.MinifyWhitespace = false
				r = api.Transform(text, o)
			}
			program, sourceMap = hideHelpers(in.printed, string(r.Code), r.Map)
			return program, sourceMap, nil
		}
		e := problemOf(r.Errors[0])
		if looksLikeShell(source) {
			return "", nil, refuseShell()
		}
		start, end, ok := erasable(text, e)
		if !ok {
			if e.text == unexpectedExport {
				return "", nil, refuseModules(unmapped, place{e.line, e.col})
			}
			if start < 0 {
				return "", nil, typeScriptError(source, text, e)
			}
			return "", nil, refuseModules(unmapped, placeAt(text, start))
		}
		text = text[:start] + blank(text[start:end]) + text[end:]
	}
	return "", nil, refuse(wire.ReasonTypeScriptFailed, "the code has too many import and export statements of types; merge them")
}

// typeScriptOptions leaves white space out: the engine keeps the source of every
// function, and the indentation of nested ones adds up to the cube of their depth.
func typeScriptOptions() api.TransformOptions {
	return api.TransformOptions{
		Loader:           api.LoaderTS,
		Target:           api.ES2024,
		MinifyWhitespace: true,
		Sourcemap:        api.SourceMapExternal,
		SourcesContent:   api.SourcesContentExclude,
		TreeShaking:      api.TreeShakingFalse,
		LegalComments:    api.LegalCommentsNone,
		LogLevel:         api.LogLevelSilent,
		TsconfigRaw:      `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
	}
}

// What hideHelpers writes before the wrapper.
const (
	helpersHead = "(()=>{"
	helpersTail = "return "
)

// hideHelpers keeps the functions the transform puts before the program, which
// lowered syntax such as "using" needs, out of the guest's global scope, and moves
// the columns of the source map by what it adds.
func hideHelpers(head *regexp.Regexp, program string, sourceMap []byte) (string, []byte) {
	at := head.FindStringIndex(program)
	if at == nil || at[0] == 0 {
		return program, sourceMap
	}
	helpers, body := program[:at[0]], strings.TrimRight(program[at[0]:], ";\n")
	if !strings.Contains(helpers, "\n") {
		sourceMap = shiftFirstLine(sourceMap)
	}
	return helpersHead + helpers + helpersTail + body + "})()", sourceMap
}

// hasWide reports whether a program has characters that a source map counts as two
// columns and the engine as one. They are rare, and such a program keeps its lines,
// so that they move the columns of their own line alone.
func hasWide(program []byte) bool {
	return bytes.ContainsFunc(program, func(r rune) bool { return r > 0xffff })
}

// shiftFirstLine moves the places of a map's first line right by what hideHelpers
// adds. Columns count from the segment before: a first segment without a source
// says where they start. Its one number is written in base 64, the lowest bit of
// its digit for the sign, which leaves four bits for the value.
func shiftFirstLine(sourceMap []byte) []byte {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	const mappings = `"mappings": "`
	shift := digits[2*len(helpersHead+helpersTail)]
	return bytes.Replace(sourceMap, []byte(mappings), []byte(mappings+string(shift)+","), 1)
}

// problem is a complaint of the parser about a text.
type problem struct {
	text      string
	line, col int // from 1, col in characters
	offset    int // bytes into line; see offsetIn
	lineText  string
}

func problemOf(m api.Message) problem {
	p := problem{text: m.Text}
	if l := m.Location; l != nil {
		p.line, p.offset, p.lineText = l.Line, l.Column, l.LineText
		p.col = utf8.RuneCountInString(l.LineText[:min(l.Column, len(l.LineText))]) + 1
	}
	return p
}

// offsetIn returns where in text the problem lies, in bytes.
func (p problem) offsetIn(text string) int {
	at := 0
	for line := 1; line < p.line; line++ {
		n := lineEnd(text[at:])
		if n < 0 {
			return len(text)
		}
		at += n
	}
	return min(at+p.offset, len(text))
}

// lineEnd returns the index behind the first line terminator, as the parser
// counts them, or -1.
func lineEnd(s string) int {
	i := strings.IndexAny(s, "\n\r\u2028\u2029")
	if i < 0 {
		return -1
	}
	if strings.HasPrefix(s[i:], "\r\n") {
		return i + 2
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return i + n
}

// blank replaces a text by white space of the same length and lines.
func blank(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
	return string(b)
}
