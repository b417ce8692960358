package openapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// server returns a server at an address. Its requests go to no network.
func server(t testing.TB, address string) *Server {
	t.Helper()
	s, err := NewServer(address, http.DefaultTransport, "quoin/1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// style makes a document of one operation with one parameter called p.
func style(in, rest string) string {
	return one("3.0.0", map[string]string{"path": "/a/{p}/b"}[in]+map[bool]string{true: "/a"}[in != "path"], fmt.Sprintf(`"get":{"parameters":[{"name":"p","in":%q,"required":true%s}],"responses":{}}`, in, rest), "")
}

// TestStyles has the values of the specification's own table, and such as attack.
func TestStyles(t *testing.T) {
	for _, c := range []struct{ in, rest, value, want string }{
		{"path", ``, `"blue"`, "/v1/a/blue/b"},
		{"path", ``, `["blue","black"]`, "/v1/a/blue,black/b"},
		{"path", ``, `{"R":100,"G":200}`, "/v1/a/G,200,R,100/b"},
		{"path", `,"explode":true`, `{"R":100}`, "/v1/a/R=100/b"},
		{"path", `,"style":"label"`, `["blue","black"]`, "/v1/a/.blue,black/b"},
		{"path", `,"style":"label","explode":true`, `["blue","black"]`, "/v1/a/.blue.black/b"},
		{"path", `,"style":"matrix"`, `"blue"`, "/v1/a/;p=blue/b"},
		{"path", `,"style":"matrix"`, `["blue","black"]`, "/v1/a/;p=blue,black/b"},
		{"path", `,"style":"matrix","explode":true`, `["blue","black"]`, "/v1/a/;p=blue;p=black/b"},
		{"path", `,"style":"matrix","explode":true`, `{"R":1}`, "/v1/a/;R=1/b"},
		{"path", ``, `"../../x?y#z;%2f"`, "/v1/a/..%2F..%2Fx%3Fy%23z%3B%252f/b"},
		{"path", `,"explode":true`, `{"../x":"/"}`, "/v1/a/..%2Fx=%2F/b"},
		{"path", ``, `9007199254740993`, "/v1/a/9007199254740993/b"},
		{"path", `,"content":{"application/json":{}}`, `{"a":[1]}`, "/v1/a/%7B%22a%22:%5B1%5D%7D/b"},
		{"query", ``, `"blue & green"`, "/v1/a?p=blue%20%26%20green"},
		{"query", ``, `["blue","black"]`, "/v1/a?p=blue&p=black"},
		{"query", `,"explode":false`, `["a,b","c"]`, "/v1/a?p=a%2Cb,c"},
		{"query", ``, `{"R":100,"x&admin":true}`, "/v1/a?R=100&x%26admin=true"},
		{"query", `,"explode":false`, `{"R":100,"G":200}`, "/v1/a?p=G,200,R,100"},
		{"query", `,"style":"spaceDelimited","explode":false`, `["a","b"]`, "/v1/a?p=a%20b"},
		{"query", `,"style":"pipeDelimited","explode":false`, `["a","b"]`, "/v1/a?p=a%7Cb"},
		{"query", `,"style":"deepObject"`, `{"R":100,"n":{"a":[1,{"b":"]="}]}}`, "/v1/a?p[R]=100&p[n][a][0]=1&p[n][a][1][b]=%5D%3D"},
		{"query", `,"allowReserved":true`, `"a/b?c=d&e#f"`, "/v1/a?p=a/b?c%3Dd%26e%23f"},
		{"query", `,"content":{"application/json":{}}`, `{"a":"b"}`, "/v1/a?p=%7B%22a%22%3A%22b%22%7D"},
		{"query", ``, `null`, "/v1/a"},
		{"header", ``, `["a","b"]`, "/v1/a a,b"},
		{"header", `,"explode":true`, `{"a":1,"b":true}`, "/v1/a a=1,b=true"},
	} {
		o := parse(t, style(c.in, c.rest)).Operations[0]
		r, err := server(t, "http://127.0.0.1/v1/").request(t.Context(), &o, json.RawMessage(`{"p":`+c.value+`}`))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := strings.TrimSpace(r.URL.RequestURI() + " " + r.Header.Get("p")); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.in, c.rest, c.value, got, c.want)
		}
	}
	for _, c := range []struct{ in, value string }{{"path", `".."`}, {"path", `"."`}, {"path", `""`}, {"path", `null`}, {"path", `[]`}, {"header", `"a\r\nb: c"`}} {
		o := parse(t, style(c.in, "")).Operations[0]
		if r, err := server(t, "http://127.0.0.1/v1/").request(t.Context(), &o, json.RawMessage(`{"p":`+c.value+`}`)); err == nil {
			t.Errorf("%+v became %s", c, r.URL)
		}
	}
}

