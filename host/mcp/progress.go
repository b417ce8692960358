package mcp

import (
	"bytes"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Servers say how far a call is in notifications, by a token that the call has given them.

const (
	metaProgressToken = "progressToken"
	methodProgress    = "notifications/progress"
)

// withProgressToken has the server of a request tell how far it is.
func (f *flight) withProgressToken(meta sdk.Meta) sdk.Meta {
	if f.progress == nil {
		return meta
	}
	if meta == nil {
		meta = sdk.Meta{}
	}
	meta[metaProgressToken] = f.token
	return meta
}

// progressed passes on what a server says of a call that is in flight.
func (s *flights) progressed(params json.RawMessage) {
	var p struct {
		Token    string   `json:"progressToken"`
		Progress float64  `json:"progress"`
		Total    *float64 `json:"total"`
		Message  string   `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	var tell func(json.RawMessage)
	s.mu.Lock()
	for f := range s.open {
		if f.token == p.Token {
			tell = f.progress
		}
	}
	s.mu.Unlock()
	if tell == nil {
		return
	}
	steps, err := json.Marshal(struct {
		Done    float64  `json:"done"`
		Total   *float64 `json:"total,omitempty"`
		Message string   `json:"message,omitempty"`
	}{p.Progress, p.Total, bounded(p.Message, maxErrorText)})
	if err == nil {
		tell(steps)
	}
}

// tookProgress passes on what the stream of an answer says of progress, and reports whether it
// does. The SDK would pass it on after the answer.
func (c *capture) tookProgress(message []byte) bool {
	if c == nil || c.tells == nil || !bytes.Contains(message, []byte(methodProgress)) {
		return false
	}
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method != methodProgress {
		return false
	}
	c.tells(m.Params)
	return true
}
