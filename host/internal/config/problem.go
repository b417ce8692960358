package config

import (
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// Problem is one fault of a configuration, or a warning about it.
type Problem struct {
	// Source is the name of the file or environment variable, or "--set".
	Source string `json:"source"`
	// Line and Column count from 1; they are 0 where Source is not a file.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field is the path of the field, such as "tools.codeMode.timeoutMs". It is
	// empty when the text as a whole is at fault.
	Field string `json:"field,omitempty"`
	// Got is what was given, as JSON, cut short.
	Got string `json:"got,omitempty"`
	// Message is the fault in a sentence, without place and field.
	Message string `json:"message"`

	rank, offset int // where to report it: by kind of source, then by place
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field + " ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error is everything that is wrong with a configuration.
type Error struct {
	Problems []Problem // at least one; by source, then by place
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// cut bounds what is repeated of a value.
func cut(s string) string {
	const most = 80
	return text.Shorten(s, most)
}

func quotedList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(quoted, ", ")
}
