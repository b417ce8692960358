package trust

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// parseLock reads the text of a lock file. Comments start with #, and the order of
// plugins and of their lines is free; anything else that [Lock.Text] would not
// write is refused. The error is a *[LockError].
func parseLock(text []byte) (Lock, error) {
	p := lockParser{lock: Lock{}}
	switch {
	case len(text) > maxLockBytes:
		return nil, p.fail("larger than %d bytes", maxLockBytes)
	case !utf8.Valid(text):
		return nil, p.fail("not a text in UTF-8")
	case len(text) > 0 && text[len(text)-1] != '\n':
		return nil, p.fail("the last line is cut off")
	}
	for line := range strings.Lines(string(text)) {
		p.line++
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.take(line); err != nil {
			return nil, err
		}
	}
	p.line = 0
	if !p.headed {
		return nil, p.fail("the line %q is missing", lockHeader)
	}
	for id, e := range p.lock {
		if problem := e.missingPart(); problem != "" {
			return nil, p.fail("plugin %s %s", id, problem)
		}
	}
	return p.lock, nil
}

// lockParser is where the reading of a lock is.
type lockParser struct {
	lock   Lock
	line   int
	headed bool
	id     string // of the entry being read
}

func (p *lockParser) fail(format string, args ...any) error {
	return &LockError{Path: LockName, Line: p.line, Problem: fmt.Sprintf(format, args...)}
}

// take reads one line that says something.
func (p *lockParser) take(line string) error {
	switch {
	case !p.headed && line != lockHeader:
		return p.fail("expected %q, got %.60q", lockHeader, line)
	case !p.headed:
		p.headed = true
		return nil
	case line[0] == '\t' || line[0] == ' ':
		return p.takeValue(strings.Fields(line))
	}
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "plugin" || !manifest.IsID(words[1]) || !manifest.IsVersion(words[2]) {
		return p.fail(`expected "plugin ID VERSION", got %.60q`, line)
	}
	p.id = words[1]
	if _, twice := p.lock[p.id]; twice {
		return p.fail("plugin %s is listed twice", p.id)
	}
	p.lock[p.id] = LockEntry{Version: words[2], Binaries: map[string]string{}}
	return nil
}

// takeValue reads a line of an entry: a name and its value.
func (p *lockParser) takeValue(words []string) error {
	if p.id == "" {
		return p.fail(`an indented line before the first "plugin ID VERSION"`)
	}
	if len(words) != 2 {
		return p.fail("expected a name and a value, got %d words", len(words))
	}
	name, value := words[0], words[1]
	e := p.lock[p.id]
	var err error
	switch {
	case name == manifest.Name:
		err = p.takeSum(name, value, &e.Manifest)
	case name == lockFiles:
		err = p.takeSum(name, value, &e.Files)
	case name == lockSigner:
		if e.Signer != (PublicKey{}) {
			return p.fail("%s is given twice for plugin %s", name, p.id)
		}
		if e.Signer, err = ParsePublicKey(value); err != nil {
			return p.fail("%v", err)
		}
	case manifest.IsPlatform(name):
		sum := e.Binaries[name]
		err = p.takeSum(name, value, &sum)
		e.Binaries[name] = sum
	default:
		return p.fail("expected %s, %s, %s or a platform such as linux/amd64, got %.60q", manifest.Name, lockFiles, lockSigner, name)
	}
	p.lock[p.id] = e
	return err
}

// takeSum reads a checksum into an empty place.
func (p *lockParser) takeSum(name, value string, into *string) error {
	sum, ok := strings.CutPrefix(value, "sha256:")
	if !ok || !manifest.IsSHA256(sum) {
		return p.fail(`%s: expected "sha256:" and 64 lower-case hex digits, got %.80q`, name, value)
	}
	if *into != "" {
		return p.fail("%s is given twice for plugin %s", name, p.id)
	}
	*into = sum
	return nil
}
