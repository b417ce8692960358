package resourceserver

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// answers answers every request with a text.
type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// TestByteOrderMark: one before metadata or keys is dropped.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{"\ufeff{}": "{}", "{}": "{}", "": "", "\ufeff": ""} {
		resp, err := bounded{answers(sent)}.RoundTrip(&http.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", sent, got, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
