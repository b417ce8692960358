package command

import (
	"fmt"
	"slices"
	"strings"
)

// options are the options of a program that do no more than read and print. All
// others, and abbreviations, are refused.
type options struct {
	short map[byte]argument
	long  map[string]argument
	// digits accepts -20.
	digits bool
	// single reads -name as the long option, as find and Go programs do.
	single bool
}

// argument says whether an option has one.
type argument int

const (
	without  argument = iota
	required          // -n5, -n 5, --lines=5, --lines 5
	optional          // -C5, --color=auto, but not the next word
)

// readOptions reads a list of options: "abc" are three letters, "k:" one with an
// argument, "C?" one with an argument in the same word, "--color?" and "--max=" likewise,
// "#" a number.
func readOptions(spec string) *options {
	o := &options{short: map[byte]argument{}, long: map[string]argument{}}
	for s := range strings.FieldsSeq(spec) {
		kind := without
		switch s[len(s)-1] {
		case ':', '=':
			kind, s = required, s[:len(s)-1]
		case '?':
			kind, s = optional, s[:len(s)-1]
		case '#':
			o.digits, s = true, s[:len(s)-1]
		}
		if name, ok := strings.CutPrefix(s, "--"); ok {
			o.long[name] = kind
			continue
		}
		for _, c := range []byte(s) {
			o.short[c] = kind
		}
	}
	return o
}

// parsed are arguments that have been read.
type parsed struct {
	operands []word
	given    []givenOption
	// first is the place of the first operand, where reading stopped there.
	first int
}

type givenOption struct{ name, value string }

// has reports whether one of the options was given, by its name without dashes.
func (p parsed) has(names ...string) bool {
	return slices.ContainsFunc(p.given, func(g givenOption) bool { return slices.Contains(names, g.name) })
}

// read reads arguments. A rule has the first of them, as many as written: an option there
// that is not known is the operator's, but for the last, which would take the
// next word. anyGlob accepts patterns that may stand for options. strict stops at the first
// operand, as programs do that run the rest as a command; where that is must be known.
func (o *options) read(args []word, written int, anyGlob, strict bool) (p parsed, err error) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.open && !anyGlob {
			return p, fmt.Errorf("the pattern %s may stand for an option: write ./%s", a.text, a.text)
		}
		switch {
		case a.text == "--" && !a.glob:
			p.operands, p.first = append(p.operands, args[i+1:]...), i+1
			return p, nil
		case a.text == "-" || !strings.HasPrefix(a.text, "-"):
			if strict {
				p.first = i
				return p, nil
			}
			p.operands = append(p.operands, a)
			continue
		case a.glob:
			return p, fmt.Errorf("the pattern %s stands for options", a.text)
		}
		next, err := o.option(a.text, &p)
		switch {
		case err != nil && !strict && i < written-1 && args[i+1].text != "--":
			continue
		case err != nil:
			return p, err
		}
		if next {
			if i++; i == len(args) || args[i].glob {
				return p, fmt.Errorf("the option %s has no plain argument", a.text)
			}
			p.given[len(p.given)-1].value = args[i].text
		}
	}
	p.first = len(args)
	return p, nil
}

// option reads one word of options. next says that the next word is an argument.
func (o *options) option(text string, p *parsed) (next bool, err error) {
	unknown := fmt.Errorf("the option %s may do more than read", text)
	if strings.HasPrefix(text, "--") || o.single {
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "-"), "=")
		kind, ok := o.long[name]
		if !ok || has && kind == without {
			return false, unknown
		}
		p.given = append(p.given, givenOption{name, value})
		return kind == required && !has, nil
	}
	if o.digits && strings.Trim(text[1:], "0123456789") == "" {
		return false, nil
	}
	for i := 1; i < len(text); i++ {
		kind, ok := o.short[text[i]]
		if !ok {
			return false, unknown
		}
		p.given = append(p.given, givenOption{text[i : i+1], ""})
		if kind == without {
			continue
		}
		p.given[len(p.given)-1].value = text[i+1:]
		return kind == required && i == len(text)-1, nil
	}
	return false, nil
}
