package quickjs

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mistake is a kind of mistake that a misspelt name makes.
type mistake string

const (
	mistakeCall mistake = "call" // what was called is no function
	mistakeRead mistake = "read" // what a property was read of is nothing
	mistakeName mistake = "name" // there is no variable of that name
	mistakeSelf mistake = "self" // what was called is a property of a value of the program's own, and no function

	mistakeField mistake = "field" // a property was read of a field that a value of the program's own does not have

	notDefined = "' is not defined"
)

// mistakeIn tells the kind from the engine's message.
func mistakeIn(message string) (mistake, bool) {
	switch {
	case message == "not a function":
		return mistakeCall, true
	case strings.HasPrefix(message, "cannot read property "):
		return mistakeRead, true
	case len(message) > 1+len(notDefined) && message[0] == '\'' && strings.HasSuffix(message, notDefined):
		return mistakeName, true
	}
	return "", false
}

// place is how the engine writes where a frame is.
var stackPlace = regexp.MustCompile(`\(cell\.[jt]s:(\d+):(\d+)\)$`)

// firstPlace returns line and column, both from 1, of the first frame of a stack.
func firstPlace(stack string) (line, col int, ok bool) {
	first, _, _ := strings.Cut(stack, "\n")
	m := stackPlace.FindStringSubmatch(first)
	if m == nil {
		return 0, 0, false
	}
	line, lineErr := strconv.Atoi(m[1])
	col, colErr := strconv.Atoi(m[2])
	return line, col, lineErr == nil && colErr == nil
}

// offsetOf returns the offset of a place. Columns count characters.
func offsetOf(text []byte, line, col int) (int, bool) {
	at := 0
	for ; line > 1; line-- {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			return 0, false
		}
		at += n + 1
	}
	for ; col > 1; col-- {
		if at >= len(text) || text[at] == '\n' {
			return 0, false
		}
		_, n := utf8.DecodeRune(text[at:])
		at += n
	}
	return at, col == 1
}

// Bounds of a member expression that is looked at.
const (
	maxMembers = 16
	maxMember  = 128 // bytes of one name
)

// memberPath reads the member expression at the end of a text, such as a.b["c"],
// also in parentheses. It is false unless the expression starts with a name and
// continues with nothing but names: its value could be anything else.
func memberPath(text []byte) (path []string, ok bool) {
	text = bytes.TrimRight(text, " \t\r\n")
	closed := 0
	for ; len(text) > 0 && text[len(text)-1] == ')'; closed++ {
		text = bytes.TrimRight(text[:len(text)-1], " \t\r\n")
	}
	for len(path) < maxMembers {
		name, rest, last, ok := lastMember(text)
		if !ok {
			return nil, false
		}
		path, text = append(path, name), rest
		if !last {
			continue
		}
		for ; closed > 0; closed-- {
			text = bytes.TrimRight(text, " \t\r\n")
			if text, ok = bytes.CutSuffix(text, []byte("(")); !ok {
				return nil, false
			}
		}
		slices.Reverse(path)
		return path, true
	}
	return nil, false
}

// methodName reads the name of the property at the end of a text, such as c of a().b.c.
func methodName(text []byte) (name string, ok bool) {
	name, _, first, ok := lastMember(text)
	return name, ok && !first
}

// lastMember takes the last name off a member expression. It is the first one of
// the expression if nothing is before it that it could be a member of.
func lastMember(text []byte) (name string, rest []byte, first, ok bool) {
	text = bytes.TrimRight(text, " \t\r\n")
	if inner, found := bytes.CutSuffix(text, []byte("]")); found {
		name, rest, ok = bracketed(inner)
		return name, bytes.TrimSuffix(rest, []byte("?.")), false, ok
	}
	start := len(text)
	for start > 0 && isNamePart(text[start-1]) {
		start--
	}
	name, rest = string(text[start:]), bytes.TrimRight(text[:start], " \t\r\n")
	if name == "" || len(name) > maxMember || '0' <= name[0] && name[0] <= '9' || bytes.HasSuffix(rest, []byte("#")) {
		return "", nil, false, false
	}
	if bytes.HasSuffix(rest, []byte("..")) || !bytes.HasSuffix(rest, []byte(".")) {
		return name, text[:start], true, true
	}
	rest = bytes.TrimSuffix(rest, []byte("."))
	return name, bytes.TrimSuffix(rest, []byte("?")), false, true
}

// bracketed takes what stands between brackets off a text that ended with ]. It
// must be a string without escapes.
func bracketed(text []byte) (name string, rest []byte, ok bool) {
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) == 0 || !strings.ContainsRune("\"'`", rune(text[len(text)-1])) {
		return "", nil, false
	}
	quote := text[len(text)-1]
	text = text[:len(text)-1]
	open := bytes.LastIndexByte(text, quote)
	if open < 0 {
		return "", nil, false
	}
	name = string(text[open+1:])
	rest, ok = bytes.CutSuffix(bytes.TrimRight(text[:open], " \t\r\n"), []byte("["))
	if len(name) > maxMember || !utf8.ValidString(name) || strings.ContainsAny(name, "\\\n${}") {
		return "", nil, false
	}
	return name, rest, ok
}

func isNamePart(c byte) bool {
	return c == '_' || c == '$' || c >= utf8.RuneSelf ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// refusedModule is what a guest is told that asks for a module.
const refusedModule = "code mode module access is disabled."
