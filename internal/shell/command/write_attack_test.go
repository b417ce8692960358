package command

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// writingLines try to have programs that print write, remove or run something. The
// programs that this machine does not have count for nothing.
var writingLines = []string{
	"xz -l -d p.xz", "xz -t -d p.xz", "xz -ld p.xz", "xz -dt p.xz", "xz -d -l p.xz", "xz --list -d p.xz", "xz --test --decompress p.xz", "xz -l a", "xz -t -k a", "xz -c -d p.xz", "xz -d -c p.xz", "xz -cd -t p.xz", "xz -kd p.xz", "xz -tq -d p.xz -",
	"gzip -l -d p.gz", "gzip -t -d p.gz", "gzip -dl p.gz", "gzip -d -t p.gz", "gzip -cd p.gz", "gzip -c a", "gzip -tk a", "gzip -l a", "gzip -tv -d p.gz", "gzip -qdk p.gz",
	"zcat p.gz", "zcat -f a", "zcat -d p.gz", "bzcat -q a", "xzcat p.xz", "xzcat -q a", "xzcat -v p.xz",
	"sort a b", "sort -u a", "sort -T . a", "sort a -o b", "uniq a", "uniq a c", "uniq -c a c", "shuf a", "shuf -e a b", "xxd a", "xxd a c", "xxd -r c", "xxd -p a", "base64 a", "base64 -d b",
	"sed -n p a", "sed 's/x/y/' a", "sed 's/x/touch made/e' a", "sed 's/x/y/w made' a", "sed 'w made' a", "sed '1e touch made' a", "sed -n '/x/w made' a", "sed 's/x/y/gew made' a", "sed -e p -e 'w made' a", "sed -i p a", "sed -n -e 's/[/]x/y/e' a",
	"sed 's,x,touch made,e' a", "sed 's/x/touch made/;s/y/z/e' a", "sed '$!N;w made' a", "sed 'y/x/y/;w made' a", "sed -s -n '$=' a b", "sed '/x/!d;e' a", "sed 's/\\/x/touch made/e' a", "sed 's|x\\|y|touch made|e' a", "sed '/[/]/e touch made' a", "sed 's/a/[/;s/x/touch made/e' a", "sed '2,/x/{w made' a", "sed --posix 's/x/touch made/e' a", "sed -E 's/(x)/touch made/e' a", "sed -z 's/x/touch made/e' a",
	"sed '#n' a", "sed '0~2w made' a", "sed '/x/I,+1w made' a", "sed 's/x/y/m;w made' a", "sed 'l 1;w made' a", "sed 'q5;w made' a", "sed \"s/x/touch made/\"e a", "sed -n 'x;G;1!h;s/\\n/;/gp;w made' a", "sed 's/[[:space:]/]/x/e' a", "sed 's/x/\\n/e' a",
	"awk '{print}' a", "awk 'BEGIN{system(\"touch made\")}'", "awk 'BEGIN{print 1 > \"made\"}'", "awk 'BEGIN{print 1 | \"touch made\"}'", "awk 'BEGIN{\"touch made\" | getline}'", "awk -f prog a", "awk -v x=1 '{print x}' a", "awk -v 'x=$(touch made)' '{print x}' a", "awk -F'|' '{print $1}' a", "awk 'BEGIN{printf \"x\" >> \"made\"}'",
	"find . -name a", "find . -fprint made", "find . -delete", "find a -exec touch made ';'", "find . -name a -exec cat {} +", "find . -ok touch made ';'", "find . -fls made", "find . -execdir touch made ';'",
	"tar tf a.tar", "tar tvf a.tar", "tar xf a.tar", "tar tf a.tar -I 'touch made'", "tar tf a.tar --to-command='touch made'", "tar tf a.tar --checkpoint=1 --checkpoint-action=exec='touch made'", "tar -tf a.tar --use-compress-program=./prog", "tar tf a.tar --index-file=made", "tar -t -x -f a.tar", "tar -xtf a.tar", "tar tcf made a", "tar -tvf a.tar --delete a",
	"date +%s", "date -s 2000-01-01", "file a", "file -C -m a", "tree", "tree -o made", "tree -R -H x", "diff a b", "diff -l a b", "cmp a b", "od a", "hexdump a", "nl a", "split a", "csplit a 1", "tee made", "dd if=a of=made", "cp a made", "mv a made", "rm a", "truncate -s0 a", "touch made", "mkdir made",
	"git init", "go env", "go env -w GOFLAGS=-x", "gofmt -l a.go", "gofmt -w a.go", "gofmt -d a.go", "jq . a.json", "jq -n 'input' a.json", "rg x", "rg --pre ./prog x", "grep -r x .", "wc a", "wc --files0-from=a", "comm a b", "join a b", "paste a b", "ls -la", "stat a", "du -s", "df .",
	"env", "env touch made", "printenv", "timeout 5 cat a", "timeout 5 touch made", "nice cat a", "nohup cat a", "setsid cat a", "stdbuf -oL cat a", "time cat a", "xargs cat <names", "xargs touch <names", "sh -c 'cat a'", "sh -c 'touch made'", "bash -c 'cat a; touch made'", "busybox cat a", "busybox touch made",
	"cat a; touch made", "cat a && touch made", "cat a || touch made", "cat a | tee made", "cat a > made", "cat a >> made", "cat a >| made", "cat a &> made", "cat a <> made", "cat <<<x >made", "cat a 2>made", "(cat a; touch made)", "{ cat a; touch made; }", "cat $(touch made)", "cat `touch made`", "cat <(touch made)", "cat a >(touch made)", "! touch made", "cat a & touch made",
	"unzip -l a.zip", "unzip -o a.zip", "unzip -l a.zip -d made", "unzip -t a.zip", "objdump -d a", "nm a", "size a", "readelf -a a", "dpkg -l", "ps", "ss -tln", "ip addr", "id", "uname -a", "hostname", "hostname made",
}

