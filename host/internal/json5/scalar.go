package json5

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a string in either kind of quotes.
func (p *parser) quoted() (string, *fault) {
	start, quote := p.at, rune(p.text[p.at])
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		r, size := p.rune()
		switch {
		case r == quote:
			p.at++
			return b.String(), nil
		case r == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		case r == '\n' || r == '\r':
			return "", p.fail(start, "the string that starts here does not end on its line; close it with %c, or go on with \\ at the end of the line", quote)
		default:
			b.WriteRune(r)
			p.at += size
		}
	}
	return "", p.fail(start, "the string that starts here does not end; close it with %c", quote)
}

// escapes are the characters that stand for others after a backslash.
var escapes = map[rune]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escape reads what follows a backslash in a string.
func (p *parser) escape(b *strings.Builder) *fault {
	start := p.at
	p.at++
	if p.at >= len(p.text) {
		return p.unexpected("the rest of an escape")
	}
	r, size := p.rune()
	p.at += size
	switch {
	case r == 'x' || r == 'u':
		p.at = start
		r, err := p.codePoint()
		if err != nil {
			return err
		}
		b.WriteRune(r)
	case r == '\r':
		if p.peek() == '\n' {
			p.at++
		}
	case isLineEnd(r):
	case r == '0' && !isDigit(p.peek()):
		b.WriteByte(0)
	case '0' <= r && r <= '9':
		return p.fail(start, "an escape must not start with a digit; write \\x or \\u and hexadecimal digits")
	case escapes[r] != 0:
		b.WriteRune(escapes[r])
	default:
		b.WriteRune(r)
	}
	return nil
}

// codePoint reads \xHH or \uHHHH, of a surrogate pair both halves. Half of a pair
// alone is U+FFFD, as in package encoding/json.
func (p *parser) codePoint() (rune, *fault) {
	r, err := p.hexEscape()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if rest := p.text[p.at:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		before := p.at
		low, err := p.hexEscape()
		if err != nil {
			return 0, err
		}
		if whole := utf16.DecodeRune(r, low); whole != unicode.ReplacementChar {
			return whole, nil
		}
		p.at = before
	}
	return utf8.RuneError, nil
}

// hexEscape reads one \xHH or \uHHHH.
func (p *parser) hexEscape() (rune, *fault) {
	start, digits := p.at, 4
	if p.text[p.at+1] == 'x' {
		digits = 2
	}
	p.at += 2
	var r rune
	for range digits {
		n, ok := hexDigit(p.peek())
		if !ok {
			return 0, p.fail(start, "\\%c must be followed by %d hexadecimal digits", p.text[start+1], digits)
		}
		r = r<<4 | n
		p.at++
	}
	return r, nil
}

// identifier reads a bare name.
func (p *parser) identifier(want string) (string, *fault) {
	var b strings.Builder
	for p.at < len(p.text) {
		start := p.at
		r, size := p.rune()
		if r == '\\' {
			if p.at+1 >= len(p.text) || p.text[p.at+1] != 'u' {
				return "", p.fail(start, "a name can have no escape but \\u and four hexadecimal digits")
			}
			var err *fault
			if r, err = p.hexEscape(); err != nil {
				return "", err
			}
			if !inName(r, b.Len() == 0) {
				return "", p.fail(start, "%q cannot stand here in a name without quotes", r)
			}
			b.WriteRune(r)
			continue
		}
		if !inName(r, b.Len() == 0) {
			break
		}
		b.WriteRune(r)
		p.at += size
	}
	if b.Len() == 0 {
		return "", p.unexpected(want)
	}
	return b.String(), nil
}

func inName(r rune, first bool) bool {
	if r == '$' || r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) {
		return true
	}
	return !first && (unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) || r == 0x200c || r == 0x200d)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func hexDigit(c byte) (value rune, ok bool) {
	switch {
	case isDigit(c):
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

// maxDigits bounds a number, because long ones are costly to read.
const maxDigits = 1000

// isHex reports whether the number as written is hexadecimal.
func isHex(text string) bool {
	text = strings.TrimLeft(text, "+-")
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
}

// number reads a number with its sign.
func (p *parser) number(v *Value) *fault {
	start := p.at
	if c := p.peek(); c == '+' || c == '-' {
		p.at++
	}
	rest := p.text[p.at:]
	var err *fault
	switch {
	case strings.HasPrefix(string(rest[:min(len(rest), 8)]), "Infinity"):
		p.at += len("Infinity")
		v.Number = math.Inf(1)
	case strings.HasPrefix(string(rest[:min(len(rest), 3)]), "NaN"):
		p.at += len("NaN")
		v.Number = math.NaN()
	case len(rest) > 1 && rest[0] == '0' && rest[1]|0x20 == 'x':
		v.Number, err = p.hexNumber()
	default:
		v.Number, err = p.decimal()
	}
	if err != nil {
		return err
	}
	if r, size := p.rune(); size > 0 && (inName(r, false) || r == '\\' || r == '.') {
		return p.fail(p.at, "%q stands after a number; expected a comma or the end", r)
	}
	v.Kind, v.Text = Number, string(p.text[start:p.at])
	if p.text[start] == '-' {
		v.Number = -v.Number
	}
	return nil
}

func (p *parser) hexNumber() (float64, *fault) {
	start := p.at
	p.at += 2
	for _, ok := hexDigit(p.peek()); ok; _, ok = hexDigit(p.peek()) {
		p.at++
	}
	if p.at-start > maxDigits {
		return 0, p.fail(start, "the number has more than %d digits", maxDigits)
	}
	n, ok := new(big.Int).SetString(string(p.text[start+2:p.at]), 16)
	if !ok {
		return 0, p.fail(start, "hexadecimal digits must follow 0x")
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	return f, nil
}

// decimal reads digits, a point and an exponent. A digit stands before or after
// the point, and a zero in front of no other digit.
func (p *parser) decimal() (float64, *fault) {
	start := p.at
	whole := p.digits()
	if whole > 1 && p.text[start] == '0' {
		return 0, p.fail(start, "a number must not start with 0; for an octal one write it as decimal or hexadecimal")
	}
	fraction := 0
	if p.peek() == '.' {
		p.at++
		fraction = p.digits()
	}
	if whole+fraction == 0 {
		return 0, p.unexpected("a digit")
	}
	if p.peek()|0x20 == 'e' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if p.digits() == 0 {
			return 0, p.unexpected("a digit of the exponent")
		}
	}
	if p.at-start > maxDigits {
		return 0, p.fail(start, "the number has more than %d digits", maxDigits)
	}
	// Out of range is infinite, which no field takes.
	f, err := strconv.ParseFloat(string(p.text[start:p.at]), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, p.fail(start, "this is no number")
	}
	return f, nil
}

func (p *parser) digits() int {
	start := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	return p.at - start
}
