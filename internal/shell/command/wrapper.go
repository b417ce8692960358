package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper reads a command with a program that only runs another one. It returns false
// where the command is one of its own.
type wrapper func(r *reading, exe *executable, words []word) (piece, bool)

// wrappers are the programs that are taken away, by kind.
var wrappers map[string]wrapper

// shells are the wrappers that take a command line.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "ash": true, "rbash": true, "zsh": true, "ksh": true, "mksh": true, "lksh": true, "oksh": true,
	"csh": true, "tcsh": true, "fish": true, "yash": true, "posh": true, "hush": true, "rc": true, "es": true, "elvish": true, "nu": true,
	"xonsh": true, "pwsh": true, "powershell": true, "osh": true, "ysh": true, "loksh": true, "pdksh": true, "ion": true, "sash": true, "static-sh": true,
}

func init() {
	wrappers = map[string]wrapper{
		"env":     prefix("iv0 u: --ignore-environment --unset= --debug", envWords),
		"nice":    prefix("n: # --adjustment=", nil),
		"timeout": prefix("k: s: v f p --foreground --preserve-status --kill-after= --signal= --verbose", duration),
		"nohup":   prefix("", nil),
		"setsid":  prefix("w --wait", nil),
		"stdbuf":  prefix("i: o: e: --input= --output= --error=", nil),
		"ionice":  prefix("c: n: t --class= --classdata= --ignore", nil),
		"time":    prefix("pvq f: --portability --verbose --quiet --format=", nil),
		"xargs":   xargs,
		"find":    find,
		"sh":      commandString(syntax.LangPOSIX), "dash": commandString(syntax.LangPOSIX), "ash": commandString(syntax.LangPOSIX),
		"bash":    commandString(syntax.LangBash),
		"busybox": manyPrograms, "toybox": manyPrograms,
	}
}

// wrapperOf is the wrapper of an executable, if its file is what its name says.
func wrapperOf(exe *executable) wrapper {
	kind, file := exe.kind(), exe.fileKind()
	if kind != file && !(shells[kind] && shells[file]) {
		return nil
	}
	return wrappers[kind]
}

// runBehind reads what a wrapper runs. open says that the wrapper adds words.
func (r *reading) runBehind(exe *executable, words []word, open bool, file *executable) piece {
	if len(words) == 0 {
		r.unclear("%s has no command", exe.name)
		return piece{}
	}
	r.behind = append(slices.Clip(r.behind), exe.name)
	before := r.open
	r.open = before || open
	defer func() { r.behind, r.open = r.behind[:len(r.behind)-1], before }()
	return r.run(words, file)
}

// prefix is a wrapper that stands before the command, with options of its own. own
// counts the words between those and the command.
func prefix(spec string, own func(r *reading, args []word) (int, error)) wrapper {
	o := readOptions(spec)
	return func(r *reading, exe *executable, words []word) (piece, bool) {
		args := words[1:]
		read, err := o.read(args, 0, false, true)
		n := read.first
		if err == nil && own != nil {
			var more int
			more, err = own(r, args[n:])
			n += more
		}
		if err == nil && slices.ContainsFunc(args[:min(n, len(args))], func(w word) bool { return w.glob }) {
			err = fmt.Errorf("a pattern stands before the command")
		}
		if err != nil {
			r.unclear("%s: %v", exe.name, err)
			if i := slices.IndexFunc(args, func(w word) bool { return !strings.ContainsAny(w.text, "-=") }); i >= 0 {
				r.runBehind(exe, args[i:], false, nil)
			}
			return piece{}, true
		}
		if n >= len(args) {
			return piece{}, false
		}
		p := r.runBehind(exe, args[n:], false, nil)
		p.line = exe.line(args[:n]) + " " + p.line
		return p, true
	}
}

// envWords counts the variables of env.
func envWords(r *reading, args []word) (int, error) {
	for i, a := range args {
		name, value, ok := strings.Cut(a.text, "=")
		if !ok {
			return i, nil
		}
		r.rememberable = false
		if a.glob || !harmlessVariable(name, value) {
			return 0, fmt.Errorf("the variable %s may change what commands do", name)
		}
	}
	return len(args), nil
}

var durationText = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?[smhd]?$`)

func duration(_ *reading, args []word) (int, error) {
	if len(args) == 0 || !durationText.MatchString(args[0].text) {
		return 0, fmt.Errorf("there is no duration before the command")
	}
	return 1, nil
}

var xargsOptions = readOptions("0rtx n: P: L: I: d: s: E: --null --no-run-if-empty --verbose --exit --max-args= --max-procs= --max-lines= --delimiter= --max-chars=")

// xargs runs a command with words of its input.
func xargs(r *reading, exe *executable, words []word) (piece, bool) {
	args := words[1:]
	read, err := xargsOptions.read(args, 0, false, true)
	for _, g := range read.given {
		if g.name == "I" && g.value != "{}" && g.value != "%" {
			err = fmt.Errorf("it replaces %q: use {}", g.value)
		}
	}
	if err != nil {
		r.unclear("%s: %v", exe.name, err)
		return piece{}, true
	}
	p := r.runBehind(exe, args[read.first:], true, nil)
	p.line = exe.line(args[:read.first]) + " " + p.line
	return p, true
}

var shellOptions = regexp.MustCompile(`^(-[eucx]+|--norc|--noprofile|--posix)$`)

// commandString reads the command line that a shell gets with -c.
func commandString(dialect syntax.LangVariant) wrapper {
	return func(r *reading, exe *executable, words []word) (piece, bool) {
		i, given := 1, false
		for ; i < len(words) && shellOptions.MatchString(words[i].text) && !words[i].glob; i++ {
			given = given || !strings.HasPrefix(words[i].text, "--") && strings.Contains(words[i].text, "c")
		}
		if !given || i >= len(words) || words[i].glob || strings.HasPrefix(words[i].text, "-") || strings.HasPrefix(words[i].text, "+") {
			return piece{}, false
		}
		if i+1 < len(words) {
			r.unclear("%s gets words after its command line", exe.name)
		}
		if i > 2 || words[1].text != "-c" {
			r.rememberable = false
		}
		r.behind = append(slices.Clip(r.behind), exe.name)
		defer func() { r.behind = r.behind[:len(r.behind)-1] }()
		before := len(r.effective)
		p := r.line(words[i].text, dialect)
		if p.line == "" {
			r.unclear("%s has no command", exe.name)
		}
		if e := p.essence; len(r.effective) != before+1 || !strings.HasPrefix(e, "[") || !strings.HasSuffix(e, "]") {
			p.essence = "( " + e + " )"
		}
		p.line = exe.line(append(slices.Clone(words[1:i]), literal(p.line))) + quotedWords(words[i+1:])
		return p, true
	}
}

// manyPrograms is a file that has many programs, which the first word names.
func manyPrograms(r *reading, exe *executable, words []word) (piece, bool) {
	if len(words) < 2 || words[1].glob || strings.HasPrefix(words[1].text, "-") || strings.Contains(words[1].text, "/") {
		return piece{}, false
	}
	file := *exe
	file.applet = words[1].text
	return r.runBehind(exe, words[1:], false, &file), true
}
