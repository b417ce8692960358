package weburl

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	base := "http://a.b/c/d"
	for _, tc := range []struct {
		in   string
		base *string
		want string // the parts as JSON, or ""
	}{
		{"https://u:p@h.x:81/p?q#f", nil, `["https://u:p@h.x:81/p?q#f","https://h.x:81","https:","u","p","h.x:81","h.x","81","/p","?q","#f"]`},
		{"../e", &base, `["http://a.b/e","http://a.b","http:","","","a.b","a.b","","/e","",""]`},
		{"mailto:x", nil, `["mailto:x","null","mailto:","","","","","","x","",""]`},
		{"blob:https://a.b/x", nil, `["blob:https://a.b/x","https://a.b","blob:","","","","","","https://a.b/x","",""]`},
		{"file:///x", nil, `["file:///x","null","file:","","","","","","/x","",""]`},
		{"../e", nil, ""},
		{"http://a b", nil, ""},
		{"http://a/" + strings.Repeat("x", MaxBytes), nil, ""},
		{"http://a/" + strings.Repeat("ü", MaxBytes/3), nil, ""}, // longer once it is encoded
	} {
		parts, ok := Parse(tc.in, tc.base)
		got := ""
		if ok {
			b, err := json.Marshal(parts)
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != tc.want {
			t.Errorf("%.60s\n got %s\nwant %s", tc.in, got, tc.want)
		}
	}
	if _, ok := Parse("x", new(string)); ok {
		t.Error("an empty base is a URL")
	}
}

func TestChange(t *testing.T) {
	for _, tc := range []struct{ href, part, value, want string }{
		{"http://a/b", "protocol", "https", "https://a/b"},
		{"http://a/b", "protocol", "mailto", "http://a/b"},
		{"http://a/b", "hostname", "c.d", "http://c.d/b"},
		{"http://a/b", "hostname", "c d", "http://a/b"},
		{"http://a/b", "host", "c:8", "http://c:8/b"},
		{"http://a/b", "port", "x", "http://a/b"},
		{"http://a/b", "pathname", "c?d", "http://a/c%3Fd"},
		{"http://a/b", "search", "?x y", "http://a/b?x%20y"},
		{"http://a/b?x", "search", "", "http://a/b"},
		{"http://a/b", "hash", "#z", "http://a/b#z"},
		{"http://a/b", "username", "me@", "http://me%40@a/b"},
		{"mailto:x", "host", "a", "mailto:x"},
		{"mailto:x", "pathname", "y", "mailto:x"},
		{"http://a/b", "origin", "http://c", ""},
		{"nope", "hash", "x", ""},
	} {
		parts, ok := Change(tc.href, tc.part, tc.value)
		if ok != (tc.want != "") || parts[Href] != tc.want {
			t.Errorf("%s %s = %q: %q, %v, want %q", tc.href, tc.part, tc.value, parts[Href], ok, tc.want)
		}
	}
}

// FuzzParse: nothing panics, what is accepted is bounded, reads back as itself, and
// stays a URL whatever part is changed.
func FuzzParse(f *testing.F) {
	for _, seed := range [][4]string{
		{"http://user@a.b:1/../c?d#e", "", "pathname", "/x/../y"}, {"//a", "https://b/", "host", "[::1]:8"},
		{"mailto:a@b", "", "protocol", "http"}, {"file:///C|/x", "file:///y", "search", "?é"}, {"http://0x7f.1/%2e%2e/", "", "hash", "#"},
		{"http://ﷺ.xn--a/", "", "port", "99999"}, {"blob:http://a/b", "", "username", "\x00\xff"}, {"non-special:/..//p", "", "pathname", "//x"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, input, base, part, value string) {
		var against *string
		if base != "" {
			against = &base
		}
		parts, ok := Parse(input, against)
		if !ok {
			return
		}
		check(t, parts)
		changed, ok := Change(parts[Href], part, value)
		if ok {
			check(t, changed)
		}
	})
}

func check(t *testing.T, p Parts) {
	t.Helper()
	if len(p[Href]) > MaxBytes {
		t.Fatalf("a URL of %d bytes", len(p[Href]))
	}
	if !strings.HasPrefix(p[Href], p[Protocol]) || !strings.HasSuffix(p[Href], p[Hash]) || !strings.Contains(p[Href], p[Search]) {
		t.Errorf("parts that do not make %q: %q", p[Href], p)
	}
	for _, c := range []byte(p[Href]) {
		if c < 0x20 || c == 0x7f {
			t.Errorf("%q holds a control character", p[Href])
		}
	}
}
