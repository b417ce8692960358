package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHasLoneSurrogate(t *testing.T) {
	for text, want := range map[string]bool{
		`"a"`: false, `""`: false, `"\n\\"`: false, `"\u00e9"`: false, `"\ud83d\ude00"`: false, `"\uD83D\uDE00x"`: false,
		`"\\ud83d"`: false, `"\\\\ud83d"`: false, `"�"`: false, `"\ufffd"`: false,
		`"\ud83d"`: true, `"\ude00"`: true, `"\ud83dx"`: true, `"\ud83d\u0041"`: true, `"\ud83d\ud83d\ude00"`: true,
		`"\\\ud83d"`: true, `{"a":["\udfff"]}`: true, `{"\ud800":1}`: true, `"\ude00\ud83d"`: true,
	} {
		if got := HasLoneSurrogate([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzHasLoneSurrogate holds it against the decoder: what has none decodes without
// a replacement character.
func FuzzHasLoneSurrogate(f *testing.F) {
	f.Add([]byte(`"\ud83d\ude00"`))
	f.Add([]byte(`{"a\ud800":"\\"}`))
	f.Add([]byte(`"\`))
	f.Fuzz(func(t *testing.T, text []byte) {
		lone := HasLoneSurrogate(text)
		var s string
		if !utf8.Valid(text) || json.Unmarshal(text, &s) != nil {
			return
		}
		replaced := strings.Count(s, "�") - strings.Count(string(text), "�")
		if strings.Contains(strings.ToLower(string(text)), `\ufffd`) {
			return
		}
		if lone != (replaced > 0) {
			t.Errorf("%q: lone %v, %d characters replaced", text, lone, replaced)
		}
	})
}

func TestMarshal(t *testing.T) {
	got, err := Marshal(map[string]any{"a": "<b> & c", "n": 1})
	if want := `{"a":"<b> & c","n":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
