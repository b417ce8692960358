package command

import (
	"errors"
	"fmt"
	"strings"
)

var sedOptions = readOptions("nErsuz e: l: --quiet --silent --regexp-extended --separate --unbuffered --null-data --expression= --line-length= --posix")

// sedProfile accepts scripts with known commands. A script of sed runs programs by e and by
// the flag e of s, and writes files by w, W and the flag w; a script in a file is not known.
func sedProfile() *profile {
	return &profile{options: sedOptions, with: func(p parsed) error {
		var scripts []string
		for _, g := range p.given {
			if g.name == "e" || g.name == "expression" {
				scripts = append(scripts, g.value)
			}
		}
		if len(scripts) == 0 {
			if len(p.operands) == 0 || p.operands[0].glob {
				return errors.New("it has no script")
			}
			scripts = []string{p.operands[0].text}
		}
		for _, s := range scripts {
			if err := sedScript(s); err != nil {
				return err
			}
		}
		return nil
	}}
}

// sedScript accepts a list of commands that print, delete and replace.
func sedScript(s string) error {
	unknown := fmt.Errorf("the script %q may do more than print and replace", s)
	if strings.Contains(s, "\n") {
		return unknown
	}
	for {
		s = strings.TrimLeft(s, " \t;")
		if s == "" {
			return nil
		}
		rest, ok := sedAddresses(s)
		if !ok || rest == "" {
			return unknown
		}
		switch c := rest[0]; c {
		case 'p', 'd', 'D', 'P', 'n', 'N', 'g', 'G', 'h', 'H', 'x', '=', 'z':
			s = rest[1:]
		case 'q', 'Q', 'l':
			s = strings.TrimLeft(rest[1:], " 0123456789")
		case 's', 'y':
			if s, ok = sedReplace(rest); !ok {
				return unknown
			}
		default:
			return unknown
		}
		s = strings.TrimLeft(s, " \t")
		if s != "" && s[0] != ';' {
			return unknown
		}
	}
}

// sedAddresses takes N, $, /re/ and pairs of them away.
func sedAddresses(s string) (string, bool) {
	for i := range 2 {
		var ok bool
		if s, ok = sedAddress(s); !ok {
			return "", false
		}
		s = strings.TrimLeft(s, " ")
		if i == 0 && strings.HasPrefix(s, ",") {
			s = strings.TrimLeft(s[1:], " +~")
			continue
		}
		break
	}
	return strings.TrimLeft(s, " !"), true
}

func sedAddress(s string) (string, bool) {
	switch {
	case s == "":
		return s, true
	case s[0] == '$':
		return s[1:], true
	case s[0] == '/':
		end := sedEnd(s[1:], '/')
		if end < 0 {
			return "", false
		}
		return strings.TrimLeft(s[1+end+1:], "I"), true
	}
	return strings.TrimLeft(s, "0123456789~"), true
}

// sedReplace takes s/…/…/flags away, with no flag that runs or writes.
func sedReplace(s string) (string, bool) {
	if len(s) < 4 || !strings.ContainsRune("/|,:#@!%+_", rune(s[1])) {
		return "", false
	}
	delimiter, y := s[1], s[0] == 'y'
	s = s[2:]
	for range 2 {
		end := sedEnd(s, delimiter)
		if end < 0 {
			return "", false
		}
		s = s[end+1:]
	}
	if y {
		return s, true
	}
	return strings.TrimLeft(s, "gpiI0123456789"), true
}

// sedEnd is where a part ends: at a delimiter without a backslash. Programs differ about one in brackets, so that it is
// refused there.
func sedEnd(s string, delimiter byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			end := sedBracket(s[i:])
			if end < 0 || strings.IndexByte(s[i:i+end], delimiter) >= 0 {
				return -1
			}
			i += end
		case delimiter:
			return i
		}
	}
	return -1
}

// sedBracket is where brackets close that have letters, ranges and classes such as [:space:] alone; -1 for others.
func sedBracket(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "[:"):
			end := strings.Index(s[i:], ":]")
			if end < 0 {
				return -1
			}
			i += end + 1
		case s[i] == '[', s[i] == '\\':
			return -1
		case s[i] == ']':
			if i == 1 || i == 2 && s[1] == '^' {
				return -1
			}
			return i
		}
	}
	return -1
}
