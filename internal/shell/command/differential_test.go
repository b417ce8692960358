package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// stage is where a line runs as it was written and as it was judged.
type stage struct {
	judge       *Judge
	work        string
	path, decoy string // directories of programs
	builtins    string // turns off what the judge takes from files
}

// newStage makes a stage for a shell, or skips the test without it.
func newStage(t *testing.T, name string) *stage {
	t.Helper()
	file, err := exec.LookPath(name)
	if err != nil {
		t.Skip("this machine lacks the shell: ", err)
	}
	s := &stage{work: t.TempDir(), path: programs(t, probe), decoy: programs(t, strings.Replace(probe, `"${0##*/}"`, `DECOY "$0"`, 1))}
	for _, wrapper := range []string{"sh", "bash", "dash", "env", "nice", "timeout", "nohup", "setsid", "stdbuf", "xargs", "find"} {
		decoy := filepath.Join(s.decoy, wrapper)
		if err := errors.Join(os.Remove(decoy), os.Link(filepath.Join(s.decoy, "ls"), decoy)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"notes.txt", "go.mod", "README.md", "data.json", "two words.txt", "src/a.go", "src/b.go", "docs/" + "a.md", "-n", "[x]"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(s.work, f)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.work, f), "x\n", 0o644)
	}
	s.judge = newJudge(t, func(c *settings.Settings) { c.Path = []string{s.path}; realistic(c) })
	if s.judge.shell = (shell{[]string{file, "-c"}, syntax.LangPOSIX}); name == "bash" {
		s.judge.shell = shell{[]string{file, "--norc", "--noprofile", "-c"}, syntax.LangBash}
		s.builtins = "enable -n echo printf test [\n"
	} else {
		// Such a shell has no way to turn them off, and no function can have the name [.
		// A probe of time would show what it gets, where time itself runs it.
		if err := errors.Join(os.Remove(filepath.Join(s.path, "[")), os.Remove(filepath.Join(s.path, "time"))); err != nil {
			t.Fatal(err)
		}
		s.builtins = `echo() { "$P/echo" "$@"; }; printf() { "$P/printf" "$@"; }; test() { "$P/test" "$@"; }` + "\n"
	}
	return s
}

// run returns the words of the programs that a line starts, sorted, and how it ends.
func (s *stage) run(t *testing.T, line, path string) (ran []string, exit string) {
	t.Helper()
	notes := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv := s.judge.Argv(line)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.work, []string{"PATH=" + path, "P=" + path, "PROBE=" + notes, "HOME=" + s.work, "LC_ALL=C.UTF-8"}
	exit = fmt.Sprint(cmd.Run())
	if ctx.Err() != nil {
		t.Fatalf("%q did not end", line)
	}
	files, err := os.ReadDir(notes)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(notes, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(strings.TrimSuffix(string(b), "\x00\n\x00"), "\x00")
		ran = append(ran, fmt.Sprintf("%q", withoutHardening(words)))
	}
	slices.Sort(ran)
	return ran, exit
}

// withoutHardening takes the words away that the judge gives to git and go.
func withoutHardening(words []string) []string {
	if words[0] == "go" {
		return slices.DeleteFunc(words, func(w string) bool { return w == "-buildvcs=false" })
	}
	n := 2 + 2*len(gitSettings)
	if words[0] != "git" || len(words) < n || words[3] != gitSettings[0] {
		return words
	}
	words = slices.Concat(words[:1], words[n:])
	if i := slices.Index(words, "--no-ext-diff"); i > 0 && i+1 < len(words) && words[i+1] == "--no-textconv" {
		words = slices.Delete(words, i, i+2)
	}
	return words
}

// compare runs a line that is allowed as it was written, where the programs are the
// first on the path, and as it was judged, where they are not on the path at all.
func (s *stage) compare(t *testing.T, line string, g Judgement) {
	t.Helper()
	want, wantExit := s.run(t, s.builtins+line, s.path)
	if len(want) == 0 && wantExit == "exit status 2" {
		return // the shell cannot read it, so that nothing runs
	}
	got, gotExit := s.run(t, g.Line, s.decoy)
	if !slices.Equal(got, want) || gotExit != wantExit {
		t.Errorf("%q ran\n\t%s %s\nand as judged, %s,\n\t%s %s", line, strings.Join(want, " "), wantExit, g.Line, strings.Join(got, " "), gotExit)
	}
}

// TestLinesRunAsJudged: the line of a judgement starts the same programs with the same
// words as the line that was judged, and finds none of them by the path.
func TestLinesRunAsJudged(t *testing.T) {
	for _, name := range []string{"bash", "dash"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, name)
			lines, _ := corpus(t, "harmless.txt")
			compared := 0
			for i, line := range lines {
				if testing.Short() && i%6 != 0 {
					continue // all of them take some ten seconds
				}
				if strings.Contains(line, "sh -c") && ownBuiltin.MatchString(line) {
					continue
				}
				if g := s.judge.Judge(line, nil); g.Allowed {
					s.compare(t, line, g)
					compared++
				}
			}
			if compared < len(lines)/7 {
				t.Errorf("only %d of %d lines are allowed", compared, len(lines))
			}
		})
	}
}

var ownBuiltin = regexp.MustCompile(`echo|printf|test|\[`)

// pieces are what shells and their parsers read in different ways.
var pieces = strings.Split("ls|cat|echo|a|b c|-n|*|?|[|]|[a-z]|~|~/|{|}|{}|,|..|!|^|%|=|A=1|LC_ALL=C|+|@|:|#|# x|\\|\\\\|\\\n|\n|\t|'|\"|''|\"\"|'x y'|\"x y\"|'\\'|\"\\\\\"|\"a\\b\"|$|${x}|$(ls)|`|;|&&|\x00|(|)|( ls )|{ ls; }|<|>|>/dev/null|2>&1|2>/dev/null|<<<|< notes.txt|&>/dev/null|&|1|2|é|—|/|./|src/|sh -c|bash -c|env|nice -n 5|command|cd|cd src|true|false|xargs|timeout 5|nice|[ a ]|test a|time|if|then|fi|do|done|case|esac|in|function|[[|]]|((|))|coproc|select|--|-|.|ls()|git status|find . -name", "|")

// TestGeneratedLinesRunAsJudged does so with lines of pieces that are put together by
// chance.
func TestGeneratedLinesRunAsJudged(t *testing.T) {
	wanted := 400
	if testing.Short() {
		wanted = 60 // a line takes some twenty milliseconds
	}
	for _, name := range []string{"bash", "dash"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, name)
			chance := rand.New(rand.NewPCG(12, uint64(len(name)+wanted)))
			seen := map[string]bool{}
			for compared := 0; compared < wanted; {
				line := generate(chance)
				if seen[line] {
					continue
				}
				seen[line] = true
				if strings.Contains(line, "sh -c") && ownBuiltin.MatchString(line) {
					continue // the inner shell has builtins of its own, which note nothing
				}
				if g := s.judge.Judge(line, nil); g.Allowed {
					s.compare(t, line, g)
					compared++
				}
			}
		})
	}
}

func generate(chance *rand.Rand) string {
	var line strings.Builder
	line.WriteString([]string{"ls", "cat", "echo", "l", "", "sh -c '", "e"}[chance.IntN(7)])
	for range 1 + chance.IntN(7) {
		p := pieces[chance.IntN(len(pieces))]
		if p == "\x00" {
			p = "|" // it parts the pieces
		}
		if chance.IntN(3) > 0 {
			line.WriteString(" ")
		}
		line.WriteString(p)
	}
	return line.String()
}
