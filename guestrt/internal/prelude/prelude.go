package prelude

import (
	"embed"
	"fmt"
)

//go:generate go run ./gen

// JS is the script that prepares a guest. It is one expression, evaluated once
// per template under the file name "quoin:prelude"; its value is the factory
// (native) => entry of the package comment.
//
//go:embed prelude.js
var JS string

//go:embed extra/*.js
var extras embed.FS

// Extra returns the script of an extra: a part of the guest's world that is
// evaluated, as JS is, when a guest first touches one of its globals.
func Extra(name string) (script string, ok bool) {
	text, err := extras.ReadFile("extra/" + name + ".js")
	return string(text), err == nil
}

// ProgramFolder starts the paths of the virtual files that are saved programs. Each is a
// JavaScript expression. Its value is a function of the program's input and of its
// programs object, which returns the program as an async function without parameters.
const ProgramFolder = "program/"

// Declarations is guest.d.ts: the globals of every program, in TypeScript.
//
//go:embed guest.d.ts
var Declarations string

// The virtual files behind API that are the same for every guest.
const (
	fileDeclarations = "api/guest.d.ts"
	fileAbout        = fileDeclarations + ".json"
)

// File returns a virtual file that the prelude itself brings along: the text of
// guest.d.ts, and what API says of it.
func File(path string) (data []byte, found bool) {
	switch path {
	case fileDeclarations:
		return []byte(Declarations), true
	case fileAbout:
		return fmt.Appendf(nil, `{"path":"guest.d.ts","description":"The globals of every program","bytes":%d}`, len(Declarations)), true
	}
	return nil, false
}

// Reserved lists the globals that the prelude defines in every guest. No
// namespace may take one of these names. The slice is the caller's.
func Reserved() []string {
	return []string{
		"ALL_TOOLS", "API", "AbortController", "AbortSignal", "MCP", "TextDecoder", "TextEncoder", "URL",
		"URLSearchParams", "atob", "btoa", "clearInterval", "clearTimeout", "console", "crypto", "json",
		"namespaces", "performance", "programs", "queueMicrotask", "results", "setInterval", "setTimeout", "structuredClone", "text", "tools",
		"yield_control",
	}
}
