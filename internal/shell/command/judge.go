package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// Judge judges command lines against an allow-list. Its methods may be called from any
// goroutine.
type Judge struct {
	rules map[string][]rule // by the name of the executable, or its absolute path
	files *files
	shell shell
	dir   string // of the commands; "" is not known
}

// In returns a Judge of commands in a directory: it also looks at what git would read there.
func (j *Judge) In(dir string) *Judge {
	in := *j
	in.dir = dir
	return &in
}

// shell is the one that runs command lines.
type shell struct {
	argv    []string // what comes before the line
	dialect syntax.LangVariant
}

// systemShell is bash where there is one, as it is what models write for.
func systemShell() shell {
	if st, err := os.Stat("/bin/bash"); err == nil && st.Mode().IsRegular() {
		return shell{[]string{"/bin/bash", "--norc", "--noprofile", "-c"}, syntax.LangBash}
	}
	return shell{[]string{"/bin/sh", "-c"}, syntax.LangPOSIX}
}

// NewJudge returns a Judge with the allow-list and the directories of a configuration.
// A rule that could allow any command, or that its own examples contradict, is an error.
func NewJudge(s *settings.Settings) (*Judge, error) {
	rules, err := readRules(s)
	if err != nil {
		return nil, err
	}
	return &Judge{rules: rules, files: newFiles(s.Path), shell: systemShell()}, nil
}

// Argv is the program that runs a command line, and its arguments: the shell that the
// line was judged for.
func (j *Judge) Argv(line string) []string { return append(slices.Clone(j.shell.argv), line) }

// Judge judges a command line, and the variables that its caller sets for it. What
// [CheckEnv] refuses must not have come here.
func (j *Judge) Judge(line string, env map[string]string) Judgement {
	if reason := unusable(line); reason != "" {
		return Judgement{Reasons: []string{reason}, Refused: true}
	}
	r := &reading{judge: j, dirs: []string{j.dir}, plain: true, listed: true, rememberable: true}
	if reason := misleading(line); reason != "" {
		r.unclear("%s", reason)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !harmlessVariable(name, env[name]) {
			r.unlisted("the variable %s may change what commands do", name)
		}
	}
	all := r.line(line, j.shell.dialect)
	if len(r.effective) == 0 && all.essence == "" && r.plain {
		r.unclear("there is no command")
	}
	return r.judgement(all, env)
}

func (r *reading) judgement(all piece, env map[string]string) Judgement {
	files := r.files() // first: it may find reasons
	g := Judgement{Reasons: r.reasons, Effective: r.effective, Files: files, Loaders: r.contents.loaders, Missing: r.missing}
	if !r.plain {
		return g
	}
	g.Allowed, g.Line, g.NoInput = r.listed, all.line, r.deaf
	if r.rememberable {
		h := sha256.New()
		fmt.Fprintf(h, "quoin shell 1\n%s\n", all.essence)
		for _, name := range slices.Sorted(maps.Keys(env)) {
			fmt.Fprintf(h, "%q=%q\n", name, env[name])
		}
		g.Subject = hex.EncodeToString(h.Sum(nil))
	}
	return g
}

// maxNesting bounds shells in shells and groups in groups.
const maxNesting = 8

// maxCommands bounds the commands of one line.
const maxCommands = 40

// maxSteps bounds the commands and programs that run others, also those that are read for
// the reasons alone.
const maxSteps = 200

// maxReasons bounds what a person has to read.
const maxReasons = 8

// reading is one line while it is read.
type reading struct {
	judge     *Judge
	effective []Effective
	reasons   []string
	depth     int
	steps     int
	// behind are the programs that run the command which is read now, and open says
	// that one of them adds words to it.
	behind []string
	open   bool
	// dirs are the directories that a command may run in, behind each cd of the line; empty
	// where they are not known.
	dirs []string
	// missing is the program that runs first, if it is not there. maybe counts the parts of
	// the line around what is read that may not run it at all.
	missing string
	maybe   int
	// contents are the files that the line may take commands from.
	contents contents
	// deaf says that a program takes commands from its input, so that it must not have any.
	deaf bool
	// plain says that every part is understood, listed that the allow-list has every
	// command, rememberable that the commands are the same whenever the line runs.
	plain, listed, rememberable bool
}

