package command

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// rule is an entry of the allow-list.
type rule struct {
	words []string // that must follow, as patterns
	// rest accepts more words, as the profile of the executable says.
	rest bool
}

// restOfWords is the last word of a rule that accepts more words.
const restOfWords = "**"

// readRules reads the allow-list of a configuration.
func readRules(s *settings.Settings) (map[string][]rule, error) {
	rules := map[string][]rule{}
	for i, entry := range s.Allow {
		words, err := exampleWords(entry)
		if err == nil {
			if exe := (&executable{name: path.Base(words[0])}); !exe.unknown() && !exe.readsCommands(literals(words[1:])) {
				words = append(words, restOfWords)
			}
			err = addRule(rules, settings.Rule{Command: words})
		}
		if err != nil {
			return nil, fmt.Errorf("plugins.shell.allow[%d]: %q: %w", i, entry, err)
		}
	}
	for i, entry := range s.Rules {
		if err := addRule(rules, entry); err != nil {
			return nil, fmt.Errorf("plugins.shell.rules[%d]: %q: %w", i, strings.Join(entry.Command, " "), err)
		}
	}
	return rules, nil
}

func addRule(rules map[string][]rule, entry settings.Rule) error {
	if len(entry.Command) == 0 {
		return errors.New("it has no command")
	}
	name := entry.Command[0]
	if strings.ContainsAny(name, "*? \t") || name == "" || strings.Contains(name, "/") && (!path.IsAbs(name) || path.Clean(name) != name) {
		return fmt.Errorf("%q is not the name of one program or its absolute path", name)
	}
	r := rule{words: entry.Command[1:]}
	if n := len(r.words); n > 0 && r.words[n-1] == restOfWords {
		r.words, r.rest = r.words[:n-1], true
	}
	if err := r.check(&executable{name: path.Base(name)}); err != nil {
		return err
	}
	for _, example := range entry.Match {
		if err := r.matchesExample(name, example); err != nil {
			return fmt.Errorf("it should match %q: %w", example, err)
		}
	}
	for _, example := range entry.NotMatch {
		if r.matchesExample(name, example) == nil {
			return fmt.Errorf("it must not match %q, but does", example)
		}
	}
	rules[name] = append(rules[name], r)
	return nil
}

// check refuses a rule that could allow any code.
func (r *rule) check(exe *executable) error {
	if wrappers[exe.kind()] != nil && exe.profile() == nil && !shells[exe.kind()] {
		return fmt.Errorf("%s only runs another program: allow that one", exe.name)
	}
	if slices.Contains(r.words, restOfWords) {
		return fmt.Errorf("%s may be the last word alone", restOfWords)
	}
	if exe.profile() == nil && slices.ContainsFunc(exe.kinds(), takesCommands) && !slices.ContainsFunc(r.words, onlyTells) &&
		(!slices.ContainsFunc(r.words, isOperand) || slices.Contains(r.words, "-s") || slices.Contains(r.words, "-i")) {
		return fmt.Errorf(`%s runs what its input says: write the file that it is to run, as in "%s /srv/build.sh"`, exe.name, exe.name)
	}
	if r.rest && exe.readsCommands(literals(r.words)) {
		return fmt.Errorf("it takes commands from its words and its input: leave out %s, so that the rule is for these words alone", restOfWords)
	}
	if p := exe.profile(); r.rest && p != nil && p.commands != nil {
		if _, err := p.place(literals(r.words)); err != nil {
			return fmt.Errorf("what follows %s cannot be known: %w: leave out %s, so that the rule is for these words alone", strings.Join(r.words, " "), err, restOfWords)
		}
	}
	wild := r.rest || slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(w, "*") })
	if !wild || !exe.runsCode() || exe.profile() != nil && !slices.ContainsFunc(r.words, isPattern) {
		return nil
	}
	first := slices.IndexFunc(r.words, isPattern)
	if first < 0 {
		first = len(r.words)
	}
	optionBefore := first > 0 && strings.HasPrefix(r.words[first-1], "-")
	optionItself := first < len(r.words) && strings.HasPrefix(r.words[first], "-")
	if exe.profile() != nil {
		optionBefore, optionItself = strings.HasPrefix(r.words[0], "-"), false
	}
	if !slices.ContainsFunc(r.words[:first], isOperand) || optionBefore || optionItself || exe.profile() == nil && !saysWhatRuns(exe.kind(), r.words[:first]) {
		return fmt.Errorf(`%s runs what its arguments say: write the words that must follow it, as in "%s check"`, exe.name, exe.name)
	}
	return nil
}

