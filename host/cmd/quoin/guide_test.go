package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// guide is a page with commands that a script follows.
type guide struct {
	text     string
	left     []string // commands that were not followed yet
	faults   []string // that the page says how to mend, and that were not seen yet
	replaced []string // what is written there, and what it is here
}

type guideKey struct{}

// Commands of a page are the lines of its blocks, and those within the text.
var (
	guideBlock  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	guideInline = regexp.MustCompile("`((?:quoin|openssl) [^`\n]+)`")
)

// Faults of a page are the first column of its table of what you see.
var (
	guideFaults = regexp.MustCompile(`(?m)^\| what you see \|.*\n\|[-|]*\n((?:\|.*\n)*)`)
	guideFault  = regexp.MustCompile("(?m)^\\| `([^`]+)`")
)

// cmdGuide follows a page literally, but for names that are others here:
//
//	guide read FILE              starts, with a page of the documents
//	guide here FROM TO           says what a name is here; the last one counts
//	guide database FILE          has psql use the server, and writes the URL of the new database
//	guide port VARIABLE          finds a free port
//	guide block LANGUAGE FILE    writes the first block of a language
//	guide export COMMAND         follows a command of the page that sets a variable
//	guide run COMMAND [ARG...]   runs a command of the page, with more arguments
//	guide serve NAME COMMAND     runs a command of the page that starts a server
//	guide says TEXT              requires a fault of the page in what was just printed
//	guide end [TEXT...]          requires that every command was followed and every fault seen, but these
func cmdGuide(ts *testscript.TestScript, neg bool, args []string) {
	g := ts.Value(guideKey{}).(*guide)
	switch {
	case len(args) == 2 && args[0] == "read":
		g.read(ts, args[1])
	case len(args) == 3 && args[0] == "here":
		g.replaced = append([]string{args[1], args[2]}, g.replaced...)
	case len(args) == 2 && args[0] == "database":
		guideDatabase(ts, args[1])
	case len(args) == 2 && args[0] == "port":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(args[1], l.Addr().String())
		ts.Check(l.Close())
	case len(args) == 3 && args[0] == "block":
		b := regexp.MustCompile("(?s)```" + args[1] + "\n(.*?)```").FindStringSubmatch(g.text)
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(g.here(b[1])), 0o600))
	case len(args) == 2 && args[0] == "export":
		name, value, _ := strings.Cut(strings.TrimPrefix(g.follow(ts, args[1]), "export "), "=")
		ts.Setenv(name, value)
	case len(args) >= 2 && args[0] == "run":
		err := ts.Exec("sh", "-eu", "-c", strings.Join(append([]string{g.follow(ts, args[1])}, args[2:]...), " "))
		if (err != nil) != neg {
			ts.Fatalf("%s: %v (negated: %v)", args[1], err, neg)
		}
	case len(args) == 3 && args[0] == "serve":
		words := strings.Fields(g.follow(ts, args[2]))
		startServer(ts, args[1], words[1:])
	case len(args) == 2 && args[0] == "says":
		g.says(ts, args[1])
	case len(args) >= 1 && args[0] == "end":
		g.faults = slices.DeleteFunc(g.faults, func(f string) bool { return slices.Contains(args[1:], f) })
		if len(g.left)+len(g.faults) > 0 {
			ts.Fatalf("not followed: %q; not seen: %q", g.left, g.faults)
		}
	default:
		ts.Fatalf("usage: see cmdGuide")
	}
}

func (g *guide) read(ts *testscript.TestScript, file string) {
	text, err := os.ReadFile(filepath.Join(ts.Getenv("DOCS"), file))
	ts.Check(err)
	g.text = string(text)
	for _, b := range guideBlock.FindAllStringSubmatch(g.text, -1) {
		for line := range strings.Lines(b[1]) {
			if !strings.HasPrefix(line, "make ") { // these have tests of their own
				g.left = append(g.left, strings.TrimSpace(line))
			}
		}
	}
	for _, m := range guideInline.FindAllStringSubmatch(guideBlock.ReplaceAllString(g.text, ""), -1) {
		if !slices.Contains(g.left, m[1]) {
			g.left = append(g.left, m[1])
		}
	}
	for _, table := range guideFaults.FindAllStringSubmatch(g.text, -1) {
		for _, m := range guideFault.FindAllStringSubmatch(table[1], -1) {
			g.faults = append(g.faults, m[1])
		}
	}
}

// here is a text of the page with the names of this machine.
func (g *guide) here(text string) string { return strings.NewReplacer(g.replaced...).Replace(text) }

// follow notes that a command of the page is followed, and returns it.
func (g *guide) follow(ts *testscript.TestScript, command string) string {
	if !strings.Contains(g.text, command) {
		ts.Fatalf("the page has no command %s", command)
	}
	g.left = slices.DeleteFunc(g.left, func(c string) bool { return c == command })
	return g.here(command)
}

// says requires a fault of the page, with … for anything, in what was just printed.
func (g *guide) says(ts *testscript.TestScript, text string) {
	if !strings.Contains(g.text, "| `"+text+"`") {
		ts.Fatalf("the page does not say what to do about %q", text)
	}
	printed := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if !regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(text), "…", ".*")).MatchString(printed) {
		ts.Fatalf("the page has %q; this was printed:\n%s", text, printed)
	}
	g.faults = slices.DeleteFunc(g.faults, func(f string) bool { return f == text })
}

// guideDatabase has psql be a superuser of the server, and writes what a host reads.
func guideDatabase(ts *testscript.TestScript, file string) {
	u, err := url.Parse(ts.Getenv("DATABASE"))
	ts.Check(err)
	q := u.Query()
	for name, key := range map[string]string{"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password"} {
		ts.Setenv(name, q.Get(key))
	}
	ts.Setenv("PGDATABASE", "postgres")
	q.Set("user", "gateway")
	q.Set("password", "choose-one")
	ts.Check(os.WriteFile(ts.MkAbs(file), []byte("postgres:///quoin?"+q.Encode()+"\n"), 0o600))
}
