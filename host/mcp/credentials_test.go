package mcp

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// TestCredentialsOfARequestAreNotInItsAnswer, however it arrives, and nothing else is taken out.
func TestCredentialsOfARequestAreNotInItsAnswer(t *testing.T) {
	t.Parallel()
	sent := http.Header{"Authorization": {"Bearer tok-1234567890"}, "X-Api-Key": {"key-abcdefgh"}, "Cookie": {"sid=s3ss10n-id; a=b"}, "X-Env": {"production"}, "Accept": {"application/json"}}
	const text = `{"headers":{"authorization":"Bearer tok-1234567890","x-api-key":"key-abcdefgh","cookie":"sid=s3ss10n-id; a=b","x-env":"production"},"almost":"tok-12345678"} tok-12345`
	const want = `{"headers":{"authorization":"Bearer [credential]","x-api-key":"[credential]","cookie":"sid=[credential]; a=b","x-env":"production"},"almost":"tok-12345678"} tok-12345`
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)), "with its end": iotest.DataErrReader(strings.NewReader(text))} {
		resp := &http.Response{Header: http.Header{"Content-Length": {"9"}}, Body: io.NopCloser(r)}
		hideCredentials(resp, sent)
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != want || resp.ContentLength != -1 {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	// What comes is not held back until more comes.
	r, w := io.Pipe()
	resp := &http.Response{Header: http.Header{}, Body: r}
	hideCredentials(resp, sent)
	go func() { _, _ = w.Write([]byte("data: x\n\n")) }()
	b := make([]byte, 100)
	if n, err := resp.Body.Read(b); err != nil || string(b[:n]) != "data: x\n\n" {
		t.Errorf("%q %v", b[:n], err)
	}
}
