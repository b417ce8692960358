package guestserver

import (
	"regexp"
	"slices"
	"strings"
)

// A compound command of the shell has a head that JavaScript cannot have, because
// there a parenthesis follows if, while and for, and a word that opens its body.
var (
	blockHead = regexp.MustCompile(`^(?:(?:if|elif|while|until)[ \t]+[^\s(]|for[ \t]+(?:[A-Za-z_]\w*(?:[ \t]+in\b|[ \t]*(?:;|$))|\(\()|case[ \t]+\S+[ \t]+in\b[^:]*$)`)
	blockBody = regexp.MustCompile(`(?m)(?:;[ \t]*|^[ \t]*)(?:then|do)(?:[ \t]+[^\s{(]|[ \t]*$)|^[ \t]*esac\b|;;`)
)

// quoted are strings, which hold anything in both languages, and the body of a
// here-document is taken away with hereDocument.
var (
	quoted       = regexp.MustCompile("'[^']*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	hereDocument = regexp.MustCompile(`<<-?[ \t]*(?:['"]?)([A-Za-z_]\w*)`)
)

// onlyJavaScript is what no shell command has outside of a string: an arrow, a
// declaration, an assignment with blanks, a method call, a comparison with a
// number, a condition in parentheses, or a comment.
var onlyJavaScript = regexp.MustCompile(`(?m)=>|[=!]==|^[ \t]*(?:const|var|async|await|class|throw|try)\b` +
	`|^[ \t]*(?:let|export)[ \t]+\w+[ \t]+\w*[ \t]*=|\blet[ \t]+[\w{\[][^=\n]*[ \t]=[ \t]|\breturn[ \t]+[^\d\s$]|\bawait[ \t]` +
	`|[\w\]][ \t]+[+\-*/|&?]{0,2}=[ \t]|[A-Za-z_)\]]\.[A-Za-z_]\w*\(` +
	`|[ \t][<>]=?[ \t]+\d+\b|^[ \t]*(?:\}[ \t]*else[ \t]*)?(?:if|while|switch|catch)[ \t]*\([^()]|^[ \t]*//`)

// hasJavaScript reports whether a text that did not parse has something that only
// JavaScript has.
func hasJavaScript(source string) bool {
	return onlyJavaScript.MatchString(quoted.ReplaceAllString(withoutHereDocuments(source), "''"))
}

// withoutHereDocuments cuts the lines behind "<<EOF", up to a line EOF, out of a
// script.
func withoutHereDocuments(source string) string {
	lines := slices.Collect(strings.Lines(source))
	var out strings.Builder
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		m := hereDocument.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		end := slices.IndexFunc(lines[i+1:], func(line string) bool { return strings.TrimSpace(line) == m[1] })
		i += end + 1
	}
	return out.String()
}
