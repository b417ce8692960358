package declare

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// Bounds of one comment.
const (
	maxCommentLines = 24
	maxLineBytes    = 400
	maxFactBytes    = 120
)

// harmless returns one line of text that ends no comment and holds nothing that
// a terminal or a compiler would read as more than text.
func harmless(line string) string {
	line = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, line)
	return strings.ReplaceAll(strings.TrimSpace(line), "*/", `*\/`)
}

// lines splits a text into harmless lines, blank ones at the ends left out.
func lines(s string) []string {
	const most = 16 << 10
	s = text.Shorten(s, most)
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		line = text.Shorten(harmless(line), maxLineBytes)
		if line == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		if len(out) == maxCommentLines {
			out = append(out, "…")
			break
		}
		out = append(out, line)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// comment writes a JSDoc comment above what follows, or nothing for no lines.
func comment(text []string, indent string) string {
	switch len(text) {
	case 0:
		return ""
	case 1:
		return indent + "/** " + text[0] + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, line := range text {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}

// about returns what a comment says of a schema in addition to its type.
func about(schema *jsonschema.Node) []string {
	text := schema.Get("description").Str()
	if text == "" {
		text = schema.Get("title").Str()
	}
	out := lines(text)
	if f := facts(schema); f != "" {
		out = append(out, f)
	}
	if d := schema.Get("deprecated"); d.IsTrue() {
		out = append(out, "@deprecated")
	}
	return out
}

// facts puts the rules that no type expresses into one line.
func facts(schema *jsonschema.Node) string {
	var out []string
	say := func(format string, args ...any) { out = append(out, harmless(fmt.Sprintf(format, args...))+".") }
	for _, t := range schema.Get("type").Words() {
		if t == "integer" {
			say("Integer")
		}
	}
	for _, f := range []struct{ key, word string }{{"format", "Format"}, {"pattern", "Pattern"}, {"contentEncoding", "Encoding"}} {
		if v := schema.Get(f.key).Str(); v != "" {
			say("%s: %s", f.word, text.Shorten(v, maxFactBytes))
		}
	}
	for _, f := range []struct{ low, high, word string }{
		{"minimum", "maximum", "Range"}, {"exclusiveMinimum", "exclusiveMaximum", "Range, ends excluded"},
		{"minLength", "maxLength", "Length"}, {"minItems", "maxItems", "Items"}, {"minProperties", "maxProperties", "Properties"},
	} {
		if s := bounds(schema.Get(f.low), schema.Get(f.high)); s != "" {
			say("%s: %s", f.word, s)
		}
	}
	if v := schema.Get("multipleOf"); v.Is(jsonschema.Number) {
		say("Multiple of %s", text.Shorten(v.Text, maxFactBytes))
	}
	if v := schema.Get("uniqueItems"); v.IsTrue() {
		say("No two items are equal")
	}
	if v := schema.Get("default"); v != nil {
		say("Default: %s", text.Shorten(compact(v, maxFactBytes), maxFactBytes))
	}
	return strings.Join(out, " ")
}

// bounds writes a range.
func bounds(low, high *jsonschema.Node) string {
	l, h := low.Is(jsonschema.Number), high.Is(jsonschema.Number)
	switch {
	case l && h:
		return text.Shorten(low.Text, maxFactBytes) + " to " + text.Shorten(high.Text, maxFactBytes)
	case l:
		return "at least " + text.Shorten(low.Text, maxFactBytes)
	case h:
		return "at most " + text.Shorten(high.Text, maxFactBytes)
	}
	return ""
}

// compact writes a value as JSON, about so many bytes of it.
func compact(v *jsonschema.Node, most int) string {
	var b strings.Builder
	writeCompact(&b, v, most)
	return b.String()
}

func writeCompact(b *strings.Builder, v *jsonschema.Node, most int) {
	if b.Len() > most {
		return
	}
	switch v.Kind {
	case jsonschema.Null:
		b.WriteString("null")
	case jsonschema.Bool:
		fmt.Fprint(b, v.Truth)
	case jsonschema.Number:
		b.WriteString(v.Text)
	case jsonschema.String:
		b.WriteString(quote(text.Shorten(v.Text, most)))
	case jsonschema.Array:
		b.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCompact(b, item, most)
		}
		b.WriteByte(']')
	case jsonschema.Object:
		b.WriteByte('{')
		for i, m := range v.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(text.Shorten(m.Key, most)) + ":")
			writeCompact(b, m.Value, most)
		}
		b.WriteByte('}')
	}
}
