package calls

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestIntegersThatADoubleCannotHold arrive as text, and leave as the integers that they were
// where a tool takes a number.
func TestIntegersThatADoubleCannotHold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"id":9007199254740993}`:                           `{"id":"9007199254740993"}`,
		`{"id":9007199254740992,"n":-9007199254740993}`:     `{"id":9007199254740992,"n":"-9007199254740993"}`,
		`[12345678901234567890, 18446744073709551615]`:      `["12345678901234567890", "18446744073709551615"]`,
		`[1000000000000000000,123456789012345678]`:          `[1000000000000000000,"123456789012345678"]`,
		`{"9007199254740993":"9007199254740993"}`:           `{"9007199254740993":"9007199254740993"}`,
		`["say \"9007199254740993\"\\",9007199254740993]`:   `["say \"9007199254740993\"\\","9007199254740993"]`,
		`[0.12345678901234567,1.2345678901234567e30,1e400]`: `[0.12345678901234567,1.2345678901234567e30,1e400]`,
		`9007199254740993`:                                  `"9007199254740993"`,
		`{"a":1}`:                                           `{"a":1}`,
	} {
		if got := string(textForIntegers([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	const schema = `{"type":"object","properties":{"id":{"type":"integer"},"n":{"type":"number"},"s":{"type":"string"},"u":{}}}`
	for in, want := range map[string]string{
		`{"s":"9007199254740993","id":"9007199254740993","u":"9007199254740993"}`: `{"s":"9007199254740993","id":9007199254740993,"u":"9007199254740993"}`,
		`{"n":"-9007199254740993","é\"\u0001":[1]}`:                               `{"n":-9007199254740993,"é\"\u0001":[1]}`,
		`{"id":"9007199254740992"}`:                                               `{"id":"9007199254740992"}`,
		`{"id":"00000000000000000001"}`:                                           `{"id":"00000000000000000001"}`,
		`{"id":"9007199254740993x"}`:                                              `{"id":"9007199254740993x"}`,
		`[9007199254740993]`:                                                      `[9007199254740993]`,
	} {
		if got := string(IntegersForText([]byte(in), []byte(schema))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// FuzzTextForIntegers: what is JSON stays JSON, and means the same but for large integers.
func FuzzTextForIntegers(f *testing.F) {
	for _, s := range []string{`{"a":[9007199254740993,"9007199254740993",-1e5]}`, `"\\\"123456789012345678"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) {
			return
		}
		out := textForIntegers(in)
		if !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if again := textForIntegers(out); !bytes.Equal(out, again) {
			t.Errorf("%q became %q, and that %q", in, out, again)
		}
	})
}
