package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host"
)

// Session is who asks; see host.Session.
type Session = host.Session

// The headers that say who asks. Their values are text with percent-encoding:
// visible ASCII other than % stands for itself, anything else is written as the
// %XX of its UTF-8 bytes. At most 512 bytes each, once decoded.
const (
	HeaderAgentID    = "Quoin-Agent-Id"
	HeaderSessionKey = "Quoin-Session-Key"
	HeaderSessionID  = "Quoin-Session-Id"
	HeaderRunID      = "Quoin-Run-Id" // of the agent turn, not of a cell
)

const maxSessionPart = 512

// parts are the headers beside the fields they fill.
func parts(s *Session) map[string]*string {
	return map[string]*string{
		HeaderAgentID:    &s.AgentID,
		HeaderSessionKey: &s.SessionKey,
		HeaderSessionID:  &s.SessionID,
		HeaderRunID:      &s.TurnID,
	}
}

// SessionOf reads the session headers. It fails when one of them is repeated,
// too long, or not percent-encoded UTF-8.
func SessionOf(h http.Header) (Session, error) {
	var s Session
	for name, field := range parts(&s) {
		values := h.Values(name)
		if len(values) > 1 {
			return Session{}, fmt.Errorf("header %s is given %d times, expected once", name, len(values))
		}
		if len(values) == 0 {
			continue
		}
		v, err := decodePart(values[0])
		if err != nil {
			return Session{}, fmt.Errorf("header %s: %w", name, err)
		}
		*field = v
	}
	return s, nil
}

func decodePart(raw string) (string, error) {
	for i := range len(raw) {
		if raw[i] < ' ' || raw[i] > '~' {
			return "", fmt.Errorf("byte %#02x at offset %d is not visible ASCII; write it as %%%02X", raw[i], i, raw[i])
		}
	}
	v, err := url.PathUnescape(raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; write %% itself as %%25", err)
	case !utf8.ValidString(v):
		return "", fmt.Errorf("it is not UTF-8 once decoded")
	case len(v) > maxSessionPart:
		return "", fmt.Errorf("it has %d bytes, expected at most %d", len(v), maxSessionPart)
	}
	return v, nil
}

// SetSession writes the headers of a session; empty fields get none.
func SetSession(h http.Header, s Session) {
	for name, field := range parts(&s) {
		h.Del(name)
		if *field != "" {
			h.Set(name, encodePart(*field))
		}
	}
}

func encodePart(v string) string {
	var b strings.Builder
	for i := range len(v) {
		if c := v[i]; c > ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// named reports whether a session says who asks.
func named(s Session) bool { return s.SessionID != "" || s.SessionKey != "" }
