package json5

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/titanous/json5"
)

// TestParse reads every construct of the specification.
func TestParse(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"JSON", `{"a":[1,-2.5e3,true,false,null,"x"]}`, `{"a":[1,-2.5e3,true,false,null,"x"]}`},
		{"comments and trailing commas", "// one\n{a:1,/* two */b:[1,2,],}\n// end", `{"a":1,"b":[1,2]}`},
		{"bare names", `{$a_1:1,_:2,ünï:3,\u0061b:4,null:5}`, `{"$a_1":1,"_":2,"ünï":3,"ab":4,"null":5}`},
		{"single quotes", `'it\'s "so"'`, `"it's \"so\""`},
		{"escapes", `"\b\f\n\r\t\v\0\x41\u00e9\ud83d\ude00\q\/"`, `"\b\f\n\r\t\u000b\u0000Aé😀q/"`},
		{"half a pair", `"\ud800\u0041"`, `"�A"`},
		{"lines that go on", "'a\\\nb\\\r\nc\\\rd\\\u2028e'", `"abcde"`},
		{"separators in strings", "'\u2028\u2029'", `"\u2028\u2029"`},
		{"numbers", `[+1,-1,.5,5.,-.5e-3,0x1F,-0xff,0,1E2]`, `[1,-1,0.5,5,-0.0005,31,-255,0,1E2]`},
		{"a long integer", `[9007199254740993,0x20000000000001]`, `[9007199254740993,9007199254740993]`},
		{"space", "\ufeff\u00a0\v\f\u2028 1\u3000", `1`},
		{"nothing in it", `[{},[]]`, `[{},[]]`},
		{"a name twice", `{a:1,b:2,a:3}`, `{"b":2,"a":3}`},
		{"__proto__", `{__proto__:1}`, `{"__proto__":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := v.AppendJSON(nil)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s, %v; want %s", got, err, tc.want)
			}
		})
	}
	for _, text := range []string{"NaN", "-Infinity", "1e999"} {
		v, err := Parse([]byte(text))
		if err != nil || v.Kind != Number {
			t.Errorf("%s: %v, %v", text, v, err)
			continue
		}
		if b, err := v.AppendJSON(nil); err == nil {
			t.Errorf("%s became the JSON %s", text, b)
		}
	}
}

func TestParseFaults(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1)
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", ``, "1:1: the text ends here; expected a value"},
		{"a comment alone", "// x\n", "2:1: the text ends here"},
		{"an open object", "{\n  a: 1,\n", "3:1: the text ends here; expected a field name or }"},
		{"a missing comma", "{\n  a: 1\n  b: 2\n}", "3:3: 'b' stands here; expected a comma or }: the object starts at 1:1"},
		{"a missing colon", `{a 1}`, `1:4: '1' stands here; expected a colon after the field name "a"`},
		{"text without quotes", `{a: quick}`, `1:5: "quick" stands here; expected a value; text needs quotes`},
		{"a string over lines", "{a:\n 'x\n'}", "2:2: the string that starts here does not end on its line"},
		{"an open string", `"x`, "1:1: the string that starts here does not end"},
		{"an open comment", "1 /* x", "1:3: the comment that starts here does not end"},
		{"half a comment", "1 /", "1:3: '/' stands here"},
		{"two values", "1 2", "1:3: '2' stands here; expected the end of the text"},
		{"a leading zero", "007", "1:1: a number must not start with 0"},
		{"a point", ".", "1:2: the text ends here; expected a digit"},
		{"no exponent", "1e", "1:3: the text ends here; expected a digit of the exponent"},
		{"no hexadecimal digits", "0x", "1:1: hexadecimal digits must follow"},
		{"letters after a number", "10s", `1:3: 's' stands after a number`},
		{"two signs", "+-1", "1:2: '-' stands here; expected a digit"},
		{"an octal escape", `"\07"`, `1:2: an escape must not start with a digit`},
		{"a short escape", `"\u12"`, `1:2: \u must be followed by 4 hexadecimal digits`},
		{"a control character is no digit", "\"\\x\x11\x11\"", `1:2: \x must be followed by 2`},
		{"an escape in a name", `{\x61:1}`, "1:2: a name can have no escape but"},
		{"a digit in front of a name", `{1a:1}`, "1:2: '1' stands here; expected a field name"},
		{"an escaped word", `tru\u0065`, "1:1: a word such as true"},
		{"two commas", "[1,,2]", "1:4: ',' stands here; expected a value"},
		{"columns count characters", "['é', x]", `1:7: "x" stands here`},
		{"CR LF is one line end", "{\r\n\r\n@", "3:1: '@' stands here"},
		{"too deep", deep, "levels deep"},
		{"too many digits", strings.Repeat("1", maxDigits+1), "more than 1000 digits"},
		{"too many hexadecimal digits", "0x" + strings.Repeat("1", maxDigits+1), "more than 1000 digits"},
		{"no UTF-8", "{a:\n\"\xff\"}", "2:2: the text is not UTF-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := Parse([]byte(tc.text))
			var se *SyntaxError
			if !errors.As(err, &se) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, %v; want %q", v, err, tc.want)
			}
		})
	}
	if _, err := Parse(make([]byte, MaxBytes+1)); err == nil {
		t.Error("a text beyond MaxBytes was read")
	}
}

