package jsontext

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestShorten: small parts stay whole, the largest are cut, and what is missing is
// counted in place.
func TestShorten(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tc := range []struct {
		name, value string
		max         int
		want        string
	}{
		{"what fits", `{"a": 1}`, 64, `{"a": 1}`},
		{"a text", `"` + long + `"`, 80, `"` + long[:58] + `… [142 more bytes]"`},
		{"the largest member", `{"id":7,"body":"` + long + `","tags":["a","b"]}`, 120, `{"id":7,"body":"` + long[:63] + `… [137 more bytes]","tags":["a","b"]}`},
		{"the later elements", `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]`, 40, `[1,2,3,4,5,6,7,8,"… [14 more items]"]`},
		{"a member without room", `{"n":12345678901234567890,"a":1,"b":"` + long + `"}`, 44, `{"n":"…","a":1,"…":"1 more members"}`},
		{"spaces", "[ 1 ,\n 2 , \"" + long + "\" ]", 60, `[1,2,"… [1 more items]"]`},
		{"no room", `[{"a":1},{"b":2},{"c":3}]`, 16, `"…"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, shown := Shorten([]byte(tc.value), tc.max)
			if string(got) != tc.want || len(got) > max(tc.max, len(tc.want)) || !json.Valid(got) {
				t.Errorf("got  %s (%d bytes)\nwant %s", got, len(got), tc.want)
			}
			if shown > len(tc.value) {
				t.Errorf("%d bytes shown of %d", shown, len(tc.value))
			}
		})
	}
}

// values draws JSON values of every kind, nested.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.Int().Draw(t, "number")
		case 1:
			return rapid.Bool().Draw(t, "truth")
		case 2:
			return rapid.String().Draw(t, "text")
		case 3:
			return strings.Repeat(rapid.SampledFrom([]string{"a", "é", "\U0001F600", `"\`, "\n"}).Draw(t, "part"), rapid.IntRange(0, 200).Draw(t, "times"))
		case 4:
			return rapid.SliceOfN(values(depth-1), 0, 12).Draw(t, "items")
		default:
			return rapid.MapOfN(rapid.StringN(0, 12, -1), values(depth-1), 0, 8).Draw(t, "members")
		}
	})
}

// TestShortenHoldsItsBounds, whatever the value: it is valid JSON of at most max bytes,
// and the same value if that fits.
func TestShortenHoldsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(4).Draw(t, "value")
		text, err := Marshal(v)
		if rapid.Bool().Draw(t, "indented") {
			text, err = json.MarshalIndent(v, " ", "\t")
		}
		if err != nil {
			t.Fatal(err)
		}
		most := rapid.IntRange(16, 600).Draw(t, "max")
		got, shown := Shorten(text, most)
		if !json.Valid(got) || len(got) > most || shown > len(got) || shown > len(text) {
			t.Fatalf("%d bytes in %d: %d bytes, %d shown: %s\nof %s", len(text), most, len(got), shown, got, text)
		}
		if len(text) <= most && (string(got) != string(text) || shown != len(text)) {
			t.Fatalf("%s fits in %d bytes, and became %s", text, most, got)
		}
		if again, _ := Shorten(text, most); string(again) != string(got) {
			t.Fatalf("%s, and then %s", got, again)
		}
	})
}

// FuzzShorten: no valid text makes it fail, and what it makes is valid.
func FuzzShorten(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\ud83d\ude00"}],"":""}`), 20)
	f.Add([]byte("[ [ [ ] ] , { } ]"), 16)
	f.Add([]byte(`"\"\\"`), 16)
	f.Fuzz(func(t *testing.T, value []byte, most int) {
		if most < 16 || most > 1<<16 || !json.Valid(value) {
			return
		}
		if got, _ := Shorten(value, most); !json.Valid(got) || len(got) > most {
			t.Errorf("%q in %d: %q", value, most, got)
		}
		if line := Outline(value); len(line) > 500 {
			t.Errorf("the outline has %d bytes: %s", len(line), line)
		}
	})
}

// TestShortenOfADeepValue ends in time however deep a value is.
func TestShortenOfADeepValue(t *testing.T) {
	deep := []byte(strings.Repeat("[", 9000) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("]", 9000))
	if got, _ := Shorten(deep, 4096); !json.Valid(got) || len(got) > 4096 {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
}

func TestOutline(t *testing.T) {
	items := make([]string, 4000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":%d}`, 1000+i)
	}
	list := "[" + strings.Join(items, ",") + "]"
	for value, want := range map[string]string{
		list:                            "an array of 4000 items, 12 bytes each on average",
		`{"a":1,"items":` + list + `}`:  `an object of 2 members, the largest "items": 48 KB in 4000 items, "a": 1 bytes`,
		`"` + list[:0] + "abc" + `"`:    "a text of 5 bytes",
		`{"` + list[1:2] + `":"` + `"}`: `an object of 1 members, the largest "{": 2 bytes`,
	} {
		if got := Outline([]byte(value)); got != want {
			t.Errorf("%.60s\ngot  %s\nwant %s", value, got, want)
		}
	}
}

func TestTokensOfSurrogates(t *testing.T) {
	for text, want := range map[string]int{
		`\ud83d\ude00`:       12, // a pair
		`\uD83D\uDE00`:       12,
		`\ud83d\ud83d\ude00`: 6, // a half before a pair
		`\ude00\ud83d`:       6, // halves in the wrong order
		`\u0041\ude00`:       6,
		`\ud83dx`:            6,
		`\n\u0041`:           2,
	} {
		if got := TokenEnd([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
