package guestserver

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/guestrt/internal/prelude"
	"github.com/quoinhq/quoin/internal/wire"
)

// commands are programs a model may take exec for a shell to run.
var commands = wordSet(`
	alias apt apt-get awk base64 bash brew bun bunx cargo cat cd chmod chown clear cmake cp curl cut date deno df diff dig dir docker
	du echo env exit fd find free gcc gh git go grep gunzip gzip head history hostname htop id ifconfig ip jq journalctl kill
	kubectl less ln ls lsof make man mkdir more mount mv nano nc netstat node nohup npm npx openssl pgrep ping pip pip3
	pkill pnpm printenv printf ps pwd python python3 read rg rm rmdir rsync scp sed seq set sh sleep sort source ssh stat su sudo
	systemctl tail tar tee terraform test time top touch tr tree ulimit umask uname uniq unset unzip uptime uv vi vim watch wc wget which
	whoami xargs yarn zip zsh`)

// guestNames are globals of the guest that a text may use and so be JavaScript.
var guestNames = wordSet(strings.Join(prelude.Reserved(), " ") + `
	globalThis undefined NaN Infinity
	Array BigInt Boolean Date Error JSON Map Math Number Object Promise RegExp Set String Symbol`)

// keywords start JavaScript statements that a minus may follow.
var keywords = wordSet(`await break case class const continue delete do else for function if import in let new of return switch
	throw try typeof var void while with yield`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

var (
	// plainCommand is a text without anything that only JavaScript has: no
	// calls, assignments, strings or blocks.
	plainCommand = regexp.MustCompile(`^[\w\-./~*|&;<>: \t\r\n]+$`)
	shellComment = regexp.MustCompile(`(?m)^\s*# .*$`)
	word         = regexp.MustCompile(`[A-Za-z_$][\w$]*`)
	firstWord    = regexp.MustCompile(`^([A-Za-z_][\w.\-]*)(?:[ \t]+(\S+)|[;|&<>]|$)`)
	prompt       = regexp.MustCompile(`^[$>#%] `)
	assignments  = regexp.MustCompile(`^(?:[A-Z_][A-Z0-9_]*=(?:[^\s;()'"]+|'[^']*'|"[^"]*")* +)+([\w./\-]+)(?:\s|$)`)
	assignLine   = regexp.MustCompile(`(?m)^[A-Za-z_]\w*=[\w./~:\-]*[ \t]*;?[ \t]*$`)
	setLine      = regexp.MustCompile(`(?m)^[A-Z_][A-Z0-9_]*=\S*[ \t]*;?[ \t]*$`)
	nextCommand  = regexp.MustCompile(`^[\w./~\-]+[ \t]+[^\s&|=(][^&|]*(?:&&|\|)[ \t]*([a-z][\w\-]*)[ \t]+(\S+)`)
	exportName   = regexp.MustCompile(`^export [A-Za-z_]\w*=\S*\s*(?:$|[;&])`)
	programPath  = regexp.MustCompile(`^(?:\.{1,2}|~)?/[\w.\-]+(?:/[\w.\-]+)*(?:\s|$)`)
	withFlag     = regexp.MustCompile(`^[a-z][\w.\-]*(?: [\w./\-]+)* --?[A-Za-z][\w\-]*(?:[ =]|$)`)
)

// hashbang is a first line that names the program to run the text with.
var hashbang = regexp.MustCompile(`^[\s\x{feff}]*#!.*`)

// javaScriptHashbang names a program that runs JavaScript.
var javaScriptHashbang = regexp.MustCompile(`^[\s\x{feff}]*#!.*\b(?:node|deno|bun|qjs|ts-node|tsx|zx)\b`)

// withoutHashbang turns a first line such as "#!/usr/bin/env node", which is
// JavaScript at the start of a file only, into a comment of the same length.
func withoutHashbang(source string) string {
	if javaScriptHashbang.MatchString(hashbang.FindString(source)) {
		return strings.Replace(source, "#!", "//", 1)
	}
	return source
}

// plainShell recognises a shell command that is also valid JavaScript, such as
// "ls -la" (a subtraction), or that no parser needs to see.
func plainShell(source string, namespaces []wire.NamespaceRef) bool {
	if hashbang.MatchString(source) {
		return true
	}
	text := shellComment.ReplaceAllString(assignLine.ReplaceAllString(strings.TrimSpace(source), ""), "")
	m := firstWord.FindStringSubmatch(firstLine(text))
	if m == nil || !commands[m[1]] || startsOperator(m[1], m[2]) {
		return false
	}
	if withoutHereDocuments(text) != text {
		return true
	}
	if !plainCommand.MatchString(text) {
		return false
	}
	for _, w := range word.FindAllString(source, -1) {
		named := func(n wire.NamespaceRef) bool { return n.Global == w }
		if guestNames[w] || slices.ContainsFunc(namespaces, named) {
			return false
		}
	}
	return true
}

// looksLikeShell recognises a shell command in a text that did not parse: its
// first line is one, and nothing behind it can only be JavaScript.
func looksLikeShell(source string) bool {
	source = setLine.ReplaceAllString(source, "")
	line := prompt.ReplaceAllString(firstLine(source), "")
	if blockHead.MatchString(line) {
		return blockBody.MatchString(source)
	}
	return startsCommand(line) && !hasJavaScript(source)
}

// startsCommand reports whether a line starts as a shell command.
func startsCommand(line string) bool {
	if m := assignments.FindStringSubmatch(line); m != nil {
		return !keywords[m[1]]
	}
	if exportName.MatchString(line) || programPath.MatchString(line) || leadsToCommand(line) {
		return true
	}
	m := firstWord.FindStringSubmatch(line)
	if m == nil || keywords[m[1]] {
		return false
	}
	return withFlag.MatchString(line) || commands[m[1]] && !startsOperator(m[1], m[2])
}

// leadsToCommand recognises a line that pipes into a command, or has one behind
// &&.
func leadsToCommand(line string) bool {
	m := nextCommand.FindStringSubmatch(line)
	first, _, _ := strings.Cut(line, " ")
	return m != nil && commands[m[1]] && !keywords[first] && !startsOperator(m[1], m[2])
}

// startsOperator reports whether the word behind a command's name continues a
// JavaScript expression or statement rather than a command.
func startsOperator(command, w string) bool {
	if w == "" {
		return false
	}
	if w[0] == '+' {
		return command != "chmod" && command != "date"
	}
	if w[0] == '*' {
		return len(w) == 1 || w[1] == '=' || w[1] == '*'
	}
	switch w[0] {
	case '=', '(', '[', '?', ':', ',', '!', '%', '^', '{', '}', ')':
		return true
	}
	switch w {
	case "in", "of", "instanceof":
		return true
	case "-":
		return !standardInput[command]
	}
	return strings.HasPrefix(w, ".") && len(w) > 1 && word.MatchString(w[1:2])
}

// standardInput are the commands that are often called with a lone minus.
var standardInput = wordSet(`bash cat cd python python3 sh su tar tee wc`)

// firstLine returns the first line of a text that is neither empty nor a shell
// or JavaScript comment.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "# ") {
			continue
		}
		return line
	}
	return ""
}