func TestOffsets(t *testing.T) {
	text := []byte("{\n  list: [1,\r\n    'zwei'],\n}")
	v, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	list := v.Members[0]
	got := []string{At(text, list.Offset).String(), At(text, list.Value.Offset).String(), At(text, list.Value.Items[1].Offset).String()}
	if d := cmp.Diff([]string{"2:3", "2:9", "3:5"}, got); d != "" {
		t.Error(d)
	}
}

// FuzzParse: whatever the text, it is read or refused; what is read has places
// inside of the text, its JSON reads back as the same, and another reader of
// JSON5 that accepts the text, too, finds the same in it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, `{a:1,'b':[.5,+1,-0x1F,1e3],"c":null,}`, "// x\n[true,/* y */false,]", `"\x41\u00e9\ud83d\ude00\
"`, "{\u00e9:NaN}", `[Infinity,-Infinity,1e999]`, "\ufeff1", `{a:{a:{a:[[[1]]]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) || se.Pos.Line < 1 || se.Pos.Column < 1 || !utf8.ValidString(se.Message) {
				t.Errorf("refused with %#v", err)
			}
			if json.Valid(text) && utf8.Valid(text) && !strings.Contains(err.Error(), "more than") {
				t.Errorf("JSON was refused: %v", err)
			}
			return
		}
		checkPlaces(t, text, v)
		b, err := v.AppendJSON(nil)
		if err != nil {
			return // not finite
		}
		again, err := Parse(b)
		if err != nil {
			t.Fatalf("%s does not read back: %v", b, err)
		}
		if c, err := again.AppendJSON(nil); err != nil || string(c) != string(b) {
			t.Errorf("%s reads back as %s, %v", b, c, err)
		}
		compare(t, text, b)
	})
}

func checkPlaces(t *testing.T, text []byte, v *Value) {
	if v.Offset < 0 || v.Offset >= len(text) {
		t.Fatalf("a value at %d of %d", v.Offset, len(text))
	}
	for _, i := range v.Items {
		checkPlaces(t, text, i)
	}
	for _, m := range v.Members {
		if m.Offset < v.Offset || m.Offset >= m.Value.Offset {
			t.Fatalf("a name at %d, its value at %d", m.Offset, m.Value.Offset)
		}
		checkPlaces(t, text, m.Value)
	}
}

// compare asks the oracle, where it takes the text at all.
func compare(t *testing.T, text, ours []byte) {
	var theirs any
	if oracle.Unmarshal(text, &theirs) != nil {
		return
	}
	var mine any
	if err := json.Unmarshal(ours, &mine); err != nil {
		t.Fatalf("%s is not JSON: %v", ours, err)
	}
	if d := cmp.Diff(theirs, mine); d != "" {
		t.Errorf("%q (-oracle +ours):\n%s", text, d)
	}
}
