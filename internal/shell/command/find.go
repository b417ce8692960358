package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// findTests are what find may be told, with the number of words that follow each.
var findTests = words2counts(`
	0: -H -L -P -O0 -O1 -O2 -O3 -a -and -o -or -not ! ( ) , -true -false -depth -d -daystart -follow -mount -xdev -empty -executable -readable -writable
	0: -nouser -nogroup -noleaf -prune -quit -print -print0 -ls -noignore_readdir_race -ignore_readdir_race -nowarn -warn
	1: -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -regextype -type -xtype -size -perm -user -group -uid -gid -links -inum
	1: -newer -anewer -cnewer -samefile -fstype -maxdepth -mindepth -mtime -atime -ctime -mmin -amin -cmin -used -printf
	1: -newermt -newerat -newerct -neweraa -neweram -newerac -newerma -newermm -newermc -newerca -newercm -newercc -newerBt -context
`)

func words2counts(table string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		for i := 1; i < len(f); i++ {
			counts[f[i]] = int(f[0][0] - '0')
		}
	}
	return counts
}

// span are the words of one -exec, with it and the end.
type span struct{ from, to int }

// findCommands reads the arguments of find: which of them are commands to run.
func findCommands(args []word) ([]span, error) {
	var spans []span
	started := false // the start paths are over
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.open {
			return nil, fmt.Errorf("the pattern %s may stand for an option: write ./%s", a.text, a.text)
		}
		count, known := findTests[a.text]
		switch {
		case a.glob && (started || strings.HasPrefix(a.text, "-")):
			return nil, fmt.Errorf("the pattern %s is not in quotes", a.text)
		case a.text == "-exec":
			end := slices.IndexFunc(args[i:], func(w word) bool { return w.text == ";" || w.text == "+" && !w.glob })
			if end < 2 {
				return nil, errors.New("-exec has no command, or no end")
			}
			if args[i+end].text == "+" && args[i+end-1].text != "{}" {
				return nil, errors.New("-exec has a + that is not after {}")
			}
			spans = append(spans, span{i, i + end + 1})
			i, started = i+end, true
		case known && i+count < len(args) && !slices.ContainsFunc(args[i+1:i+1+count], func(w word) bool { return w.glob }):
			started = started || count > 0 || !slices.Contains([]string{"-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3"}, a.text)
			i += count
		case !started && !strings.HasPrefix(a.text, "-") && a.text != "":
		default:
			return nil, fmt.Errorf("%s may do more than find", a.text)
		}
	}
	return spans, nil
}

// find is a wrapper where it has -exec.
func find(r *reading, exe *executable, words []word) (piece, bool) {
	args := words[1:]
	spans, err := findCommands(args)
	if err != nil || len(spans) == 0 {
		for i, w := range words[:len(words)-1] {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.text) {
				r.runBehind(exe, words[i+1:], true, nil)
				break
			}
		}
		return piece{}, false
	}
	var own []word
	var p piece
	from := 0
	for _, s := range spans {
		own = append(own, args[from:s.from]...)
		p.line += quotedWords(args[from:s.from])
		inner := r.runBehind(exe, args[s.from+1:s.to-1], true, nil)
		p.line += " '-exec' " + inner.line + quotedWords(args[s.to-1:s.to])
		p.essence += inner.essence
		from = s.to
	}
	own = append(own, args[from:]...)
	p.line = exe.line(nil) + p.line + quotedWords(args[from:])
	p.essence += r.leaf(exe, append([]word{words[0]}, own...)).essence
	return p, true
}
