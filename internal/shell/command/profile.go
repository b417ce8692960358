package command

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// profile says which arguments of a program do no more than read and print.
type profile struct {
	// all says that all do.
	all bool
	// options are those that do, and operands how many other words there may be; 0 is
	// any number.
	options  *options
	operands int
	// commands are the commands of a program that has several; the first operand is one.
	commands map[string]*profile
	// alone says that it may be called without any.
	alone bool
	// written says that a rule has to write this command out.
	written bool
	// check looks at the operands, or at all arguments when there are no options, with
	// looks at the options that were given as well, and words at all arguments.
	check, words func(args []word) error
	with         func(p parsed) error
	// harden adds words to the arguments, in which the command has this place.
	harden func(args []word, command int) []word
}

// profile returns the profile of an executable; nil without one.
func (e *executable) profile() *profile {
	if p := profiles[e.name]; p != nil {
		return p
	}
	return profiles[e.kind()]
}

// multicall are files that have many programs.
var multicall = []string{"busybox", "toybox", "coreutils", "box"}

var versionSuffix = regexp.MustCompile(`([-.]?[0-9][0-9.]*|\.(basic|tiny|nox|gtk3?|openbsd|traditional|nmap|distrib|real))+$`)

// kind is the name of a program without its version.
func (e *executable) kind() string { return kindOf(e.name) }

func kindOf(name string) string {
	name = strings.ToLower(name)
	if short := versionSuffix.ReplaceAllString(name, ""); short != "" {
		return short
	}
	return name
}

// fileKind returns the kind of the file behind the name; the kind of the name where
// it is not known, or a file that has many programs.
func (e *executable) fileKind() string {
	if base := kindOf(path.Base(e.path)); e.path != "" && !slices.Contains(multicall, base) {
		return base
	}
	return e.kind()
}

// kinds returns the kinds of the name and of the file behind it, with their versions
// as well: the version of m4 is part of its name.
func (e *executable) kinds() []string {
	return []string{e.kind(), e.fileKind(), strings.ToLower(e.name), strings.ToLower(path.Base(e.path))}
}

// runsCode reports whether a program runs what its arguments or files say.
func (e *executable) runsCode() bool {
	return slices.ContainsFunc(e.kinds(), func(kind string) bool {
		return codeRunners[kind] || shells[kind] || wrappers[kind] != nil && profiles[kind] == nil
	})
}

// acceptsRest returns nil if the words after those that a rule has written out are
// harmless. open says that more come.
func (e *executable) acceptsRest(args []word, written int, open bool) error {
	p := e.profile()
	if e.path != "" && e.fileKind() != e.kind() && linked[e.kind()] != e.fileKind() {
		if err := e.acceptsFile(p, args, written, open); err != nil {
			return err
		}
	}
	if p != nil {
		return p.accepts(args, written, open)
	}
	if !e.runsCode() {
		return nil
	}
	if open {
		return errOpen
	}
	return plainOperands(e.fileKind(), args[written:])
}

// plainOperands refuses words that no rule has written out, and that say how a program runs.
func plainOperands(kind string, args []word) error {
	for _, a := range args {
		switch {
		case a.open || strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+"):
			return fmt.Errorf("the option %s is not in the rule", a.text)
		case makers[kind] && strings.Contains(a.text, "="):
			return fmt.Errorf("the variable %s is not in the rule", a.text)
		case strings.HasPrefix(a.text, "@") && responders[kind]:
			return fmt.Errorf("the options in %s are not in the rule", a.text)
		}
	}
	return nil
}

// makers set variables by words such as SHELL=x, and responders read options from @file.
var (
	makers     = set("make gmake bmake just task rake scons bmake meson bazel mage")
	responders = set("gcc g++ cc c++ c89 c99 clang clang++ ld as rustc java javac kotlinc scala nasm dotnet msbuild ar")
)

// linked are programs that a file does by the name it is called by, so that the profile of the name is the right one.
var linked = map[string]string{"xzcat": "xz", "bzcat": "bzip", "zcat": "gzip", "zstdcat": "zstd", "fd": "fdfind"}

// acceptsFile judges a program by the name of its file, when that is another one. p is the
// profile of the name it was called by.
func (e *executable) acceptsFile(p *profile, args []word, written int, open bool) error {
	file := &executable{name: path.Base(e.path)}
	named := &executable{name: e.name} // as the rule was read
	other := file.profile()
	switch {
	case p != nil && other != nil:
		return other.accepts(args, written, open)
	case wrappers[file.kind()] != nil && !shells[file.kind()], file.runsCode() && (p != nil || !named.runsCode()):
		return fmt.Errorf("it is %s, which runs code", file.name)
	}
	return nil
}

// harmless reports whether the profile of a program that runs code accepts arguments, so
// that they run no code.
func (e *executable) harmless(args []word) bool {
	return e.profile() != nil && e.acceptsRest(args, 0, false) == nil
}

var errOpen = errors.New("it gets words that are not known before it runs")

func (p *profile) accepts(args []word, written int, open bool) error {
	if p.all {
		return nil
	}
	if open {
		return errOpen
	}
	if p.words != nil {
		if err := p.words(args); err != nil {
			return err
		}
	}
	if p.commands != nil {
		return p.command(args, written)
	}
	if p.options != nil {
		read, err := p.options.read(args, written, false, false)
		if err == nil && p.with != nil {
			err = p.with(read)
		}
		if err != nil {
			return err
		}
		args = read.operands
	}
	if p.operands > 0 {
		if len(args) > p.operands || slices.ContainsFunc(args, func(w word) bool { return w.glob }) {
			return fmt.Errorf("it has more than %d operands, or a pattern", p.operands)
		}
	}
	if p.check != nil {
		return p.check(args)
	}
	return nil
}

// command judges the arguments of a program with commands of its own. Where the command
// stands, the options of the program say: a rule that has options alone has no command.
func (p *profile) command(args []word, written int) error {
	first, err := p.place(args)
	if err != nil {
		return err
	}
	if first == len(args) {
		if !p.alone {
			return errors.New("it has no command")
		}
		return nil
	}
	name := args[first]
	if sub := p.commands[name.text]; sub != nil && !name.glob && (!sub.written || written > first) {
		return sub.accepts(args[first+1:], max(0, written-first-1), false)
	}
	if name.glob || written <= first {
		return fmt.Errorf("its command %s may do more than read", name.text)
	}
	return plainOperands("", args[written:])
}

// place is where in the arguments the command stands.
func (p *profile) place(args []word) (int, error) {
	read, err := p.options.read(args, 0, false, true)
	return read.first, err
}

// hardened are the arguments as the program gets them.
func (e *executable) hardened(args []word) []word {
	p := e.profile()
	if p == nil || p.harden == nil {
		return args
	}
	if first, err := p.place(args); err == nil && first < len(args) && p.commands[args[first].text] != nil {
		return p.harden(args, first)
	}
	return args
}

// noOperands refuses any.
func noOperands(args []word) error {
	if len(args) > 0 {
		return fmt.Errorf("the word %s may do more than read", args[0].text)
	}
	return nil
}

// dateFormat accepts a format, and no time to set.
func dateFormat(args []word) error {
	if len(args) > 0 && !strings.HasPrefix(args[0].text, "+") {
		return fmt.Errorf("the word %s may set the time", args[0].text)
	}
	return nil
}
