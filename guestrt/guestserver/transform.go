package guestserver

import (
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/quoinhq/quoin/guestrt/wire"
)

// maxTypeImports bounds how many "import type" statements one cell may have:
// each costs a pass over the source.
const maxTypeImports = 64

// asyncHead is how the transform prints the beginning of the wrapper.
const asyncHead = "(async () => {"

// transform turns TypeScript into the program the engine runs and its source
// map. Types are erased without being checked, "import type" included.
func transform(source string) (program string, sourceMap []byte, refusal *wire.GuestError) {
	text := wrap(source)
	unmapped := &positions{lang: typescript, unmapped: true}
	for range maxTypeImports {
		r := api.Transform(text, typeScriptOptions())
		if len(r.Errors) == 0 {
			return hideHelpers(string(r.Code)), r.Map, nil
		}
		e := problemOf(r.Errors[0])
		if looksLikeShell(source) {
			return "", nil, refuseShell()
		}
		if e.text == unexpectedExport {
			return "", nil, refuseModules(unmapped, place{e.line, e.col})
		}
		at, isImport := importAt(text, e, api.LoaderTS)
		if !isImport {
			return "", nil, typeScriptError(source, text, e)
		}
		end, typeOnly := typeImportEnd(text, at)
		if !typeOnly {
			return "", nil, refuseModules(unmapped, placeAt(text, at))
		}
		text = text[:at] + blank(text[at:end]) + text[end:]
	}
	return "", nil, refuse(wire.ReasonTypeScriptFailed, "the code has too many import type statements; merge them")
}

func typeScriptOptions() api.TransformOptions {
	return api.TransformOptions{
		Loader:         api.LoaderTS,
		Target:         api.ES2024,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		TreeShaking:    api.TreeShakingFalse,
		LegalComments:  api.LegalCommentsNone,
		LogLevel:       api.LogLevelSilent,
		TsconfigRaw:    `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
	}
}

// hideHelpers keeps the functions the transform puts before the program, which
// lowered syntax such as "using" needs, out of the guest's global scope. No line
// is added, so the source map stays valid.
func hideHelpers(program string) string {
	if strings.HasPrefix(program, asyncHead) {
		return program
	}
	helpers, body, ok := strings.Cut(program, "\n"+asyncHead)
	if !ok {
		return program
	}
	return "(()=>{" + helpers + "\nreturn " + asyncHead + strings.TrimRight(body, ";\n") + "})()"
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