func (r *reading) unclear(format string, args ...any) {
	r.plain = false
	r.because(format, args...)
}

func (r *reading) unlisted(format string, args ...any) {
	r.listed = false
	r.because(format, args...)
}

func (r *reading) because(format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	if len(r.reasons) < maxReasons && !slices.Contains(r.reasons, reason) {
		r.reasons = append(r.reasons, reason)
	}
}

// line reads a whole command line.
func (r *reading) line(line string, dialect syntax.LangVariant) (p piece) {
	if r.depth++; r.depth > maxNesting {
		r.unclear("there are more than %d levels of shells and groups", maxNesting)
		return piece{}
	}
	defer func() { r.depth-- }()
	defer func() {
		// The parser is not ours, and the line is hostile.
		if v := recover(); v != nil {
			r.unclear("the command cannot be read: %v", v)
			p = piece{}
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(dialect)).Parse(strings.NewReader(line), "")
	if err != nil {
		// The parser's example of a function is not what the command line has.
		r.unclear("the command cannot be read: %s", strings.ReplaceAll(err.Error(), "`foo(`", "`(`"))
		return piece{}
	}
	return r.statements(file.Stmts)
}

// words reads words. One that is not plain makes the reading unclear, and has its source
// as text.
func (r *reading) words(list []*syntax.Word) []word {
	var out []word
	for _, w := range list {
		out = append(out, r.word(w))
	}
	return out
}

func (r *reading) word(w *syntax.Word) word {
	b := wordBuilder{}
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.unquoted(part.Value, i == 0, len(w.Parts) == 1)
		case *syntax.SglQuoted:
			if part.Dollar {
				b.problem = "$'…' has escapes"
			}
			b.literal(part.Value)
		case *syntax.DblQuoted:
			b.doubleQuoted(part)
		default:
			b.problem = expansionName(part)
		}
	}
	if b.problem == "" && b.brace && (strings.Contains(b.text, ",") || strings.Contains(b.text, "..")) {
		b.problem = "braces stand for several words"
	}
	if b.problem != "" {
		r.unclear("a word is not plain: %s", b.problem)
		r.inside(w)
		src := source(w)
		return word{text: src, quoted: quote(src), glob: true, open: true}
	}
	return b.word()
}

// runs notes what a program that runs code may run.
func (c *contents) runs(r *reading, exe *executable, args []word) {
	c.code = append(c.code, r.paths(args)...)
	if name := exe.name; !slices.Contains(c.loaders, name) {
		c.loaders = append(c.loaders, name)
	}
	for name := range strings.FieldsSeq(buildFiles[exe.kind()]) {
		c.code = append(c.code, r.paths([]word{literal(name)})...)
		for _, a := range args { // -C DIR
			c.code = append(c.code, r.paths([]word{literal(path.Join(a.text, name))})...)
		}
	}
}

// paths are what words may name, from each directory that the command may run in.
func (r *reading) paths(args []word) (out []string) {
	for _, a := range args {
		_, value, _ := strings.Cut(a.text, "=")
		for _, dir := range r.dirs {
			for _, text := range []string{a.text, value} {
				switch {
				case text == "" || dir == "":
				case path.IsAbs(text):
					out = append(out, text)
				default:
					out = append(out, dir+"/"+text)
				}
			}
		}
	}
	return out
}

// files are those that an approval of the line is for. Where a program takes commands from its input, or a part of the line
// is not understood, any file may be one of commands.
func (r *reading) files() (out []File) {
	all := r.contents.code
	if r.deaf || !r.plain {
		all = append(slices.Clone(all), r.contents.data...)
	}
	slices.Sort(all)
	for _, p := range slices.Compact(all) {
		if st, err := os.Stat(p); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if len(out) == maxContents {
			r.unclear("it names more than %d files", maxContents)
			break
		}
		out = append(out, File{Path: p, Digest: contentDigest(p)})
	}
	return out
}
