package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// credentialName matches the names of headers and variables with values that prove who the
// host is.
var credentialName = regexp.MustCompile(`(?i)auth|cookie|key|token|secret|password|credential`)

// minCredential is how long a value is that is looked for: a shorter one stands in other words.
const minCredential = 8

// credentials are the values in headers that prove who the host is, without what is around them.
func credentials(h http.Header) (out [][]byte) {
	for name, values := range h {
		if !credentialName.MatchString(name) {
			continue
		}
		for _, v := range strings.FieldsFunc(strings.Join(values, " "), func(r rune) bool { return strings.ContainsRune(" ;,=", r) }) {
			if len(v) >= minCredential {
				out = append(out, []byte(v))
			}
		}
	}
	return longestFirst(out)
}

// longestFirst sorts values: one may be part of another.
func longestFirst(values [][]byte) [][]byte {
	slices.SortFunc(values, func(a, b []byte) int { return len(b) - len(a) })
	return values
}

// secrets are the credentials in the environment of the server's program, as it may write them.
func (s *Server) secrets(env []string) (out [][]byte) {
	for _, text := range s.Env {
		for _, ref := range expansion.FindAllStringSubmatch(text, -1) {
			env = append(slices.Clip(env), ref[1]+"="+os.Getenv(ref[1]))
		}
	}
	for _, e := range env {
		var values []string
		name, value, _ := strings.Cut(e, "=")
		if u, err := url.Parse(value); err == nil && u.User != nil {
			password, _ := u.User.Password()
			_, encoded, _ := strings.Cut(u.User.String(), ":")
			values = append(values, password, encoded)
		}
		if credentialName.MatchString(name) {
			values = append(values, strings.Split(value, "\n")...)
		}
		for _, v := range values {
			if len(v) >= minCredential {
				inText, _ := json.Marshal(v) // a text always encodes
				out = append(out, []byte(v), inText[1:len(inText)-1])
			}
		}
	}
	return longestFirst(out)
}

// hiding is what r has without some values.
func hiding(r io.ReadCloser, values [][]byte) io.ReadCloser {
	if len(values) == 0 {
		return r
	}
	return &hidingBody{body: r, values: values}
}

// hideCredentials takes the credentials of a request out of its answer: a server that sends back what it was sent must not
// hand them to programs, records and logs.
func hideCredentials(resp *http.Response, sent http.Header) {
	if values := credentials(sent); len(values) > 0 {
		resp.Header.Del("Content-Length")
		resp.Body, resp.ContentLength = hiding(resp.Body, values), -1
	}
}

// hidingBody is a body without some values. It holds back no more than what may be the start of one.
type hidingBody struct {
	body   io.ReadCloser
	values [][]byte
	ready  []byte // to be read
	rest   []byte // may be the start of a value
	err    error
}

// Read implements io.Reader.
func (b *hidingBody) Read(p []byte) (int, error) {
	chunk := make([]byte, max(len(p), 512))
	for len(b.ready) == 0 && b.err == nil {
		var n int
		n, b.err = b.body.Read(chunk)
		text := append(b.rest, chunk[:n]...)
		for _, v := range b.values {
			text = bytes.ReplaceAll(text, v, []byte("[credential]"))
		}
		held := 0
		if b.err == nil {
			held = b.started(text)
		}
		b.ready, b.rest = text[:len(text)-held], bytes.Clone(text[len(text)-held:])
	}
	n := copy(p, b.ready)
	if b.ready = b.ready[n:]; n > 0 || len(b.ready) > 0 {
		return n, nil
	}
	return 0, b.err
}

// started is how many bytes at the end may be the start of a value.
func (b *hidingBody) started(text []byte) (longest int) {
	for _, v := range b.values {
		for n := min(len(v)-1, len(text)); n > longest; n-- {
			if bytes.HasSuffix(text, v[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// Close closes the body.
func (b *hidingBody) Close() error { return b.body.Close() }
