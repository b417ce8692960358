package command

import (
	"fmt"
	"strings"
)

// options are those of a program that do no more than read and print. All others, and
// abbreviations, are refused.
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

// operands returns the words that are not options. strict stops at the first one, as
// programs do that run the rest as a command; it is an index into args then.
func (o *options) operands(args []word, anyGlob, strict bool) (list []word, first int, err error) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.open && !anyGlob {
			return nil, 0, fmt.Errorf("the pattern %s may stand for an option: write ./%s", a.text, a.text)
		}
		switch {
		case a.text == "--":
			return append(list, args[i+1:]...), i + 1, nil
		case a.text == "-" || !strings.HasPrefix(a.text, "-"):
			if strict {
				return nil, i, nil
			}
			list = append(list, a)
			continue
		case a.glob:
			return nil, 0, fmt.Errorf("the pattern %s stands for options", a.text)
		}
		next, err := o.option(a.text)
		if err != nil {
			return nil, 0, err
		}
		if next {
			if i++; i == len(args) || args[i].glob {
				return nil, 0, fmt.Errorf("the option %s has no plain argument", a.text)
			}
		}
	}
	return list, len(args), nil
}

// option reads one word of options. next says that the next word is an argument.
func (o *options) option(text string) (next bool, err error) {
	unknown := fmt.Errorf("the option %s may do more than read", text)
	if strings.HasPrefix(text, "--") || o.single {
		name, _, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "-"), "=")
		kind, ok := o.long[name]
		if !ok || has && kind == without {
			return false, unknown
		}
		return kind == required && !has, nil
	}
	if o.digits && strings.Trim(text[1:], "0123456789") == "" {
		return false, nil
	}
	for i := 1; i < len(text); i++ {
		kind, ok := o.short[text[i]]
		switch {
		case !ok:
			return false, unknown
		case kind == required:
			return i == len(text)-1, nil
		case kind == optional:
			return false, nil
		}
	}
	return false, nil
}
