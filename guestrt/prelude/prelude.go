package prelude

import _ "embed"

//go:generate go run ./gen

// JS is the script that prepares a guest. It is one expression, evaluated once
// per template under the file name "quoin:prelude"; its value is the factory
// (native) => entry of the package comment.
//
//go:embed prelude.js
var JS string

// Reserved lists the globals that the prelude defines in every guest. No
// namespace may take one of these names. The slice is the caller's.
func Reserved() []string {
	return []string{
		"ALL_TOOLS", "MCP", "clearInterval", "clearTimeout", "console", "json", "namespaces", "queueMicrotask",
		"setInterval", "setTimeout", "text", "tools", "yield_control",
	}
}
