package main

import (
	"bytes"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// block is one fenced block of a document: its language, the file that it is the
// content of, if any, and its text.
var block = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")

// tutorial does what a document tells its reader to do. Commands in blocks of sh
// run in one directory, which they may change, and print what a block of text
// right after them says. A block with a file's name is saved as that file. A block
// of console that starts with "$ " is a session of quoin plugin dev: it prints what the block
// says, and later what later blocks of console say.
type tutorial struct {
	ts      *testscript.TestScript
	dir     string
	printed string // by the last commands; "" if nothing is left to be compared
	session *session
}

// cmdTutorial follows a document: tutorial FILE
func cmdTutorial(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tutorial FILE")
	}
	text, err := os.ReadFile(filepath.Join(ts.Getenv("DOCS"), args[0]))
	ts.Check(err)
	t := &tutorial{ts: ts, dir: ts.MkAbs(".")}
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		switch language, file, content := b[1], b[2], b[3]; {
		case file != "":
			t.ends()
			ts.Check(os.WriteFile(filepath.Join(t.dir, filepath.FromSlash(file)), []byte(content), 0o644))
		case language == "sh":
			t.ends()
			t.commands(content)
		case language == "text":
			t.compare(content, t.printed, true)
			t.printed = ""
		case language == "console":
			t.ends()
			t.console(content)
		}
	}
	t.ends()
	if t.session != nil {
		t.session.interrupt()
	}
}

// commands runs the commands of a block.
func (t *tutorial) commands(script string) {
	where := filepath.Join(t.ts.MkAbs("."), "where")
	cmd := osexec.Command("sh", "-eu", "-c", script+"\npwd > '"+where+"'")
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.dir, scriptEnv(t.ts), &out, &out
	if err := cmd.Run(); err != nil {
		t.ts.Fatalf("%s%v\n%s", script, err, &out)
	}
	t.printed = out.String()
	b, err := os.ReadFile(where)
	t.ts.Check(err)
	t.dir = strings.TrimSpace(string(b))
}

// ends makes sure that what was printed has been in the document.
func (t *tutorial) ends() {
	if t.printed != "" {
		t.ts.Fatalf("the document does not show this:\n%s", t.printed)
	}
}

// compare holds what was printed against the document: … stands for anything
// within a line, and a line of … alone for any lines. It reports how much of it the
// document has, and fails if that must be all of it and is not.
func (t *tutorial) compare(want, got string, all bool) (length int) {
	re := pattern(want)
	m := re.FindStringIndex(got)
	if m == nil || all && m[1] != len(got) {
		t.ts.Fatalf("printed:\n%s\nthe document has:\n%s", got, want)
	}
	return m[1]
}

func pattern(want string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for line := range strings.Lines(want) {
		if strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*?`)
		} else {
			b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
		}
	}
	return regexp.MustCompile(b.String())
}

// console starts a session, or waits until it has printed more.
func (t *tutorial) console(text string) {
	if command, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(command, "$ quoin ") {
		t.session = beginSession(t.ts, t.dir, strings.Fields(command)[2:])
		text = rest
	}
	t.session.await(pattern(text))
}
