package guestserver

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// erasable returns which part of a TypeScript text to blank, so that an import or
// an export of types, at which the parser stopped with e, is gone. If it is another
// module statement, ok is false; start is -1 if it is another statement.
func erasable(text string, e problem) (start, end int, ok bool) {
	if e.text == unexpectedExport {
		start = e.offsetIn(text)
		end, ok = typeExportEnd(text, start)
		return start, end, ok
	}
	start, ok = importAt(text, e, api.LoaderTS)
	if !ok {
		return -1, 0, false
	}
	end, ok = typeImportEnd(text, start)
	return start, end, ok
}

// An export of types: of a declaration, which loses the word export, or of a list.
var (
	exportedType     = regexp.MustCompile(`^export\s+(?:interface|declare|type\s+[A-Za-z_$])`)
	exportedTypeList = regexp.MustCompile(`^export\s+type\s*(?:\{[^{}'"` + "`" + `]*\}(\s*from\b)?|\*)`)
)

// typeExportEnd returns up to where the statement at text[at:], which starts with
// export, is to be blanked, if it exports types alone.
func typeExportEnd(text string, at int) (int, bool) {
	if exportedType.MatchString(text[at:]) {
		return at + len("export"), true
	}
	m := exportedTypeList.FindStringSubmatch(text[at:])
	if m == nil {
		return 0, false
	}
	if m[1] == "" && strings.HasSuffix(m[0], "}") {
		return at + len(m[0]), true
	}
	end := statementEnd(text, at)
	return end, end >= 0
}

// noValues matches an import as it is printed when its names are all types.
var noValues = regexp.MustCompile(`^import\{\}from`)

// typeImportEnd returns where the statement at text[at:] ends, if it imports types
// alone, which TypeScript erases.
func typeImportEnd(text string, at int) (int, bool) {
	end := statementEnd(text, at)
	if end < 0 {
		return 0, false
	}
	o := typeScriptOptions()
	o.Sourcemap = api.SourceMapNone
	r := api.Transform(text[at:end], o)
	code := strings.TrimSpace(string(r.Code))
	if len(r.Errors) > 0 || code != "" && !noValues.MatchString(code) {
		return 0, false
	}
	return end, code == "" || namesSomething(text[at:end])
}

// namesSomething reports whether there is more between the braces of an import
// than blanks and comments.
func namesSomething(statement string) bool {
	open := strings.IndexByte(statement, '{')
	return open >= 0 && !strings.HasPrefix(statement[skipBlank(statement, open+1):], "}")
}

// statementEnd finds the end of an import statement: behind its module name,
// what may follow it in brackets, and a semicolon.
func statementEnd(text string, at int) int {
	i, depth := at, 0
	for i < len(text) {
		switch c := text[i]; c {
		case '/':
			n := skipBlank(text, i)
			if n == i {
				return -1
			}
			i = n
			continue
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case ';':
			return -1
		case '"', '\'':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				return -1
			}
			i += n + 1
			if depth == 0 {
				return statementTail(text, i+1)
			}
			if rest := skipBlank(text, i+1); depth == 1 && strings.HasPrefix(text[rest:], ")") {
				return statementTail(text, rest+1)
			}
		}
		i++
	}
	return -1
}

// statementTail moves past import attributes and a semicolon.
func statementTail(text string, end int) int {
	i := skipBlank(text, end)
	if strings.HasPrefix(text[i:], "with") {
		open := skipBlank(text, i+len("with"))
		if strings.HasPrefix(text[open:], "{") {
			if n := strings.IndexByte(text[open:], '}'); n >= 0 {
				end = open + n + 1
				i = skipBlank(text, end)
			}
		}
	}
	if strings.HasPrefix(text[i:], ";") {
		return i + 1
	}
	return end
}

// skipBlank returns the offset of the first character at or behind i that is
// neither white space nor part of a comment.
func skipBlank(text string, i int) int {
	for i < len(text) {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexAny(rest, "\n\r\u2028\u2029")
			if n < 0 {
				return len(text)
			}
			i += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return len(text)
			}
			i += n + 4
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if !strings.ContainsRune(" \t\n\r\v\f\u00a0\ufeff\u2028\u2029", r) {
				return i
			}
			i += n
		}
	}
	return i
}
