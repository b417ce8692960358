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
	HeaderTurnID     = "Quoin-Run-Id" // of the agent turn, not of a cell
)

// maxHeaderValue bounds the decoded value of a session header in bytes.
const maxHeaderValue = 512

// headerFields maps each header to the field of s that it fills.
func headerFields(s *Session) map[string]*string {
	return map[string]*string{
		HeaderAgentID:    &s.AgentID,
		HeaderSessionKey: &s.SessionKey,
		HeaderSessionID:  &s.SessionID,
		HeaderTurnID:     &s.TurnID,
	}
}

// SessionOf reads the session headers. It fails when one of them is repeated,
// too long, or not percent-encoded UTF-8.
func SessionOf(h http.Header) (Session, error) {
	var s Session
	for name, field := range headerFields(&s) {
		values := h.Values(name)
		if len(values) > 1 {
			return Session{}, fmt.Errorf("header %s is given %d times, expected once", name, len(values))
		}
		if len(values) == 0 {
			continue
		}
		v, err := decodeHeader(values[0])
		if err != nil {
			return Session{}, fmt.Errorf("header %s: %w", name, err)
		}
		*field = v
	}
	return s, nil
}

// decodeHeader decodes the value of a session header.
func decodeHeader(raw string) (string, error) {
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
	case len(v) > maxHeaderValue:
		return "", fmt.Errorf("it has %d bytes, expected at most %d", len(v), maxHeaderValue)
	}
	return v, nil
}

// SetSession writes the headers of a session, and removes the headers of its empty
// fields. SessionOf reads what SetSession wrote, whatever text the fields hold.
func SetSession(h http.Header, s Session) {
	for name, field := range headerFields(&s) {
		h.Del(name)
		if *field != "" {
			h.Set(name, encodeHeader(*field))
		}
	}
}

// encodeHeader is the inverse of decodeHeader.
func encodeHeader(v string) string {
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
