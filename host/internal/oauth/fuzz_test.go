package oauth

import (
	"net/url"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/documents"
)

// FuzzChallenge reads headers of servers.
func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{
		`Bearer resource_metadata="https://a.example/x", scope="a b"`, `Bearer error="insufficient_scope", scope="a\"b"`, `Basic realm=x, Bearer scope=a`,
		`Bearer scope="`, `"`, `,,,`, `Bearer =`, `Bearer scope="` + strings.Repeat("a ", 9000) + `"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		c := parseChallenge([]string{header, header})
		if len(c.Scopes) > maxScopes || len(c.Metadata) > maxURL {
			t.Errorf("too much: %d scopes, %d bytes", len(c.Scopes), len(c.Metadata))
		}
		for _, s := range c.Scopes {
			if !isScope(s) {
				t.Errorf("%q is not a scope", s)
			}
		}
	})
}

// FuzzResourceMetadata reads metadata of servers, and compares what they are about with
// an address.
func FuzzResourceMetadata(f *testing.F) {
	for _, seed := range []string{`{"resource":"https://a.example/mcp","authorization_servers":["https://b.example"]}`, `{"resource":1}`, `[]`, ``, `{"resource":"https://a.example/%2e%2e/"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		meta, err := decodeResource(text)
		if err != nil || !isAbout(meta.Resource, "https://a.example/mcp") {
			return
		}
		u, err := url.Parse(meta.Resource)
		if err != nil || !strings.EqualFold(u.Hostname(), "a.example") || !strings.EqualFold(u.Scheme, "https") {
			t.Errorf("%q is not about the address", meta.Resource)
		}
	})
}

// FuzzQuery reads what a browser brings back.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"code=a&state=b&iss=c", "code=a&code=b", "%zz", "state=" + strings.Repeat("0", 32) + ".x", ";"} {
		f.Add(seed)
	}
	docs, err := documents.OpenDir(f.TempDir(), documents.DirOptions{})
	if err != nil {
		f.Fatal(err)
	}
	c := New(docs, Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := parseQuery(raw)
		if err != nil {
			return
		}
		if _, err := c.Finish(t.Context(), query); err == nil {
			t.Error("a flow that never was has ended well")
		}
	})
}

// FuzzCode shows what an authorization server calls an error.
func FuzzCode(f *testing.F) {
	f.Add("access_denied")
	f.Add("<script>")
	f.Fuzz(func(t *testing.T, code string) {
		if got := codeOf(code); strings.ContainsAny(got, "<>\"'&\n\x1b") || len(got) > 64 {
			t.Errorf("%q is shown as %q", code, got)
		}
	})
}

// FuzzDocument reads documents of the store.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(""), "a.grant")
	f.Add(make([]byte, 64), "b.flow")
	f.Fuzz(func(t *testing.T, sealed []byte, name string) {
		if _, err := documents.Encrypted(testCipher(t)).Open(name, sealed); err == nil {
			t.Error("a document that was not written here is read")
		}
	})
}