// leading are options, with an argument, that a rule may have before the word that says what runs, by program. The
// argument of one with ! is that word.
var leading = map[string]string{
	"python": "-m! -c!", "pypy": "-m! -c!", "perl": "-e!", "ruby": "-e!", "lua": "-e!", "node": "-e!", "nodejs": "-e!", "php": "-f! -r!", "java": "-jar!",
	"make": "-C -f", "gmake": "-C -f", "sudo": "-u -g", "doas": "-u", "yarn": "--cwd", "pnpm": "-C --dir", "cargo": "--manifest-path", "gh": "-R --repo", "helm": "-n --namespace",
}

// saysWhatRuns reports whether the words of a rule have one that says what a program runs. Behind an option that is not
// known, the next word may be no more than an argument.
func saysWhatRuns(kind string, words []string) bool {
	options := strings.Fields(leading[kind])
	for len(words) > 1 {
		if slices.Contains(options, words[0]+"!") {
			return true
		}
		if !slices.Contains(options, words[0]) {
			break
		}
		words = words[2:]
	}
	return len(words) > 0 && isOperand(words[0])
}

// takesCommands reports whether a program without a file runs what its input says.
func takesCommands(kind string) bool { return shells[kind] || commandReaders[kind] }

// isOperand reports whether a word is one that names what to run: - and the devices
// stand for the input.
func isOperand(word string) bool {
	return !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "/dev/") && !strings.HasPrefix(word, "/proc/")
}

// onlyTells reports whether a program with this word does no more than describe itself.
func onlyTells(word string) bool {
	return slices.Contains([]string{"--version", "--help", "-V"}, word)
}

func isPattern(s string) bool { return strings.Contains(s, "*") }

// exampleWords are the words of a command in a configuration.
func exampleWords(line string) ([]string, error) {
	if reason := unusable(line) + misleading(line); reason != "" {
		return nil, errors.New(reason)
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, err
	}
	r := &reading{plain: true}
	if len(file.Stmts) == 1 && len(file.Stmts[0].Redirs) == 0 && !file.Stmts[0].Negated && !file.Stmts[0].Background {
		if c, ok := file.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(c.Assigns) == 0 {
			if words := r.words(c.Args); r.plain {
				return texts(words), nil
			}
		}
	}
	return nil, errors.New(`it is not one command of plain words, such as "git status"`)
}

func (r *rule) matchesExample(name, example string) error {
	words, err := exampleWords(example)
	if err != nil {
		return err
	}
	if path.Base(words[0]) != path.Base(name) {
		return fmt.Errorf("the program is not %s", name)
	}
	args := make([]word, 0, len(words))
	for _, w := range words[1:] {
		args = append(args, literal(w))
	}
	return r.accepts(&executable{name: path.Base(name)}, args, false)
}

// allows returns nil if the allow-list has a command. input says that the command may have some: where nothing is known of
// the program, only a rule that accepts any words lets it.
func (j *Judge) allows(exe *executable, args []word, open bool) (input bool, err error) {
	var rules []rule
	for _, name := range slices.Compact([]string{exe.name, exe.run, exe.path}) {
		rules = append(rules, j.rules[name]...)
	}
	err = fmt.Errorf("%s is not on the allow-list", exe.name)
	accepted := false
	for _, r := range rules {
		if err = r.accepts(exe, args, open); err == nil {
			accepted, input = true, input || r.rest || !exe.unknown()
		}
	}
	if accepted {
		return input, nil
	}
	if len(rules) > 0 && exe.unknown() {
		err = fmt.Errorf("%w, and nothing is known of the program: a rule that ends in %s would accept any", err, restOfWords)
	}
	return false, err
}

var errNoMatch = errors.New("its arguments are not those of the allow-list")

// accepts returns nil if the rule allows arguments. open says that more come, which are
// not known.
func (r *rule) accepts(exe *executable, args []word, open bool) error {
	miss := fmt.Errorf("%s: %w", exe.name, errNoMatch)
	if len(args) < len(r.words) || !r.rest && (len(args) > len(r.words) || open) {
		return miss
	}
	for i, pattern := range r.words {
		if args[i].glob || !matches(pattern, args[i].text) {
			return miss
		}
	}
	if !r.rest || !open && len(args) == len(r.words) && len(args) > 0 && !slices.ContainsFunc(r.words, isPattern) {
		return nil
	}
	if err := exe.acceptsRest(args, len(r.words), open); err != nil {
		return fmt.Errorf("%s: %w", exe.name, err)
	}
	return nil
}

// matches reports whether a word fits a pattern, in which * stands for any characters.
// A pattern that starts with * does not fit an option.
func matches(pattern, s string) bool {
	if strings.HasPrefix(pattern, "*") && (strings.HasPrefix(s, "-") || s == "") {
		return false
	}
	head, rest, more := strings.Cut(pattern, "*")
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for more {
		var part string
		part, rest, more = strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return s == ""
}
