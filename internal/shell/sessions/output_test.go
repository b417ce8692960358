package sessions

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestOutputKeepsHeadAndTail compares with the whole output.
func TestOutputKeepsHeadAndTail(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		o := output{limit: 2 * (1 + r.IntN(20))}
		var all []byte
		for range r.IntN(20) {
			p := make([]byte, r.IntN(30))
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			o.write(p)
			all = append(all, p...)
		}
		if o.size() > o.limit || o.total != int64(len(all)) {
			t.Fatalf("%d of %d bytes are kept, %d counted of %d", o.size(), o.limit, o.total, len(all))
		}
		for pos := range len(all) + 1 {
			k := o.since(int64(pos))
			whole := len(k.before) + int(k.omitted) + len(k.after)
			if whole != len(all)-pos || !bytes.HasPrefix(all[pos:], k.before) || !bytes.HasSuffix(all, k.after) {
				t.Fatalf("limit %d, since %d of %q: %+v", o.limit, pos, all, k)
			}
			if (k.omitted > 0) != (len(all) > o.limit && pos < len(all)-o.limit/2 && k.omitted > 0) {
				t.Fatalf("limit %d, since %d of %d: %d are left out", o.limit, pos, len(all), k.omitted)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"a\nb\n":                    "a\nb\n",
		"a\r\nb\r\n":                "a\nb\n",
		"10%\r50%\r100%\n":          "100%\n",
		"done\r":                    "done",
		"\x1b[31mred\x1b[0m":        "red",
		"\x1b[1;38;5;196mx\x1b[m y": "x y",
		"\x1b]0;title\x07text":      "text",
		"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bP+q544e\x1b\\x":                       "x",
		"\x1b(Bx\x1b=y\x1b7z":                      "xyz",
		"\x1b[2J\x1b[Htop":                         "top",
		"ab\bc":                                    "ac",
		"é\be":                                     "e",
		"a\tb":                                     "a\tb",
		"a\x00\x07\x0e\x7fb":                       "ab",
		"a\u009b31mb":                              "a31mb",
		"\xff\xfe":                                 "\uFFFD\uFFFD",
		"\x1b[31":                                  "",
		"\x1b":                                     "",
		"\x1b]never ends\nbut lines do":            "\nbut lines do",
		"\x1b[3\x1b[1mx":                           "x",
		"\x1b\x1b[1mx":                             "x",
		"日本語":                                      "日本語",
		"_\b_\bu":                                  "u",
		"a\n\bb":                                   "a\nb",
	} {
		if got := plain([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTextShowsWhatIsLeftOut(t *testing.T) {
	o := output{limit: 10}
	o.write([]byte("aébécédéeéf"))
	got := o.since(0).text(false)
	if !strings.Contains(got, "bytes are left out") || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
		t.Errorf("%q", got)
	}
}

// FuzzText: texts are valid, print nothing but lines, and are the same however the
// output comes.
func FuzzText(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b]0;t\x07é\r\nc"), uint8(3), uint8(7))
	f.Add([]byte("\x1bPx\x1b\\\xe2\x82"), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, first, second uint8) {
		text := plain(b)
		for _, r := range text {
			if r != '\n' && r != '\t' && unicode.IsControl(r) {
				t.Fatalf("%q has the control character %q", text, r)
			}
		}
		if !utf8.ValidString(text) || !utf8.ValidString(valid(b)) {
			t.Fatalf("%q", text)
		}
		b = bytes.Map(func(r rune) rune { // these rewrite what has been returned
			if r == '\r' || r == '\b' || r == utf8.RuneError {
				return -1
			}
			return r
		}, b)
		if len(b) > 200 {
			return // a longer sequence is not waited for
		}
		s := &Session{output: output{limit: 1 << 20}, status: Running}
		var parts strings.Builder
		var pos int64
		for len(b) > 0 {
			n := min(1+int(first)%8, len(b))
			first, second = second, first
			s.output.write(b[:n])
			b = b[n:]
			parts.WriteString(s.Next(&pos))
		}
		s.status = Completed
		parts.WriteString(s.Next(&pos))
		if whole := s.output.since(0).text(false); parts.String() != whole {
			t.Fatalf("in parts %q, at once %q", parts.String(), whole)
		}
	})
}
