package command

import (
	"encoding/json"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellBuiltins are the commands of shells that are no program.
var shellBuiltins = set(`. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash
	help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait`)

// call reads a simple command.
func (r *reading) call(c *syntax.CallExpr) piece {
	var prefix string
	for _, a := range c.Assigns {
		prefix += r.assignment(a) + " "
	}
	words := r.words(c.Args)
	if len(words) == 0 {
		r.unclear("it sets a variable of the shell")
		return piece{}
	}
	if p, ok := r.builtin(words); ok {
		return p.with(prefix, "")
	}
	p := r.run(words, nil)
	return p.with(prefix, "")
}

// assignment reads NAME=value in front of a command.
func (r *reading) assignment(a *syntax.Assign) string {
	if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil {
		r.unclear("a variable is set in a way that is not plain")
		return ""
	}
	value := literal("")
	if a.Value != nil {
		value = r.word(a.Value)
	}
	if value.glob || !harmlessVariable(a.Name.Value, value.text) {
		r.unclear("the variable %s may change what commands do", a.Name.Value)
	}
	return a.Name.Value + "=" + quote(value.text)
}

// builtin reads what the shell does itself and what starts no program. Other commands
// of a shell are taken from files, as they do less there.
func (r *reading) builtin(words []word) (piece, bool) {
	var plain bool
	args := words[1:]
	switch words[0].text {
	case "cd":
		plain = len(args) == 0 || len(args) == 1 && !strings.HasPrefix(args[0].text, "-") || len(args) == 1 && args[0].text == "-"
	case "pwd":
		plain = len(args) == 0 || len(args) == 1 && (args[0].text == "-P" || args[0].text == "-L")
	case "true", "false", ":":
		plain = len(args) == 0
	case "exit":
		plain = len(args) == 0 || len(args) == 1 && strings.Trim(args[0].text, "0123456789") == ""
	case "type":
		plain = len(args) > 0 && !strings.HasPrefix(args[0].text, "-")
	case "command":
		if len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") {
			plain = true
			break
		}
		if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") {
			if p, ok := r.builtin(args); ok {
				return p, true
			}
			return r.run(args, nil), true
		}
	default:
		return piece{}, false
	}
	if words[0].text == "cd" {
		r.enter(args)
	}
	plain = plain && !words[0].glob && !slices.ContainsFunc(args, func(w word) bool { return w.glob })
	if !plain {
		r.unclear("the arguments of %s are not known", words[0].text)
		return piece{}, true
	}
	line := words[0].text
	for _, w := range args {
		line += " " + w.quoted
	}
	return piece{line, line}, true
}

// run reads the words of a command: a program that only runs another one is taken away.
// file is the program's file when the program is one of several in it.
func (r *reading) run(words []word, file *executable) piece {
	if r.steps++; r.steps > maxSteps || len(r.effective) >= maxCommands || len(r.behind) > maxNesting {
		r.unclear("there are more than %d commands, or %d programs that run another one", maxCommands, maxNesting)
		return piece{}
	}
	name := words[0]
	if name.glob || strings.HasPrefix(name.quoted, "~") {
		r.unclear("which program runs is not plain")
		return r.unknown(words)
	}
	exe, err := r.judge.files.find(name.text)
	if file != nil {
		applet := *file
		applet.name = name.text
		exe, err = &applet, nil
	}
	if err != nil {
		if r.maybe == 0 && len(r.effective) == 0 && !strings.Contains(name.text, "/") && !shellBuiltins[name.text] {
			r.missing = name.text
		}
		r.unclear("%v", err)
		return r.unknown(words)
	}
	if w := wrapperOf(exe); w != nil {
		if r.open {
			r.unclear("%s gets words that are not known before it runs", exe.name)
		}
		if p, done := w(r, exe, words); done {
			return p
		}
	}
	return r.leaf(exe, words)
}

// unknown notes a command if its file is not known.
func (r *reading) unknown(words []word) piece {
	r.contents.code = append(r.contents.code, r.paths(words)...)
	r.effective = append(r.effective, Effective{Argv: texts(words), Behind: slices.Clone(r.behind)})
	return piece{}
}

// leaf reads a command that is effective.
func (r *reading) leaf(exe *executable, words []word) piece {
	args := words[1:]
	r.effective = append(r.effective, Effective{Path: exe.path, Argv: texts(words), Digest: exe.digest, Behind: slices.Clone(r.behind)})
	input, err := r.judge.allows(exe, args, r.open)
	if err != nil {
		r.unlisted("%v", err)
	}
	line := exe.line(exe.hardened(args))
	if exe.readsCommands(args) || err == nil && !input {
		r.deaf, line = true, line+" < '/dev/null'"
	}
	if exe.runsCode() && !exe.harmless(args) {
		r.contents.runs(r, exe, args)
	} else {
		r.contents.data = append(r.contents.data, r.paths(args)...)
	}
	if exe.readsRepositories() {
		r.repositories(exe, args)
	}
	if r.open || exe.runsCode() && !exe.harmless(args) || slices.ContainsFunc(args, func(w word) bool { return w.glob }) {
		r.rememberable = false
	}
	essence, err := json.Marshal(append([]any{exe.path, exe.digest, exe.name}, essences(args)...))
	if err != nil {
		r.unclear("%v", err)
	}
	return piece{line, string(essence)}
}

// essences are words as a decision about them holds: ~/x and '~/x' have the same text, and
// lead to different files.
func essences(words []word) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w.text
		if strings.HasPrefix(w.quoted, "~") {
			out[i] = []string{w.text}
		}
	}
	return out
}

func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

func quotedWords(words []word) string {
	var s strings.Builder
	for _, w := range words {
		s.WriteString(" " + w.quoted)
	}
	return s.String()
}
