package guestserver

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/quoinhq/quoin/internal/wire"
)

// unexpectedExport is the parser's complaint about an export declaration inside
// a function, where every cell lives.
const unexpectedExport = `Unexpected "export"`

// mentionsModules reports whether a program could use modules at all. Only then
// is it worth a parse. A backslash may hide a letter of require.
func mentionsModules(program string) bool {
	return strings.Contains(program, "import") || strings.Contains(program, "require") ||
		strings.Contains(program, "export") || strings.Contains(program, `\u`)
}

// place is a position in a text. Lines and columns count from 1, columns in
// characters; the zero place is unknown.
type place struct{ line, col int }

// placeAt returns the place of an offset, in bytes.
func placeAt(text string, offset int) place {
	p := place{line: 1}
	for {
		n := lineEnd(text)
		if n < 0 || n > offset {
			break
		}
		text, offset = text[n:], offset-n
		p.line++
	}
	p.col = utf8.RuneCountInString(text[:min(offset, len(text))]) + 1
	return p
}

// findModules reports whether a JavaScript program uses modules, and where it
// does so first: import and export declarations, import(), import.meta or a call
// of a require it does not declare itself.
//
// The parser shows no syntax tree, so the question is put into the text: every
// word "import" is replaced by a name that occurs nowhere, and the parser is
// told to replace that name and "require" by markers where they are free
// variables. In strings, comments, templates, regular expressions and property
// names they are not; neither is a require that is declared. "with" hides which
// variables are free and is replaced by "if", which parses alike.
func findModules(program string) (at place, found bool) {
	importName := unusedName(program, "imp", len("import"))
	importMark := unusedName(program, "quoinImport", len("quoinImport")+4)
	requireMark := unusedName(program, "quoinRequire", len("quoinRequire")+4)
	masked := replaceWord(program, "import", importName)
	masked = replaceWord(masked, "with", "if  ")
	o := checkOptions(map[string]string{importName: importMark, "require": requireMark})
	r := api.Transform(masked, o)
	if len(r.Errors) > 0 {
		return declaresModules(program)
	}
	code := string(r.Code)
	if !strings.Contains(code, importMark+"(") && !strings.Contains(code, importMark+".") && !calls(code, requireMark) {
		return place{}, false
	}
	return firstMark(masked, o, importMark, requireMark), true
}

// firstMark returns where in the source the first of the marked names stands.
func firstMark(source string, o api.TransformOptions, marks ...string) (first place) {
	o.Sourcemap = api.SourceMapExternal
	o.SourcesContent = api.SourcesContentExclude
	r := api.Transform(source, o)
	m, err := sourcemap.Parse("", r.Map)
	if err != nil {
		return place{}
	}
	code := string(r.Code)
	for _, mark := range marks {
		for at := nextWord(code, mark, 0); at >= 0; at = nextWord(code, mark, at+1) {
			// The map counts lines from 1 and columns from 0.
			p := placeAt(code, at)
			_, _, line, col, ok := m.Source(p.line, p.col-1)
			if ok && (first.line == 0 || line < first.line || line == first.line && col+1 < first.col) {
				first = place{line, col + 1}
			}
		}
	}
	return first
}

func checkOptions(define map[string]string) api.TransformOptions {
	return api.TransformOptions{
		Loader:           api.LoaderJS,
		Target:           api.ESNext,
		Define:           define,
		MinifyWhitespace: true,
		TreeShaking:      api.TreeShakingFalse,
		LegalComments:    api.LegalCommentsNone,
		LogLevel:         api.LogLevelSilent,
	}
}

// calls reports whether printed code calls the function name, also through
// parentheses, a sequence, an optional chain, new or a template.
func calls(code, name string) bool {
	for _, form := range []string{name + "(", name + "?.(", name + "`", "," + name + ")(", "," + name + ")?.("} {
		if strings.Contains(code, form) {
			return true
		}
	}
	return strings.Contains(code, "new "+name)
}

// declaresModules reports whether the first thing wrong with a program is an
// import or export declaration, and where it is.
func declaresModules(program string) (at place, found bool) {
	r := api.Transform(program, checkOptions(nil))
	if len(r.Errors) == 0 {
		return place{}, false
	}
	e := problemOf(r.Errors[0])
	if e.text == unexpectedExport {
		return place{e.line, e.col}, true
	}
	offset, found := importAt(program, e, api.LoaderJS)
	return placeAt(program, offset), found
}

// importAt returns the offset of the word import of the statement that the
// parser complained about: the parser stops at the token behind the word. A
// word in a comment may stand there too; it is told apart by taking it away,
// which then does not change the complaint.
func importAt(text string, e problem, loader api.Loader) (int, bool) {
	const word = "import"
	target := e.offsetIn(text)
	for at := nextWord(text, word, 0); at >= 0 && at < target; at = nextWord(text, word, at+1) {
		if skipBlank(text, at+len(word)) != target {
			continue
		}
		without := text[:at] + unusedName(text, "imp", len(word)) + text[at+len(word):]
		o := checkOptions(nil)
		o.Loader = loader
		r := api.Transform(without, o)
		if len(r.Errors) == 0 {
			return at, true
		}
		if other := problemOf(r.Errors[0]); other.text != e.text || other.offsetIn(without) != target {
			return at, true
		}
	}
	return 0, false
}

// replaceWord replaces every occurrence of an identifier as a whole word.
func replaceWord(text, word, by string) string {
	var out strings.Builder
	done := 0
	for at := nextWord(text, word, 0); at >= 0; at = nextWord(text, word, done) {
		out.WriteString(text[done:at])
		out.WriteString(by)
		done = at + len(word)
	}
	return out.String() + text[done:]
}

// nextWord returns the offset of the next occurrence of word that is not a part
// of a longer identifier, or -1.
func nextWord(text, word string, from int) int {
	for from <= len(text) {
		n := strings.Index(text[from:], word)
		if n < 0 {
			return -1
		}
		at := from + n
		end := at + len(word)
		if (at == 0 || !inIdentifier(text[at-1])) && (end == len(text) || !inIdentifier(text[end])) {
			return at
		}
		from = at + 1
	}
	return -1
}

func inIdentifier(c byte) bool {
	return c == '_' || c == '$' || c >= utf8.RuneSelf ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// unusedName returns an identifier of exactly length bytes that starts with
// prefix and does not occur in text.
func unusedName(text, prefix string, length int) string {
	for i := uint64(0); ; i++ {
		digits := strconv.FormatUint(i, 36)
		if pad := length - len(prefix) - len(digits); pad > 0 {
			digits = strings.Repeat("0", pad) + digits
		}
		if name := prefix + digits; !strings.Contains(text, name) {
			return name
		}
	}
}

// refuseModules refuses a program that uses modules at a place of the engine's
// program.
func refuseModules(p *positions, where place) *wire.GuestError {
	g := refuse(wire.ReasonModuleAccess, "code mode module access is disabled. "+
		"Remove import, export and require, and use the globals: tools, namespaces, text, json and the standard JavaScript objects. "+
		"What reaches files and networks is a tool: await tools.search(\"words\") finds it")
	if where.line == 0 {
		return g
	}
	if line, col, ok := p.original(where.line, where.col); ok {
		g.Message += " (" + at(p.lang, line, col) + ")"
	}
	return g
}
