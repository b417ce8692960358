package guestserver

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/guestrt/prelude"
	"github.com/quoinhq/quoin/guestrt/wire"
)

// commands are programs a model may take exec for a shell to run.
var commands = wordSet(`
	alias apt apt-get awk base64 bash brew cargo cat cd chmod chown clear cmake cp curl cut date df diff dig dir docker du
	echo env exit fd find free gcc gh git go grep gunzip gzip head history hostname htop id ifconfig ip jq kill
	kubectl less ln ls make man mkdir more mount mv nano nc netstat node nohup npm npx openssl pgrep ping pip pip3
	pkill pnpm printenv printf ps pwd python python3 rg rm rmdir rsync scp sed seq set sh source ssh stat su sudo
	systemctl tail tar tee terraform test time top touch tr tree ulimit umask uname uniq unset unzip uptime vi vim watch wc wget which
	whoami xargs yarn zip zsh`)

// guestNames are globals of the guest that a text may use and so be JavaScript.
var guestNames = wordSet(strings.Join(prelude.Reserved(), " ") + `
	globalThis undefined NaN Infinity
	Array BigInt Boolean Date Error JSON Map Math Number Object Promise RegExp Set String Symbol`)

// keywords begin JavaScript statements that a minus may follow.
var keywords = wordSet(`await break case const continue delete else function let new return throw typeof var void yield`)

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
	assignments  = regexp.MustCompile(`^(?:[A-Za-z_]\w*=(?:[^\s;()'"]+|'[^']*'|"[^"]*")* +)+[\w./\-]+(?:\s|$)`)
	assignLine   = regexp.MustCompile(`(?m)^[A-Za-z_]\w*=[\w./~:\-]*[ \t]*;?[ \t]*$`)
	nextCommand  = regexp.MustCompile(`(?:&&|\|)[ \t]*([a-z][\w\-]*)[ \t]+(\S+)`)
	exportName   = regexp.MustCompile(`^export [A-Za-z_]\w*=\S*\s*(?:$|[;&])`)
	programPath  = regexp.MustCompile(`^(?:\.{1,2}|~)?/[\w.\-]+(?:/[\w.\-]+)*(?:\s|$)`)
	withFlag     = regexp.MustCompile(`^[a-z][\w.\-]*(?: [\w./\-]+)* --?[A-Za-z][\w\-]*(?:[ =]|$)`)
	shellBlock   = regexp.MustCompile(`(?m)(?:;\s*(?:then|do)\b|^\s*(?:fi|done|esac)\s*$|^\s*if \[\[? )`)
)

// plainShell recognises a shell command that is also valid JavaScript, such as
// "ls -la" (a subtraction), or that no parser needs to see.
func plainShell(source string, namespaces []wire.NamespaceRef) bool {
	text := strings.TrimSpace(source)
	if strings.HasPrefix(text, "#!") {
		return true
	}
	text = shellComment.ReplaceAllString(assignLine.ReplaceAllString(text, ""), "")
	m := firstWord.FindStringSubmatch(firstLine(text))
	if m == nil || !commands[m[1]] || !plainCommand.MatchString(text) {
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

// looksLikeShell recognises a shell command in a text that did not parse.
func looksLikeShell(source string) bool {
	line := firstLine(source)
	line = prompt.ReplaceAllString(line, "")
	switch {
	case assignments.MatchString(line), exportName.MatchString(line), programPath.MatchString(line),
		shellBlock.MatchString(source):
		return true
	}
	m := firstWord.FindStringSubmatch(line)
	if m != nil && withFlag.MatchString(line) && !keywords[m[1]] {
		return true
	}
	return m != nil && commands[m[1]] && !startsOperator(m[2]) || leadsToCommand(line)
}

// leadsToCommand recognises a line that pipes into a command, or goes on with one
// behind &&.
func leadsToCommand(line string) bool {
	for _, m := range nextCommand.FindAllStringSubmatch(line, -1) {
		if commands[m[1]] && !startsOperator(m[2]) {
			return true
		}
	}
	return false
}

// startsOperator reports whether a second word continues a JavaScript
// expression or statement rather than a command.
func startsOperator(w string) bool {
	if w == "" {
		return false
	}
	switch w[0] {
	case '=', '(', '[', '?', '+', '*', ':', ',', '!', '%', '^':
		return true
	}
	return strings.HasPrefix(w, ".") && len(w) > 1 && word.MatchString(w[1:2]) ||
		w == "in" || w == "of" || w == "instanceof"
}

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