func TestBodies(t *testing.T) {
	for _, c := range []struct{ content, value, kind, want string }{
		{`"application/json":{}`, `{"n":1.0,"a":[]}`, "application/json", `{"n":1.0,"a":[]}`},
		{`"application/merge-patch+json":{}`, `null`, "application/merge-patch+json", `null`},
		{`"application/x-www-form-urlencoded":{}`, `{"a":"b c","l":[1,2],"o":{"x":1}}`, "application/x-www-form-urlencoded", `a=b%20c&l=1&l=2&x=1`},
		{`"application/x-www-form-urlencoded":{"encoding":{"o":{"style":"deepObject","explode":true}}}`, `{"o":{"x":{"y":1}}}`, "application/x-www-form-urlencoded", `o[x][y]=1`},
		{`"text/plain":{}`, `"hé"`, "text/plain; charset=utf-8", "hé"},
		{`"application/octet-stream":{}`, `"AAE="`, "application/octet-stream", "\x00\x01"},
		{`"*/*":{"schema":{"type":"object"}}`, `{"a":1}`, "application/json", `{"a":1}`},
		{`"application/*":{"schema":{"$ref":"#/paths/~1a/x"}}`, `[1]`, "application/json", `[1]`},
		{`"image/*":{"schema":{"type":"object"}}`, `"AAE="`, "application/octet-stream", "\x00\x01"},
		{`"*/*":{"schema":{"type":"string","format":"binary"}}`, `"AAE="`, "application/octet-stream", "\x00\x01"},
		{`"*/*":{}`, `"AAE="`, "application/octet-stream", "\x00\x01"},
	} {
		o := parse(t, one("3.0.0", "/a", `"x":{"items":{}},"post":{"requestBody":{"content":{`+c.content+`}},"responses":{}}`, "")).Operations[0]
		r, err := server(t, "http://127.0.0.1").request(t.Context(), &o, json.RawMessage(`{"body":`+c.value+`}`))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != c.want || r.Header.Get("Content-Type") != c.kind {
			t.Errorf("%s: %q as %q, %v", c.content, body, r.Header.Get("Content-Type"), err)
		}
	}
}

