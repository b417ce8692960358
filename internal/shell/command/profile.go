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
	// commands are those of a program that has several; the first operand is one.
	commands map[string]*profile
	// check looks at the operands, or at all arguments when there are no options.
	check func(args []word) error
}

// profile is that of an executable; nil without one.
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

// kinds are those of the name and of the file behind it.
func (e *executable) kinds() []string {
	list := []string{e.kind()}
	if base := kindOf(path.Base(e.path)); e.path != "" && !slices.Contains(multicall, base) {
		list = append(list, base)
	}
	return list
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
	if p := e.profile(); p != nil {
		if base := kindOf(path.Base(e.path)); e.path != "" && base != e.kind() && codeRunners[base] && profiles[base] == nil {
			return fmt.Errorf("it is %s, which runs code", base)
		}
		return p.accepts(args, written, open)
	}
	if !e.runsCode() {
		return nil
	}
	if open {
		return errOpen
	}
	for _, a := range args[written:] {
		if a.open || strings.HasPrefix(a.text, "-") {
			return fmt.Errorf("the option %s is not in the rule", a.text)
		}
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
	if p.commands != nil {
		return p.command(args, written)
	}
	args = args[written:]
	if p.options != nil {
		var err error
		if args, _, err = p.options.operands(args, false, false); err != nil {
			return err
		}
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

// command judges the arguments of a program with commands of its own.
func (p *profile) command(args []word, written int) error {
	first := 0
	if written == 0 {
		_, n, err := p.options.operands(args, false, true)
		if err != nil {
			return err
		}
		if first = n; first == len(args) {
			return nil
		}
	}
	name := args[first]
	if name.glob {
		return errors.New("its command is a pattern")
	}
	if sub := p.commands[name.text]; sub != nil {
		return sub.accepts(args[first+1:], max(0, written-first-1), false)
	}
	if written <= first {
		return fmt.Errorf("its command %s may do more than read", name.text)
	}
	for _, a := range args[written:] {
		if a.open || strings.HasPrefix(a.text, "-") {
			return fmt.Errorf("the option %s is not in the rule", a.text)
		}
	}
	return nil
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
