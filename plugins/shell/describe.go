package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// describe shows a person what would run, and where. No line of it can be one that the
// command has written: lines of the command are marked, and other texts are quoted.
func (s *shell) describe(p *plan) string {
	var b strings.Builder
	b.WriteString("Command:" + marked(p.in.Command))
	b.WriteString("\nHost: " + string(p.host))
	if p.node != "" {
		b.WriteString(" " + shownWord(p.node))
	}
	b.WriteString("\nCWD: " + shownWord(p.dir))
	if p.elevated {
		b.WriteString("\nElevated: outside the sandbox")
		if len(s.settings.Elevated.Prefix) > 0 {
			b.WriteString(", by " + shownWords(s.settings.Elevated.Prefix))
		}
	}
	if p.in.PTY {
		b.WriteString("\nTerminal: yes")
	}
	for _, name := range slices.Sorted(maps.Keys(p.in.Env)) {
		b.WriteString("\nVariable: " + name + "=" + shownWord(p.in.Env[name]))
	}
	for _, e := range p.judgement.Effective {
		b.WriteString("\nRuns: " + shownWords(e.Argv) + " (" + shownProgram(e.Path) + ")")
	}
	for i, f := range p.judgement.Files {
		if i == maxShownFiles {
			fmt.Fprintf(&b, "\nReads: %d more files, which the approval is for, too", len(p.judgement.Files)-i)
			break
		}
		b.WriteString("\nReads: " + shownWord(f.Path) + " (sha256 " + oneLine(text.Shorten(f.Digest, 20)) + ")")
	}
	if len(p.judgement.Files) > 0 {
		b.WriteString("\nNot held: these files are compared when the command starts; what may write to them can change them until they are opened")
	}
	if len(p.judgement.Loaders) > 0 {
		b.WriteString("\nNot known: what " + shownWords(p.judgement.Loaders) + " reads besides that, such as imports and includes; it may change until it runs")
	}
	for _, r := range p.reasons {
		b.WriteString("\nAsked because: " + oneLine(r))
	}
	return b.String()
}

// maxShownFiles bounds what a person has to read: a question that is too long is not asked.
const maxShownFiles = 8

// shownProgram is the path of a program, if plugins.shell.path has it: the shell may have
// it as a builtin.
func shownProgram(path string) string {
	if path == "" {
		return "no program"
	}
	return shownWord(path)
}

// marked is a text behind a label: on the same line, or with a mark on each of its own.
func marked(text string) string {
	if !strings.Contains(text, "\n") {
		return " " + text
	}
	return "\n  | " + strings.ReplaceAll(text, "\n", "\n  | ")
}

func shownWords(words []string) string {
	shown := make([]string, len(words))
	for i, w := range words {
		shown[i] = shownWord(w)
	}
	return strings.Join(shown, " ")
}

// shownWord is a word as it is if it is plain, else in quotes with escapes.
func shownWord(w string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./,:@%+=*?~{}[]", c)
	}
	if w != "" && strings.IndexFunc(w, func(c rune) bool { return !plain(c) }) < 0 {
		return w
	}
	return strconv.QuoteToGraphic(w)
}

// oneLine is a text with escapes in the place of what ends a line.
func oneLine(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
