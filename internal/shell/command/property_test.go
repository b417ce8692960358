package command

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// optionsOf are words that a profile knows, of itself and of its commands.
func optionsOf(p *profile) (words []string) {
	if p.options != nil {
		for c := range p.options.short {
			words = append(words, "-"+string(c))
		}
		for name := range p.options.long {
			words = append(words, "--"+name, "-"+name, "--"+name+"=x")
		}
	}
	for name, sub := range p.commands {
		words = append(append(words, name), optionsOf(sub)...)
	}
	slices.Sort(words)
	return words
}

// TestARuleAllowsNoMoreByItsOptions: what a rule allows beyond its own words is what the program alone would be allowed,
// or what a command of several that the rule has written out accepts. Words are put together by chance.
func TestARuleAllowsNoMoreByItsOptions(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(29, 3))
	common := []string{"x", "/tmp/y", "-x", "--evil", "--evil=x", "-C", "-n", "-c", "--", "-", "push", "delete", "run", "add", "set", "config", "exec", "stop", "a=b", "+x", "@x"}
	allowed, beyond := 0, 0
	for _, name := range slices.Sorted(maps.Keys(profiles)) { // in order: the words are the same in each run
		p := profiles[name]
		if p.all {
			continue
		}
		pool := append(optionsOf(p), common...)
		exe := &executable{name: name}
		alone := rule{rest: true}
		for range 3000 {
			words := make([]string, 2+chance.IntN(5))
			for i := range words {
				words[i] = pool[chance.IntN(len(pool))]
			}
			n := 1 + chance.IntN(len(words)-1)
			rules, err := readRules(&settings.Settings{Rules: []settings.Rule{{Command: slices.Concat([]string{name}, words[:n], []string{restOfWords})}}})
			if err != nil {
				continue
			}
			args := literals(words)
			if rules[name][0].accepts(exe, args, false) != nil {
				continue
			}
			if allowed++; alone.accepts(exe, args, false) == nil {
				continue
			}
			beyond++
			if err := onlyByItsWords(exe, words, n); err != nil {
				t.Errorf("the rule %q allows %q: %v", name+" "+strings.Join(words[:n], " "), words[n:], err)
			}
		}
	}
	if allowed < 1000 || beyond < 20 {
		t.Errorf("only %d lines are allowed, %d of them by words of the rule", allowed, beyond)
	}
}

// takesArgument reports whether an option of a profile, or of one of its commands, has the next word.
func takesArgument(p *profile, option string) bool {
	if p.options != nil {
		name := strings.TrimLeft(option, "-")
		if p.options.long[name] == required || !strings.HasPrefix(option, "--") && takesLast(p.options, name) {
			return true
		}
	}
	for _, sub := range p.commands {
		if takesArgument(sub, option) {
			return true
		}
	}
	return false
}

// takesLast reports whether the last of several short options, as in -count, has the next word.
func takesLast(o *options, letters string) bool {
	for i := range len(letters) {
		if kind, known := o.short[letters[i]]; !known || kind != without {
			return kind == required && i == len(letters)-1
		}
	}
	return false
}

// onlyByItsWords returns an error unless the first n words decide what the program does with all of them.
func onlyByItsWords(exe *executable, words []string, n int) error {
	p := exe.profile()
	if p.commands != nil {
		first, err := p.place(literals(words))
		switch {
		case err != nil:
			return fmt.Errorf("its command is not known: %w", err)
		case first >= n:
			return fmt.Errorf("the command %s is not in the rule", words[first])
		}
	}
	known := optionsOf(p)
	for i, w := range words[n:] {
		option, _, _ := strings.Cut(w, "=")
		if before := words[n+i-1]; slices.Contains(words[:n+i], "--") || slices.Contains(known, before) && before != w && takesArgument(p, before) {
			continue
		}
		if strings.HasPrefix(w, "-") && len(w) > 2 && !slices.Contains(known, w) && !slices.Contains(known, option) {
			return fmt.Errorf("the option %s is not known", w)
		}
	}
	return nil
}
