package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a plain word of a command.
type word struct {
	text   string // what the program gets, with patterns as they are
	quoted string // what stands for it in Judgement.Line
	// glob says that the word is a pattern of file names, so that it may become
	// several, and open that their first character is not known.
	glob, open bool
}

// literal is a word of this text.
func literal(text string) word { return word{text: text, quoted: quote(text)} }

// source is a word as it was written.
func source(w *syntax.Word) string {
	var s strings.Builder
	if err := syntax.NewPrinter().Print(&s, w); err != nil {
		return "…"
	}
	return s.String()
}

func expansionName(part syntax.WordPart) string {
	switch part.(type) {
	case *syntax.ParamExp:
		return "it has a variable"
	case *syntax.CmdSubst:
		return "it has the output of a command"
	case *syntax.ArithmExp:
		return "it has arithmetic"
	case *syntax.ProcSubst:
		return "it has a command in the place of a file"
	case *syntax.ExtGlob:
		return "it has an extended pattern"
	}
	return "it has an expansion"
}

// wordBuilder puts a word together from its parts.
type wordBuilder struct {
	text    string
	quoted  strings.Builder
	pending string // literal text that is not in quoted yet
	glob    bool
	open    bool
	brace   bool
	problem string
}

func (b *wordBuilder) literal(s string) {
	b.text += s
	b.pending += s
}

// active adds characters that the shell must see without quotes.
func (b *wordBuilder) active(s string) {
	b.flush()
	b.text += s
	b.quoted.WriteString(s)
}

func (b *wordBuilder) flush() {
	if b.pending != "" {
		b.quoted.WriteString(quote(b.pending))
		b.pending = ""
	}
}

func (b *wordBuilder) word() word {
	b.flush()
	if b.quoted.Len() == 0 {
		b.quoted.WriteString("''")
	}
	return word{text: b.text, quoted: b.quoted.String(), glob: b.glob, open: b.open}
}

// unquoted adds text without quotes.
func (b *wordBuilder) unquoted(s string, first, only bool) {
	if first && strings.HasPrefix(s, "~") {
		if s != "~" && !strings.HasPrefix(s, "~/") || s == "~" && !only {
			b.problem = "it has the home directory of a user"
			return
		}
		head := s[:min(2, len(s))]
		b.active(head)
		s = s[len(head):]
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) || s[i] == '\n' {
				b.problem = "it ends in a backslash"
				return
			}
			b.literal(s[i : i+1])
		case '*', '?':
			b.pattern(string(c))
		case '[':
			end := bracket(s[i:])
			if end < 0 {
				b.problem = "it has a pattern with brackets that are not simple"
				return
			}
			if end > 0 {
				b.pattern(s[i : i+end])
				i += end - 1
				continue
			}
			b.literal("[")
		case '~':
			if i > 0 && (s[i-1] == '=' || s[i-1] == ':') {
				b.problem = "it has the home directory of a user"
				return
			}
			b.literal("~")
		case '{':
			b.brace = true
			b.literal("{")
		default:
			b.literal(s[i : i+1])
		}
	}
}

func (b *wordBuilder) pattern(s string) {
	b.open = b.open || b.text == ""
	b.glob = true
	b.active(s)
}

// bracket is the length of a pattern such as [a-z0-9] at the start of s; 0 without a
// closing bracket, so that it is a character; -1 if it is not simple.
func bracket(s string) int {
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return 0
	}
	for i, c := range []byte(s[1:end]) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '.' && (c != '-' || i == 0 || i == end-2) {
			return -1
		}
	}
	if end == 1 {
		return -1
	}
	return end + 1
}

// doubleQuoted adds text in double quotes, in which a backslash takes the meaning of
// four characters alone.
func (b *wordBuilder) doubleQuoted(q *syntax.DblQuoted) {
	if q.Dollar {
		b.problem = `$"…" is translated`
		return
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			b.problem = expansionName(part)
			return
		}
		s := lit.Value
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' && i+1 < len(s) {
				switch s[i+1] {
				case '$', '`', '"', '\\':
					i++
				case '\n':
					b.problem = "it has a line that goes on"
					return
				}
			}
			b.literal(s[i : i+1])
		}
	}
}
