package mcp

import (
	"context"
	"errors"
	"mime"
	"net/http"
)

// olderTransport returns an error if a server that refuses initialize with a status offers the
// transport of version 2024-11-05: its address takes no messages, and answers GET with events.
func (g *guard) olderTransport(r *http.Request, status int) error {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	default:
		return nil
	}
	if q, err := requestOf(r); err != nil || q.Method != methodInitialize {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.probeTimeout)
	defer cancel()
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL.String(), nil)
	if err != nil {
		return nil
	}
	get.Header.Set("Accept", "text/event-stream")
	resp, err := g.exchange(get)
	if err != nil {
		return nil // it says nothing of a transport
	}
	_ = resp.Body.Close() // its head is enough
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return nil
	}
	return &permanentError{
		errors.New("its url is an address of the older transport HTTP+SSE, which Quoin does not speak: ask for its url of streamable HTTP, often with /mcp in place of /sse"),
		"it speaks an older transport at its address",
	}
}
