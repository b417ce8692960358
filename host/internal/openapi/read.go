package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// IsAddress reports whether a source is an address, and not the name of a file.
func IsAddress(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// Read returns the text of a document, which is a file or stands at an address. Redirects
// are not followed.
func Read(ctx context.Context, source string, transport http.RoundTripper) ([]byte, error) {
	if !IsAddress(source) {
		return readFile(source)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, application/yaml, */*;q=0.1")
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // it is read to its end, or given up
	if resp.StatusCode != http.StatusOK {
		_, err := result(resp)
		if err == nil {
			err = fmt.Errorf("HTTP status %d", resp.StatusCode)
		}
		return nil, err
	}
	return readAll(resp.Body)
}

// readFile reads a regular file.
func readFile(name string) (text []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a file", name))
	}
	return readAll(f)
}

// readAll reads a document up to its bound.
func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(text) > maxText {
		err = errTooLarge
	}
	return text, err
}

// Address returns where the requests of a document go that was read from a source: to the
// address that is configured, or else to the server that the document names, if that is
// where the document itself comes from. Credentials are configured for a server, and a
// document may not choose who gets them.
func (d *Document) Address(configured, source string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	named := "/"
	if len(d.Servers) > 0 {
		named = d.Servers[0]
	}
	if from, err := url.Parse(source); err == nil && IsAddress(source) {
		to, err := from.Parse(named)
		if err == nil && SameOrigin(from, to) {
			to.RawQuery, to.Fragment = "", ""
			return to.String(), nil
		}
	}
	return "", fmt.Errorf("the document names the server %q; set url to it, if requests and headers may go there", named)
}
