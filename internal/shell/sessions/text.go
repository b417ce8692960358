package sessions

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// text is k as text: valid UTF-8, with a line in the place of what is left out. Control
// sequences are taken out unless raw.
func (k kept) text(raw bool) string {
	show := plain
	if raw {
		show = valid
	}
	before, after := k.before, k.after
	if k.omitted == 0 {
		return show(before)
	}
	for len(after) > 0 && len(after) > len(k.after)-utf8.UTFMax && !utf8.RuneStart(after[0]) {
		after = after[1:] // the rest of a character
	}
	return fmt.Sprintf("%s\n… %d bytes are left out …\n%s", show(whole(before)), k.omitted, show(after))
}

// whole is b without the first bytes of a character or of a control sequence at its
// end, which are shown together with what follows.
func whole(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	const longest = 256
	if i := lastEscape(b); i >= 0 && len(b)-i < longest && sequenceLen(b[i:]) == 0 {
		b = b[:i]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1] // a line feed may follow
	}
	return b
}

func lastEscape(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == esc {
			return i
		}
	}
	return -1
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

const (
	esc = 0x1b
	bel = 0x07
)

// plain is b as lines of text: control sequences of terminals are taken out, and a
// line that was written over is as it was in the end.
func plain(b []byte) string {
	var out []byte
	line := 0         // where the line starts in out
	returned := false // the next character starts the line over
	put := func(c ...byte) {
		if returned {
			out, returned = out[:line], false
		}
		out = append(out, c...)
	}
	for len(b) > 0 {
		switch c := b[0]; {
		case c == esc:
			n := sequenceLen(b)
			if n == 0 {
				n = len(b) // one that never ended
			}
			b = b[n:]
			continue
		case c == '\n':
			returned = false
			out = append(out, '\n')
			line = len(out)
		case c == '\r':
			returned = true
		case c == '\b':
			if len(out) > line && !returned {
				_, n := utf8.DecodeLastRune(out[line:])
				out = out[:len(out)-n]
			}
		case c == '\t' || c >= ' ' && c < 0x7f:
			put(c)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(b)
			if r < 0x80 || r >= 0xa0 { // C1 controls are left out
				put(utf8.AppendRune(nil, r)...)
			}
			b = b[n:]
			continue
		}
		b = b[1:]
	}
	return string(out)
}

// sequenceLen is the length of the control sequence that b starts with, as ECMA-48 has
// it; 0 if it does not end in b.
func sequenceLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch c := b[1]; {
	case c == '[': // CSI: parameters, intermediates, one final byte
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			if b[i] < 0x20 || b[i] > 0x3f {
				return i // broken off
			}
		}
		return 0
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_': // OSC, DCS, SOS, PM, APC
		return stringLen(b)
	case c >= 0x20 && c <= 0x2f: // intermediates, one final byte
		for i := 2; i < len(b); i++ {
			switch {
			case b[i] >= 0x30 && b[i] <= 0x7e:
				return i + 1
			case b[i] < 0x20 || b[i] > 0x2f:
				return i // broken off
			}
		}
		return 0
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 1
}

// stringLen is the length of a control string, which ends with ST or, as xterm has it,
// with BEL. What is longer than any real one is taken for text.
func stringLen(b []byte) int {
	const longest = 64 << 10
	for i := 2; i < len(b); i++ {
		switch {
		case i > longest:
			return 2
		case b[i] == bel:
			return i + 1
		case b[i] == esc && i+1 < len(b) && b[i+1] == '\\':
			return i + 2
		case b[i] == '\n', b[i] == esc && i+1 < len(b):
			return i // broken off
		}
	}
	return 0
}
