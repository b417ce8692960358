package openapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Server is where the requests of a document go.
type Server struct {
	base   *url.URL
	client *http.Client
	agent  string
}

// NewServer returns a server at an address. Its requests go through transport, and to the
// origin of the address only.
func NewServer(address string, transport http.RoundTripper, agent string) (*Server, error) {
	base, err := url.Parse(address)
	if err != nil || !isWeb(base) || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%.200q is not the address of a server; expected http://… or https://… without user, query and fragment", address)
	}
	s := &Server{base: base, agent: agent}
	s.client = &http.Client{Transport: &originOnly{base, transport}, CheckRedirect: s.redirect}
	return s, nil
}

func isWeb(u *url.URL) bool { return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") }

// originOnly refuses requests to any other origin.
type originOnly struct {
	base *url.URL
	next http.RoundTripper
}

// RoundTrip makes a request to the origin.
func (o *originOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if !SameOrigin(r.URL, o.base) {
		return nil, fmt.Errorf("a request to %s://%s, which is not the server", r.URL.Scheme, r.URL.Host)
	}
	return o.next.RoundTrip(r)
}

// SameOrigin reports whether two addresses have one scheme, host and port.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

const maxRedirects = 5

// redirect follows redirects of requests that only read, within the origin. Any other is
// the answer.
func (s *Server) redirect(r *http.Request, via []*http.Request) error {
	if (r.Method != http.MethodGet && r.Method != http.MethodHead) || via[0].Method != r.Method || len(via) > maxRedirects || !SameOrigin(r.URL, s.base) {
		return http.ErrUseLastResponse
	}
	return nil
}

// InputError is an input that cannot be sent. Nothing was sent.
type InputError struct{ Text string }

// Error says what is wrong with the input.
func (e *InputError) Error() string { return e.Text }

// Call performs the request of an operation and returns the answer as the result of an MCP
// tool: a body of JSON is its structuredContent, any other its content. Errors are an
// *[InputError], a *[StatusError], a *[ReplyError], or one of the network.
func (s *Server) Call(ctx context.Context, o *Operation, input json.RawMessage) (json.RawMessage, error) {
	r, err := s.request(ctx, o, input)
	if err != nil {
		return nil, &InputError{err.Error()}
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // it was read to its end, or is given up
	return result(resp)
}

// request makes the request of an operation.
func (s *Server) request(ctx context.Context, o *Operation, input json.RawMessage) (*http.Request, error) {
	values := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(input)) > 0 {
		if err := json.Unmarshal(input, &values); err != nil {
			return nil, fmt.Errorf("the input must be an object: %w", err)
		}
	}
	path, query, headers := map[string]string{}, []string{}, http.Header{}
	for i := range o.parameters {
		p := &o.parameters[i]
		raw, given := values[p.key]
		if !given && p.in != "path" {
			continue
		}
		if err := p.put(raw, path, &query, headers); err != nil {
			return nil, err
		}
	}
	address, err := s.address(o, path, query)
	if err != nil {
		return nil, err
	}
	var content []byte
	raw, given := values["body"]
	if given = given && o.body != nil; given {
		var mediaType string
		if content, mediaType, err = o.body.encode(raw); err != nil {
			return nil, err
		}
		headers.Set("Content-Type", mediaType)
	}
	r, err := http.NewRequestWithContext(ctx, o.Method, address.String(), bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if !given {
		r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, 0
	}
	r.Header = headers
	r.Header.Set("Accept", o.accept)
	r.Header.Set("User-Agent", s.agent)
	return r, nil
}

// put adds a parameter to where it is sent.
func (p *parameter) put(raw json.RawMessage, path map[string]string, query *[]string, headers http.Header) error {
	var v any
	if len(raw) > 0 {
		var err error
		if v, err = decode(raw); err != nil {
			return err
		}
	}
	switch p.in {
	case "path":
		text, err := p.path(v)
		path[p.name] = text
		return err
	case "query":
		*query = append(*query, p.query(v)...)
	case "header":
		if v == nil {
			return nil
		}
		text, err := p.header(v)
		if err != nil {
			return err
		}
		headers.Set(p.name, text)
	}
	return nil
}

// address joins the base, the path with its parameters, and the query.
func (s *Server) address(o *Operation, path map[string]string, query []string) (*url.URL, error) {
	filled := pathParameter.ReplaceAllStringFunc(o.Path, func(m string) string { return path[m[1:len(m)-1]] })
	base := cmp.Or(o.base, s.base)
	escaped := strings.TrimRight(base.EscapedPath(), "/") + filled
	decoded, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(strings.Split(filled, "/"), func(segment string) bool {
		plain, err := url.PathUnescape(segment)
		return err != nil || isDots(plain)
	}) {
		return nil, fmt.Errorf("a parameter of the path must not be . or .., because that leads elsewhere")
	}
	u := *base
	u.Path, u.RawPath, u.RawQuery = decoded, escaped, strings.Join(query, "&")
	return &u, nil
}