func TestMultipart(t *testing.T) {
	o := parse(t, one("3.0.0", "/a", `"post":{"requestBody":{"content":{"multipart/form-data":{"schema":{"$ref":"#/components/schemas/F"}}}},"responses":{}}`,
		`,"components":{"schemas":{"F":{"type":"object","properties":{"file":{"type":"string","format":"binary"},"n\"":{}}}}}`)).Operations[0]
	r, err := server(t, "http://127.0.0.1").request(t.Context(), &o, json.RawMessage(`{"body":{"file":"`+base64.StdEncoding.EncodeToString([]byte("a\x00b"))+`","n\"\r\nx":"v","o":{"k":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		t.Fatal(err)
	}
	f, err := r.MultipartForm.File["file"][0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if file, err := io.ReadAll(f); err != nil || string(file) != "a\x00b" {
		t.Errorf("%q, %v", file, err)
	}
	if r.MultipartForm.Value["o"][0] != `{"k":1}` || len(r.MultipartForm.Value) != 2 {
		t.Errorf("%+v", r.MultipartForm.Value)
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct{ kind, body, want string }{
		{"application/json", ` {"a":1} `, `{"content":[],"structuredContent": {"a":1} }`},
		{"application/problem+json", `[1]`, `{"content":[],"structuredContent":[1]}`},
		{"", "", `{"content":[]}`},
		{"text/html; charset=utf-8", "<b>", `{"content":[{"type":"text","text":"<b>"}]}`},
		{"image/png", "\x89P", `{"content":[{"type":"image","data":"iVA=","mimeType":"image/png"}]}`},
		{"application/zip", "\xff", `{"content":[{"type":"resource","resource":{"uri":"data:,","mimeType":"application/zip","blob":"/w=="}}]}`},
	} {
		kind, _, _ := strings.Cut(c.kind, ";")
		if got, err := resultOf(kind, []byte(c.body)); err != nil || string(got) != c.want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	for _, body := range []string{`{`, `{"a":1}}`, `{},"isError":{}`, "\"\xff\"", strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		if got, err := resultOf("application/json", []byte(body)); err == nil {
			t.Errorf("%.20q was accepted: %s", body, got)
		}
	}
}

// TestRedirects: only requests that just read follow them, and only within the origin.
func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request left the origin") }))
	defer other.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/there":
			_, _ = io.WriteString(w, "arrived")
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer web.Close()
	for _, c := range []struct{ method, path, want string }{
		{"get", "/here", `"text":"arrived"`},
		{"get", "/loop", "HTTP status 302"},
		{"get", "/away", "HTTP status 307 Temporary Redirect (to " + other.URL + ", which is not followed)"},
		{"post", "/here", "HTTP status 302"},
		{"post", "/away", "HTTP status 307"},
	} {
		o := parse(t, one("3.0.0", c.path, `"`+c.method+`":{"responses":{}}`, "")).Operations[0]
		got, err := server(t, web.URL).Call(t.Context(), &o, nil)
		if text := fmt.Sprint(string(got), err); !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s", c, text)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ configured, source, named, want string }{
		{"https://a.example/v1", "file.json", "https://b.example", "https://a.example/v1"},
		{"", "https://a.example/docs/api.json", "/v2", "https://a.example/v2"},
		{"", "https://a.example/docs/api.json", "../v2?x#y", "https://a.example/v2"},
		{"", "https://a.example/docs/api.json", "https://A.example:443/v2", "https://A.example:443/v2"},
		{"", "https://a.example/docs/api.json", "", "https://a.example/"},
		{"", "https://a.example/docs/api.json", "http://a.example/", ""},
		{"", "https://a.example/docs/api.json", "//b.example/", ""},
		{"", "https://a.example/docs/api.json", "https://a.example:8443/", ""},
		{"", "file.json", "https://a.example", ""},
	} {
		d := &Document{}
		if c.named != "" {
			d.Servers = []string{c.named}
		}
		got, err := d.Address(c.configured, c.source)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// FuzzRequest: whatever a program gives, the request stays below the base of its server,
// with as many segments as its path has.
func FuzzRequest(f *testing.F) {
	const document = `{"openapi":"3.0.0","info":{"title":"T","version":"1"},"paths":{"/a/{p}/b{q}":{"post":{"parameters":[{"name":"p","in":"path","required":true},
		{"name":"q","in":"path","required":true,"style":"matrix","explode":true},{"name":"r","in":"query"},{"name":"s","in":"query","style":"deepObject"},{"name":"h","in":"header","explode":true}],
		"requestBody":{"content":{"multipart/form-data":{}}},"responses":{}}}}}`
	d, err := Parse([]byte(document))
	if err != nil || len(d.Operations) != 1 {
		f.Fatal(d, err)
	}
	for _, s := range []string{`{"p":"..","q":"x"}`, `{"p":"%2e%2e","q":["/",{}],"r":{"a&b":"#"},"s":{"]=":[null]},"h":{"a\n":1},"body":{"a":"\r\n"}}`, `{"p":{"..":"/"},"q":{"../..":"?"},"h":"é"}`} {
		f.Add([]byte(s))
	}
	s := server(f, "https://host.example/base")
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := s.request(t.Context(), &d.Operations[0], in)
		if err != nil {
			return
		}
		again, err := url.Parse(r.URL.String())
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		path := strings.Split(again.EscapedPath(), "/")
		if again.Host != "host.example" || again.Scheme != "https" || again.Fragment != "" || again.User != nil || len(path) != 5 || path[1] != "base" || path[2] != "a" || !strings.HasPrefix(path[4], "b") {
			t.Errorf("%s leads to %s", in, again)
		}
		for name, values := range r.Header {
			if strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("%s: the header %q is %q", in, name, values)
			}
		}
	})
}

// BenchmarkParse reads a document of a thousand operations.
func BenchmarkParse(b *testing.B) {
	var paths []string
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf(`"/things/%d/{id}":{"get":{"operationId":"op%d","summary":"Thing","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"$ref":"#/components/parameters/page"}],"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/T%d"}}}}}}}`, i, i, i%50))
	}
	var defs []string
	for i := range 50 {
		defs = append(defs, fmt.Sprintf(`"T%d":{"type":"object","properties":{"id":{"type":"string"},"next":{"$ref":"#/components/schemas/T%d"}}}`, i, (i+1)%50))
	}
	text := []byte(`{"openapi":"3.0.3","info":{"title":"T","version":"1"},"paths":{` + strings.Join(paths, ",") + `},"components":{"parameters":{"page":{"name":"page","in":"query","schema":{"type":"integer"}}},"schemas":{` + strings.Join(defs, ",") + `}}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d, err := Parse(text)
		if err != nil || len(d.Operations) != 1000 {
			b.Fatal(d, err)
		}
	}
}
