package guestserver

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/quoinhq/quoin/internal/wire"
)

// syntaxError completes what the engine said about a JavaScript cell that does
// not parse: shell commands and module access get their own answer, everything
// else the place in the submitted source.
func (p *prepared) syntaxError(c wire.Cell, e *wire.GuestError) *wire.GuestError {
	if p.at.lang == javascript && looksLikeShell(c.Source) {
		return refuseShell()
	}
	out := *e
	line, col, ok := p.enginePlace(e.Stack)
	if ok && line > countLines(c.Source) {
		// The parser ran into the wrapper: something is open or closed once
		// too often, and a parse without the wrapper tells where.
		if bare, found := bareProblem(c.Source, api.LoaderJS); found {
			out.Message, line, col = bare.text, bare.line, bare.col
		} else {
			out.Message = "unexpected end of the code"
			line, col = endOf(c.Source)
		}
	}
	out.Stack = ""
	if p.at.lang == javascript {
		out.Message += languageHint(c.Source)
	}
	if ok {
		out.Message += " (" + at(p.at.lang, line, col) + ")"
	}
	return &out
}

// languageHint says which other language a JavaScript source that the engine refused is
// in; "" if it is just wrong.
func languageHint(source string) string {
	switch {
	case onlyUsing(source):
		return usingHint
	case pythonBlock.MatchString(source):
		return ", which looks like Python: exec runs JavaScript"
	case onlyTypes(source):
		return ", types work in TypeScript alone: send the language typescript, or leave the types out"
	}
	return ""
}

// pythonBlock is the head of a block of Python.
var pythonBlock = regexp.MustCompile(`(?m)^[ \t]*(?:async )?(?:for \w[\w, ]* in |if |elif |else|while |def \w+\(|class \w+|with |try|except).*:[ \t]*$`)

// onlyTypes reports whether a JavaScript source that the engine refused is right as
// TypeScript.
func onlyTypes(source string) bool {
	_, broken := bareProblem(source, api.LoaderTS)
	_, brokenJS := bareProblem(source, api.LoaderJS)
	return !broken && brokenJS
}

// usingHint answers the one declaration that the engine does not know, and the
// transform of TypeScript does.
const usingHint = ", using works in TypeScript alone: send the language typescript, or use try and finally"

// onlyUsing reports whether a JavaScript source that the engine refused is right but
// for its using declarations.
func onlyUsing(source string) bool {
	if nextWord(source, "using", 0) < 0 {
		return false
	}
	_, broken := bareProblem(source, api.LoaderJS)
	return !broken
}

var enginePlace = regexp.MustCompile(`(cell\.[jt]s):(\d+)(?::(\d+))?`)

// enginePlace returns the first place a raw stack names, mapped.
func (p *prepared) enginePlace(stack string) (line, col int, ok bool) {
	m := enginePlaceOf(stack, p.at.lang.file())
	if m == nil {
		return 0, 0, false
	}
	l, err := strconv.Atoi(m[2])
	if err != nil {
		return 0, 0, false
	}
	c := 1
	if m[3] != "" {
		if c, err = strconv.Atoi(m[3]); err != nil {
			return 0, 0, false
		}
	}
	return p.at.original(l, c)
}

func enginePlaceOf(stack, file string) []string {
	for _, m := range enginePlace.FindAllStringSubmatch(stack, -1) {
		if m[1] == file {
			return m
		}
	}
	return nil
}

// typeScriptError answers a cell the transform could not parse.
func typeScriptError(source, wrapped string, e problem) *wire.GuestError {
	line, col := e.line, e.col
	if line == 1 {
		col = max(col-len(wrapHead), 1)
	}
	if line > countLines(source) {
		if bare, found := bareProblem(source, api.LoaderTS); found {
			e.text, line, col = bare.text, bare.line, bare.col
		} else {
			e.text = "unexpected end of the code"
			line, col = endOf(source)
		}
	}
	text := e.text
	if strings.HasPrefix(text, "Expected \";\"") && afterNamespace(wrapped[:e.offsetIn(wrapped)]) {
		text = "a cell cannot declare a TypeScript namespace or module, use an object"
	}
	g := refuse(wire.ReasonTypeScriptFailed, text+" ("+at(typescript, line, col)+")")
	g.Name = "SyntaxError"
	return g
}

func afterNamespace(before string) bool {
	before = strings.TrimRight(before, " \t")
	return strings.HasSuffix(before, "namespace") || strings.HasSuffix(before, "module")
}

// bareProblem parses a source without the wrapper and returns what is wrong
// with it beyond the return and await statements that only the wrapper allows.
func bareProblem(source string, loader api.Loader) (problem, bool) {
	o := checkOptions(nil)
	o.Loader = loader
	for _, m := range api.Transform(source, o).Errors {
		if strings.HasPrefix(m.Text, "Top-level return") {
			continue
		}
		return problemOf(m), true
	}
	return problem{}, false
}

func countLines(source string) int { return strings.Count(source, "\n") + 1 }

// endOf returns the place behind the last character of a source.
func endOf(source string) (line, col int) {
	source = strings.TrimRight(source, " \t\r\n")
	last := source[strings.LastIndexByte(source, '\n')+1:]
	return countLines(source), utf8.RuneCountInString(last) + 1
}
