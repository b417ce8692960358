package guestserver

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// shellTexts parse as JavaScript or not; the second list is only looked at once
// a parse has failed.
var (
	parsingShell = []string{
		"ls", "pwd", "whoami", "  ls  ", "ls -la", "ls -l -a", "df -h", "node -v", "cat /etc/passwd", "rm -rf /tmp/x",
		"ls /tmp", "ls | wc", "make && test", "pwd; ls", "ls > out", "date", "cd ..", "ls\npwd",
		"exit", "exit 1", "set -e", "set -e\nls -la", "set -euo pipefail", "unset FOO", "ulimit -n", "VAR=x\nls -la", "A=1\nB=./x\nmake",
		"#!/bin/bash\necho hi", "# list\nls -la",
	}
	brokenShell = []string{
		"cd x && y", "git status", "git commit -m \"fix\"", "FOO=1 make", "A=1 B=two ./run.sh x", "./x.sh", "./x.sh --all",
		"../bin/tool", "~/bin/tool arg", "/usr/bin/env node", "cat foo.txt", "cat foo | grep bar", "echo hi", "echo \"$HOME\"",
		"ls > out.txt 2>&1", "grep -rn 'a b' .", "curl -s https://example.com | jq .", "npm install && npm test", "$ ls foo",
		"python -c 'print(1)'", "export FOO=bar", "if [ -f x ]; then", "for f in *; do\n echo $f\ndone", "while true; do ls; done",
		"VAR=x cmd", "VAR=x cmd --flag", "VAR='a b' cmd", "VAR=\"$HOME\" cmd arg", "exit 1", "set -e; ls foo", "mytool list | grep x",
		"mytool x | sort -u | head -3", "mytool x && rm y.txt", "cat a.txt | mytool", "frobnicate --all", "frobnicate sub -v", "mkdir -p a/b", "find . -name '*.go'", "sudo apt-get install x", "go test ./...",
		"docker run --rm -it image sh", "rm -rf node_modules dist", "tail -f /var/log/syslog", "kill -9 1234",
	}
	notShell = []string{
		"return 1", "text('ls -la')", "const ls = 1; return ls", "ls()", "return ls -la", "a - b", "date = new Date()",
		"exit(1)", "set.add(1)", "VAR = 'x'", "a | date", "x = 1\nreturn x - y", "total=1\nreturn total", "text=1\nls -la", "const files = await tools.call('ls', {})", "json", "text", "tools", "x", "cat.name", "find(1)",
		"test(", "time = ", "find = (a) =>", "top.left = ", "foo(", "let x = ", "return {", "if (a) {", "for (const x of y) {",
		"const a = [1, 2", "function f( {", "class A {", "`ls", "echo?.a +", "cat ? 1 :", "x -", "a => {", "date.getTime(",
	}
)

func TestShellCommandsAreRecognised(t *testing.T) {
	for _, source := range parsingShell {
		for _, lang := range []string{"javascript", "typescript"} {
			if got := reasonOf(t, lang, source); got != wire.ReasonShellCommand {
				t.Errorf("%s %q: reason %q", lang, source, got)
			}
		}
	}
	for _, source := range brokenShell {
		if !looksLikeShell(source) && !plainShell(source, nil) {
			t.Errorf("%q is not recognised", source)
		}
		if got := reasonOf(t, "typescript", source); got != wire.ReasonShellCommand {
			t.Errorf("typescript %q: reason %q", source, got)
		}
	}
}

func TestJavaScriptIsNotTakenForShell(t *testing.T) {
	for _, source := range notShell {
		if plainShell(source, nil) || looksLikeShell(source) {
			t.Errorf("%q is taken for a shell command", source)
		}
	}
}

func TestANamespaceGlobalIsNoShellCommand(t *testing.T) {
	refs := []wire.NamespaceRef{{Global: "git", ID: "git"}}
	if plainShell("git", refs) || plainShell("git | text", nil) {
		t.Error("a cell that names its namespace is taken for a shell command")
	}
	if !plainShell("git", nil) {
		t.Error("git is not recognised where no namespace has the name")
	}
}

func TestShellRefusalSaysWhatToDo(t *testing.T) {
	_, refusal := prepare(wire.Cell{Language: "javascript", Source: "ls -la"})
	for _, words := range []string{"shell", "JavaScript", "tools."} {
		if !strings.Contains(refusal.Message, words) {
			t.Errorf("message %q does not say %q", refusal.Message, words)
		}
	}
}

func TestBlankAndUnknownLanguage(t *testing.T) {
	for _, source := range []string{"", " ", "\n\t \n"} {
		_, refusal := prepare(wire.Cell{Language: "javascript", Source: source})
		if refusal == nil || refusal.Code != wire.CodeInvalidInput {
			t.Errorf("%q: %+v", source, refusal)
		}
	}
	for _, lang := range []string{"", "python", "JavaScript", strings.Repeat("x", 1000)} {
		_, refusal := prepare(wire.Cell{Language: lang, Source: "return 1"})
		if refusal == nil || refusal.Reason != wire.ReasonUnsupportedLanguage || len(refusal.Message) > 200 {
			t.Errorf("%q: %+v", lang, refusal)
		}
	}
}

func TestAMarkdownFenceIsNamed(t *testing.T) {
	for _, source := range []string{"```js\nreturn 1\n```", "\n ```\nreturn 1\n```\n", "```ts\nls -la\n```"} {
		_, refusal := prepare(wire.Cell{Language: "javascript", Source: source})
		if refusal == nil || refusal.Reason != wire.ReasonSyntaxError || !strings.Contains(refusal.Message, "Markdown fence") {
			t.Errorf("%q: %+v", source, refusal)
		}
	}
	if _, refusal := prepare(wire.Cell{Language: "javascript", Source: "const f = '```'; return f"}); refusal != nil {
		t.Errorf("a fence in a string: %+v", refusal)
	}
}
