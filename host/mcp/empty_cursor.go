package mcp

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
)

// emptyCursor stands for a cursor that is an empty text, which the SDK takes for no cursor and
// does not send. In version 2026-07-28 of the protocol such a cursor leads on like any other;
// before, it ends a list.
var emptyCursor = rand.Text()

// withEmptyCursor returns a message with an empty text where emptyCursor stands.
func withEmptyCursor(message []byte) []byte {
	return bytes.Replace(message, []byte(`"cursor":"`+emptyCursor+`"`), []byte(`"cursor":""`), 1)
}

// sendEmptyCursor does the same with the body of a request for a list.
func sendEmptyCursor(r *http.Request) error {
	if !strings.HasSuffix(r.Header.Get("Mcp-Method"), "/list") || r.Body == nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	body = withEmptyCursor(body)
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return err
}
