package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/sdk"
)

const codeTemplate = "invalid_template" // the template literal is no command

// fromTemplate makes a command of a template literal. The texts are as the program has
// them, escapes and all; each value is one word, or part of one, whatever is in it.
func fromTemplate(_ context.Context, _ sdk.RunContext, t sdk.Template) (any, error) {
	quoted := make([]string, len(t.Values))
	size := 0
	for i, v := range t.Values {
		var err error
		if quoted[i], err = quoteValue(v, t.Raw[i+1]); err != nil {
			return nil, sdk.Errorf(codeTemplate, "value %d of the template %v", i+1, err)
		}
		size += len(quoted[i])
	}
	for _, s := range t.Raw {
		size += len(s)
	}
	if size > settings.MaxCommandBytes {
		return nil, sdk.Errorf(codeTemplate, "the command is %d bytes long: %d are the most; write long values to a file or to the process", size, settings.MaxCommandBytes)
	}
	if err := checkPlaces(t.Raw); err != nil {
		return nil, err
	}
	return execInput{Command: interleave(t.Raw, quoted)}, nil
}

func interleave(texts, values []string) string {
	var b strings.Builder
	for i, s := range texts {
		b.WriteString(s)
		if i < len(values) {
			b.WriteString(values[i])
		}
	}
	return b.String()
}

// quoteValue makes a value one word. The values of a list are words of their own. next
// is the text after it.
func quoteValue(v json.RawMessage, next string) (string, error) {
	var list []json.RawMessage
	if json.Unmarshal(v, &list) == nil && list != nil {
		words := make([]string, len(list))
		for i, item := range list {
			w, err := quoteScalar(item, next)
			if err != nil {
				return "", fmt.Errorf("has item %d, which %w", i, err)
			}
			words[i] = w
		}
		return strings.Join(words, " "), nil
	}
	return quoteScalar(v, next)
}

func quoteScalar(v json.RawMessage, next string) (string, error) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return "", fmt.Errorf("is not JSON: %w", err)
	}
	switch value := value.(type) {
	case string:
		if strings.ContainsRune(value, 0) {
			return "", fmt.Errorf("has a NUL character, which no command can have")
		}
		return quoteWord(value, next), nil
	case json.Number:
		return quoteWord(value.String(), next), nil
	case bool:
		return strconv.FormatBool(value), nil
	case nil:
		return "", fmt.Errorf("is null or undefined: give a string, a number, a boolean or a list of them")
	}
	return "", fmt.Errorf("is an object: give a string, a number, a boolean or a list of them, such as JSON.stringify(value)")
}

// quoteWord quotes s unless no shell would look at any character of it. A number in
// front of a redirection would be a descriptor, and some words are the shell's own.
func quoteWord(s, next string) string {
	plain := s != "" && !syntax.IsKeyword(s) && !strings.HasPrefix(next, "<") && !strings.HasPrefix(next, ">")
	for _, c := range []byte(s) {
		if !isPlain(c) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:@%+", c) >= 0
}

// checkPlaces refuses values where quotes do not quote: in quotes, in a here-document, in
// a comment, or after a backslash. It has a shell's parser look at the texts with plain
// words in the place of the values: each must come back as it is.
func checkPlaces(texts []string) error {
	if len(texts) == 1 {
		return nil
	}
	stem := "QUOIN"
	for strings.Contains(strings.Join(texts, ""), stem) {
		stem += "_"
	}
	marks := make([]string, len(texts)-1)
	for i := range marks {
		marks[i] = fmt.Sprintf("%sx%dx", stem, i)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(interleave(texts, marks)), "")
	if err != nil {
		return sdk.Errorf(codeTemplate, "the template is no shell command: %v", err)
	}
	found := map[string]int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			for _, part := range w.Parts {
				if lit, ok := part.(*syntax.Lit); ok {
					countMarks(lit.Value, marks, found)
				}
			}
		}
		return !quotes(n)
	})
	for i, mark := range marks {
		if found[mark] != 1 {
			return sdk.Errorf(codeTemplate, "value %d of the template stands where it cannot be quoted: leave out the quotes around it, and put it where a word or a part of one can stand", i+1)
		}
	}
	return nil
}

// quotes reports whether values below n would not be words.
func quotes(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.DblQuoted, *syntax.SglQuoted, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ParamExp, *syntax.ExtGlob, *syntax.Comment, *syntax.TestClause:
		return true
	case *syntax.CmdSubst:
		return n.Backquotes
	case *syntax.Redirect:
		return n.Hdoc != nil
	case *syntax.Assign:
		return n.Index != nil // bash runs what an index says, even in quotes
	}
	return false
}

// countMarks counts the marks in a literal that no backslash stands before.
func countMarks(literal string, marks []string, found map[string]int) {
	for _, mark := range marks {
		at := strings.Index(literal, mark)
		if at >= 0 && (at == 0 || literal[at-1] != '\\') {
			found[mark]++
		}
	}
}