// TestPrintingWritesNothing runs what is allowed of programs that print, and looks at the
// directory afterwards.
func TestPrintingWritesNothing(t *testing.T) {
	allow := []string{
		"xz", "gzip", "zcat", "bzcat", "xzcat", "sort", "uniq", "shuf", "xxd", "base64", "sed", "awk", "find", "tar", "date", "file", "tree", "diff", "cmp", "od", "hexdump", "nl", "git", "go", "gofmt", "jq", "rg", "grep", "wc", "comm", "join", "paste", "ls", "stat", "du", "df",
		"env", "printenv", "cat", "unzip", "objdump", "nm", "size", "readelf", "dpkg", "ps", "ss", "ip", "id", "uname", "hostname",
	}
	j := newJudge(t, func(s *settings.Settings) { s.Allow = allow })
	dir := t.TempDir()
	fill(t, dir)
	before := snapshot(t, dir)
	allowed := 0
	for _, line := range writingLines {
		g := j.Judge(line, nil)
		if !g.Allowed {
			continue
		}
		allowed++
		argv := j.Argv(g.Line)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "GOCACHE=" + t.TempDir(), "LANG=C"}
		out, _ := cmd.CombinedOutput() // many have something to complain about
		if after := snapshot(t, dir); after != before {
			t.Errorf("%s, run as %s, changed the directory from\n%sto\n%s%s", line, g.Line, before, after, out)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			fill(t, dir)
			before = snapshot(t, dir)
		}
	}
	if allowed < 60 {
		t.Errorf("only %d of %d lines are allowed", allowed, len(writingLines))
	}
}

// fill makes the files that the lines name.
func fill(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"a": "x\ny\nmade\n", "b": "x\nz\n", "names": "a\n", "a.json": `{"x":1}`, "a.go": "package  a\n", "prog": "#!/bin/sh\ntouch made\n", "a.zip": "PK",
	} {
		write(t, filepath.Join(dir, name), text, 0o755)
	}
	for name, argv := range map[string][]string{"p.xz": {"xz", "-kc", "a"}, "p.gz": {"gzip", "-nc", "a"}, "a.tar": {"tar", "cf", "-", "b"}} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Logf("%s: %v", name, err)
			out = []byte("x")
		}
		write(t, filepath.Join(dir, name), string(out), 0o644)
	}
}

// snapshot is what a directory has.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path == dir {
			return err
		}
		text := []byte(nil)
		if d.Type().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %s %x\n", d.Type(), d.Name(), text[:min(len(text), 40)])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
